/*
 * jinja_ops.h - Python's operators on values, with Jinja2's rules for undefined ones.
 *
 * Thread: the context's. What cannot be done fails the context (jinja_context.h).
 */
#ifndef SERVER_TEXT_JINJA_OPS_H
#define SERVER_TEXT_JINJA_OPS_H

#include "runtime/base/buffer.h"
#include "server/text/jinja_value.h"

struct jinja_context;

enum jinja_operator {
    JINJA_ADD,
    JINJA_SUB,
    JINJA_MUL,
    JINJA_DIV,
    JINJA_FLOORDIV,
    JINJA_MOD,
    JINJA_POW,
    JINJA_EQ,
    JINJA_NE,
    JINJA_LT,
    JINJA_LE,
    JINJA_GT,
    JINJA_GE,
    JINJA_IN,
    JINJA_NOT_IN,
};

/* bool(value), str(value), repr(value), len(value). */
bool jinja_truth(struct jinja_context *jinja, struct jinja_value value);
struct jinja_value jinja_str(struct jinja_context *jinja, struct jinja_value value);
void jinja_write_str(struct jinja_context *jinja, struct buffer *out, struct jinja_value value);
void jinja_write_repr(struct jinja_context *jinja, struct buffer *out, struct jinja_value value);
bool jinja_has_length(struct jinja_value value);
size_t jinja_length(struct jinja_context *jinja, struct jinja_value value);

/* repr(float) into `out`, at least 32 bytes. */
void jinja_format_float(double real, char *out);

/* The number a bool, int or float is. False for anything else. */
bool jinja_as_int(struct jinja_value value, int64_t *out); /* bool and int */
bool jinja_as_real(struct jinja_value value, double *out); /* bool, int and float */

bool jinja_equal(struct jinja_context *jinja, struct jinja_value a, struct jinja_value b);
bool jinja_same_key(struct jinja_value a, struct jinja_value b); /* equality of hashable values */

/* -1, 0, 1; 2 where a float is not a number. Fails for what Python does not order. */
int jinja_compare(struct jinja_context *jinja, struct jinja_value a, struct jinja_value b);
bool jinja_contains(struct jinja_context *jinja, struct jinja_value item, struct jinja_value in);

/* The comparisons give bools. */
struct jinja_value jinja_operate(struct jinja_context *jinja, enum jinja_operator operator,
                                 struct jinja_value a, struct jinja_value b);
struct jinja_value jinja_negate(struct jinja_context *jinja, struct jinja_value value, bool minus);

/* a.name, a[key], a[start:stop:step] (missing or none: not given). */
struct jinja_value jinja_attribute(struct jinja_context *jinja, struct jinja_value value,
                                   struct jinja_string *name);
struct jinja_value jinja_item(struct jinja_context *jinja, struct jinja_value value,
                              struct jinja_value key);
struct jinja_value jinja_slice(struct jinja_context *jinja, struct jinja_value value,
                               struct jinja_value start, struct jinja_value stop,
                               struct jinja_value step);

/* Calls a function, method, macro, loop or joiner. */
struct jinja_call;
struct jinja_value jinja_invoke(struct jinja_context *jinja, struct jinja_value callee,
                                struct jinja_call *call);

#endif
