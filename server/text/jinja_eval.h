/*
 * jinja_eval.h - runs a parsed template: scopes, loops and macros.
 *
 * Scopes are Jinja2's: a loop's body, a macro's, {% with %}, {% filter %}, {% call %} and a block
 * {% set %} have their own; {% if %} has none. Assigning in a scope never changes an outer one.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_EVAL_H
#define SERVER_TEXT_JINJA_EVAL_H

#include "runtime/base/buffer.h"
#include "server/text/jinja_ast.h"
#include "server/text/jinja_call.h"

struct jinja_context;

struct jinja_variable {
    int name;
    struct jinja_value value;
};

struct jinja_scope {
    struct jinja_scope *outer; /* NULL: the template's own, then the context's globals */
    struct jinja_variable *variables;
    int count, capacity;
};

struct jinja_macro {
    const struct jinja_macro_node *node;
    struct jinja_scope *outer; /* where it was defined */
};

struct jinja_loop {
    const struct jinja_node *node;
    struct jinja_scope *outer; /* of the for statement, for loop(...) of a recursive one */
    struct jinja_value iterable;
    struct jinja_iterator *iterator;
    struct jinja_value previous, current, next; /* JINJA_MISSING: none, or not fetched yet */
    int64_t index0, length;                     /* length -1: not known yet */
    int depth0;
    struct jinja_value changed; /* what changed() saw last; missing: nothing yet */
};

/* Variables. Setting always sets in `scope` itself. */
struct jinja_value jinja_lookup(struct jinja_context *jinja, const struct jinja_scope *scope,
                                int name);
void jinja_assign(struct jinja_context *jinja, struct jinja_scope *scope, int name,
                  struct jinja_value value);

struct jinja_value jinja_evaluate(struct jinja_context *jinja, struct jinja_scope *scope,
                                  const struct jinja_node *node);

/* Evaluates arguments into `call`, which the caller zeroed. */
void jinja_evaluate_arguments(struct jinja_context *jinja, struct jinja_scope *scope,
                              const struct jinja_arguments *arguments, struct jinja_call *call);

/* Runs a filter chain on `input`, where the chain begins with a NULL input. */
struct jinja_value jinja_apply_filters(struct jinja_context *jinja, struct jinja_scope *scope,
                                       const struct jinja_node *filters, struct jinja_value input);

enum jinja_flow { JINJA_ON, JINJA_BREAK, JINJA_CONTINUE };
enum jinja_flow jinja_execute(struct jinja_context *jinja, struct jinja_scope *scope,
                              const struct jinja_nodes *body, struct buffer *out);

/* The same, where the body begins a scope. */
enum jinja_flow jinja_execute_scope(struct jinja_context *jinja, struct jinja_scope *scope,
                                    const struct jinja_nodes *body, struct buffer *out);

struct jinja_value jinja_call_macro(struct jinja_context *jinja, const struct jinja_macro *macro,
                                    struct jinja_call *call);
struct jinja_value jinja_call_loop(struct jinja_context *jinja, struct jinja_loop *loop,
                                   struct jinja_call *call);

/* Loops (jinja_loop.c). */
bool jinja_loop_step(struct jinja_context *jinja, struct jinja_loop *loop);
size_t jinja_loop_length(struct jinja_context *jinja, struct jinja_loop *loop);

/* Attributes and text of loops, macros and cyclers; missing where there is no such attribute. */
struct jinja_value jinja_internal_attribute(struct jinja_context *jinja, struct jinja_value value,
                                            const struct jinja_string *name);
void jinja_write_internal(struct jinja_context *jinja, struct buffer *out,
                          struct jinja_value value);

#endif
