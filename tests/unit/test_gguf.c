/* test_gguf.c - the GGUF reader: values, strings, tensors, split files, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/gguf.h"
#include "tests/support/gguf_writer.h"

static const float FOUR[4] = {1, 2, 3, 4};

static struct buffer small_file(void)
{
    static const char *const words[] = {"a", "", "ccc"};
    struct gguf_writer w = {0};
    uint64_t big = UINT64_MAX;
    int8_t minus = -3;
    double pi = 3.25;
    gguf_writer_string(&w, "general.architecture", "llama");
    gguf_writer_u32(&w, "n", 7);
    gguf_writer_f32(&w, "eps", 0.5F);
    gguf_writer_bool(&w, "yes", 1);
    gguf_writer_strings(&w, "words", words, 3);
    gguf_writer_raw(&w, "big", GGUF_U64, &big, 8);
    gguf_writer_raw(&w, "minus", GGUF_I8, &minus, 1);
    gguf_writer_raw(&w, "pi", GGUF_F64, &pi, 8);
    gguf_writer_tensor(&w, "m", 0, 2, 2, FOUR, sizeof FOUR);
    gguf_writer_tensor(&w, "v", 0, 4, 0, FOUR, sizeof FOUR);
    return gguf_writer_finish(&w);
}

static void test_values(void **state)
{
    struct buffer file = small_file();
    struct gguf *gguf = NULL;
    struct error error = {0};
    assert_int_equal(gguf_open_memory(file.data, file.len, &gguf, &error), STATUS_OK);
    int64_t n;
    double x;
    bool yes;
    struct gguf_string text;
    struct gguf_array words;
    assert_true(gguf_get_int(gguf, "n", &n) && n == 7);
    assert_true(gguf_get_int(gguf, "minus", &n) && n == -3);
    assert_false(gguf_get_int(gguf, "big", &n));
    assert_false(gguf_get_int(gguf, "eps", &n));
    assert_false(gguf_get_int(gguf, "absent", &n));
    assert_true(gguf_get_float(gguf, "eps", &x) && x == 0.5);
    assert_true(gguf_get_float(gguf, "pi", &x) && x == 3.25);
    assert_true(gguf_get_float(gguf, "n", &x) && x == 7);
    assert_true(gguf_get_bool(gguf, "yes", &yes) && yes);
    assert_true(gguf_get_string(gguf, "general.architecture", &text) && text.len == 5);
    assert_true(gguf_get_array(gguf, "words", &words) && words.count == 3);
    size_t offset = 0;
    assert_true(gguf_array_next_string(&words, &offset, &text) && text.len == 1);
    assert_true(gguf_array_next_string(&words, &offset, &text) && text.len == 0);
    assert_true(gguf_array_next_string(&words, &offset, &text) && !memcmp(text.data, "ccc", 3));
    assert_false(gguf_array_next_string(&words, &offset, &text));
    assert_int_equal(gguf_tensor_count(gguf), 2);
    const struct gguf_tensor *m = gguf_find_tensor(gguf, "m");
    assert_non_null(m);
    assert_int_equal(m->dim_count, 2);
    assert_int_equal(m->bytes, 16);
    assert_memory_equal(m->data, FOUR, 16);
    assert_null(gguf_find_tensor(gguf, "mm"));
    gguf_close(gguf);
    buffer_free(&file);
}

/* Every truncation of a file is refused, except one that only cuts padding at its end. */
static void test_truncation(void **state)
{
    struct buffer file = small_file();
    struct gguf *gguf = NULL;
    for (size_t len = 0; len < file.len; len++) {
        struct error error = {0};
        char *copy = malloc(len ? len : 1);
        memcpy(copy, file.data, len);
        enum status status = gguf_open_memory(copy, len, &gguf, &error);
        if (len < file.len - 16) {
            assert_int_equal(status, STATUS_CORRUPT);
            assert_true(error.message[0]);
        } else {
            assert_int_equal(status, STATUS_OK);
            gguf_close(gguf);
        }
        free(copy);
    }
    buffer_free(&file);
}

static void expect_refusal(struct gguf_writer *w, enum status wanted, const char *param)
{
    struct buffer file = gguf_writer_finish(w);
    struct gguf *gguf = NULL;
    struct error error = {0};
    assert_int_equal(gguf_open_memory(file.data, file.len, &gguf, &error), wanted);
    assert_string_equal(error.param, param);
    buffer_free(&file);
}

static void test_lies(void **state)
{
    struct gguf_writer w = {0};
    gguf_writer_u32(&w, "k", 1), gguf_writer_u32(&w, "k", 2);
    expect_refusal(&w, STATUS_CORRUPT, "k"); /* twice */
    gguf_writer_tensor(&w, "t", 0, 4, 0, FOUR, 16), gguf_writer_tensor(&w, "t", 0, 4, 0, FOUR, 16);
    expect_refusal(&w, STATUS_CORRUPT, "t"); /* twice */
    gguf_writer_tensor(&w, "t", 0, 400, 0, FOUR, 16);
    expect_refusal(&w, STATUS_CORRUPT, "t"); /* beyond the end */
    gguf_writer_tensor(&w, "t", 0, 4, 0, FOUR, 16), w.data.len = 0;
    gguf_writer_tensor(&w, "u", 0, 4, 0, FOUR, 16);
    expect_refusal(&w, STATUS_CORRUPT, "u"); /* both at offset 0 */
    gguf_writer_tensor(&w, "t", 8, 33, 0, FOUR, 16);
    expect_refusal(&w, STATUS_CORRUPT, "t"); /* not whole blocks */
    gguf_writer_tensor(&w, "t", 0, INT64_MAX, 2, FOUR, 16);
    expect_refusal(&w, STATUS_CORRUPT, "t"); /* overflow */
    w.alignment = 24;
    expect_refusal(&w, STATUS_CORRUPT, "general.alignment");
    uint8_t two = 2, nested[12] = {GGUF_ARRAY}, endless[12] = {GGUF_U8};
    memset(endless + 4, 0xff, 8);
    gguf_writer_raw(&w, "b", GGUF_BOOL, &two, 1);
    expect_refusal(&w, STATUS_CORRUPT, "b");
    gguf_writer_raw(&w, "nested", GGUF_ARRAY, nested, sizeof nested);
    expect_refusal(&w, STATUS_CORRUPT, "nested");
    gguf_writer_raw(&w, "endless", GGUF_ARRAY, endless, sizeof endless);
    expect_refusal(&w, STATUS_CORRUPT, "endless");
    gguf_writer_u32(&w, "split.count", 2);
    expect_refusal(&w, STATUS_UNSUPPORTED, "split.count");
}

static void test_versions(void **state)
{
    static const struct {
        uint32_t version;
        enum status status;
    } cases[] = {{1, STATUS_UNSUPPORTED},
                 {2, STATUS_OK},
                 {3, STATUS_OK},
                 {4, STATUS_UNSUPPORTED},
                 {0x03000000, STATUS_UNSUPPORTED}};
    struct buffer file = small_file();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gguf *gguf = NULL;
        memcpy(file.data + 4, &cases[i].version, 4);
        assert_int_equal(gguf_open_memory(file.data, file.len, &gguf, NULL), cases[i].status);
        gguf_close(gguf);
    }
    buffer_free(&file);
}

static void write_part(const char *path, int number, int count, uint32_t tensors)
{
    struct gguf_writer w = {0};
    char name[8];
    snprintf(name, sizeof name, "t%d", number);
    gguf_writer_u32(&w, "split.no", (uint32_t)number);
    gguf_writer_u32(&w, "split.count", (uint32_t)count);
    gguf_writer_u32(&w, "split.tensors.count", tensors);
    gguf_writer_tensor(&w, name, 0, 4, 0, FOUR, 16);
    struct buffer file = gguf_writer_finish(&w);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, file.len, out), file.len);
    fclose(out);
    buffer_free(&file);
}

static void test_split(void **state)
{
    char folder[] = "/tmp/penstock-gguf-XXXXXX", path[2][80], other[80];
    struct gguf *gguf = NULL;
    struct error error = {0};
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/m-%05d-of-00002.gguf", folder, i + 1);
        write_part(path[i], i, 2, 2);
    }
    assert_int_equal(gguf_open(path[1], &gguf, &error), STATUS_OK);
    assert_int_equal(gguf_tensor_count(gguf), 2);
    assert_int_equal(gguf_find_tensor(gguf, "t1")->part, 1);
    gguf_close(gguf), gguf = NULL;
    write_part(path[1], 1, 2, 2), write_part(path[0], 0, 2, 3);
    assert_int_equal(gguf_open(path[1], &gguf, &error), STATUS_CORRUPT);
    assert_string_equal(error.param, "split.tensors.count");
    write_part(path[0], 1, 2, 2);
    assert_int_equal(gguf_open(path[1], &gguf, &error), STATUS_CORRUPT);
    assert_string_equal(error.param, "split.no");
    snprintf(other, sizeof other, "%s/renamed.gguf", folder);
    rename(path[0], other);
    assert_int_equal(gguf_open(other, &gguf, &error), STATUS_INVALID);
    assert_int_equal(gguf_open(path[1], &gguf, &error), STATUS_NOT_FOUND);
    unlink(other), unlink(path[1]), rmdir(folder);
}

/* The official 260K model of ../shared, as llama.cpp reads it. */
static void test_real_file(void **state)
{
    struct gguf *gguf = NULL;
    struct error error = {0};
    struct gguf_array tokens;
    int64_t n;
    if (access("../shared/models/stories260K.gguf", R_OK) != 0) {
        print_message("skipped: ../shared/models/stories260K.gguf is not here\n");
        skip();
    }
    assert_int_equal(gguf_open("../shared/models/stories260K.gguf", &gguf, &error), STATUS_OK);
    assert_true(gguf_get_int(gguf, "llama.embedding_length", &n) && n == 64);
    assert_true(gguf_get_array(gguf, "tokenizer.ggml.tokens", &tokens) && tokens.count == 512);
    assert_non_null(gguf_find_tensor(gguf, "blk.4.attn_q.weight"));
    gguf_close(gguf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_lies),   cmocka_unit_test(test_versions),
        cmocka_unit_test(test_split),  cmocka_unit_test(test_real_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
