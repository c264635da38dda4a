/*
 * jinja_value.h - what a template computes with: Python's values, as far as a chat template sees
 * them.
 *
 * Thread: values made while rendering belong to that render and die with its arena; constants of a
 * parsed template are shared and never written. Lists, tuples and dicts are not changed after the
 * expression that makes them (the sandbox refuses list.append and the like).
 */
#ifndef SERVER_TEXT_JINJA_VALUE_H
#define SERVER_TEXT_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct jinja_builtin;
struct jinja_cycler;
struct jinja_iterator;
struct jinja_joiner;
struct jinja_loop;
struct jinja_macro;

enum jinja_kind {
    JINJA_MISSING,   /* an argument or a variable that was not given; no template ever sees one */
    JINJA_UNDEFINED, /* `as.string` is what was asked for, `detail` says of whom */
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_BIG, /* an integer of the input over 64 bits: `as.string` are its digits; only prints */
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_DICT,
    JINJA_VIEW, /* dict.keys(), .values(), .items() */
    JINJA_RANGE,
    JINJA_ITERATOR, /* a generator: can be read once */
    JINJA_NAMESPACE,
    JINJA_MACRO,
    JINJA_FUNCTION,
    JINJA_METHOD,
    JINJA_LOOP,
    JINJA_CYCLER,
    JINJA_JOINER,
};

/* `detail` of JINJA_UNDEFINED: a variable, an attribute an object lacks (1 + enum jinja_kind), or
 * one of these. */
enum { JINJA_OF_VARIABLE = 0, JINJA_OF_HINT = 254, JINJA_OF_SANDBOX = 255 };

/* `detail` of a JINJA_TUPLE that |groupby made: it has attributes grouper and list. */
enum { JINJA_GROUP = 1 };

struct jinja_string { /* UTF-8 */
    const char *data;
    size_t len;   /* bytes */
    size_t chars; /* code points; SIZE_MAX: not counted yet */
    bool markup;  /* the result of |safe or |escape: + escapes what it is added to */
};

struct jinja_value {
    uint8_t kind, detail;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct jinja_string *string;
        struct jinja_list *list; /* and tuple */
        struct jinja_dict *dict; /* and namespace */
        struct jinja_view *view;
        struct jinja_range *range;
        struct jinja_iterator *iterator;
        struct jinja_macro *macro;
        const struct jinja_builtin *function;
        struct jinja_method *method;
        struct jinja_loop *loop;
        struct jinja_cycler *cycler;
        struct jinja_joiner *joiner;
    } as;
};

struct jinja_list {
    struct jinja_value *items;
    size_t count, capacity;
};

struct jinja_pair {
    struct jinja_value key, value;
};

struct jinja_dict { /* keeps insertion order */
    struct jinja_pair *pairs;
    size_t count, capacity;
    uint32_t *index; /* open addressing, 1 + position; NULL while small */
    size_t index_size;
};

enum jinja_view_of { JINJA_VIEW_KEYS, JINJA_VIEW_VALUES, JINJA_VIEW_ITEMS };

struct jinja_view {
    struct jinja_dict *dict;
    enum jinja_view_of of;
};

struct jinja_range {
    int64_t start, stop, step;
    size_t count;
};

struct jinja_method {
    struct jinja_value self;
    const struct jinja_builtin *builtin;
};

static inline struct jinja_value jinja_none(void)
{
    return (struct jinja_value){.kind = JINJA_NONE};
}
static inline struct jinja_value jinja_missing(void)
{
    return (struct jinja_value){.kind = JINJA_MISSING};
}
static inline struct jinja_value jinja_bool(bool boolean)
{
    return (struct jinja_value){.kind = JINJA_BOOL, .as.boolean = boolean};
}
static inline struct jinja_value jinja_int(int64_t integer)
{
    return (struct jinja_value){.kind = JINJA_INT, .as.integer = integer};
}
static inline struct jinja_value jinja_float(double real)
{
    return (struct jinja_value){.kind = JINJA_FLOAT, .as.real = real};
}
static inline bool jinja_is_string(struct jinja_value value)
{
    return value.kind == JINJA_STRING;
}

#endif
