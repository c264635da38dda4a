/* jinja_filters_sort.c - filters that order, group and add up. */
#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_filters.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_text.h"

struct entry {
    struct jinja_value key, item;
};

struct entries {
    struct entry *at;
    size_t count;
};

/* What items are compared by: the value at a path, in lower case unless case matters. */
static struct jinja_value sort_key(struct jinja_context *jinja, struct jinja_value item,
                                   struct jinja_value path, bool case_sensitive)
{
    struct jinja_value key = jinja_path(jinja, item, path);
    if (key.kind == JINJA_STRING && !case_sensitive)
        key = jinja_change_case(jinja, key, JINJA_LOWER);
    return key;
}

static bool before(struct jinja_context *jinja, const struct entry *a, const struct entry *b)
{
    return jinja_compare(jinja, a->key, b->key) == -1;
}

/* A stable merge sort of at[from, to); equal items keep their order in both directions. */
static void sort_range(struct jinja_context *jinja, struct entry *at, struct entry *spare,
                       size_t from, size_t to, bool reverse)
{
    if (to - from < 2 || jinja->failed) return;
    size_t middle = from + (to - from) / 2, left = from, right = middle, out = from;
    sort_range(jinja, at, spare, from, middle, reverse);
    sort_range(jinja, at, spare, middle, to, reverse);
    while (left < middle && right < to && jinja_spend(jinja, 1)) {
        bool swap =
            reverse ? before(jinja, &at[left], &at[right]) : before(jinja, &at[right], &at[left]);
        spare[out++] = swap ? at[right++] : at[left++];
    }
    while (left < middle) spare[out++] = at[left++];
    while (right < to) spare[out++] = at[right++];
    memcpy(at + from, spare + from, (to - from) * sizeof(*at));
}

static void sort_entries(struct jinja_context *jinja, struct entries *entries, bool reverse)
{
    if (!entries->count || jinja->failed) return;
    struct entry *spare = jinja_alloc(jinja, entries->count * sizeof(*spare));
    sort_range(jinja, entries->at, spare, 0, entries->count, reverse);
}

/* All items with room for their keys, which stay missing. */
static struct entries entries_of(struct jinja_context *jinja, struct jinja_value self)
{
    struct jinja_value all = jinja_collect(jinja, JINJA_LIST, self);
    struct entries entries = {NULL, jinja->failed ? 0 : all.as.list->count};
    entries.at = jinja_alloc(jinja, (entries.count + 1) * sizeof(*entries.at));
    for (size_t i = 0; i < entries.count; i++) entries.at[i].item = all.as.list->items[i];
    return entries;
}

static struct jinja_value list_of(struct jinja_context *jinja, const struct entries *entries)
{
    struct jinja_value list = jinja_list(jinja, JINJA_LIST, entries->count);
    for (size_t i = 0; i < entries->count; i++) jinja_push(jinja, list, entries->at[i].item);
    return list;
}

/* The list of keys of "a,b.c": one for each attribute. */
static struct jinja_value keys_of(struct jinja_context *jinja, struct jinja_value item,
                                  struct jinja_value paths, bool case_sensitive)
{
    struct jinja_value keys = jinja_list(jinja, JINJA_LIST, 1);
    if (!jinja_is_string(paths)) {
        jinja_push(jinja, keys, sort_key(jinja, item, paths, case_sensitive));
        return keys;
    }
    const char *at = paths.as.string->data, *end = at + paths.as.string->len;
    while (!jinja->failed) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        struct jinja_value path = jinja_text_view(jinja, at, (size_t)(stop - at));
        jinja_push(jinja, keys, sort_key(jinja, item, path, case_sensitive));
        if (!comma) break;
        at = comma + 1;
    }
    return keys;
}

JINJA_FILTER(sort)
{
    struct entries entries = entries_of(jinja, self);
    bool reverse = jinja_arg_bool(jinja, call->bound[0], false);
    bool case_sensitive = jinja_arg_bool(jinja, call->bound[1], false);
    for (size_t i = 0; i < entries.count && !jinja->failed; i++)
        entries.at[i].key = keys_of(jinja, entries.at[i].item, call->bound[2], case_sensitive);
    sort_entries(jinja, &entries, reverse);
    return list_of(jinja, &entries);
}

JINJA_FILTER(dictsort)
{
    bool case_sensitive = jinja_arg_bool(jinja, call->bound[0], false);
    struct jinja_value by = jinja_arg_string(jinja, call->bound[1], "key");
    bool value = jinja_string_is(by.as.string, "value");
    if (!value && !jinja_string_is(by.as.string, "key"))
        return jinja_fail(jinja, "You can only sort by either \"key\" or \"value\"");
    if (self.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, self);
    if (self.kind != JINJA_DICT) return jinja_fail(jinja, "dictsort needs a mapping");
    struct entries entries = {NULL, self.as.dict->count};
    entries.at = jinja_alloc(jinja, (entries.count + 1) * sizeof(*entries.at));
    for (size_t i = 0; i < entries.count && !jinja->failed; i++) {
        const struct jinja_pair *pair = &self.as.dict->pairs[i];
        entries.at[i].item = jinja_pair_of(jinja, pair->key, pair->value);
        entries.at[i].key =
            sort_key(jinja, value ? pair->value : pair->key, jinja_missing(), case_sensitive);
    }
    sort_entries(jinja, &entries, jinja_arg_bool(jinja, call->bound[2], false));
    return list_of(jinja, &entries);
}

static struct jinja_value extreme(struct jinja_context *jinja, struct jinja_value self,
                                  const struct jinja_call *call, int sign)
{
    bool case_sensitive = jinja_arg_bool(jinja, call->bound[0], false);
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item, best, best_key;
    if (!jinja_next(jinja, iterator, &best))
        return jinja_undefined_hint(jinja, "No aggregated item, sequence was empty.");
    best_key = sort_key(jinja, best, call->bound[1], case_sensitive);
    while (jinja_next(jinja, iterator, &item)) {
        struct jinja_value key = sort_key(jinja, item, call->bound[1], case_sensitive);
        if (!jinja->failed && jinja_compare(jinja, key, best_key) == sign)
            best = item, best_key = key;
    }
    return best;
}

JINJA_FILTER(min)
{
    return extreme(jinja, self, call, -1);
}

JINJA_FILTER(max)
{
    return extreme(jinja, self, call, 1);
}

JINJA_FILTER(sum)
{
    struct jinja_value sum = call->bound[1].kind == JINJA_MISSING ? jinja_int(0) : call->bound[1];
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item;
    if (sum.kind == JINJA_STRING) return jinja_fail(jinja, "sum() can't sum strings");
    while (jinja_next(jinja, iterator, &item))
        sum = jinja_operate(jinja, JINJA_ADD, sum, jinja_path(jinja, item, call->bound[0]));
    return sum;
}

static bool next_unique(struct jinja_context *jinja, struct jinja_iterator *iterator,
                        struct jinja_value *item)
{
    struct jinja_value *state = iterator->state; /* seen, path, case_sensitive */
    if (!iterator->inner) iterator->inner = jinja_iterate(jinja, iterator->source);
    while (jinja_next(jinja, iterator->inner, item)) {
        struct jinja_value key = sort_key(jinja, *item, state[1], state[2].as.boolean);
        if (!jinja->failed && jinja_hashable(key) && jinja_dict_find(state[0].as.dict, key))
            continue;
        jinja_dict_set(jinja, state[0].as.dict, key, jinja_none());
        return !jinja->failed;
    }
    return false;
}

JINJA_FILTER(unique)
{
    struct jinja_value *state = jinja_alloc(jinja, 3 * sizeof(*state));
    state[0] = jinja_dict(jinja, JINJA_DICT, 0);
    state[1] = call->bound[1];
    state[2] = jinja_bool(jinja_arg_bool(jinja, call->bound[0], false));
    return jinja_generator(jinja, next_unique, self, state);
}

static struct jinja_value group_key(struct jinja_context *jinja, struct jinja_value item,
                                    const struct jinja_call *call, bool case_sensitive)
{
    struct jinja_value key = jinja_path(jinja, item, call->bound[0]);
    if (key.kind == JINJA_UNDEFINED && jinja_given(call->bound[1])) key = call->bound[1];
    return sort_key(jinja, key, jinja_missing(), case_sensitive);
}

JINJA_FILTER(groupby)
{
    bool case_sensitive = jinja_arg_bool(jinja, call->bound[2], false);
    struct entries entries = entries_of(jinja, self);
    struct jinja_value groups = jinja_list(jinja, JINJA_LIST, 0), list = jinja_missing();
    for (size_t i = 0; i < entries.count && !jinja->failed; i++)
        entries.at[i].key = group_key(jinja, entries.at[i].item, call, case_sensitive);
    sort_entries(jinja, &entries, false);
    for (size_t i = 0; i < entries.count && !jinja->failed; i++) {
        if (!i || !jinja_equal(jinja, entries.at[i - 1].key, entries.at[i].key)) {
            struct jinja_value grouper = group_key(jinja, entries.at[i].item, call, true);
            list = jinja_list(jinja, JINJA_LIST, 0);
            struct jinja_value group = jinja_pair_of(jinja, grouper, list);
            group.detail = JINJA_GROUP;
            jinja_push(jinja, groups, group);
        }
        jinja_push(jinja, list, entries.at[i].item);
    }
    return groups;
}
