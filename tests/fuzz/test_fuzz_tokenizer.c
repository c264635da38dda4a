/*
 * test_fuzz_tokenizer.c - mutated tokenizer files and random texts: nothing may crash, streams must
 * equal whole decodes. Usage: test_fuzz_tokenizer [SECONDS [SEED]]; 5 seconds in the suite.
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

#include "runtime/base/buffer.h"
#include "runtime/base/clock.h"
#include "runtime/gguf.h"
#include "server/text/tokenizer.h"
#include "server/text/tokenizer_files.h"
#include "server/text/tokenizer_unicode.h"

#define MODELS "tests/golden/tokenizer/models/"

static int seconds = 5;
static uint64_t seed = 1;

static uint32_t random_below(uint32_t bound)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 20) % bound;
}

static void append_random_text(struct buffer *text)
{
    static const char *const parts[] = {"the ", "<s>",  "\xE6\x97\xA5", "\xF0\x9F\x98\x80", "\n",
                                        "[L] ", "\xCC", "e\xCC\x81",    "\xE2\x96\x81",     "12",
                                        "'s",   "\0x",  "foo bar",      "\xEF\xBF\xBD",     "  "};
    for (uint32_t n = random_below(30); n; n--) {
        if (random_below(4))
            buffer_append_string(text, parts[random_below(sizeof(parts) / sizeof(*parts))]);
        else
            buffer_append_char(text, (char)random_below(256));
    }
}

static void try_texts(const struct tokenizer *tokenizer)
{
    struct buffer text = {0}, whole = {0}, sum = {0};
    struct token_list ids = {0};
    struct error error;
    buffer_append(&text, "", 0);
    append_random_text(&text);
    if (tokenizer_encode(tokenizer, text.data, text.len, random_below(2), random_below(2), &ids,
                         &error))
        ids.count = 0;
    for (int i = 0; i < 5; i++) {
        int32_t id = (int32_t)random_below((uint32_t)tokenizer_vocab_size(tokenizer) + 1);
        size_t len;
        if (tokenizer_token_bytes(tokenizer, id, &len)) token_list_append(&ids, id);
    }
    struct detokenizer *stream = detokenizer_create(tokenizer, false);
    for (int i = 0; i < ids.count; i++) {
        size_t before = sum.len;
        detokenizer_push(stream, ids.ids[i], &sum);
        if (sum.len > before)
            assert_int_equal(utf8_valid_len(sum.data + before, sum.len - before), sum.len - before);
    }
    detokenizer_finish(stream, &sum);
    detokenizer_destroy(stream);
    if (tokenizer_decode(tokenizer, ids.ids, ids.count, false, &whole, &error))
        fail_msg("%s", error.message);
    assert_int_equal(sum.len, whole.len);
    if (sum.len) assert_memory_equal(sum.data, whole.data, sum.len);
    buffer_free(&text), buffer_free(&whole), buffer_free(&sum);
    token_list_free(&ids);
}

/* Changes, cuts, repeats or removes a few stretches; half of them near the start, where the file's
 * structure is. */
static void mutate(struct buffer *file)
{
    for (uint32_t n = 1 + random_below(4); n && file->len > 16; n--) {
        size_t range = random_below(2) && file->len > 2000 ? 2000 : file->len - 8;
        size_t at = random_below((uint32_t)range);
        size_t len = 1 + random_below(random_below(8) ? 8 : 200);
        if (at + len > file->len) len = file->len - at;
        switch (random_below(6)) {
        case 0: file->data[at] = (char)random_below(256); break;
        case 1: file->data[at] ^= (char)(1 << random_below(8)); break;
        case 2: file->data[at] = "\"{}[],:0-9a"[random_below(11)]; break;
        case 3: /* remove */
            memmove(file->data + at, file->data + at + len, file->len - at - len);
            file->len -= len;
            break;
        case 4: /* copy over */
            memmove(file->data + random_below((uint32_t)(file->len - len + 1)), file->data + at,
                    len);
            break;
        default:
            if (!random_below(10)) file->len = at;
        }
    }
}

static void try_file(const char *path, const struct buffer *original)
{
    struct buffer file = {0};
    struct tokenizer *tokenizer = NULL;
    struct error error = {0};
    buffer_append(&file, original->data, original->len);
    mutate(&file);
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, file.len, out), file.len);
    fclose(out);
    if (!tokenizer_load(path, &tokenizer, &error)) {
        for (int i = 0; i < 3; i++) try_texts(tokenizer);
        tokenizer_destroy(tokenizer);
    } else {
        assert_true(error.message[0]);
    }
    buffer_free(&file);
}

static void test_mutated_files(void **state)
{
    static const char *const names[] = {
        "byte_level/tokenizer.json", "splits/tokenizer.json",
        "llama_like/tokenizer.json", "affixes/tokenizer.json",
        "unigram/tokenizer.json",    "unigram_bytes/tokenizer.json",
        "spm_bpe/tokenizer.model",   "spm_unigram_bytes/tokenizer.model",
        "spm_suffix/tokenizer.model"};
    enum { COUNT = sizeof(names) / sizeof(*names) };
    struct buffer files[COUNT] = {{0}};
    struct error error = {0};
    char folder[] = "/tmp/penstock-fuzz-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/file", folder);
    for (int i = 0; i < COUNT; i++) {
        char source[128], *data = NULL;
        size_t len = 0;
        snprintf(source, sizeof(source), MODELS "%s", names[i]);
        if (tokenizer_file_read(source, 1 << 24, &data, &len, &error))
            fail_msg("%s", error.message);
        buffer_append(&files[i], data, len);
        free(data);
    }
    int64_t end = clock_ns() + (int64_t)seconds * 600000000;
    int tries = 0;
    for (; clock_ns() < end; tries++) try_file(path, &files[tries % COUNT]);
    print_message("%d mutated files\n", tries);
    for (int i = 0; i < COUNT; i++) buffer_free(&files[i]);
    unlink(path);
    rmdir(folder);
}

/* The keys of a GGUF file; its tensors are cut off. */
static void test_mutated_gguf(void **state)
{
    enum { KEY_BYTES = 16 << 10 };
    struct error error = {0};
    struct buffer file = {0};
    char *data = NULL;
    size_t len = 0;
    int tries = 0, loaded = 0;
    if (tokenizer_file_read("../shared/models/stories260K.gguf", 1 << 24, &data, &len, &error)) {
        print_message("../shared is missing: no GGUF file to mutate\n");
        skip();
    }
    for (int64_t end = clock_ns() + (int64_t)seconds * 100000000; clock_ns() < end; tries++) {
        struct tokenizer *tokenizer = NULL;
        struct gguf *gguf = NULL;
        buffer_clear(&file);
        buffer_append(&file, data, len);
        for (uint32_t n = 1 + random_below(4); n; n--)
            file.data[random_below(KEY_BYTES)] = (char)random_below(random_below(2) ? 256 : 8);
        if (gguf_open_memory(file.data, file.len, &gguf, &error)) continue;
        if (!tokenizer_load_gguf(gguf, &tokenizer, &error)) {
            loaded++;
            try_texts(tokenizer);
            tokenizer_destroy(tokenizer);
        }
        gguf_close(gguf);
    }
    print_message("%d mutated GGUF files, %d of them loaded\n", tries, loaded);
    buffer_free(&file);
    free(data);
}

static void test_random_texts(void **state)
{
    static const char *const names[] = {"byte_level", "splits",      "llama_like", "affixes",
                                        "unigram",    "spm_unigram", "spm_bpe",    "unigram_bytes"};
    enum { COUNT = sizeof(names) / sizeof(*names) };
    int64_t start = clock_ns();
    int tries = 0;
    for (int i = 0; i < COUNT; i++) {
        struct tokenizer *tokenizer = NULL;
        struct error error = {0};
        char path[128];
        snprintf(path, sizeof(path), MODELS "%s", names[i]);
        if (tokenizer_load(path, &tokenizer, &error)) fail_msg("%s", error.message);
        int64_t end = start + (int64_t)seconds * 300000000 / COUNT * (i + 1);
        for (; clock_ns() < end; tries++) try_texts(tokenizer);
        tokenizer_destroy(tokenizer);
    }
    print_message("%d random texts\n", tries);
}

int main(int argc, char **argv)
{
    if (argc > 1) seconds = atoi(argv[1]);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10) * 2 + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutated_files),
        cmocka_unit_test(test_mutated_gguf),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
