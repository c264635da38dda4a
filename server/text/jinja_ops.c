/* jinja_ops.c - truth, text, equality, order and membership: see jinja_ops.h. */
#include "server/text/jinja_ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_unicode.h"

bool jinja_has_length(struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_UNDEFINED:
    case JINJA_STRING:
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
    case JINJA_VIEW:
    case JINJA_RANGE:
    case JINJA_LOOP: return true;
    default: return false;
    }
}

size_t jinja_length(struct jinja_context *jinja, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_UNDEFINED: return 0;
    case JINJA_STRING: return jinja_string_chars(value.as.string);
    case JINJA_LIST:
    case JINJA_TUPLE: return value.as.list->count;
    case JINJA_DICT: return value.as.dict->count;
    case JINJA_VIEW: return value.as.view->dict->count;
    case JINJA_RANGE: return value.as.range->count;
    case JINJA_LOOP: return jinja_loop_length(jinja, value.as.loop);
    default:
        jinja_fail(jinja, "object of type '%s' has no len()", jinja_type_name(value));
        return 0;
    }
}

bool jinja_truth(struct jinja_context *jinja, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_MISSING:
    case JINJA_UNDEFINED:
    case JINJA_NONE: return false;
    case JINJA_BOOL: return value.as.boolean;
    case JINJA_INT: return value.as.integer != 0;
    case JINJA_FLOAT: return value.as.real != 0;
    case JINJA_STRING: return value.as.string->len != 0;
    default: return !jinja_has_length(value) || jinja_length(jinja, value) != 0;
    }
}

bool jinja_as_int(struct jinja_value value, int64_t *out)
{
    if (value.kind == JINJA_BOOL) return *out = value.as.boolean, true;
    if (value.kind == JINJA_INT) return *out = value.as.integer, true;
    return false;
}

bool jinja_as_real(struct jinja_value value, double *out)
{
    int64_t integer;
    if (value.kind == JINJA_FLOAT) return *out = value.as.real, true;
    if (!jinja_as_int(value, &integer)) return false;
    return *out = (double)integer, true;
}

void jinja_format_float(double real, char *out)
{
    if (isnan(real) || isinf(real)) {
        strcpy(out, isnan(real) ? "nan" : real < 0 ? "-inf" : "inf");
        return;
    }
    char text[40];
    int digits = 1;
    do snprintf(text, sizeof(text), "%.*e", digits - 1, real);
    while (strtod(text, NULL) != real && digits++ < 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent >= 16) {
        char *e = strchr(text, 'e');
        snprintf(out, 32, "%.*se%c%02d", (int)(e - text), text, exponent < 0 ? '-' : '+',
                 abs(exponent));
    } else {
        int decimals = digits - 1 - exponent;
        snprintf(out, 32, "%.*f", decimals > 1 ? decimals : 1, real);
    }
}

static void write_string_repr(struct jinja_context *jinja, struct buffer *out,
                              const struct jinja_string *string)
{
    char quote = '\'';
    if (memchr(string->data, '\'', string->len) && !memchr(string->data, '"', string->len))
        quote = '"';
    if (string->markup) jinja_append_chars(jinja, out, "Markup(");
    jinja_append(jinja, out, &quote, 1);
    const char *at = string->data, *end = at + string->len;
    while (at < end && !jinja->failed) {
        const char *from = at;
        int32_t code = jinja_decode(&at, end);
        char escape[16];
        if (code == quote || code == '\\')
            snprintf(escape, sizeof(escape), "\\%c", code);
        else if (code == '\n')
            strcpy(escape, "\\n");
        else if (code == '\r')
            strcpy(escape, "\\r");
        else if (code == '\t')
            strcpy(escape, "\\t");
        else if (jinja_is_printable(code)) {
            jinja_append(jinja, out, from, (size_t)(at - from));
            continue;
        } else if (code < 0x100)
            snprintf(escape, sizeof(escape), "\\x%02x", code);
        else if (code < 0x10000)
            snprintf(escape, sizeof(escape), "\\u%04x", code);
        else
            snprintf(escape, sizeof(escape), "\\U%08x", code);
        jinja_append_chars(jinja, out, escape);
    }
    jinja_append(jinja, out, &quote, 1);
    if (string->markup) jinja_append_chars(jinja, out, ")");
}

static void write_pairs(struct jinja_context *jinja, struct buffer *out,
                        const struct jinja_dict *dict, const char *open, const char *close)
{
    jinja_append_chars(jinja, out, open);
    for (size_t i = 0; i < dict->count && !jinja->failed; i++) {
        if (i) jinja_append_chars(jinja, out, ", ");
        jinja_write_repr(jinja, out, dict->pairs[i].key);
        jinja_append_chars(jinja, out, ": ");
        jinja_write_repr(jinja, out, dict->pairs[i].value);
    }
    jinja_append_chars(jinja, out, close);
}

static void write_view(struct jinja_context *jinja, struct buffer *out,
                       const struct jinja_view *view)
{
    static const char *const names[] = {"dict_keys([", "dict_values([", "dict_items(["};
    jinja_append_chars(jinja, out, names[view->of]);
    for (size_t i = 0; i < view->dict->count && !jinja->failed; i++) {
        const struct jinja_pair *pair = &view->dict->pairs[i];
        if (i) jinja_append_chars(jinja, out, ", ");
        if (view->of == JINJA_VIEW_ITEMS) jinja_append_chars(jinja, out, "(");
        if (view->of != JINJA_VIEW_VALUES) jinja_write_repr(jinja, out, pair->key);
        if (view->of == JINJA_VIEW_ITEMS) jinja_append_chars(jinja, out, ", ");
        if (view->of != JINJA_VIEW_KEYS) jinja_write_repr(jinja, out, pair->value);
        if (view->of == JINJA_VIEW_ITEMS) jinja_append_chars(jinja, out, ")");
    }
    jinja_append_chars(jinja, out, "])");
}

static void write_list(struct jinja_context *jinja, struct buffer *out, struct jinja_value value)
{
    const struct jinja_list *list = value.as.list;
    bool tuple = value.kind == JINJA_TUPLE;
    jinja_append_chars(jinja, out, tuple ? "(" : "[");
    for (size_t i = 0; i < list->count && !jinja->failed; i++) {
        if (i) jinja_append_chars(jinja, out, ", ");
        jinja_write_repr(jinja, out, list->items[i]);
    }
    jinja_append_chars(jinja, out, !tuple ? "]" : list->count == 1 ? ",)" : ")");
}

static void write_range(struct jinja_context *jinja, struct buffer *out,
                        const struct jinja_range *range)
{
    char text[96];
    if (range->step == 1)
        snprintf(text, sizeof(text), "range(%" PRId64 ", %" PRId64 ")", range->start, range->stop);
    else
        snprintf(text, sizeof(text), "range(%" PRId64 ", %" PRId64 ", %" PRId64 ")", range->start,
                 range->stop, range->step);
    jinja_append_chars(jinja, out, text);
}

static void write_object(struct jinja_context *jinja, struct buffer *out, struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_VIEW: write_view(jinja, out, value.as.view); break;
    case JINJA_RANGE: write_range(jinja, out, value.as.range); break;
    case JINJA_NAMESPACE: write_pairs(jinja, out, value.as.dict, "<Namespace {", "}>"); break;
    case JINJA_MACRO:
    case JINJA_LOOP: jinja_write_internal(jinja, out, value); break;
    default:
        jinja_append_chars(jinja, out, "<");
        jinja_append_chars(jinja, out, jinja_type_name(value));
        jinja_append_chars(jinja, out, " object>");
    }
}

void jinja_write_repr(struct jinja_context *jinja, struct buffer *out, struct jinja_value value)
{
    char text[40];
    if (!jinja_enter(jinja)) {
        jinja_leave(jinja);
        return;
    }
    switch (value.kind) {
    case JINJA_MISSING:
    case JINJA_UNDEFINED: jinja_append_chars(jinja, out, "Undefined"); break;
    case JINJA_NONE: jinja_append_chars(jinja, out, "None"); break;
    case JINJA_BOOL: jinja_append_chars(jinja, out, value.as.boolean ? "True" : "False"); break;
    case JINJA_INT:
        snprintf(text, sizeof(text), "%" PRId64, value.as.integer);
        jinja_append_chars(jinja, out, text);
        break;
    case JINJA_BIG: jinja_append(jinja, out, value.as.string->data, value.as.string->len); break;
    case JINJA_FLOAT:
        jinja_spend(jinja, 16); /* the shortest text is found by trying */
        jinja_format_float(value.as.real, text);
        jinja_append_chars(jinja, out, text);
        break;
    case JINJA_STRING: write_string_repr(jinja, out, value.as.string); break;
    case JINJA_LIST:
    case JINJA_TUPLE: write_list(jinja, out, value); break;
    case JINJA_DICT: write_pairs(jinja, out, value.as.dict, "{", "}"); break;
    default: write_object(jinja, out, value);
    }
    jinja_leave(jinja);
}

void jinja_write_str(struct jinja_context *jinja, struct buffer *out, struct jinja_value value)
{
    if (value.kind == JINJA_STRING)
        jinja_append(jinja, out, value.as.string->data, value.as.string->len);
    else if (value.kind != JINJA_UNDEFINED)
        jinja_write_repr(jinja, out, value);
}

struct jinja_value jinja_str(struct jinja_context *jinja, struct jinja_value value)
{
    if (value.kind == JINJA_STRING) return value;
    struct buffer *text = jinja_begin(jinja);
    jinja_write_str(jinja, text, value);
    return jinja_end(jinja, text);
}

/* Numbers of any two kinds, exactly: a long double holds every int64_t. */
static bool both_numbers(struct jinja_value a, struct jinja_value b, long double *x, long double *y)
{
    int64_t i, k;
    if (jinja_as_int(a, &i))
        *x = i;
    else if (a.kind == JINJA_FLOAT)
        *x = a.as.real;
    else
        return false;
    if (jinja_as_int(b, &k))
        *y = k;
    else if (b.kind == JINJA_FLOAT)
        *y = b.as.real;
    else
        return false;
    return true;
}

static bool identical(struct jinja_value a, struct jinja_value b)
{
    if (a.kind != b.kind) return false;
    if (a.kind == JINJA_UNDEFINED || a.kind == JINJA_NONE) return true;
    if (a.kind == JINJA_METHOD)
        return a.as.method->builtin == b.as.method->builtin &&
               a.as.method->self.as.list == b.as.method->self.as.list;
    return a.as.list == b.as.list;
}

bool jinja_same_key(struct jinja_value a, struct jinja_value b)
{
    long double x, y;
    if (both_numbers(a, b, &x, &y)) return x == y;
    if (a.kind != b.kind) return false;
    if (a.kind == JINJA_STRING || a.kind == JINJA_BIG)
        return jinja_string_equal(a.as.string, b.as.string);
    if (a.kind != JINJA_TUPLE) return identical(a, b);
    if (a.as.list->count != b.as.list->count) return false;
    for (size_t i = 0; i < a.as.list->count; i++)
        if (!jinja_same_key(a.as.list->items[i], b.as.list->items[i])) return false;
    return true;
}

static bool equal_lists(struct jinja_context *jinja, const struct jinja_list *a,
                        const struct jinja_list *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!jinja_equal(jinja, a->items[i], b->items[i])) return false;
    return true;
}

static bool equal_dicts(struct jinja_context *jinja, const struct jinja_dict *a,
                        const struct jinja_dict *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        struct jinja_value *other = jinja_dict_find(b, a->pairs[i].key);
        if (!other || !jinja_equal(jinja, a->pairs[i].value, *other)) return false;
    }
    return true;
}

static bool equal_views(struct jinja_context *jinja, struct jinja_value a, struct jinja_value b)
{
    const struct jinja_view *x = a.as.view, *y = b.as.view;
    if (x->of != y->of || x->of == JINJA_VIEW_VALUES) return x == y;
    if (x->of == JINJA_VIEW_ITEMS) return equal_dicts(jinja, x->dict, y->dict);
    if (x->dict->count != y->dict->count) return false;
    for (size_t i = 0; i < x->dict->count; i++)
        if (!jinja_dict_find(y->dict, x->dict->pairs[i].key)) return false;
    return true;
}

bool jinja_equal(struct jinja_context *jinja, struct jinja_value a, struct jinja_value b)
{
    long double x, y;
    if (both_numbers(a, b, &x, &y)) return x == y;
    if (a.kind != b.kind) return false;
    bool equal = false;
    if (jinja_enter(jinja)) {
        switch (a.kind) {
        case JINJA_LIST:
        case JINJA_TUPLE: equal = equal_lists(jinja, a.as.list, b.as.list); break;
        case JINJA_DICT: equal = equal_dicts(jinja, a.as.dict, b.as.dict); break;
        case JINJA_VIEW: equal = equal_views(jinja, a, b); break;
        case JINJA_RANGE:
            equal = a.as.range->count == b.as.range->count &&
                    (!a.as.range->count ||
                     (a.as.range->start == b.as.range->start &&
                      (a.as.range->count == 1 || a.as.range->step == b.as.range->step)));
            break;
        case JINJA_STRING: jinja_spend(jinja, a.as.string->len / 64); /* fallthrough */
        default: equal = jinja_same_key(a, b);
        }
    }
    jinja_leave(jinja);
    return equal;
}

static int order(long double x, long double y)
{
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
}

static int compare_lists(struct jinja_context *jinja, const struct jinja_list *a,
                         const struct jinja_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (!jinja_equal(jinja, a->items[i], b->items[i]))
            return jinja_compare(jinja, a->items[i], b->items[i]);
    return order(a->count, b->count);
}

int jinja_compare(struct jinja_context *jinja, struct jinja_value a, struct jinja_value b)
{
    long double x, y;
    if (both_numbers(a, b, &x, &y)) return order(x, y);
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING) {
        size_t a_len = a.as.string->len, b_len = b.as.string->len;
        jinja_spend(jinja, a_len / 64);
        int sign = memcmp(a.as.string->data, b.as.string->data, a_len < b_len ? a_len : b_len);
        return sign ? (sign < 0 ? -1 : 1) : order(a_len, b_len);
    }
    if (a.kind == b.kind && (a.kind == JINJA_LIST || a.kind == JINJA_TUPLE)) {
        int sign = 0;
        if (jinja_enter(jinja)) sign = compare_lists(jinja, a.as.list, b.as.list);
        jinja_leave(jinja);
        return sign;
    }
    if (a.kind == JINJA_UNDEFINED || b.kind == JINJA_UNDEFINED)
        jinja_fail_undefined(jinja, a.kind == JINJA_UNDEFINED ? a : b);
    else
        jinja_fail(jinja, "values of types '%s' and '%s' cannot be ordered", jinja_type_name(a),
                   jinja_type_name(b));
    return 0;
}

static bool contains_key(struct jinja_context *jinja, const struct jinja_dict *dict,
                         struct jinja_value key)
{
    if (jinja_hashable(key)) return jinja_dict_find(dict, key) != NULL;
    jinja_fail(jinja, "unhashable type: '%s'", jinja_type_name(key));
    return false;
}

bool jinja_contains(struct jinja_context *jinja, struct jinja_value item, struct jinja_value in)
{
    if (in.kind == JINJA_STRING) {
        jinja_spend(jinja, in.as.string->len / 64);
        if (item.kind == JINJA_STRING)
            return memmem(in.as.string->data, in.as.string->len, item.as.string->data,
                          item.as.string->len) != NULL;
        jinja_fail(jinja, "'in <string>' requires string as left operand, not %s",
                   jinja_type_name(item));
        return false;
    }
    if (in.kind == JINJA_DICT) return contains_key(jinja, in.as.dict, item);
    if (in.kind == JINJA_VIEW && in.as.view->of == JINJA_VIEW_KEYS)
        return contains_key(jinja, in.as.view->dict, item);
    struct jinja_iterator *iterator = jinja_iterate(jinja, in);
    struct jinja_value other;
    while (jinja_next(jinja, iterator, &other))
        if (jinja_equal(jinja, item, other)) return true;
    return false;
}
