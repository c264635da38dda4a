/* tokenizer_regex.c - see tokenizer_regex.h. The translation of patterns is in
 * tokenizer_regex_translate.c. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "server/text/tokenizer_regex.h"

#include <pcre2.h>
#include <stdlib.h>

#include "runtime/base/buffer.h"
#include "runtime/base/check.h"
#include "server/text/tokenizer_regex_translate.h"

enum {
    JIT_STACK_START = 32 << 10,
    JIT_STACK_MAX = 8 << 20,
    MATCH_LIMIT = 50 * 1000 * 1000, /* steps of one match, so that hostile text ends in an error */
    HEAP_LIMIT_KIB = 64 << 10,
};

struct tokenizer_regex {
    pcre2_code *code;
    bool jit;
};

struct tokenizer_matcher {
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_jit_stack *stack;
};

enum status tokenizer_regex_compile(const char *pattern, size_t len, struct tokenizer_regex **out,
                                    struct error *error)
{
    struct buffer translated = {0};
    enum status status = tokenizer_regex_translate(pattern, len, &translated, error);
    if (status) {
        buffer_free(&translated);
        return status;
    }
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    CHECK(context);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_code *compiled =
        pcre2_compile((PCRE2_SPTR)translated.data, translated.len,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, context);
    pcre2_compile_context_free(context);
    buffer_free(&translated);
    if (!compiled) {
        char reason[160] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
        return error_set(error, STATUS_UNSUPPORTED, "Regex",
                         "the regular expression '%.*s' is not supported: %s",
                         (int)(len < 200 ? len : 200), pattern, reason);
    }
    struct tokenizer_regex *regex = calloc(1, sizeof(*regex));
    CHECK(regex);
    regex->code = compiled;
    regex->jit = pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE) == 0;
    *out = regex;
    return STATUS_OK;
}

void tokenizer_regex_destroy(struct tokenizer_regex *regex)
{
    if (!regex) return;
    pcre2_code_free(regex->code);
    free(regex);
}

struct tokenizer_matcher *tokenizer_matcher_create(void)
{
    struct tokenizer_matcher *matcher = calloc(1, sizeof(*matcher));
    CHECK(matcher);
    matcher->context = pcre2_match_context_create(NULL);
    matcher->data = pcre2_match_data_create(1, NULL);
    CHECK(matcher->context && matcher->data);
    pcre2_set_match_limit(matcher->context, MATCH_LIMIT);
    pcre2_set_heap_limit(matcher->context, HEAP_LIMIT_KIB);
    matcher->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
    if (matcher->stack) pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
    return matcher;
}

void tokenizer_matcher_destroy(struct tokenizer_matcher *matcher)
{
    if (!matcher) return;
    pcre2_jit_stack_free(matcher->stack);
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    free(matcher);
}

int tokenizer_regex_match(const struct tokenizer_regex *regex, struct tokenizer_matcher *matcher,
                          const char *subject, size_t len, size_t from, size_t *start, size_t *end)
{
    int found = regex->jit ? pcre2_jit_match(regex->code, (PCRE2_SPTR)subject, len, from, 0,
                                             matcher->data, matcher->context)
                           : pcre2_match(regex->code, (PCRE2_SPTR)subject, len, from,
                                         PCRE2_NO_UTF_CHECK, matcher->data, matcher->context);
    if (found == PCRE2_ERROR_NOMATCH) return 0;
    if (found < 0) return -1;
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(matcher->data);
    *start = span[0], *end = span[1];
    return 1;
}
