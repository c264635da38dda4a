/*
 * jinja_unicode.h - Python's str predicates and case mappings on code points.
 *
 * Thread: any; no state.
 */
#ifndef SERVER_TEXT_JINJA_UNICODE_H
#define SERVER_TEXT_JINJA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool jinja_is_space(int32_t code);
bool jinja_is_printable(int32_t code);
bool jinja_is_alpha(int32_t code);
bool jinja_is_decimal(int32_t code);
bool jinja_is_digit(int32_t code);
bool jinja_is_numeric(int32_t code);
bool jinja_is_upper(int32_t code);
bool jinja_is_lower(int32_t code);
bool jinja_is_title(int32_t code);
bool jinja_is_cased(int32_t code);
bool jinja_is_word(int32_t code);    /* \w */
int jinja_digit_value(int32_t code); /* of a decimal digit in any script; -1 */

enum jinja_case { JINJA_UPPER, JINJA_LOWER, JINJA_TITLE, JINJA_FOLD };

/* The full mapping (one code point may become three); returns how many were written. */
size_t jinja_map_case(int32_t code, enum jinja_case to, int32_t out[3]);

#endif
