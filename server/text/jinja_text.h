/*
 * jinja_text.h - str methods that filters use as well.
 *
 * Thread: the context's. Strings only; a result keeps the markup of its input.
 */
#ifndef SERVER_TEXT_JINJA_TEXT_H
#define SERVER_TEXT_JINJA_TEXT_H

#include "server/text/jinja_unicode.h"
#include "server/text/jinja_value.h"

struct jinja_context;

enum jinja_side { JINJA_BOTH, JINJA_LEFT, JINJA_RIGHT };

/* `chars` missing or none: whitespace. */
struct jinja_value jinja_strip(struct jinja_context *jinja, struct jinja_value text,
                               struct jinja_value chars, enum jinja_side side);
struct jinja_value jinja_change_case(struct jinja_context *jinja, struct jinja_value text,
                                     enum jinja_case to);
struct jinja_value jinja_capitalize(struct jinja_context *jinja, struct jinja_value text);
/* At most `times` of them; -1: all. */
struct jinja_value jinja_replace(struct jinja_context *jinja, struct jinja_value text,
                                 struct jinja_value from, struct jinja_value to, int64_t times);
/* A list of lines, without their ends unless `keep`. */
struct jinja_value jinja_split_lines(struct jinja_context *jinja, struct jinja_value text,
                                     bool keep);
/* `fill` is one code point. side LEFT: the text is on the left. */
struct jinja_value jinja_justify(struct jinja_context *jinja, struct jinja_value text,
                                 int64_t width, struct jinja_value fill, enum jinja_side side);
/* Joins str() of the items; strings only, as str.join, when `strict`. */
struct jinja_value jinja_join(struct jinja_context *jinja, struct jinja_value separator,
                              struct jinja_value items, bool strict);
/* The part from byte `from` to byte `to`, viewed. */
struct jinja_value jinja_part(struct jinja_context *jinja, struct jinja_value text, size_t from,
                              size_t to);

#endif
