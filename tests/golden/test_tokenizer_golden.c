/*
 * test_tokenizer_golden.c - small tokenizers of every kind, and the published ones where ../shared
 * is, against what their libraries say (tests/golden/tokenizer/make_goldens.py).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "server/text/tokenizer.h"
#include "server/text/tokenizer_unicode.h"

#define GOLDEN "tests/golden/tokenizer/"

static void open_tokenizer(const char *path, struct tokenizer **out)
{
    struct error error = {0};
    if (tokenizer_load(path, out, &error)) fail_msg("%s: %s", path, error.message);
}

static FILE *open_golden(const char *name, const char *suffix)
{
    char path[256];
    snprintf(path, sizeof(path), GOLDEN "expected/%s%s", name, suffix);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", path);
    return file;
}

/* Ids with spaces between; returns where they end. */
static char *parse_ids(char *at, struct token_list *ids)
{
    ids->count = 0;
    for (;;) {
        char *end;
        while (*at == ' ') at++;
        if (*at < '0' || *at > '9') return at;
        token_list_append(ids, (int32_t)strtol(at, &end, 10));
        at = end;
    }
}

static void assert_same_ids(const char *what, const struct token_list *got,
                            const struct token_list *expected)
{
    bool same =
        got->count == expected->count &&
        (!got->count || !memcmp(got->ids, expected->ids, (size_t)got->count * sizeof(*got->ids)));
    if (same) return;
    struct buffer message = {0};
    for (int i = 0; i < got->count; i++) buffer_printf(&message, " %d", got->ids[i]);
    buffer_append_string(&message, ", expected");
    for (int i = 0; i < expected->count; i++) buffer_printf(&message, " %d", expected->ids[i]);
    fail_msg("%s: got%s", what, message.data);
}

/* The stream's pieces are whole characters and their sum is the whole decode. */
static void check_stream(const struct tokenizer *tokenizer, const struct token_list *ids)
{
    struct buffer whole = {0}, sum = {0}, piece = {0};
    struct error error = {0};
    for (int skip = 0; skip < 2; skip++) {
        struct detokenizer *stream = detokenizer_create(tokenizer, skip);
        buffer_clear(&whole), buffer_clear(&sum);
        assert_int_equal(tokenizer_decode(tokenizer, ids->ids, ids->count, skip, &whole, &error),
                         0);
        for (int i = 0; i <= ids->count; i++) {
            buffer_clear(&piece);
            if (i < ids->count)
                detokenizer_push(stream, ids->ids[i], &piece);
            else
                detokenizer_finish(stream, &piece);
            assert_int_equal(utf8_valid_len(piece.data ? piece.data : "", piece.len), piece.len);
            buffer_append(&sum, piece.data, piece.len);
        }
        assert_int_equal(sum.len, whole.len);
        if (sum.len) assert_memory_equal(sum.data, whole.data, sum.len);
        detokenizer_destroy(stream);
    }
    buffer_free(&whole), buffer_free(&sum), buffer_free(&piece);
}

static void check_encode(const struct tokenizer *tokenizer, const char *name)
{
    FILE *texts = open_golden("strings", ".jsonl"), *file = open_golden(name, ".ids");
    struct token_list expected = {0}, got = {0};
    struct error error = {0};
    char *line = NULL, *text = NULL;
    size_t capacity = 0, text_capacity = 0;
    bool parse = tokenizer_parses_special(tokenizer);
    assert_true(getline(&line, &capacity, file) > 0);
    parse_ids(line, &expected);
    assert_int_equal(tokenizer_encode(tokenizer, "", 0, true, parse, &got, &error), STATUS_OK);
    assert_same_ids(name, &got, &expected);
    int count = 0;
    for (ssize_t len; (len = getline(&text, &text_capacity, texts)) > 0; count++) {
        yyjson_doc *doc = yyjson_read(text, (size_t)len, 0);
        yyjson_val *value = yyjson_doc_get_root(doc);
        assert_true(getline(&line, &capacity, file) > 0);
        parse_ids(line, &expected);
        got.count = 0;
        assert_int_equal(tokenizer_encode(tokenizer, yyjson_get_str(value), yyjson_get_len(value),
                                          false, parse, &got, &error),
                         STATUS_OK);
        assert_same_ids(text, &got, &expected);
        check_stream(tokenizer, &got);
        yyjson_doc_free(doc);
    }
    assert_true(count > 200);
    fclose(texts), fclose(file);
    free(line), free(text);
    token_list_free(&expected), token_list_free(&got);
}

static void check_decode(const struct tokenizer *tokenizer, const char *name)
{
    FILE *file = open_golden(name, ".decode");
    struct token_list ids = {0};
    struct buffer got = {0};
    struct error error = {0};
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        char *json = parse_ids(line, &ids);
        assert_int_equal(*json, '\t');
        yyjson_doc *doc = yyjson_read(json + 1, strlen(json + 1), 0);
        yyjson_val *value = yyjson_doc_get_root(doc);
        buffer_clear(&got);
        buffer_append(&got, "", 0);
        assert_int_equal(tokenizer_decode(tokenizer, ids.ids, ids.count, false, &got, &error), 0);
        if (got.len != yyjson_get_len(value) || memcmp(got.data, yyjson_get_str(value), got.len))
            fail_msg("%s: %s: got '%s'", name, line, got.data);
        check_stream(tokenizer, &ids);
        yyjson_doc_free(doc);
    }
    fclose(file);
    free(line);
    token_list_free(&ids);
    buffer_free(&got);
}

static void check_tokenizer(const char *path, const char *name)
{
    struct tokenizer *tokenizer = NULL;
    open_tokenizer(path, &tokenizer);
    check_encode(tokenizer, name);
    check_decode(tokenizer, name);
    tokenizer_destroy(tokenizer);
}

static void test_small_tokenizers(void **state)
{
    static const char *const names[] = {
        "affixes",     "byte_level", "llama_like",        "splits",       "spm_bpe", "spm_suffix",
        "spm_unigram", "unigram",    "spm_unigram_bytes", "unigram_bytes"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[256];
        snprintf(path, sizeof(path), GOLDEN "models/%s", names[i]);
        check_tokenizer(path, names[i]);
    }
}

static void test_published_tokenizers(void **state)
{
    static const char *const names[] = {
        "tokenizers/deepseek_v3", "tokenizers/gemma2",       "tokenizers/gpt2",
        "tokenizers/llama3_1",    "tokenizers/mistral_nemo", "tokenizers/qwen3",
        "tokenizers/smollm2",     "models/minimind2-small",  "models/stories15M"};
    if (access("../shared/tokenizers", R_OK)) {
        print_message("../shared is missing: the published tokenizers are not compared\n");
        skip();
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[256], golden[256];
        snprintf(path, sizeof(path), "../shared/%s", names[i]);
        snprintf(golden, sizeof(golden), "shared_%s", strchr(names[i], '/') + 1);
        check_tokenizer(path, golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tokenizers),
        cmocka_unit_test(test_published_tokenizers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
