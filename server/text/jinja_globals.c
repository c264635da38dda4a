/* jinja_globals.c - the functions every template finds. */
#include "server/text/jinja_globals.h"

#include <string.h>
#include <time.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

enum { RANGE_MAX = 100000, STRFTIME_MAX = 4096 };

#define GLOBAL(name)                                                                               \
    static struct jinja_value global_##name(struct jinja_context *jinja, struct jinja_value self,  \
                                            const struct jinja_call *call)

GLOBAL(raise_exception)
{
    struct jinja_value message = jinja_str(jinja, call->bound[0]);
    if (jinja->failed) return jinja_none();
    jinja->failed = true;
    error_set(&jinja->error, STATUS_INVALID, NULL, "%.*s", (int)message.as.string->len,
              message.as.string->data);
    return jinja_none();
}

GLOBAL(strftime_now)
{
    struct jinja_value format = jinja_arg_string(jinja, call->bound[0], "");
    time_t now = (time_t)jinja->now_unix_s;
    struct tm parts;
    char text[STRFTIME_MAX];
    if (jinja->failed || !format.as.string->len) return jinja_chars(jinja, "");
    localtime_r(&now, &parts);
    char *pattern = arena_strndup(&jinja->arena, format.as.string->data, format.as.string->len);
    size_t len = strftime(text, sizeof(text), pattern, &parts);
    return jinja_text(jinja, text, len);
}

GLOBAL(range)
{
    int64_t start = 0, stop = jinja_arg_int(jinja, call->bound[0], 0), step = 1;
    if (call->bound[1].kind != JINJA_MISSING)
        start = stop, stop = jinja_arg_int(jinja, call->bound[1], 0);
    step = jinja_arg_int(jinja, call->bound[2], 1);
    if (jinja->failed) return jinja_none();
    if (!step) return jinja_fail(jinja, "range() arg 3 must not be zero");
    const int64_t bounds[] = {start, stop, step};
    for (int i = 0; i < 3; i++)
        if (bounds[i] > INT64_MAX / 4 || bounds[i] < INT64_MIN / 4)
            return jinja_fail(jinja, "range() of such large numbers is not supported");
    int64_t span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
    int64_t count = span > 0 ? (span - 1) / stride + 1 : 0;
    if (count > RANGE_MAX)
        return jinja_fail(jinja, "Range too big. The sandbox blocks ranges larger than MAX_RANGE "
                                 "(100000).");
    struct jinja_range *range = jinja_alloc(jinja, sizeof(*range));
    range->start = start, range->stop = stop, range->step = step, range->count = (size_t)count;
    return (struct jinja_value){.kind = JINJA_RANGE, .as.range = range};
}

/* dict(mapping or pairs, name=value, ...) */
static struct jinja_value make_dict(struct jinja_context *jinja, const struct jinja_call *call,
                                    enum jinja_kind kind)
{
    struct jinja_value dict = jinja_dict(jinja, kind, 0), item;
    if (call->arg_count > 1) return jinja_fail(jinja, "dict expected at most 1 argument");
    if (call->arg_count && call->args[0].kind == JINJA_DICT) {
        const struct jinja_dict *from = call->args[0].as.dict;
        for (size_t i = 0; i < from->count; i++)
            jinja_dict_set(jinja, dict.as.dict, from->pairs[i].key, from->pairs[i].value);
    } else if (call->arg_count) {
        struct jinja_iterator *iterator = jinja_iterate(jinja, call->args[0]);
        while (jinja_next(jinja, iterator, &item)) {
            struct jinja_value pair = jinja_collect(jinja, JINJA_TUPLE, item);
            if (!jinja->failed && pair.as.list->count != 2)
                jinja_fail(jinja, "dictionary update sequence element needs length 2");
            if (jinja->failed) break;
            jinja_dict_set(jinja, dict.as.dict, pair.as.list->items[0], pair.as.list->items[1]);
        }
    }
    for (size_t i = 0; i < call->named_count; i++)
        jinja_dict_set(jinja, dict.as.dict, call->named[i].key, call->named[i].value);
    return dict;
}

GLOBAL(dict)
{
    return make_dict(jinja, call, JINJA_DICT);
}

GLOBAL(namespace)
{
    struct jinja_value space = make_dict(jinja, call, JINJA_NAMESPACE);
    for (size_t i = 0; !jinja->failed && i < space.as.dict->count; i++) {
        struct jinja_value name = space.as.dict->pairs[i].key;
        if (jinja_is_string(name) && name.as.string->len && name.as.string->data[0] == '_')
            jinja_fail(jinja, "namespaces cannot store underscore-prefixed attributes");
    }
    return space;
}

GLOBAL(cycler)
{
    if (!call->arg_count || call->named_count)
        return jinja_fail(jinja, "at least one item has to be provided");
    struct jinja_cycler *cycler = jinja_alloc(jinja, sizeof(*cycler));
    cycler->items = jinja_list(jinja, JINJA_TUPLE, call->arg_count);
    for (size_t i = 0; i < call->arg_count; i++) jinja_push(jinja, cycler->items, call->args[i]);
    return (struct jinja_value){.kind = JINJA_CYCLER, .as.cycler = cycler};
}

GLOBAL(joiner)
{
    struct jinja_joiner *joiner = jinja_alloc(jinja, sizeof(*joiner));
    joiner->separator =
        call->bound[0].kind == JINJA_MISSING ? jinja_chars(jinja, ", ") : call->bound[0];
    return (struct jinja_value){.kind = JINJA_JOINER, .as.joiner = joiner};
}

static struct jinja_value cycler_current(struct jinja_context *jinja, struct jinja_value self)
{
    const struct jinja_list *items = self.as.cycler->items.as.list;
    return items->count ? items->items[self.as.cycler->at] : jinja_none();
}

static struct jinja_value cycler_next(struct jinja_context *jinja, struct jinja_value self,
                                      const struct jinja_call *call)
{
    struct jinja_value current = cycler_current(jinja, self);
    if (++self.as.cycler->at >= self.as.cycler->items.as.list->count) self.as.cycler->at = 0;
    return current;
}

static struct jinja_value cycler_reset(struct jinja_context *jinja, struct jinja_value self,
                                       const struct jinja_call *call)
{
    self.as.cycler->at = 0;
    return jinja_none();
}

struct jinja_value jinja_cycler_attribute(struct jinja_context *jinja, struct jinja_value value,
                                          const struct jinja_string *name)
{
    static const struct jinja_builtin next = {"next", cycler_next, 0, false, {0}};
    static const struct jinja_builtin reset = {"reset", cycler_reset, 0, false, {0}};
    if (jinja_string_is(name, "current")) return cycler_current(jinja, value);
    if (jinja_string_is(name, "items")) return value.as.cycler->items;
    if (jinja_string_is(name, "pos")) return jinja_int((int64_t)value.as.cycler->at);
    bool is_next = jinja_string_is(name, "next");
    if (!is_next && !jinja_string_is(name, "reset")) return jinja_missing();
    struct jinja_method *method = jinja_alloc(jinja, sizeof(*method));
    method->self = value, method->builtin = is_next ? &next : &reset;
    return (struct jinja_value){.kind = JINJA_METHOD, .as.method = method};
}

static const struct jinja_builtin globals[] = {
    {"range", global_range, 1, false, {"", "", ""}},
    {"dict", global_dict, 0, true, {0}},
    {"namespace", global_namespace, 0, true, {0}},
    {"cycler", global_cycler, 0, true, {0}},
    {"joiner", global_joiner, 0, false, {"sep"}},
    {"raise_exception", global_raise_exception, 1, false, {"message"}},
    {"strftime_now", global_strftime_now, 1, false, {"format"}},
};

const struct jinja_builtin *jinja_find_global(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(globals) / sizeof(*globals); i++)
        if (strlen(globals[i].name) == len && !memcmp(globals[i].name, name, len))
            return &globals[i];
    return NULL;
}

bool jinja_global_is_refused(const char *name, size_t len)
{
    return len == 6 && !memcmp(name, "lipsum", 6);
}
