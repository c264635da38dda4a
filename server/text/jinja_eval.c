/* jinja_eval.c - expressions: see jinja_eval.h. */
#include "server/text/jinja_eval.h"

#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

struct jinja_value jinja_lookup(struct jinja_context *jinja, const struct jinja_scope *scope,
                                int name)
{
    for (; scope; scope = scope->outer)
        for (int i = 0; i < scope->count; i++)
            if (scope->variables[i].name == name) {
                struct jinja_value value = scope->variables[i].value;
                if (value.kind != JINJA_MISSING) return value;
                return jinja_undefined_name(&jinja->program->names[name]->text);
            }
    struct jinja_value value = jinja->globals[name];
    if (value.kind != JINJA_MISSING) return value;
    return jinja_undefined_name(&jinja->program->names[name]->text);
}

void jinja_assign(struct jinja_context *jinja, struct jinja_scope *scope, int name,
                  struct jinja_value value)
{
    for (int i = 0; i < scope->count; i++)
        if (scope->variables[i].name == name) {
            scope->variables[i].value = value;
            return;
        }
    if (scope->count == scope->capacity) {
        int capacity = scope->capacity ? scope->capacity * 2 : 8;
        struct jinja_variable *more = arena_alloc(&jinja->arena, (size_t)capacity * sizeof(*more));
        if (scope->count) memcpy(more, scope->variables, (size_t)scope->count * sizeof(*more));
        scope->variables = more, scope->capacity = capacity;
    }
    scope->variables[scope->count++] = (struct jinja_variable){name, value};
}

static void push_argument(struct jinja_context *jinja, struct jinja_value *list,
                          struct jinja_value value)
{
    if (list->kind == JINJA_MISSING) *list = jinja_list(jinja, JINJA_LIST, 4);
    jinja_push(jinja, *list, value);
}

static void push_named(struct jinja_context *jinja, struct jinja_value *dict,
                       struct jinja_value name, struct jinja_value value)
{
    if (dict->kind == JINJA_MISSING) *dict = jinja_dict(jinja, JINJA_DICT, 4);
    if (name.kind != JINJA_STRING)
        jinja_fail(jinja, "keywords must be strings");
    else if (jinja_dict_find(dict->as.dict, name))
        jinja_fail(jinja, "got multiple values for keyword argument '%.*s'",
                   (int)(name.as.string->len < 100 ? name.as.string->len : 100),
                   name.as.string->data);
    else
        jinja_dict_set(jinja, dict->as.dict, name, value);
}

void jinja_evaluate_arguments(struct jinja_context *jinja, struct jinja_scope *scope,
                              const struct jinja_arguments *arguments, struct jinja_call *call)
{
    struct jinja_value args = jinja_missing(), named = jinja_missing(), item;
    for (int i = 0; i < arguments->count && !jinja->failed; i++) {
        const struct jinja_argument *argument = &arguments->at[i];
        struct jinja_value value = jinja_evaluate(jinja, scope, argument->value);
        if (jinja->failed) break;
        switch (argument->form) {
        case JINJA_ARG_PLAIN: push_argument(jinja, &args, value); break;
        case JINJA_ARG_NAMED: push_named(jinja, &named, argument->name, value); break;
        case JINJA_ARG_LIST: {
            struct jinja_iterator *iterator = jinja_iterate(jinja, value);
            while (jinja_next(jinja, iterator, &item)) push_argument(jinja, &args, item);
            break;
        }
        case JINJA_ARG_DICT:
            if (value.kind != JINJA_DICT) {
                jinja_fail(jinja, "argument after ** must be a mapping, not %s",
                           jinja_type_name(value));
                break;
            }
            for (size_t k = 0; k < value.as.dict->count; k++)
                push_named(jinja, &named, value.as.dict->pairs[k].key,
                           value.as.dict->pairs[k].value);
        }
    }
    if (args.kind == JINJA_LIST)
        call->args = args.as.list->items, call->arg_count = args.as.list->count;
    if (named.kind == JINJA_DICT)
        call->named = named.as.dict->pairs, call->named_count = named.as.dict->count;
}

static struct jinja_value run_named(struct jinja_context *jinja, struct jinja_scope *scope,
                                    const struct jinja_node *node, struct jinja_value input)
{
    struct jinja_call call = {0};
    if (!node->builtin)
        return jinja_fail(jinja, "No %s named '%s' found.",
                          node->type == JINJA_NODE_TEST ? "test" : "filter",
                          node->value.as.string->data);
    jinja_evaluate_arguments(jinja, scope, &node->arguments, &call);
    if (jinja->failed) return jinja_none();
    return jinja_run_builtin(jinja, node->builtin, input, &call);
}

struct jinja_value jinja_apply_filters(struct jinja_context *jinja, struct jinja_scope *scope,
                                       const struct jinja_node *filters, struct jinja_value input)
{
    if (!filters) return input;
    if (!jinja_enter(jinja)) return jinja_leave(jinja), input;
    input = jinja_apply_filters(jinja, scope, filters->a, input);
    if (!jinja->failed) input = run_named(jinja, scope, filters, input);
    jinja_leave(jinja);
    return input;
}

static struct jinja_value evaluate_list(struct jinja_context *jinja, struct jinja_scope *scope,
                                        const struct jinja_node *node)
{
    enum jinja_kind kind = node->type == JINJA_NODE_TUPLE ? JINJA_TUPLE : JINJA_LIST;
    struct jinja_value list = jinja_list(jinja, kind, (size_t)node->items.count);
    for (int i = 0; i < node->items.count && !jinja->failed; i++)
        jinja_push(jinja, list, jinja_evaluate(jinja, scope, node->items.at[i]));
    return list;
}

static struct jinja_value evaluate_dict(struct jinja_context *jinja, struct jinja_scope *scope,
                                        const struct jinja_node *node)
{
    struct jinja_value dict = jinja_dict(jinja, JINJA_DICT, (size_t)node->items.count / 2);
    for (int i = 0; i + 1 < node->items.count && !jinja->failed; i += 2) {
        struct jinja_value key = jinja_evaluate(jinja, scope, node->items.at[i]);
        struct jinja_value value = jinja_evaluate(jinja, scope, node->items.at[i + 1]);
        jinja_dict_set(jinja, dict.as.dict, key, value);
    }
    return dict;
}

static struct jinja_value evaluate_slice(struct jinja_context *jinja, struct jinja_scope *scope,
                                         const struct jinja_node *node)
{
    struct jinja_value parts[3];
    struct jinja_value value = jinja_evaluate(jinja, scope, node->a);
    for (int i = 0; i < 3; i++)
        parts[i] =
            node->items.at[i] ? jinja_evaluate(jinja, scope, node->items.at[i]) : jinja_missing();
    if (jinja->failed) return jinja_none();
    return jinja_slice(jinja, value, parts[0], parts[1], parts[2]);
}

static struct jinja_value evaluate_compare(struct jinja_context *jinja, struct jinja_scope *scope,
                                           const struct jinja_node *node)
{
    struct jinja_value left = jinja_evaluate(jinja, scope, node->a), result = jinja_none();
    for (int i = 0; i < node->items.count && !jinja->failed; i++) {
        struct jinja_value right = jinja_evaluate(jinja, scope, node->items.at[i]);
        if (jinja->failed) break;
        result = jinja_operate(jinja, (enum jinja_operator)node->operators[i], left, right);
        if (!jinja_truth(jinja, result)) break;
        left = right;
    }
    return result;
}

static struct jinja_value evaluate_concat(struct jinja_context *jinja, struct jinja_scope *scope,
                                          const struct jinja_node *node)
{
    struct buffer *text = jinja_begin(jinja);
    for (int i = 0; i < node->items.count && !jinja->failed; i++)
        jinja_write_str(jinja, text, jinja_evaluate(jinja, scope, node->items.at[i]));
    return jinja_end(jinja, text);
}

static struct jinja_value evaluate_call(struct jinja_context *jinja, struct jinja_scope *scope,
                                        const struct jinja_node *node)
{
    struct jinja_call call = {0};
    struct jinja_value callee = jinja_evaluate(jinja, scope, node->a);
    if (!jinja->failed) jinja_evaluate_arguments(jinja, scope, &node->arguments, &call);
    if (jinja->failed) return jinja_none();
    return jinja_invoke(jinja, callee, &call);
}

static struct jinja_value evaluate_if_else(struct jinja_context *jinja, struct jinja_scope *scope,
                                           const struct jinja_node *node)
{
    if (jinja_truth(jinja, jinja_evaluate(jinja, scope, node->a)))
        return jinja_evaluate(jinja, scope, node->b);
    if (node->c) return jinja_evaluate(jinja, scope, node->c);
    return jinja_undefined_hint(jinja, "the inline if-expression evaluated to false and no else "
                                       "section was defined.");
}

static struct jinja_value evaluate(struct jinja_context *jinja, struct jinja_scope *scope,
                                   const struct jinja_node *node)
{
    struct jinja_value a, b;
    switch (node->type) {
    case JINJA_NODE_CONST: return node->value;
    case JINJA_NODE_NAME: return jinja_lookup(jinja, scope, node->name);
    case JINJA_NODE_LIST:
    case JINJA_NODE_TUPLE: return evaluate_list(jinja, scope, node);
    case JINJA_NODE_DICT: return evaluate_dict(jinja, scope, node);
    case JINJA_NODE_SLICE: return evaluate_slice(jinja, scope, node);
    case JINJA_NODE_CALL: return evaluate_call(jinja, scope, node);
    case JINJA_NODE_COMPARE: return evaluate_compare(jinja, scope, node);
    case JINJA_NODE_CONCAT: return evaluate_concat(jinja, scope, node);
    case JINJA_NODE_IF_ELSE: return evaluate_if_else(jinja, scope, node);
    default: break;
    }
    a = jinja_evaluate(jinja, scope, node->a);
    if (jinja->failed) return jinja_none();
    switch (node->type) {
    case JINJA_NODE_ATTRIBUTE: return jinja_attribute(jinja, a, node->value.as.string);
    case JINJA_NODE_NEGATE: return jinja_negate(jinja, a, !node->flag);
    case JINJA_NODE_NOT: return jinja_bool(!jinja_truth(jinja, a));
    case JINJA_NODE_AND: return jinja_truth(jinja, a) ? jinja_evaluate(jinja, scope, node->b) : a;
    case JINJA_NODE_OR: return jinja_truth(jinja, a) ? a : jinja_evaluate(jinja, scope, node->b);
    case JINJA_NODE_FILTER:
    case JINJA_NODE_TEST: return run_named(jinja, scope, node, a);
    default: break;
    }
    b = jinja_evaluate(jinja, scope, node->b);
    if (jinja->failed) return jinja_none();
    if (node->type == JINJA_NODE_ITEM) return jinja_item(jinja, a, b);
    return jinja_operate(jinja, (enum jinja_operator)node->operator, a, b);
}

struct jinja_value jinja_evaluate(struct jinja_context *jinja, struct jinja_scope *scope,
                                  const struct jinja_node *node)
{
    struct jinja_value value = jinja_none();
    if (jinja_enter(jinja)) value = evaluate(jinja, scope, node);
    jinja_leave(jinja);
    return value;
}
