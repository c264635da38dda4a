/*
 * jinja_call.h - how built-in filters, tests, functions and methods take their arguments.
 *
 * Thread: tables are constant; a call belongs to its evaluation.
 */
#ifndef SERVER_TEXT_JINJA_CALL_H
#define SERVER_TEXT_JINJA_CALL_H

#include "server/text/jinja_value.h"

struct jinja_context;

enum { JINJA_PARAMS_MAX = 6 };

struct jinja_call {
    struct jinja_value *args; /* [arg_count] */
    size_t arg_count;
    struct jinja_pair *named; /* [named_count], keys are strings, no key twice */
    size_t named_count;
    struct jinja_value bound[JINJA_PARAMS_MAX]; /* by parameter; JINJA_MISSING: not given */
};

struct jinja_builtin {
    const char *name;
    struct jinja_value (*run)(struct jinja_context *jinja, struct jinja_value self,
                              const struct jinja_call *call);
    uint8_t required;
    bool variadic;                        /* takes args and named as they are; nothing is bound */
    const char *params[JINJA_PARAMS_MAX]; /* "" cannot be given by name */
};

/* Binds the arguments as Python would and runs the function; `self` is the receiver of a method,
 * the input of a filter or test. */
struct jinja_value jinja_run_builtin(struct jinja_context *jinja,
                                     const struct jinja_builtin *builtin, struct jinja_value self,
                                     struct jinja_call *call);

/* NULL: no such name. */
const struct jinja_builtin *jinja_find_filter(const char *name, size_t len);
const struct jinja_builtin *jinja_find_test(const char *name, size_t len);
const struct jinja_builtin *jinja_find_global(const char *name, size_t len);
const struct jinja_builtin *jinja_find_method(struct jinja_value self,
                                              const struct jinja_string *name);

/* Names that Jinja2 has and this engine refuses. */
bool jinja_filter_is_refused(const char *name, size_t len);
bool jinja_global_is_refused(const char *name, size_t len);

/* Names of methods of the kind that would change the value: the sandbox's. */
bool jinja_method_changes(struct jinja_value self, const struct jinja_string *name);

/* Arguments as Python takes them; `fallback` when not given. Fail on another type. */
int64_t jinja_arg_int(struct jinja_context *jinja, struct jinja_value arg, int64_t fallback);
struct jinja_value jinja_arg_string(struct jinja_context *jinja, struct jinja_value arg,
                                    const char *fallback);
bool jinja_arg_bool(struct jinja_context *jinja, struct jinja_value arg, bool fallback);
static inline bool jinja_given(struct jinja_value arg)
{
    return arg.kind != JINJA_MISSING && arg.kind != JINJA_NONE;
}

/* Looks "a.b.0" up in `item` as filters' attribute= does. */
struct jinja_value jinja_path(struct jinja_context *jinja, struct jinja_value item,
                              struct jinja_value path);

extern const struct jinja_builtin jinja_string_methods[], jinja_list_methods[],
    jinja_dict_methods[], jinja_other_methods[];

/* Formatting (jinja_format.c): "..." % args, "...".format(), and format specifications. */
struct jinja_value jinja_percent(struct jinja_context *jinja, struct jinja_value format,
                                 struct jinja_value args);
struct jinja_value jinja_format(struct jinja_context *jinja, struct jinja_value format,
                                const struct jinja_call *call);

#endif
