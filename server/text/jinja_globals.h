/*
 * jinja_globals.h - the objects that global functions make.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_GLOBALS_H
#define SERVER_TEXT_JINJA_GLOBALS_H

#include "server/text/jinja_value.h"

struct jinja_context;

struct jinja_cycler {
    struct jinja_value items; /* a tuple, not empty */
    size_t at;
};

struct jinja_joiner {
    struct jinja_value separator;
    bool used;
};

struct jinja_value jinja_cycler_attribute(struct jinja_context *jinja, struct jinja_value value,
                                          const struct jinja_string *name);

#endif
