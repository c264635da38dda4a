/* jinja_access.c - attributes, items and slices: see jinja_ops.h. */
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_ops.h"

/* What getattr() finds on the Python object, methods foremost. MISSING: nothing. */
static struct jinja_value own_attribute(struct jinja_context *jinja, struct jinja_value value,
                                        struct jinja_string *name)
{
    if (value.kind == JINJA_NAMESPACE) {
        struct jinja_value *found = jinja_dict_find_text(value.as.dict, name->data, name->len);
        return found ? *found : jinja_missing();
    }
    const struct jinja_builtin *builtin = jinja_find_method(value, name);
    if (builtin) {
        struct jinja_method *method = jinja_alloc(jinja, sizeof(*method));
        method->self = value, method->builtin = builtin;
        return (struct jinja_value){.kind = JINJA_METHOD, .as.method = method};
    }
    if (jinja_method_changes(value, name))
        return (struct jinja_value){
            .kind = JINJA_UNDEFINED, .detail = JINJA_OF_SANDBOX, .as.string = name};
    if (value.kind == JINJA_LOOP || value.kind == JINJA_MACRO || value.kind == JINJA_CYCLER)
        return jinja_internal_attribute(jinja, value, name);
    if (value.kind == JINJA_TUPLE && value.detail == JINJA_GROUP) {
        if (jinja_string_is(name, "grouper")) return value.as.list->items[0];
        if (jinja_string_is(name, "list")) return value.as.list->items[1];
    }
    if (value.kind == JINJA_RANGE) {
        if (jinja_string_is(name, "start")) return jinja_int(value.as.range->start);
        if (jinja_string_is(name, "step")) return jinja_int(value.as.range->step);
        if (jinja_string_is(name, "stop")) return jinja_int(value.as.range->stop);
    }
    return jinja_missing();
}

struct jinja_value jinja_attribute(struct jinja_context *jinja, struct jinja_value value,
                                   struct jinja_string *name)
{
    if (value.kind == JINJA_UNDEFINED) {
        if (jinja_string_is(name, "__class__")) return jinja_undefined_of(value, name);
        return jinja_fail_undefined(jinja, value);
    }
    struct jinja_value found = own_attribute(jinja, value, name);
    if (found.kind != JINJA_MISSING) return found;
    if (value.kind == JINJA_DICT) {
        struct jinja_value *item = jinja_dict_find_text(value.as.dict, name->data, name->len);
        if (item) return *item;
    }
    return jinja_undefined_of(value, name);
}

/* The position of index `at` among `count`; false: out of range. */
static bool position(int64_t at, size_t count, size_t *out)
{
    if (at < 0) at += (int64_t)count;
    if (at < 0 || at >= (int64_t)count) return false;
    *out = (size_t)at;
    return true;
}

static struct jinja_value char_at(struct jinja_context *jinja, struct jinja_string *string,
                                  size_t at)
{
    jinja_spend(jinja, string->len / 64);
    size_t from = jinja_string_offset(string, at), to = jinja_string_offset(string, at + 1);
    struct jinja_value text = jinja_text_view(jinja, string->data + from, to - from);
    text.as.string->markup = string->markup;
    return text;
}

static struct jinja_value sequence_item(struct jinja_context *jinja, struct jinja_value value,
                                        int64_t index)
{
    size_t at;
    if (!position(index, jinja_length(jinja, value), &at)) return jinja_missing();
    switch (value.kind) {
    case JINJA_STRING: return char_at(jinja, value.as.string, at);
    case JINJA_RANGE: return jinja_int(value.as.range->start + (int64_t)at * value.as.range->step);
    default: return value.as.list->items[at];
    }
}

struct jinja_value jinja_item(struct jinja_context *jinja, struct jinja_value value,
                              struct jinja_value key)
{
    int64_t index;
    struct jinja_value found = jinja_missing();
    switch (value.kind) {
    case JINJA_UNDEFINED: return jinja_fail_undefined(jinja, value);
    case JINJA_DICT:
        if (jinja_hashable(key)) {
            struct jinja_value *item = jinja_dict_find(value.as.dict, key);
            if (item) return *item;
        }
        break;
    case JINJA_STRING:
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_RANGE:
        if (jinja_as_int(key, &index)) found = sequence_item(jinja, value, index);
        break;
    default: break;
    }
    if (found.kind == JINJA_MISSING && key.kind == JINJA_STRING)
        found = own_attribute(jinja, value, key.as.string);
    if (found.kind != JINJA_MISSING) return found;
    return jinja_undefined_of(value, key.kind == JINJA_STRING ? key.as.string : NULL);
}

static bool slice_bound(struct jinja_context *jinja, struct jinja_value value, int64_t *out)
{
    if (!jinja_given(value)) return false;
    if (!jinja_as_int(value, out))
        jinja_fail(jinja, "slice indices must be integers or None, not %s", jinja_type_name(value));
    return !jinja->failed;
}

/* Clamps as Python's slice.indices(); `step` is not zero. */
static size_t slice_indices(struct jinja_context *jinja, size_t length, struct jinja_value from,
                            struct jinja_value to, int64_t step, int64_t *first, int64_t *last)
{
    int64_t len = (int64_t)length, start, stop;
    int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? len - 1 : len;
    if (!slice_bound(jinja, from, &start)) {
        start = step < 0 ? highest : lowest;
    } else {
        if (start < 0) start = start < -len ? lowest : start + len;
        start = start < lowest ? lowest : start > highest ? highest : start;
    }
    if (!slice_bound(jinja, to, &stop)) {
        stop = step < 0 ? lowest : highest;
    } else {
        if (stop < 0) stop = stop < -len ? lowest : stop + len;
        stop = stop < lowest ? lowest : stop > highest ? highest : stop;
    }
    *first = start, *last = stop;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    uint64_t span = step < 0 ? (stop < start ? (uint64_t)(start - stop) : 0)
                             : (start < stop ? (uint64_t)(stop - start) : 0);
    return span ? (size_t)((span - 1) / stride + 1) : 0;
}

static struct jinja_value slice_string(struct jinja_context *jinja, struct jinja_string *string,
                                       int64_t start, int64_t step, size_t count)
{
    struct jinja_value text;
    jinja_spend(jinja, string->len / 64);
    if (step == 1) {
        size_t from = jinja_string_offset(string, (size_t)start);
        size_t to = jinja_string_offset(string, (size_t)start + count);
        text = jinja_text_view(jinja, string->data + from, count ? to - from : 0);
    } else {
        bool bytes = jinja_string_chars(string) == string->len;
        struct buffer *out = jinja_begin(jinja);
        for (size_t i = 0; i < count && jinja_spend(jinja, bytes ? 1 : 1 + string->len / 64); i++) {
            size_t at = jinja_string_offset(string, (size_t)(start + (int64_t)i * step));
            size_t end = at + 1;
            while (end < string->len && ((unsigned char)string->data[end] & 0xc0) == 0x80) end++;
            jinja_append(jinja, out, string->data + at, end - at);
        }
        text = jinja_end(jinja, out);
    }
    text.as.string->markup = string->markup;
    return text;
}

struct jinja_value jinja_slice(struct jinja_context *jinja, struct jinja_value value,
                               struct jinja_value start, struct jinja_value stop,
                               struct jinja_value step_value)
{
    int64_t step = 1, first, stop_at;
    if (slice_bound(jinja, step_value, &step) && !step)
        return jinja_fail(jinja, "slice step cannot be zero");
    if (value.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, value);
    if (value.kind != JINJA_STRING && value.kind != JINJA_LIST && value.kind != JINJA_TUPLE &&
        value.kind != JINJA_RANGE)
        return jinja_fail(jinja, "'%s' object cannot be sliced", jinja_type_name(value));
    size_t count =
        slice_indices(jinja, jinja_length(jinja, value), start, stop, step, &first, &stop_at);
    if (jinja->failed) return jinja_none();
    if (count <= 1) step = 1; /* no overflow below */
    if (value.kind == JINJA_STRING) return slice_string(jinja, value.as.string, first, step, count);
    if (value.kind == JINJA_RANGE) {
        struct jinja_range *range = jinja_alloc(jinja, sizeof(*range));
        range->start = value.as.range->start + first * value.as.range->step;
        range->step = value.as.range->step * step, range->count = count;
        range->stop = value.as.range->start + stop_at * value.as.range->step;
        return (struct jinja_value){.kind = JINJA_RANGE, .as.range = range};
    }
    struct jinja_value list = jinja_list(jinja, value.kind, count);
    jinja_spend(jinja, count);
    for (size_t i = 0; i < count; i++)
        jinja_push(jinja, list, value.as.list->items[first + (int64_t)i * step]);
    return list;
}
