/* test_safetensors.c - the safetensors reader: one file, sharded, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/safetensors.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/tiny_model.h"

static const float SIX[6] = {1, 2, 3, 4, 5, 6};

static struct buffer small_file(void)
{
    struct safetensors_writer w = {0};
    safetensors_writer_entry(&w, "\"__metadata__\":{\"format\":\"pt\"}");
    safetensors_writer_tensor(&w, "m", "F32", 2, 3, SIX, 24);
    safetensors_writer_tensor(&w, "b", "BF16", 0, 4, SIX, 8);
    safetensors_writer_tensor(&w, "empty", "F32", 0, 0, SIX, 0);
    return safetensors_writer_finish(&w);
}

static void test_values(void **state)
{
    struct buffer file = small_file();
    struct safetensors *all = NULL;
    struct error error = {0};
    assert_int_equal(safetensors_open_memory(file.data, file.len, &all, &error), STATUS_OK);
    assert_int_equal(safetensors_count(all), 3);
    const struct safetensor *m = safetensors_find(all, "m");
    assert_non_null(m);
    assert_int_equal(m->dim_count, 2);
    assert_int_equal(m->dims[1], 3);
    assert_string_equal(m->dtype, "F32");
    assert_memory_equal(m->data, SIX, 24);
    assert_string_equal(safetensors_at(all, 0)->name, "b");
    assert_null(safetensors_find(all, "__metadata__"));
    safetensors_close(all);
    buffer_free(&file);
}

static void test_truncation(void **state)
{
    struct buffer file = small_file();
    for (size_t len = 0; len < file.len; len++) {
        struct safetensors *all = NULL;
        char *copy = malloc(len ? len : 1);
        memcpy(copy, file.data, len);
        assert_int_equal(safetensors_open_memory(copy, len, &all, NULL), STATUS_CORRUPT);
        free(copy);
    }
    buffer_free(&file);
}

static void expect_refusal(const char *entries, size_t data_bytes, enum status wanted,
                           const char *param)
{
    static const char zeros[64];
    struct safetensors_writer w = {0};
    struct safetensors *all = NULL;
    struct error error = {0};
    safetensors_writer_entry(&w, entries);
    buffer_append(&w.data, zeros, data_bytes);
    struct buffer file = safetensors_writer_finish(&w);
    enum status status = safetensors_open_memory(file.data, file.len, &all, &error);
    if (status != wanted) fail_msg("%s: %s", entries, status_name(status));
    assert_string_equal(error.param, param);
    assert_true(error.message[0]);
    buffer_free(&file);
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void test_lies(void **state)
{
    expect_refusal(T("t", "F32", "[4]", "[0,12]"), 12, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[4]", "[0,16]"), 12, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[4]", "[16,0]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[4]", "[0]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[4]", "[-1,16]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[-4]", "[0,16]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "{}", "[0,16]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[1,1,1,1,1,1,1,1,4]", "[0,16]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[4294967296,4294967296]", "[0,0]"), 0, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "F32", "[9223372036854775807]", "[0,16]"), 16, STATUS_CORRUPT, "t");
    expect_refusal(T("t", "Q99", "[4]", "[0,16]"), 16, STATUS_UNSUPPORTED, "t");
    expect_refusal("\"t\":{\"shape\":[4],\"data_offsets\":[0,16]}", 16, STATUS_CORRUPT, "t");
    expect_refusal("\"t\":7", 0, STATUS_CORRUPT, "t");
    expect_refusal(T("a", "F32", "[4]", "[0,16]") "," T("b", "F32", "[4]", "[8,24]"), 24,
                   STATUS_CORRUPT, "b"); /* overlap */
    expect_refusal(T("a", "F32", "[2]", "[0,8]") "," T("b", "F32", "[2]", "[16,24]"), 24,
                   STATUS_CORRUPT, "b");                                  /* hole */
    expect_refusal(T("a", "F32", "[2]", "[0,8]"), 9, STATUS_CORRUPT, ""); /* a byte behind */
    expect_refusal(T("a", "U8", "[1]", "[0,1]") "," T("a", "U8", "[1]", "[1,2]"), 2, STATUS_CORRUPT,
                   "a"); /* twice */
    expect_refusal(T("", "U8", "[1]", "[0,1]"), 1, STATUS_CORRUPT, "");
    expect_refusal("\"a\\u0000b\":{}", 0, STATUS_CORRUPT, "a");
}

static void test_headers_that_lie(void **state)
{
    static const struct {
        uint64_t header;
        const char *text;
    } cases[] = {{UINT64_MAX, "{}"}, {1ULL << 40, "{}"}, {3, "{} "}, {2, "[]"}, {2, "{x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct safetensors *all = NULL;
        struct buffer file = {0};
        buffer_append(&file, &cases[i].header, 8);
        buffer_append_string(&file, cases[i].text);
        assert_int_equal(safetensors_open_memory(file.data, file.len, &all, NULL),
                         i == 2 ? STATUS_OK : STATUS_CORRUPT);
        safetensors_close(all);
        buffer_free(&file);
    }
}

struct sharded {
    const char *folder;
    char file[2][128], index[128];
};

static void write_index(const struct sharded *s, const char *text)
{
    tiny_write_file(s->index, text, strlen(text));
}

static struct sharded write_sharded(void)
{
    static char folder[64];
    struct sharded s = {.folder = folder};
    snprintf(folder, sizeof folder, "/tmp/penstock-shards-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(s.index, sizeof s.index, "%s/model.safetensors.index.json", folder);
    for (int i = 0; i < 2; i++) {
        struct safetensors_writer w = {0};
        safetensors_writer_tensor(&w, i ? "b" : "a", "F32", 0, 6, SIX, 24);
        struct buffer file = safetensors_writer_finish(&w);
        snprintf(s.file[i], sizeof s.file[i], "%s/model-%d.safetensors", folder, i);
        tiny_write_file(s.file[i], file.data, file.len);
        buffer_free(&file);
    }
    return s;
}

static enum status open_index(const struct sharded *s, const char *index, struct error *error)
{
    struct safetensors *all = NULL;
    write_index(s, index);
    enum status status = safetensors_open(s->folder, &all, error);
    safetensors_close(all);
    return status;
}

static void test_shards(void **state)
{
    struct sharded s = write_sharded();
    struct safetensors *all = NULL;
    struct error error = {0};
    assert_int_equal(safetensors_open("/tmp", &all, &error), STATUS_NOT_FOUND);
    write_index(&s,
                "{\"weight_map\":{\"a\":\"model-0.safetensors\",\"b\":\"model-1.safetensors\"}}");
    assert_int_equal(safetensors_open(s.folder, &all, &error), STATUS_OK);
    assert_int_equal(safetensors_count(all), 2);
    assert_memory_equal(safetensors_find(all, "b")->data, SIX, 24);
    safetensors_close(all);
    assert_int_equal(open_index(&s, "{\"weight_map\":{\"b\":\"model-0.safetensors\"}}", &error),
                     STATUS_CORRUPT); /* in the other file */
    assert_string_equal(error.param, "b");
    assert_int_equal(open_index(&s, "{\"weight_map\":{\"c\":\"model-0.safetensors\"}}", &error),
                     STATUS_CORRUPT);
    assert_string_equal(error.param, "c");
    assert_int_equal(open_index(&s, "{\"weight_map\":{\"a\":\"../x.safetensors\"}}", &error),
                     STATUS_CORRUPT); /* outside the folder */
    assert_int_equal(open_index(&s, "{\"weight_map\":{\"a\":7}}", &error), STATUS_CORRUPT);
    assert_int_equal(open_index(&s, "{\"weight_map\":{\"a\":\"gone.safetensors\"}}", &error),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(error.message, "gone.safetensors"));
    assert_int_equal(open_index(&s, "{}", &error), STATUS_CORRUPT);
    assert_int_equal(open_index(&s, "{", &error), STATUS_CORRUPT);
    unlink(s.index), unlink(s.file[0]), unlink(s.file[1]), rmdir(s.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_lies),   cmocka_unit_test(test_headers_that_lie),
        cmocka_unit_test(test_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
