/*
 * tokenizer_regex_translate.h - an Oniguruma (Ruby syntax) pattern as a PCRE2 one.
 *
 * Thread: any; a pure function, used at load time.
 */
#ifndef SERVER_TEXT_TOKENIZER_REGEX_TRANSLATE_H
#define SERVER_TEXT_TOKENIZER_REGEX_TRANSLATE_H

#include <stddef.h>

#include "runtime/base/status.h"

struct buffer;

/* Appends the translation. A construct whose meaning would change is STATUS_UNSUPPORTED. */
enum status tokenizer_regex_translate(const char *pattern, size_t len, struct buffer *out,
                                      struct error *error);

#endif
