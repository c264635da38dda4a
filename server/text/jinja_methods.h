/*
 * jinja_methods.h - predicates of str, shared by methods and tests.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_METHODS_H
#define SERVER_TEXT_JINJA_METHODS_H

#include "server/text/jinja_value.h"

struct jinja_context;

enum jinja_text_test {
    JINJA_IS_ALNUM,
    JINJA_IS_ALPHA,
    JINJA_IS_ASCII,
    JINJA_IS_DECIMAL,
    JINJA_IS_DIGIT,
    JINJA_IS_IDENTIFIER,
    JINJA_IS_LOWER,
    JINJA_IS_NUMERIC,
    JINJA_IS_PRINTABLE,
    JINJA_IS_SPACE,
    JINJA_IS_TITLE,
    JINJA_IS_UPPER,
};

bool jinja_text_is(struct jinja_context *jinja, struct jinja_value text, enum jinja_text_test test);

#endif
