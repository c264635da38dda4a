/* jinja_exec.c - statements, macros and calls: see jinja_eval.h. */
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

static void assign_target(struct jinja_context *jinja, struct jinja_scope *scope,
                          const struct jinja_node *target, struct jinja_value value);

static void assign_tuple(struct jinja_context *jinja, struct jinja_scope *scope,
                         const struct jinja_node *target, struct jinja_value value)
{
    int count = target->items.count;
    struct jinja_value items = value;
    if (value.kind != JINJA_LIST && value.kind != JINJA_TUPLE)
        items = jinja_collect(jinja, JINJA_TUPLE, value);
    if (jinja->failed) return;
    if (items.as.list->count != (size_t)count) {
        jinja_fail(jinja, "%s values to unpack (expected %d)",
                   items.as.list->count > (size_t)count ? "too many" : "not enough", count);
        return;
    }
    for (int i = 0; i < count; i++)
        assign_target(jinja, scope, target->items.at[i], items.as.list->items[i]);
}

static void assign_target(struct jinja_context *jinja, struct jinja_scope *scope,
                          const struct jinja_node *target, struct jinja_value value)
{
    if (jinja->failed) return;
    if (target->type == JINJA_NODE_NAME) {
        jinja_assign(jinja, scope, target->name, value);
    } else if (target->type == JINJA_NODE_TUPLE) {
        assign_tuple(jinja, scope, target, value);
    } else {
        struct jinja_value space = jinja_lookup(jinja, scope, target->name);
        const struct jinja_string *name = target->value.as.string;
        if (space.kind != JINJA_NAMESPACE)
            jinja_fail(jinja, "cannot assign attribute on non-namespace object");
        else if (name->data[0] == '_')
            jinja_fail(jinja, "namespaces cannot store the underscore-prefixed attribute '%s'",
                       name->data);
        else
            jinja_dict_set(jinja, space.as.dict, target->value, value);
    }
}

/* Names that the scope of `body` assigns first hide what is outside from the start. */
static void hide_unset(struct jinja_context *jinja, struct jinja_scope *scope,
                       const struct jinja_nodes *body)
{
    for (int i = 0; i < body->unset_count; i++)
        jinja_assign(jinja, scope, body->unset[i], jinja_missing());
}

enum jinja_flow jinja_execute_scope(struct jinja_context *jinja, struct jinja_scope *scope,
                                    const struct jinja_nodes *body, struct buffer *out)
{
    hide_unset(jinja, scope, body);
    return jinja_execute(jinja, scope, body, out);
}

/* The iterable of {% for .. in .. if %}, filtered lazily. */
struct filtered {
    const struct jinja_node *node;
    struct jinja_scope scope;
};

static bool next_filtered(struct jinja_context *jinja, struct jinja_iterator *iterator,
                          struct jinja_value *item)
{
    struct filtered *filtered = iterator->state;
    if (!iterator->inner) iterator->inner = jinja_iterate(jinja, iterator->source);
    while (jinja_next(jinja, iterator->inner, item)) {
        assign_target(jinja, &filtered->scope, filtered->node->a, *item);
        if (jinja_truth(jinja, jinja_evaluate(jinja, &filtered->scope, filtered->node->c)))
            return !jinja->failed;
    }
    return false;
}

static enum jinja_flow run_for(struct jinja_context *jinja, struct jinja_scope *outer,
                               const struct jinja_node *node, struct jinja_value iterable,
                               int depth0, struct buffer *out)
{
    if (node->c) {
        struct filtered *filtered = jinja_alloc(jinja, sizeof(*filtered));
        filtered->node = node, filtered->scope.outer = outer;
        if (!jinja_can_iterate(iterable)) jinja_iterate(jinja, iterable);
        iterable = jinja_generator(jinja, next_filtered, iterable, filtered);
    }
    struct jinja_loop *loop = jinja_alloc(jinja, sizeof(*loop));
    loop->node = node, loop->outer = outer, loop->iterable = iterable, loop->depth0 = depth0;
    loop->index0 = -1, loop->length = -1;
    loop->iterator = jinja_iterate(jinja, iterable);
    struct jinja_scope *scope = jinja_alloc(jinja, sizeof(*scope));
    scope->outer = outer;
    while (jinja_loop_step(jinja, loop)) {
        scope->count = 0;
        jinja_assign(jinja, scope, jinja->program->name_loop,
                     (struct jinja_value){.kind = JINJA_LOOP, .as.loop = loop});
        assign_target(jinja, scope, node->a, loop->current);
        if (jinja->failed || jinja_execute_scope(jinja, scope, &node->body, out) == JINJA_BREAK)
            break;
    }
    if (loop->index0 >= 0 || jinja->failed || !node->other.count) return JINJA_ON;
    scope->count = 0;
    return jinja_execute_scope(jinja, scope, &node->other, out);
}

struct jinja_value jinja_call_loop(struct jinja_context *jinja, struct jinja_loop *loop,
                                   struct jinja_call *call)
{
    if (!loop->node->flag)
        return jinja_fail(jinja, "The loop must have the 'recursive' marker to be called "
                                 "recursively.");
    if (call->arg_count != 1 || call->named_count)
        return jinja_fail(jinja, "loop() takes one argument");
    struct buffer *text = jinja_begin(jinja);
    if (jinja_enter(jinja))
        run_for(jinja, loop->outer, loop->node, call->args[0], loop->depth0 + 1, text);
    jinja_leave(jinja);
    return jinja_end(jinja, text);
}

static struct jinja_value macro_value(struct jinja_context *jinja, struct jinja_scope *scope,
                                      const struct jinja_macro_node *node)
{
    struct jinja_macro *macro = jinja_alloc(jinja, sizeof(*macro));
    macro->node = node, macro->outer = scope;
    return (struct jinja_value){.kind = JINJA_MACRO, .as.macro = macro};
}

/* Takes a named argument out of `named`; missing when it is not there. */
static struct jinja_value take_named(struct jinja_call *call, const struct jinja_string *name)
{
    for (size_t i = 0; i < call->named_count; i++) {
        if (!jinja_string_equal(call->named[i].key.as.string, name)) continue;
        struct jinja_value value = call->named[i].value;
        memmove(&call->named[i], &call->named[i + 1],
                (--call->named_count - i) * sizeof(*call->named));
        return value;
    }
    return jinja_missing();
}

static void bind_extras(struct jinja_context *jinja, struct jinja_scope *scope,
                        const struct jinja_macro_node *node, struct jinja_call *call)
{
    const struct jinja_template *program = jinja->program;
    if (node->uses_caller && !node->caller_is_param) {
        struct jinja_value caller = take_named(call, &program->names[program->name_caller]->text);
        if (!jinja_given(caller)) caller = jinja_undefined_hint(jinja, "No caller defined");
        jinja_assign(jinja, scope, program->name_caller, caller);
    }
    if (node->uses_kwargs) {
        struct jinja_value kwargs = jinja_dict(jinja, JINJA_DICT, call->named_count);
        for (size_t i = 0; i < call->named_count; i++)
            jinja_dict_set(jinja, kwargs.as.dict, call->named[i].key, call->named[i].value);
        jinja_assign(jinja, scope, program->name_kwargs, kwargs);
    } else if (call->named_count) {
        jinja_fail(jinja, "macro takes no keyword argument '%s'",
                   jinja_str(jinja, call->named[0].key).as.string->data);
    }
    size_t count = (size_t)node->param_count;
    if (node->uses_varargs) {
        struct jinja_value varargs = jinja_list(jinja, JINJA_TUPLE, 0);
        for (size_t i = count; i < call->arg_count; i++) jinja_push(jinja, varargs, call->args[i]);
        jinja_assign(jinja, scope, program->name_varargs, varargs);
    } else if (call->arg_count > count) {
        jinja_fail(jinja, "macro takes not more than %zu argument(s)", count);
    }
}

static void bind_params(struct jinja_context *jinja, struct jinja_scope *scope,
                        const struct jinja_macro_node *node, struct jinja_call *call)
{
    size_t count = (size_t)node->param_count;
    for (size_t i = 0; i < count; i++) {
        struct jinja_value value =
            i < call->arg_count ? call->args[i] : take_named(call, node->params[i].text);
        jinja_assign(jinja, scope, node->params[i].name, value);
    }
    bind_extras(jinja, scope, node, call);
    for (size_t i = 0; i < count && !jinja->failed; i++) {
        struct jinja_variable *variable = &scope->variables[i];
        if (variable->value.kind != JINJA_MISSING) continue;
        const struct jinja_node *fallback = node->params[i].fallback;
        struct jinja_value value =
            fallback ? jinja_evaluate(jinja, scope, fallback)
                     : jinja_undefined_hint(jinja, "a parameter of the macro was not provided");
        scope->variables[i].value = value;
    }
}

struct jinja_value jinja_call_macro(struct jinja_context *jinja, const struct jinja_macro *macro,
                                    struct jinja_call *call)
{
    struct jinja_scope *scope = jinja_alloc(jinja, sizeof(*scope));
    scope->outer = macro->outer;
    struct buffer *text = jinja_begin(jinja);
    if (jinja_enter(jinja)) {
        bind_params(jinja, scope, macro->node, call);
        if (!jinja->failed) jinja_execute_scope(jinja, scope, &macro->node->body, text);
    }
    jinja_leave(jinja);
    return jinja_end(jinja, text);
}

/* A body in a scope of its own, into a string. */
static struct jinja_value capture(struct jinja_context *jinja, struct jinja_scope *outer,
                                  const struct jinja_nodes *body, enum jinja_flow *flow)
{
    struct jinja_scope *scope = jinja_alloc(jinja, sizeof(*scope));
    scope->outer = outer;
    struct buffer *text = jinja_begin(jinja);
    *flow = jinja_execute_scope(jinja, scope, body, text);
    return jinja_end(jinja, text);
}

static void run_call_block(struct jinja_context *jinja, struct jinja_scope *scope,
                           const struct jinja_node *node, struct buffer *out)
{
    struct jinja_call call = {0};
    struct jinja_value callee = jinja_evaluate(jinja, scope, node->a->a);
    if (!jinja->failed) jinja_evaluate_arguments(jinja, scope, &node->a->arguments, &call);
    if (jinja->failed) return;
    struct jinja_pair *named = jinja_alloc(jinja, (call.named_count + 1) * sizeof(*named));
    if (call.named_count) memcpy(named, call.named, call.named_count * sizeof(*named));
    named[call.named_count].key = jinja_chars(jinja, "caller");
    named[call.named_count].value = macro_value(jinja, scope, node->macro);
    call.named = named, call.named_count++;
    jinja_write_str(jinja, out, jinja_invoke(jinja, callee, &call));
}

static enum jinja_flow run_with(struct jinja_context *jinja, struct jinja_scope *outer,
                                const struct jinja_node *node, struct buffer *out)
{
    struct jinja_scope *scope = jinja_alloc(jinja, sizeof(*scope));
    scope->outer = outer;
    for (int i = 0; i + 1 < node->items.count && !jinja->failed; i += 2)
        assign_target(jinja, scope, node->items.at[i],
                      jinja_evaluate(jinja, outer, node->items.at[i + 1]));
    return jinja->failed ? JINJA_ON : jinja_execute_scope(jinja, scope, &node->body, out);
}

static enum jinja_flow run_captured(struct jinja_context *jinja, struct jinja_scope *scope,
                                    const struct jinja_node *node, struct buffer *out)
{
    enum jinja_flow flow;
    struct jinja_value text = capture(jinja, scope, &node->body, &flow);
    if (flow != JINJA_ON || jinja->failed) return flow;
    text = jinja_apply_filters(jinja, scope, node->b, text);
    if (node->type == JINJA_NODE_SET_BLOCK)
        assign_target(jinja, scope, node->a, text);
    else
        jinja_write_str(jinja, out, text);
    return flow;
}

static enum jinja_flow run_statement(struct jinja_context *jinja, struct jinja_scope *scope,
                                     const struct jinja_node *node, struct buffer *out)
{
    enum jinja_flow flow = JINJA_ON;
    switch (node->type) {
    case JINJA_NODE_DATA:
        jinja_append(jinja, out, node->value.as.string->data, node->value.as.string->len);
        break;
    case JINJA_NODE_PRINT:
        for (int i = 0; i < node->items.count && !jinja->failed; i++)
            jinja_write_str(jinja, out, jinja_evaluate(jinja, scope, node->items.at[i]));
        break;
    case JINJA_NODE_IF: {
        bool yes = jinja_truth(jinja, jinja_evaluate(jinja, scope, node->a));
        if (!jinja->failed)
            flow = jinja_execute(jinja, scope, yes ? &node->body : &node->other, out);
        break;
    }
    case JINJA_NODE_FOR: {
        struct jinja_value iterable = jinja_evaluate(jinja, scope, node->b);
        if (!jinja->failed) flow = run_for(jinja, scope, node, iterable, 0, out);
        break;
    }
    case JINJA_NODE_SET:
        assign_target(jinja, scope, node->a, jinja_evaluate(jinja, scope, node->b));
        break;
    case JINJA_NODE_SET_BLOCK:
    case JINJA_NODE_FILTER_BLOCK: flow = run_captured(jinja, scope, node, out); break;
    case JINJA_NODE_SCOPE:
        jinja_write_str(jinja, out, capture(jinja, scope, &node->body, &flow));
        break;
    case JINJA_NODE_MACRO:
        jinja_assign(jinja, scope, node->macro->name_index, macro_value(jinja, scope, node->macro));
        break;
    case JINJA_NODE_CALL_BLOCK: run_call_block(jinja, scope, node, out); break;
    case JINJA_NODE_WITH: flow = run_with(jinja, scope, node, out); break;
    case JINJA_NODE_BREAK: flow = JINJA_BREAK; break;
    case JINJA_NODE_CONTINUE: flow = JINJA_CONTINUE; break;
    default: break;
    }
    return flow;
}

enum jinja_flow jinja_execute(struct jinja_context *jinja, struct jinja_scope *scope,
                              const struct jinja_nodes *body, struct buffer *out)
{
    enum jinja_flow flow = JINJA_ON;
    if (jinja_enter(jinja)) {
        for (int i = 0; i < body->count && flow == JINJA_ON && !jinja->failed; i++) {
            jinja->line = body->at[i]->line;
            flow = run_statement(jinja, scope, body->at[i], out);
        }
    }
    jinja_leave(jinja);
    return flow;
}
