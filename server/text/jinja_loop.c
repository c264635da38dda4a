/* jinja_loop.c - the `loop` object, and what else has attributes of the engine's own. */
#include <inttypes.h>
#include <stdio.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_globals.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

bool jinja_loop_step(struct jinja_context *jinja, struct jinja_loop *loop)
{
    struct jinja_value item = loop->next;
    loop->next = jinja_missing();
    if (item.kind == JINJA_MISSING && !jinja_next(jinja, loop->iterator, &item)) return false;
    loop->index0++;
    loop->previous = loop->current, loop->current = item;
    return !jinja->failed;
}

static bool peek(struct jinja_context *jinja, struct jinja_loop *loop)
{
    struct jinja_value item;
    if (loop->next.kind != JINJA_MISSING) return true;
    if (!jinja_next(jinja, loop->iterator, &item)) return false;
    loop->next = item;
    return true;
}

size_t jinja_loop_length(struct jinja_context *jinja, struct jinja_loop *loop)
{
    if (loop->length >= 0) return (size_t)loop->length;
    if (jinja_has_length(loop->iterable)) {
        loop->length = (int64_t)jinja_length(jinja, loop->iterable);
    } else { /* a generator: read the rest */
        struct jinja_value rest = jinja_list(jinja, JINJA_LIST, 0), item;
        while (jinja_next(jinja, loop->iterator, &item)) jinja_push(jinja, rest, item);
        loop->iterator = jinja_iterate(jinja, rest);
        loop->length =
            (int64_t)rest.as.list->count + loop->index0 + 1 + (loop->next.kind != JINJA_MISSING);
    }
    return (size_t)loop->length;
}

static struct jinja_value loop_cycle(struct jinja_context *jinja, struct jinja_value self,
                                     const struct jinja_call *call)
{
    if (!call->arg_count || call->named_count)
        return jinja_fail(jinja, "no items for cycling given");
    return call->args[(size_t)self.as.loop->index0 % call->arg_count];
}

static struct jinja_value loop_changed(struct jinja_context *jinja, struct jinja_value self,
                                       const struct jinja_call *call)
{
    struct jinja_value seen = jinja_list(jinja, JINJA_TUPLE, call->arg_count);
    for (size_t i = 0; i < call->arg_count; i++) jinja_push(jinja, seen, call->args[i]);
    struct jinja_value *last = &self.as.loop->changed;
    bool changed = last->kind == JINJA_MISSING || !jinja_equal(jinja, *last, seen);
    *last = seen;
    return jinja_bool(changed);
}

static struct jinja_value method(struct jinja_context *jinja, struct jinja_value self,
                                 const struct jinja_builtin *builtin)
{
    struct jinja_method *made = jinja_alloc(jinja, sizeof(*made));
    made->self = self, made->builtin = builtin;
    return (struct jinja_value){.kind = JINJA_METHOD, .as.method = made};
}

static struct jinja_value loop_attribute(struct jinja_context *jinja, struct jinja_value self,
                                         const struct jinja_string *name)
{
    static const struct jinja_builtin cycle = {"cycle", loop_cycle, 0, true, {0}};
    static const struct jinja_builtin changed = {"changed", loop_changed, 0, true, {0}};
    struct jinja_loop *loop = self.as.loop;
    if (jinja_string_is(name, "index")) return jinja_int(loop->index0 + 1);
    if (jinja_string_is(name, "index0")) return jinja_int(loop->index0);
    if (jinja_string_is(name, "first")) return jinja_bool(loop->index0 == 0);
    if (jinja_string_is(name, "last")) return jinja_bool(!peek(jinja, loop));
    if (jinja_string_is(name, "length")) return jinja_int((int64_t)jinja_loop_length(jinja, loop));
    if (jinja_string_is(name, "revindex"))
        return jinja_int((int64_t)jinja_loop_length(jinja, loop) - loop->index0);
    if (jinja_string_is(name, "revindex0"))
        return jinja_int((int64_t)jinja_loop_length(jinja, loop) - loop->index0 - 1);
    if (jinja_string_is(name, "depth")) return jinja_int(loop->depth0 + 1);
    if (jinja_string_is(name, "depth0")) return jinja_int(loop->depth0);
    if (jinja_string_is(name, "previtem"))
        return loop->index0 ? loop->previous
                            : jinja_undefined_hint(jinja, "there is no previous item");
    if (jinja_string_is(name, "nextitem"))
        return peek(jinja, loop) ? loop->next
                                 : jinja_undefined_hint(jinja, "there is no next item");
    if (jinja_string_is(name, "cycle")) return method(jinja, self, &cycle);
    if (jinja_string_is(name, "changed")) return method(jinja, self, &changed);
    return jinja_missing();
}

static struct jinja_value macro_attribute(struct jinja_context *jinja, struct jinja_value self,
                                          const struct jinja_string *name)
{
    const struct jinja_macro_node *node = self.as.macro->node;
    if (jinja_string_is(name, "name")) return node->name;
    if (jinja_string_is(name, "catch_kwargs")) return jinja_bool(node->uses_kwargs);
    if (jinja_string_is(name, "catch_varargs")) return jinja_bool(node->uses_varargs);
    if (jinja_string_is(name, "caller")) return jinja_bool(node->uses_caller);
    if (!jinja_string_is(name, "arguments")) return jinja_missing();
    struct jinja_value list = jinja_list(jinja, JINJA_TUPLE, (size_t)node->param_count);
    for (int i = 0; i < node->param_count; i++)
        jinja_push(jinja, list,
                   (struct jinja_value){.kind = JINJA_STRING, .as.string = node->params[i].text});
    return list;
}

struct jinja_value jinja_internal_attribute(struct jinja_context *jinja, struct jinja_value value,
                                            const struct jinja_string *name)
{
    if (value.kind == JINJA_LOOP) return loop_attribute(jinja, value, name);
    if (value.kind == JINJA_MACRO) return macro_attribute(jinja, value, name);
    return jinja_cycler_attribute(jinja, value, name);
}

void jinja_write_internal(struct jinja_context *jinja, struct buffer *out, struct jinja_value value)
{
    char text[64];
    if (value.kind == JINJA_LOOP) {
        size_t length = jinja_loop_length(jinja, value.as.loop);
        snprintf(text, sizeof(text), "<LoopContext %" PRId64 "/%zu>", value.as.loop->index0 + 1,
                 length);
        jinja_append_chars(jinja, out, text);
        return;
    }
    struct jinja_value name = value.as.macro->node->name;
    jinja_append_chars(jinja, out, "<Macro ");
    if (name.kind == JINJA_STRING)
        jinja_write_repr(jinja, out, name);
    else
        jinja_append_chars(jinja, out, "anonymous");
    jinja_append_chars(jinja, out, ">");
}
