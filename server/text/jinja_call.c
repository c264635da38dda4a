/* jinja_call.c - calling: arguments of built-ins, and everything that can be called. */
#include "server/text/jinja_call.h"

#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_globals.h"
#include "server/text/jinja_ops.h"

static bool bind_named(struct jinja_context *jinja, const struct jinja_builtin *builtin,
                       struct jinja_call *call, const struct jinja_pair *pair)
{
    const struct jinja_string *name = pair->key.as.string;
    for (int i = 0; i < JINJA_PARAMS_MAX && builtin->params[i]; i++) {
        if (!builtin->params[i][0] || !jinja_string_is(name, builtin->params[i])) continue;
        if (call->bound[i].kind != JINJA_MISSING) {
            jinja_fail(jinja, "%s() got multiple values for argument '%s'", builtin->name,
                       builtin->params[i]);
            return false;
        }
        call->bound[i] = pair->value;
        return true;
    }
    jinja_fail(jinja, "%s() got an unexpected keyword argument '%.*s'", builtin->name,
               (int)(name->len < 100 ? name->len : 100), name->data);
    return false;
}

struct jinja_value jinja_run_builtin(struct jinja_context *jinja,
                                     const struct jinja_builtin *builtin, struct jinja_value self,
                                     struct jinja_call *call)
{
    size_t count = 0;
    if (jinja->failed) return jinja_none();
    if (builtin->variadic) return builtin->run(jinja, self, call);
    while (count < JINJA_PARAMS_MAX && builtin->params[count]) count++;
    for (size_t i = 0; i < JINJA_PARAMS_MAX; i++)
        call->bound[i] = i < call->arg_count && i < count ? call->args[i] : jinja_missing();
    if (call->arg_count > count)
        return jinja_fail(jinja, "%s() takes at most %zu argument(s) (%zu given)", builtin->name,
                          count, call->arg_count);
    for (size_t i = 0; i < call->named_count; i++)
        if (!bind_named(jinja, builtin, call, &call->named[i])) return jinja_none();
    for (size_t i = 0; i < builtin->required; i++)
        if (call->bound[i].kind == JINJA_MISSING)
            return jinja_fail(jinja, "%s() is missing argument %zu", builtin->name, i + 1);
    return builtin->run(jinja, self, call);
}

struct jinja_value jinja_invoke(struct jinja_context *jinja, struct jinja_value callee,
                                struct jinja_call *call)
{
    struct jinja_joiner *joiner;
    switch (callee.kind) {
    case JINJA_FUNCTION: return jinja_run_builtin(jinja, callee.as.function, callee, call);
    case JINJA_METHOD:
        return jinja_run_builtin(jinja, callee.as.method->builtin, callee.as.method->self, call);
    case JINJA_MACRO: return jinja_call_macro(jinja, callee.as.macro, call);
    case JINJA_LOOP: return jinja_call_loop(jinja, callee.as.loop, call);
    case JINJA_JOINER:
        joiner = callee.as.joiner;
        if (call->arg_count || call->named_count)
            return jinja_fail(jinja, "a joiner takes no arguments");
        if (joiner->used) return joiner->separator;
        joiner->used = true;
        return jinja_chars(jinja, "");
    case JINJA_UNDEFINED: return jinja_fail_undefined(jinja, callee);
    default: return jinja_fail(jinja, "'%s' object is not callable", jinja_type_name(callee));
    }
}

int64_t jinja_arg_int(struct jinja_context *jinja, struct jinja_value arg, int64_t fallback)
{
    int64_t integer = fallback;
    if (arg.kind != JINJA_MISSING && !jinja_as_int(arg, &integer))
        jinja_fail(jinja, "'%s' object cannot be interpreted as an integer", jinja_type_name(arg));
    return integer;
}

struct jinja_value jinja_arg_string(struct jinja_context *jinja, struct jinja_value arg,
                                    const char *fallback)
{
    if (arg.kind == JINJA_MISSING) return jinja_chars(jinja, fallback);
    if (arg.kind == JINJA_STRING) return arg;
    jinja_fail(jinja, "expected a string, not '%s'", jinja_type_name(arg));
    return jinja_chars(jinja, fallback);
}

bool jinja_arg_bool(struct jinja_context *jinja, struct jinja_value arg, bool fallback)
{
    return arg.kind == JINJA_MISSING ? fallback : jinja_truth(jinja, arg);
}

struct jinja_value jinja_path(struct jinja_context *jinja, struct jinja_value item,
                              struct jinja_value path)
{
    if (!jinja_given(path)) return item;
    if (path.kind != JINJA_STRING) return jinja_item(jinja, item, path);
    const char *at = path.as.string->data, *end = at + path.as.string->len;
    while (!jinja->failed) {
        const char *dot = memchr(at, '.', (size_t)(end - at)), *stop = dot ? dot : end;
        bool number = stop > at && stop - at < 18;
        int64_t index = 0;
        for (const char *p = at; p < stop && number; p++) {
            number = *p >= '0' && *p <= '9';
            index = index * 10 + *p - '0';
        }
        struct jinja_value key =
            number ? jinja_int(index) : jinja_text_view(jinja, at, (size_t)(stop - at));
        item = jinja_item(jinja, item, key);
        if (!dot) break;
        at = dot + 1;
    }
    return item;
}
