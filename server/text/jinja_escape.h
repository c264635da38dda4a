/*
 * jinja_escape.h - HTML escapes, for |escape and what |safe marks.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_ESCAPE_H
#define SERVER_TEXT_JINJA_ESCAPE_H

#include "server/text/jinja_value.h"

struct buffer;
struct jinja_context;

/* Appends str(value), escaped when `escape` and the value is no markup itself. */
void jinja_append_escaped(struct jinja_context *jinja, struct buffer *out, struct jinja_value value,
                          bool escape);

/* The value as markup. */
struct jinja_value jinja_escape(struct jinja_context *jinja, struct jinja_value value);

#endif
