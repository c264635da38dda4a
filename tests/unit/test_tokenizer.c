/*
 * test_tokenizer.c - the parts of the tokenizers: UTF-8, translated expressions, hostile texts and
 * files, GGUF, streams, threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/buffer.h"
#include "server/text/base64.h"
#include "server/text/tokenizer.h"
#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_regex.h"
#include "server/text/tokenizer_regex_translate.h"
#include "server/text/tokenizer_trie.h"
#include "server/text/tokenizer_unicode.h"
#include "tests/support/gguf_writer.h"

#define MODELS "tests/golden/tokenizer/models/"

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct tokenizer *load(const char *path)
{
    struct tokenizer *tokenizer = NULL;
    struct error error = {0};
    if (tokenizer_load(path, &tokenizer, &error)) fail_msg("%s", error.message);
    return tokenizer;
}

static void assert_lossy(const char *text, size_t len, const char *expected)
{
    struct buffer out = {0};
    utf8_append_lossy(&out, text, len);
    assert_string_equal(out.data, expected);
    buffer_free(&out);
}

static void test_utf8(void **state)
{
    bool ok, cut;
    assert_int_equal(utf8_check_char("\xE4\xBD\xA0", 3, &ok, &cut), 3);
    assert_true(ok);
    assert_int_equal(utf8_check_char("\xF0\x9F\x98", 3, &ok, &cut), 3);
    assert_true(!ok && cut);
    assert_int_equal(utf8_check_char("\xED\xA0\x80", 3, &ok, &cut), 1); /* a surrogate */
    assert_true(!ok && !cut);
    assert_int_equal(utf8_valid_len("abc\xC3\xA9\xFFz", 7), 5);
    /* as Rust's from_utf8_lossy: one U+FFFD for a maximal subpart */
    assert_lossy("a\xF0\x9F\x98z", 5, "a\xEF\xBF\xBDz");
    assert_lossy("\xC0\xAF", 2, "\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_lossy("\xE4\xBD", 2, "\xEF\xBF\xBD");
    for (int b = 0; b < 256; b++)
        assert_int_equal(bytelevel_byte(bytelevel_char((unsigned char)b)), b);
    assert_int_equal(bytelevel_byte(' '), -1);
    assert_int_equal(unicode_class_twin(0x31350), 0x2F800); /* Unicode 15's Han */
    assert_int_equal(unicode_class_twin('a'), 'a');
}

static void test_trie_finds_leftmost_longest(void **state)
{
    struct trie trie = {0};
    int32_t value = -1;
    size_t len;
    assert_true(trie_insert(&trie, "ab", 2, 1));
    assert_true(trie_insert(&trie, "abcd", 4, 2));
    assert_true(trie_insert(&trie, "cx", 2, 3));
    assert_int_equal(trie_search(&trie, "zabcx", 5, 0, &len, &value), 1);
    assert_int_equal(len, 2);
    assert_int_equal(value, 1);
    assert_int_equal(trie_search(&trie, "zabcd", 5, 0, &len, &value), 1);
    assert_int_equal(value, 2);
    assert_int_equal(trie_search(&trie, "zzz", 3, 0, &len, &value), 3);
    assert_int_equal(len, 0);
    trie_free(&trie);
}

static void assert_translated(const char *pattern, const char *expected)
{
    struct buffer out = {0};
    struct error error = {0};
    if (tokenizer_regex_translate(pattern, strlen(pattern), &out, &error))
        fail_msg("%s: %s", pattern, error.message);
    assert_string_equal(out.data, expected);
    buffer_free(&out);
}

static void assert_refused(const char *pattern)
{
    struct tokenizer_regex *regex = NULL;
    struct error error = {0};
    assert_int_equal(tokenizer_regex_compile(pattern, strlen(pattern), &regex, &error),
                     STATUS_UNSUPPORTED);
    assert_non_null(strstr(error.message, "not supported"));
}

static void test_regex_translation(void **state)
{
    assert_translated("a\\d+|^b$", "a\\p{Nd}+|(?m:^)b(?m:$)");
    assert_translated("\\p{Han}\\p{^Lu}\\p{Lu}", "\\p{sc:Han}\\P{Lu}\\p{Lu}");
    assert_translated("x\\p{N}{1,3}+", "x(?:\\p{N}{1,3})+");
    assert_translated("(a|b){,2}+", "(?:(a|b){0,2})+");
    assert_translated("[a&&[^b]]", "(?:(?![b])[a])");
    assert_translated("{a", "\\{a");
    static const char *const refused[] = {"\\k<a>",   "(?<a>b)",      "[a[b]]", "[a&&b]",
                                          "\\W[\\W]", "(a",           "a)",     "[a",
                                          "\\",       "\\p{No such}", "\\p",    "(?=a)*+(?<=a*)"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) assert_refused(refused[i]);
}

static void test_regex_limits(void **state)
{
    /* catastrophic on purpose: it must end in an error, soon */
    struct tokenizer_regex *regex = NULL;
    struct tokenizer_matcher *matcher = tokenizer_matcher_create();
    struct error error;
    char text[64];
    size_t start, end;
    memset(text, 'a', sizeof(text));
    assert_int_equal(tokenizer_regex_compile("(?:a+)+(?:a+)+b", 15, &regex, &error), STATUS_OK);
    int found = tokenizer_regex_match(regex, matcher, text, sizeof(text), 0, &start, &end);
    assert_true(found <= 0);
    tokenizer_regex_destroy(regex);
    tokenizer_matcher_destroy(matcher);
}

static void test_base64(void **state)
{
    struct buffer out = {0};
    assert_true(base64_append_decoded(&out, "aGVsbG8=", 8));
    assert_string_equal(out.data, "hello");
    assert_false(base64_append_decoded(&out, "a*", 2));
    buffer_free(&out);
}

/* Texts that are slow with a careless algorithm: what is quadratic takes minutes at this length. */
static void encode_hostile(const struct tokenizer *tokenizer, const char *unit, size_t bytes)
{
    struct buffer text = {0};
    struct token_list ids = {0};
    struct error error = {0};
    while (text.len < bytes) buffer_append_string(&text, unit);
    double start = cpu_seconds();
    enum status status =
        tokenizer_encode(tokenizer, text.data, text.len, false, true, &ids, &error);
    double seconds = cpu_seconds() - start;
    assert_true(status == STATUS_OK || status == STATUS_TOO_LARGE);
    if (seconds > 10) fail_msg("%zu bytes of '%s' took %.1f s", bytes, unit, seconds);
    token_list_free(&ids);
    buffer_free(&text);
}

static void test_hostile_texts(void **state)
{
    static const char *const paths[] = {
        MODELS "byte_level",          MODELS "llama_like",    MODELS "spm_bpe",
        MODELS "spm_unigram",         MODELS "unigram_bytes", "../shared/tokenizers/qwen3",
        "../shared/tokenizers/gemma2"};
    static const char *const units[] = {"a", " ",        "\n",          "ab",  "\xE4\xBD\xA0",
                                        "'", "<",        "1",           " \n", "\xF0\x9F\x98\x80",
                                        "A", "\xCC\x81", "\xE2\x96\x81"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        if (access(paths[i], R_OK)) continue;
        struct tokenizer *tokenizer = load(paths[i]);
        for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++)
            encode_hostile(tokenizer, units[u], u || i ? 100000 : 1000000);
        tokenizer_destroy(tokenizer);
    }
}

/* Writes a tokenizer.json and expects it to be refused with `word` in the message. */
static void assert_json_refused(const char *json, const char *word)
{
    char path[] = "/tmp/penstock-test-XXXXXX";
    int fd = mkstemp(path);
    struct tokenizer *tokenizer = NULL;
    struct error error = {0};
    assert_true(fd >= 0);
    assert_true(write(fd, json, strlen(json)) == (ssize_t)strlen(json));
    close(fd);
    enum status status = tokenizer_load(path, &tokenizer, &error);
    unlink(path);
    if (!status) fail_msg("not refused: %s", json);
    if (!strstr(error.message, word)) fail_msg("'%s' is not in: %s", word, error.message);
}

static void test_files_are_refused_by_key(void **state)
{
#define WITH_MODEL(more) "{" more "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}"
    static const struct {
        const char *json, *word;
    } cases[] = {
        {"{\"model\":", "JSON"},
        {"{}", "model"},
        {"{\"model\":{\"type\":\"WordPiece\"}}", "WordPiece"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", "model.merges"},
        {"{\"model\":{\"type\":\"BPE\",\"merges\":[]}}", "model.vocab"},
        {"{\"model\":{\"vocab\":{\"a\":-1},\"merges\":[]}}", "model.vocab"},
        {"{\"model\":{\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", "twice"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", "model.merges[0]"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}}", "model.merges"},
        {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}", "model.dropout"},
        {"{\"model\":{\"vocab\":{\"a\":99999999999},\"merges\":[]}}", "model.vocab"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", "model.vocab"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":7}}", "unk_id"},
        {WITH_MODEL("\"normalizer\":{\"type\":\"BertNormalizer\"},"), "BertNormalizer"},
        {WITH_MODEL("\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"////\"},"),
         "precompiled_charsmap"},
        {WITH_MODEL("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"[a\"},"
                    "\"behavior\":\"Isolated\"},"),
         "pre_tokenizer.pattern"},
        {WITH_MODEL("\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},"
                    "\"behavior\":\"Odd\"},"),
         "behavior"},
        {WITH_MODEL("\"decoder\":{\"type\":\"CTC\"},"), "CTC"},
        {WITH_MODEL("\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
                    "{\"SpecialToken\":{\"id\":\"x\"}}],\"special_tokens\":{}},"),
         "post_processor.single"},
        {WITH_MODEL("\"added_tokens\":[{\"id\":5}],"), "added_tokens.content"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_json_refused(cases[i].json, cases[i].word);
    struct tokenizer *tokenizer = NULL;
    struct error error = {0};
    assert_int_equal(tokenizer_load("/nonexistent", &tokenizer, &error), STATUS_NOT_FOUND);
    assert_int_equal(tokenizer_load("tests", &tokenizer, &error), STATUS_NOT_FOUND);
}

static void test_gguf_byte_level(void **state)
{
    static const char *const tokens[] = {"a", "b", "\xC4\xA0", "\304\240a", "<|end|>", "<tool>"};
    static const int32_t types[] = {1, 1, 1, 1, 3, 4};
    static const char *const merges[] = {"\xC4\xA0 a"};
    struct gguf_writer writer = {0};
    struct tokenizer *tokenizer = NULL;
    struct gguf *gguf = NULL;
    struct error error = {0};
    struct token_list ids = {0};
    size_t len;
    struct {
        uint32_t type;
        uint64_t count;
        int32_t values[6];
    } __attribute__((packed)) array = {GGUF_I32, 6, {0}};
    memcpy(array.values, types, sizeof(types));
    gguf_writer_string(&writer, "tokenizer.ggml.model", "gpt2");
    gguf_writer_string(&writer, "tokenizer.ggml.pre", "qwen2");
    gguf_writer_strings(&writer, "tokenizer.ggml.tokens", tokens, 6);
    gguf_writer_strings(&writer, "tokenizer.ggml.merges", merges, 1);
    gguf_writer_raw(&writer, "tokenizer.ggml.token_type", GGUF_ARRAY, &array, sizeof(array));
    gguf_writer_u32(&writer, "tokenizer.ggml.eos_token_id", 4);
    gguf_writer_bool(&writer, "tokenizer.ggml.add_eos_token", 1);
    gguf_writer_string(&writer, "tokenizer.chat_template", "{{ messages }}");
    struct buffer file = gguf_writer_finish(&writer);
    assert_int_equal(gguf_open_memory(file.data, file.len, &gguf, &error), STATUS_OK);
    if (tokenizer_load_gguf(gguf, &tokenizer, &error)) fail_msg("%s", error.message);
    gguf_close(gguf);
    buffer_free(&file);
    static const int32_t expected[] = {1, 3, 5, 4, 0, 4};
    assert_int_equal(tokenizer_encode(tokenizer, "b a<tool><|end|>a", 17, true, true, &ids, &error),
                     STATUS_OK);
    assert_int_equal(ids.count, 6);
    assert_memory_equal(ids.ids, expected, sizeof(expected));
    assert_string_equal(tokenizer_chat_template(tokenizer, NULL), "{{ messages }}");
    assert_int_equal(tokenizer_eos(tokenizer), 4);
    assert_int_equal(tokenizer_bos(tokenizer), -1);
    assert_string_equal(tokenizer_eos_text(tokenizer), "<|end|>");
    assert_int_equal(tokenizer_vocab_size(tokenizer), 6);
    assert_int_equal(tokenizer_find(tokenizer, "<tool>"), 5);
    assert_true(tokenizer_is_special(tokenizer, 4) && !tokenizer_is_special(tokenizer, 5));
    assert_memory_equal(tokenizer_token_bytes(tokenizer, 3, &len), " a", 2);
    assert_int_equal(len, 2);
    assert_null(tokenizer_token_bytes(tokenizer, 6, &len));
    token_list_free(&ids);
    tokenizer_destroy(tokenizer);
}

static void test_gguf_of_shared(void **state)
{
    static const int32_t expected[] = {403, 407, 261, 378};
    struct tokenizer *tokenizer = NULL;
    struct gguf *gguf = NULL;
    struct error error = {0};
    struct token_list ids = {0};
    if (access("../shared/models/stories260K.gguf", R_OK)) skip();
    assert_int_equal(gguf_open("../shared/models/stories260K.gguf", &gguf, &error), STATUS_OK);
    if (tokenizer_load_gguf(gguf, &tokenizer, &error)) fail_msg("%s", error.message);
    gguf_close(gguf);
    assert_int_equal(
        tokenizer_encode(tokenizer, "Once upon a time", 16, false, false, &ids, &error), STATUS_OK);
    assert_int_equal(ids.count, 4);
    assert_memory_equal(ids.ids, expected, sizeof(expected));
    token_list_free(&ids);
    tokenizer_destroy(tokenizer);
}

static void test_decode_refuses_unknown_ids(void **state)
{
    struct tokenizer *tokenizer = load(MODELS "byte_level");
    struct buffer out = {0};
    struct error error = {0};
    int32_t ids[] = {5, tokenizer_vocab_size(tokenizer)}, negative = -1;
    assert_int_equal(tokenizer_decode(tokenizer, ids, 2, false, &out, &error), STATUS_INVALID);
    assert_int_equal(tokenizer_decode(tokenizer, &negative, 1, false, &out, &error),
                     STATUS_INVALID);
    buffer_free(&out);
    tokenizer_destroy(tokenizer);
}

static void *encode_again_and_again(void *argument)
{
    const struct tokenizer *tokenizer = argument;
    struct token_list first = {0}, ids = {0};
    const char *text = "the quick brown fox, 12 times; na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC";
    tokenizer_encode(tokenizer, text, strlen(text), true, true, &first, NULL);
    for (int i = 0; i < 200; i++) {
        ids.count = 0;
        tokenizer_encode(tokenizer, text, strlen(text), true, true, &ids, NULL);
        if (ids.count != first.count || memcmp(ids.ids, first.ids, (size_t)ids.count * 4) != 0)
            return argument;
    }
    token_list_free(&first);
    token_list_free(&ids);
    return NULL;
}

static void test_threads_share_a_tokenizer(void **state)
{
    struct tokenizer *tokenizer = load(MODELS "byte_level");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, encode_again_and_again, tokenizer), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    tokenizer_destroy(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_trie_finds_leftmost_longest),
        cmocka_unit_test(test_regex_translation),
        cmocka_unit_test(test_regex_limits),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_hostile_texts),
        cmocka_unit_test(test_files_are_refused_by_key),
        cmocka_unit_test(test_gguf_byte_level),
        cmocka_unit_test(test_gguf_of_shared),
        cmocka_unit_test(test_decode_refuses_unknown_ids),
        cmocka_unit_test(test_threads_share_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
