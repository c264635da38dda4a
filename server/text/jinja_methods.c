/* jinja_methods.c - methods of dict and list, and which methods a value has. */
#include "server/text/jinja_methods.h"

#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

#define METHOD(name)                                                                               \
    static struct jinja_value method_##name(struct jinja_context *jinja, struct jinja_value self,  \
                                            const struct jinja_call *call)

static struct jinja_value view_of(struct jinja_context *jinja, struct jinja_value self,
                                  enum jinja_view_of of)
{
    struct jinja_view *view = jinja_alloc(jinja, sizeof(*view));
    view->dict = self.as.dict, view->of = of;
    return (struct jinja_value){.kind = JINJA_VIEW, .as.view = view};
}

METHOD(keys)
{
    return view_of(jinja, self, JINJA_VIEW_KEYS);
}

METHOD(values)
{
    return view_of(jinja, self, JINJA_VIEW_VALUES);
}

METHOD(items)
{
    return view_of(jinja, self, JINJA_VIEW_ITEMS);
}

METHOD(get)
{
    if (!jinja_hashable(call->bound[0]))
        return jinja_fail(jinja, "unhashable type: '%s'", jinja_type_name(call->bound[0]));
    struct jinja_value *found = jinja_dict_find(self.as.dict, call->bound[0]);
    if (found) return *found;
    return call->bound[1].kind == JINJA_MISSING ? jinja_none() : call->bound[1];
}

METHOD(copy)
{
    struct jinja_value copy;
    if (self.kind == JINJA_LIST) return jinja_collect(jinja, JINJA_LIST, self);
    copy = jinja_dict(jinja, JINJA_DICT, self.as.dict->count);
    for (size_t i = 0; i < self.as.dict->count && jinja_spend(jinja, 1); i++)
        jinja_dict_set(jinja, copy.as.dict, self.as.dict->pairs[i].key,
                       self.as.dict->pairs[i].value);
    return copy;
}

METHOD(fromkeys)
{
    struct jinja_value dict = jinja_dict(jinja, JINJA_DICT, 0), key;
    struct jinja_iterator *iterator = jinja_iterate(jinja, call->bound[0]);
    while (jinja_next(jinja, iterator, &key))
        jinja_dict_set(jinja, dict.as.dict, key,
                       call->bound[1].kind == JINJA_MISSING ? jinja_none() : call->bound[1]);
    return dict;
}

METHOD(count)
{
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item;
    int64_t count = 0;
    while (jinja_next(jinja, iterator, &item)) count += jinja_equal(jinja, item, call->bound[0]);
    return jinja_int(count);
}

METHOD(index)
{
    int64_t length = (int64_t)jinja_length(jinja, self);
    int64_t start = jinja_arg_int(jinja, call->bound[1], 0);
    int64_t stop = jinja_arg_int(jinja, call->bound[2], length);
    if (start < 0) start = start + length < 0 ? 0 : start + length;
    if (stop < 0) stop += length;
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item;
    for (int64_t i = 0; i < stop && jinja_next(jinja, iterator, &item); i++)
        if (i >= start && jinja_equal(jinja, item, call->bound[0])) return jinja_int(i);
    return jinja_fail(jinja, "the value is not in the %s", jinja_type_name(self));
}

METHOD(is_integer)
{
    double whole = self.as.real < 0 ? -self.as.real : self.as.real;
    return jinja_bool(whole < 9e15 ? (double)(int64_t)whole == whole
                                   : whole <= 1.7976931348623157e308);
}

METHOD(bit_length)
{
    int64_t integer = 0;
    jinja_as_int(self, &integer);
    uint64_t size = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    return jinja_int(size ? 64 - __builtin_clzll(size) : 0);
}

const struct jinja_builtin jinja_dict_methods[] = {
    {"get", method_get, 1, false, {"", ""}},
    {"items", method_items, 0, false, {0}},
    {"keys", method_keys, 0, false, {0}},
    {"values", method_values, 0, false, {0}},
    {"copy", method_copy, 0, false, {0}},
    {"fromkeys", method_fromkeys, 1, false, {"", ""}},
    {0},
};

const struct jinja_builtin jinja_list_methods[] = {
    {"count", method_count, 1, false, {""}},
    {"index", method_index, 1, false, {"", "", ""}},
    {"copy", method_copy, 0, false, {0}}, /* the last: a tuple has none */
    {0},
};

const struct jinja_builtin jinja_other_methods[] = {
    {"is_integer", method_is_integer, 0, false, {0}},
    {"bit_length", method_bit_length, 0, false, {0}},
    {"fromkeys", method_fromkeys, 1, false, {"", ""}},
    {0},
};

static const struct jinja_builtin *find(const struct jinja_builtin *methods,
                                        const struct jinja_string *name)
{
    for (; methods->name; methods++)
        if (jinja_string_is(name, methods->name)) return methods;
    return NULL;
}

const struct jinja_builtin *jinja_find_method(struct jinja_value self,
                                              const struct jinja_string *name)
{
    switch (self.kind) {
    case JINJA_STRING: return find(jinja_string_methods, name);
    case JINJA_DICT: return find(jinja_dict_methods, name);
    case JINJA_LIST: return find(jinja_list_methods, name);
    case JINJA_TUPLE:
    case JINJA_RANGE: return jinja_string_is(name, "copy") ? NULL : find(jinja_list_methods, name);
    case JINJA_FLOAT: return jinja_string_is(name, "is_integer") ? &jinja_other_methods[0] : NULL;
    case JINJA_INT:
    case JINJA_BOOL: return jinja_string_is(name, "bit_length") ? &jinja_other_methods[1] : NULL;
    case JINJA_FUNCTION:
        return !strcmp(self.as.function->name, "dict") && jinja_string_is(name, "fromkeys")
                   ? &jinja_other_methods[2]
                   : NULL;
    default: return NULL;
    }
}

bool jinja_method_changes(struct jinja_value self, const struct jinja_string *name)
{
    static const char *const of_dict[] = {"clear", "pop", "popitem", "setdefault", "update", NULL};
    static const char *const of_list[] = {"append", "clear",  "pop",    "reverse", "insert",
                                          "sort",   "extend", "remove", NULL};
    const char *const *names = self.kind == JINJA_DICT   ? of_dict
                               : self.kind == JINJA_LIST ? of_list
                                                         : NULL;
    for (; names && *names; names++)
        if (jinja_string_is(name, *names)) return true;
    return false;
}
