/*
 * jinja_string.h - the bytes of strings: code points, comparisons.
 *
 * Thread: as jinja_value.h; a string's count of code points is written on first use.
 */
#ifndef SERVER_TEXT_JINJA_STRING_H
#define SERVER_TEXT_JINJA_STRING_H

#include "server/text/jinja_value.h"

/* Code points of the string, counted on first use. */
size_t jinja_string_chars(struct jinja_string *string);

/* Byte offset of code point `at`, which is at most the number of them. */
size_t jinja_string_offset(struct jinja_string *string, size_t at);

bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b);
bool jinja_string_is(const struct jinja_string *string, const char *text);

/* Decodes the code point at `at` and steps over it. `at` is before `end`; bad bytes count as one
 * code point each. */
int32_t jinja_decode(const char **at, const char *end);

/* Writes 1 to 4 bytes; returns how many. */
size_t jinja_encode(int32_t code, char out[4]);

/* Python's name of the type: "str", "dict", ... */
const char *jinja_type_name(struct jinja_value value);

#endif
