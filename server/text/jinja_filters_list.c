/* jinja_filters_list.c - filters that make or read sequences; most of them lazily, as in Jinja2. */
#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_filters.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_text.h"

JINJA_FILTER(list)
{
    return jinja_collect(jinja, JINJA_LIST, self);
}

JINJA_FILTER(first)
{
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item;
    if (jinja_next(jinja, iterator, &item)) return item;
    return jinja_undefined_hint(jinja, "No first item, sequence was empty.");
}

JINJA_FILTER(last)
{
    if (!jinja_has_length(self))
        return jinja_fail(jinja, "'%s' object is not reversible", jinja_type_name(self));
    struct jinja_value all = jinja_collect(jinja, JINJA_LIST, self);
    if (all.as.list->count) return all.as.list->items[all.as.list->count - 1];
    return jinja_undefined_hint(jinja, "No last item, sequence was empty.");
}

JINJA_FILTER(join)
{
    struct jinja_value separator =
        call->bound[0].kind == JINJA_MISSING ? jinja_chars(jinja, "") : call->bound[0];
    separator = jinja_str(jinja, separator);
    if (!jinja_given(call->bound[1])) return jinja_join(jinja, separator, self, false);
    struct jinja_value list = jinja_list(jinja, JINJA_LIST, 0), item;
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    while (jinja_next(jinja, iterator, &item))
        jinja_push(jinja, list, jinja_path(jinja, item, call->bound[1]));
    return jinja_join(jinja, separator, list, false);
}

JINJA_FILTER(reverse)
{
    if (self.kind == JINJA_STRING)
        return jinja_slice(jinja, self, jinja_missing(), jinja_missing(), jinja_int(-1));
    struct jinja_value all = jinja_collect(jinja, JINJA_LIST, self);
    struct jinja_list *list = all.as.list;
    for (size_t i = 0; i + i + 1 < list->count; i++) {
        struct jinja_value item = list->items[i];
        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = item;
    }
    if (self.kind == JINJA_ITERATOR) return all;
    return (struct jinja_value){.kind = JINJA_ITERATOR, .as.iterator = jinja_iterate(jinja, all)};
}

/* A generator that works on everything at its first step. */
struct deferred {
    struct jinja_value (*make)(struct jinja_context *jinja, struct jinja_value self,
                               const struct jinja_call *call);
    struct jinja_call call;
};

static bool next_deferred(struct jinja_context *jinja, struct jinja_iterator *iterator,
                          struct jinja_value *item)
{
    struct deferred *deferred = iterator->state;
    if (!iterator->inner)
        iterator->inner =
            jinja_iterate(jinja, deferred->make(jinja, iterator->source, &deferred->call));
    return jinja_next(jinja, iterator->inner, item);
}

static struct jinja_value
defer(struct jinja_context *jinja, struct jinja_value self, const struct jinja_call *call,
      struct jinja_value (*make)(struct jinja_context *jinja, struct jinja_value self,
                                 const struct jinja_call *call))
{
    struct deferred *deferred = jinja_alloc(jinja, sizeof(*deferred));
    deferred->make = make, deferred->call = *call;
    return jinja_generator(jinja, next_deferred, self, deferred);
}

static struct jinja_value make_items(struct jinja_context *jinja, struct jinja_value self,
                                     const struct jinja_call *call)
{
    struct jinja_value list = jinja_list(jinja, JINJA_LIST, 0);
    if (self.kind == JINJA_UNDEFINED) return list;
    if (self.kind != JINJA_DICT)
        return jinja_fail(jinja, "Can only get item pairs from a mapping.");
    for (size_t i = 0; i < self.as.dict->count && jinja_spend(jinja, 1); i++)
        jinja_push(jinja, list,
                   jinja_pair_of(jinja, self.as.dict->pairs[i].key, self.as.dict->pairs[i].value));
    return list;
}

JINJA_FILTER(items)
{
    return defer(jinja, self, call, make_items);
}

static struct jinja_value make_batch(struct jinja_context *jinja, struct jinja_value self,
                                     const struct jinja_call *call)
{
    struct jinja_value rows = jinja_list(jinja, JINJA_LIST, 0), row = jinja_missing(), item;
    int64_t width = jinja_arg_int(jinja, call->bound[0], 1);
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    while (jinja_next(jinja, iterator, &item)) {
        if (row.kind == JINJA_MISSING || (int64_t)row.as.list->count == width) {
            row = jinja_list(jinja, JINJA_LIST, 0);
            jinja_push(jinja, rows, row);
        }
        jinja_push(jinja, row, item);
    }
    if (row.kind == JINJA_MISSING || !jinja_given(call->bound[1])) return rows;
    while ((int64_t)row.as.list->count < width && jinja_spend(jinja, 1))
        jinja_push(jinja, row, call->bound[1]);
    return rows;
}

JINJA_FILTER(batch)
{
    return defer(jinja, self, call, make_batch);
}

static struct jinja_value make_slices(struct jinja_context *jinja, struct jinja_value self,
                                      const struct jinja_call *call)
{
    struct jinja_value all = jinja_collect(jinja, JINJA_LIST, self);
    struct jinja_value rows = jinja_list(jinja, JINJA_LIST, 0);
    int64_t slices = jinja_arg_int(jinja, call->bound[0], 1), at = 0;
    if (jinja->failed) return rows;
    if (!slices) return jinja_fail(jinja, "integer division or modulo by zero");
    int64_t length = (int64_t)all.as.list->count, each = length / slices, extra = length % slices;
    for (int64_t i = 0; i < slices && jinja_spend(jinja, 1); i++) {
        struct jinja_value row = jinja_list(jinja, JINJA_LIST, 0);
        for (int64_t end = at + each + (i < extra); at < end; at++)
            jinja_push(jinja, row, all.as.list->items[at]);
        if (jinja_given(call->bound[1]) && i >= extra) jinja_push(jinja, row, call->bound[1]);
        jinja_push(jinja, rows, row);
    }
    return rows;
}

JINJA_FILTER(slice)
{
    return defer(jinja, self, call, make_slices);
}

/* map, select, reject, selectattr, rejectattr. */
struct each {
    struct jinja_call call; /* of the filter or test for every item */
    const struct jinja_builtin *builtin;
    struct jinja_value attribute, fallback; /* missing: none */
    bool reject;
    bool (*prepare)(struct jinja_context *jinja, struct each *each);
};

static void skip_args(struct jinja_call *call, size_t count)
{
    call->args += count, call->arg_count -= count;
}

static bool prepare_map(struct jinja_context *jinja, struct each *each)
{
    struct jinja_call *call = &each->call;
    if (!call->arg_count) {
        for (size_t i = 0; i < call->named_count; i++) {
            const struct jinja_string *name = call->named[i].key.as.string;
            if (jinja_string_is(name, "attribute"))
                each->attribute = call->named[i].value;
            else if (jinja_string_is(name, "default"))
                each->fallback = call->named[i].value;
            else
                jinja_fail(jinja, "map: unexpected keyword argument");
        }
        if (each->attribute.kind == JINJA_MISSING)
            jinja_fail(jinja, "map requires a filter argument");
        return !jinja->failed;
    }
    struct jinja_value name = jinja_arg_string(jinja, call->args[0], "");
    skip_args(call, 1);
    each->builtin = jinja_find_filter(name.as.string->data, name.as.string->len);
    if (!each->builtin) jinja_fail(jinja, "No filter named '%s'.", name.as.string->data);
    return !jinja->failed;
}

static bool prepare_select(struct jinja_context *jinja, struct each *each)
{
    struct jinja_call *call = &each->call;
    if (!call->arg_count) return true;
    struct jinja_value name = jinja_arg_string(jinja, call->args[0], "");
    skip_args(call, 1);
    each->builtin = jinja_find_test(name.as.string->data, name.as.string->len);
    if (!each->builtin) jinja_fail(jinja, "No test named '%s'.", name.as.string->data);
    return !jinja->failed;
}

static bool prepare_select_attribute(struct jinja_context *jinja, struct each *each)
{
    if (!each->call.arg_count) {
        jinja_fail(jinja, "Missing parameter for attribute name");
        return false;
    }
    each->attribute = each->call.args[0];
    skip_args(&each->call, 1);
    return prepare_select(jinja, each);
}

/* The generators look at their input's truth first, at their arguments only when it is true. */
static bool begin_each(struct jinja_context *jinja, struct jinja_iterator *iterator)
{
    struct each *each = iterator->state;
    if (iterator->inner) return true;
    if (!jinja_truth(jinja, iterator->source) || !each->prepare(jinja, each)) return false;
    iterator->inner = jinja_iterate(jinja, iterator->source);
    return iterator->inner != NULL;
}

/* attribute= with its default, which also stands in along the path. */
static struct jinja_value attribute_of(struct jinja_context *jinja, const struct each *each,
                                       struct jinja_value item)
{
    struct jinja_value path = each->attribute;
    if (!jinja_given(each->fallback) || !jinja_is_string(path)) {
        item = jinja_path(jinja, item, path);
        return item.kind == JINJA_UNDEFINED && jinja_given(each->fallback) ? each->fallback : item;
    }
    const char *at = path.as.string->data, *end = at + path.as.string->len;
    while (!jinja->failed) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        item =
            jinja_path(jinja, item, jinja_text_view(jinja, at, (size_t)((dot ? dot : end) - at)));
        if (item.kind == JINJA_UNDEFINED) item = each->fallback;
        if (!dot) break;
        at = dot + 1;
    }
    return item;
}

static bool next_mapped(struct jinja_context *jinja, struct jinja_iterator *iterator,
                        struct jinja_value *item)
{
    struct each *each = iterator->state;
    if (!begin_each(jinja, iterator) || !jinja_next(jinja, iterator->inner, item)) return false;
    struct jinja_call call = each->call;
    if (!jinja_enter(jinja)) return jinja_leave(jinja), false;
    *item = each->builtin ? jinja_run_builtin(jinja, each->builtin, *item, &call)
                          : attribute_of(jinja, each, *item);
    jinja_leave(jinja);
    return !jinja->failed;
}

static bool next_selected(struct jinja_context *jinja, struct jinja_iterator *iterator,
                          struct jinja_value *item)
{
    struct each *each = iterator->state;
    if (!begin_each(jinja, iterator)) return false;
    while (jinja_next(jinja, iterator->inner, item)) {
        struct jinja_call call = each->call;
        struct jinja_value value = each->attribute.kind == JINJA_MISSING
                                       ? *item
                                       : jinja_path(jinja, *item, each->attribute);
        if (each->builtin) value = jinja_run_builtin(jinja, each->builtin, value, &call);
        if (jinja->failed) return false;
        if (jinja_truth(jinja, value) != each->reject) return true;
    }
    return false;
}

static struct jinja_value each_of(struct jinja_context *jinja, struct jinja_value self,
                                  const struct jinja_call *call, bool reject,
                                  bool (*prepare)(struct jinja_context *, struct each *))
{
    struct each *each = jinja_alloc(jinja, sizeof(*each));
    each->call = *call, each->reject = reject, each->prepare = prepare;
    return jinja_generator(jinja, prepare == prepare_map ? next_mapped : next_selected, self, each);
}

JINJA_FILTER(map)
{
    return each_of(jinja, self, call, false, prepare_map);
}

JINJA_FILTER(select)
{
    return each_of(jinja, self, call, false, prepare_select);
}

JINJA_FILTER(reject)
{
    return each_of(jinja, self, call, true, prepare_select);
}

JINJA_FILTER(selectattr)
{
    return each_of(jinja, self, call, false, prepare_select_attribute);
}

JINJA_FILTER(rejectattr)
{
    return each_of(jinja, self, call, true, prepare_select_attribute);
}
