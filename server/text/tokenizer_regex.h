/*
 * tokenizer_regex.h - the regular expressions of tokenizer files, which are written for Oniguruma,
 * matched with PCRE2.
 *
 * Thread: a compiled expression is read by any; the matcher belongs to one call at a time. Where
 * the two libraries differ (\s, \w, \h, scripts, ^ and $, {n,m}+, newer Unicode) the pattern or the
 * subject is translated; what cannot be is refused by name.
 */
#ifndef SERVER_TEXT_TOKENIZER_REGEX_H
#define SERVER_TEXT_TOKENIZER_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/status.h"

struct tokenizer_regex;
struct tokenizer_matcher; /* match data, JIT stack and limits */

enum status tokenizer_regex_compile(const char *pattern, size_t len, struct tokenizer_regex **out,
                                    struct error *error);
void tokenizer_regex_destroy(struct tokenizer_regex *regex);

struct tokenizer_matcher *tokenizer_matcher_create(void);
void tokenizer_matcher_destroy(struct tokenizer_matcher *matcher);

/* The first match in subject[0..len), well-formed UTF-8 of tokenizer_regex_subject's kind, at or
 * after `from`. Returns 1 with `*start` and `*end`, 0 if there is none, -1 if a limit was hit. */
int tokenizer_regex_match(const struct tokenizer_regex *regex, struct tokenizer_matcher *matcher,
                          const char *subject, size_t len, size_t from, size_t *start, size_t *end);

#endif
