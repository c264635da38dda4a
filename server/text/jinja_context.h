/*
 * jinja_context.h - one evaluation: its arena, its limits, and the error it may have met.
 *
 * Errors are sticky: the first jinja_fail() is kept, what failed returns undefined, and every loop
 * stops as soon as `failed` is set. So no function below needs its result checked, and memory is
 * freed in one place. Everything a template can make grow (text, lists, dicts, steps, depth) grows
 * through here and is bounded here.
 *
 * Thread: belongs to the one thread that parses or renders.
 */
#ifndef SERVER_TEXT_JINJA_CONTEXT_H
#define SERVER_TEXT_JINJA_CONTEXT_H

#include "runtime/base/arena.h"
#include "runtime/base/buffer.h"
#include "runtime/base/status.h"
#include "server/text/jinja_string.h"
#include "server/text/jinja_value.h"

enum {
    JINJA_STEPS_MAX = 10 * 1000 * 1000, /* expressions, iterations, and 64 bytes of text each */
    JINJA_DEPTH_MAX = 1500,             /* nested expressions, statements and calls */
    JINJA_BYTES_MAX = 256 << 20,        /* of values */
    JINJA_TEXT_MAX = 64 << 20,          /* of one string, and of the result */
    JINJA_SCRATCH_MAX = 4096,           /* texts under construction at once */
};

struct jinja_context {
    struct arena arena;
    struct error error;
    bool failed;
    int depth;
    int line; /* of the statement that runs */
    long long steps;
    struct buffer *scratch[JINJA_SCRATCH_MAX]; /* reused stack of texts under construction */
    size_t scratch_used, scratch_made;
    const struct jinja_template *program;
    struct jinja_value *globals; /* [name count] what the caller gave, and the built-in functions */
    int64_t now_unix_s;          /* for strftime_now */
};

void jinja_context_free(struct jinja_context *jinja);

/* Keeps the first error; returns undefined for the caller to return. */
struct jinja_value jinja_fail(struct jinja_context *jinja, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Same, when an undefined value was used for more than printing or testing it. */
struct jinja_value jinja_fail_undefined(struct jinja_context *jinja, struct jinja_value value);

/* False, and failed, when the evaluation did more than it may. */
bool jinja_spend(struct jinja_context *jinja, size_t steps);
bool jinja_enter(struct jinja_context *jinja); /* one level deeper; pair with jinja_leave */
void jinja_leave(struct jinja_context *jinja);

void *jinja_alloc(struct jinja_context *jinja, size_t bytes); /* small; zeroed */

/* Strings. `text` is copied unless the name says view: then it must outlive the render. */
struct jinja_value jinja_text(struct jinja_context *jinja, const char *text, size_t len);
struct jinja_value jinja_text_view(struct jinja_context *jinja, const char *text, size_t len);
struct jinja_value jinja_chars(struct jinja_context *jinja, const char *text); /* literal, viewed */
struct jinja_value jinja_markup(struct jinja_context *jinja, struct jinja_value string);

/* Text under construction: begin, append, and end with a string or drop. Strictly nested. */
struct buffer *jinja_begin(struct jinja_context *jinja);
struct jinja_value jinja_end(struct jinja_context *jinja, struct buffer *text);
void jinja_drop(struct jinja_context *jinja, struct buffer *text);
void jinja_append(struct jinja_context *jinja, struct buffer *text, const char *data, size_t len);
void jinja_append_chars(struct jinja_context *jinja, struct buffer *text, const char *chars);
void jinja_append_code(struct jinja_context *jinja, struct buffer *text, int32_t code);
void jinja_append_times(struct jinja_context *jinja, struct buffer *text, const char *data,
                        size_t len, int64_t times);

/* Lists and tuples: `kind` is JINJA_LIST or JINJA_TUPLE. */
struct jinja_value jinja_list(struct jinja_context *jinja, enum jinja_kind kind, size_t capacity);
void jinja_push(struct jinja_context *jinja, struct jinja_value list, struct jinja_value item);
struct jinja_value jinja_pair_of(struct jinja_context *jinja, struct jinja_value first,
                                 struct jinja_value second);

/* Dicts and namespaces. Setting an unhashable key fails; finding one returns NULL. */
struct jinja_value jinja_dict(struct jinja_context *jinja, enum jinja_kind kind, size_t capacity);
void jinja_dict_set(struct jinja_context *jinja, struct jinja_dict *dict, struct jinja_value key,
                    struct jinja_value value);
struct jinja_value *jinja_dict_find(const struct jinja_dict *dict, struct jinja_value key);
struct jinja_value *jinja_dict_find_text(const struct jinja_dict *dict, const char *text,
                                         size_t len);
bool jinja_hashable(struct jinja_value value);

struct jinja_value jinja_undefined_name(struct jinja_string *name);
struct jinja_value jinja_undefined_of(struct jinja_value owner, struct jinja_string *name);
struct jinja_value jinja_undefined_hint(struct jinja_context *jinja, const char *hint);

#endif
