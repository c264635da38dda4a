/*
 * jinja_number.h - int(), float() and round().
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_NUMBER_H
#define SERVER_TEXT_JINJA_NUMBER_H

#include "server/text/jinja_value.h"

struct jinja_context;

enum jinja_parsed { JINJA_NOT_PARSED, JINJA_PARSED, JINJA_PARSED_BIG };

/* int(text, base). */
enum jinja_parsed jinja_parse_int(const struct jinja_string *text, int64_t base, int64_t *out);

/* float(value), of numbers and strings. */
bool jinja_to_float(struct jinja_value value, double *out);

/* round(number, digits): of an integer an integer, half to even. */
struct jinja_value jinja_round(struct jinja_context *jinja, struct jinja_value number,
                               int64_t digits);

#endif
