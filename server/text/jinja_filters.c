/* jinja_filters.c - filters of single values, and the table of all filters. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_escape.h"
#include "server/text/jinja_filters.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_json.h"
#include "server/text/jinja_number.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_text.h"

#define FILTER(name)                                                                               \
    static struct jinja_value filter_##name(struct jinja_context *jinja, struct jinja_value self,  \
                                            const struct jinja_call *call)

FILTER(abs)
{
    int64_t integer;
    if (self.kind == JINJA_FLOAT) return jinja_float(fabs(self.as.real));
    if (!jinja_as_int(self, &integer))
        return jinja_fail(jinja, "bad operand type for abs(): '%s'", jinja_type_name(self));
    return integer < 0 ? jinja_negate(jinja, self, true) : jinja_int(integer);
}

FILTER(attr)
{
    struct jinja_value name = jinja_arg_string(jinja, call->bound[0], "");
    if (self.kind == JINJA_DICT && !jinja_find_method(self, name.as.string))
        return jinja_undefined_of(self, name.as.string);
    return jinja_attribute(jinja, self, name.as.string);
}

FILTER(capitalize)
{
    return jinja_capitalize(jinja, jinja_str(jinja, self));
}

FILTER(center)
{
    return jinja_justify(jinja, jinja_str(jinja, self), jinja_arg_int(jinja, call->bound[0], 80),
                         jinja_chars(jinja, " "), JINJA_BOTH);
}

FILTER(default)
{
    bool falsy = jinja_arg_bool(jinja, call->bound[1], false);
    if (self.kind != JINJA_UNDEFINED && !(falsy && !jinja_truth(jinja, self))) return self;
    return call->bound[0].kind == JINJA_MISSING ? jinja_chars(jinja, "") : call->bound[0];
}

FILTER(escape)
{
    return jinja_escape(jinja, self);
}

FILTER(forceescape)
{
    struct jinja_value text = jinja_str(jinja, self);
    return jinja_escape(
        jinja, jinja_part(jinja, jinja_text_view(jinja, text.as.string->data, text.as.string->len),
                          0, text.as.string->len));
}

FILTER(safe)
{
    return jinja_markup(jinja, jinja_str(jinja, self));
}

FILTER(filesizeformat)
{
    static const char *const decimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    static const char *const binary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
    bool two = jinja_arg_bool(jinja, call->bound[0], false);
    double bytes, base = two ? 1024 : 1000, unit = base;
    char text[64];
    if (!jinja_to_float(self, &bytes)) return jinja_fail(jinja, "filesizeformat: not a number");
    if (bytes == 1) return jinja_chars(jinja, "1 Byte");
    if (bytes < base) {
        snprintf(text, sizeof(text), "%.0f Bytes", trunc(bytes));
        return jinja_text(jinja, text, strlen(text));
    }
    int at = 0;
    for (; at < 7; at++, unit *= base)
        if (bytes < unit * base) break;
    snprintf(text, sizeof(text), "%.1f %s", base * bytes / (unit * base),
             (two ? binary : decimal)[at]);
    return jinja_text(jinja, text, strlen(text));
}

FILTER(float)
{
    double real;
    if (self.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, self);
    if (jinja_to_float(self, &real)) return jinja_float(real);
    return call->bound[0].kind == JINJA_MISSING ? jinja_float(0) : call->bound[0];
}

FILTER(int)
{
    struct jinja_value fallback =
        call->bound[0].kind == JINJA_MISSING ? jinja_int(0) : call->bound[0];
    int64_t base = jinja_arg_int(jinja, call->bound[1], 10), integer;
    double real;
    if (self.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, self);
    if (self.kind == JINJA_BIG) return self;
    if (jinja_as_int(self, &integer)) return jinja_int(integer);
    if (self.kind == JINJA_STRING) {
        enum jinja_parsed parsed = jinja_parse_int(self.as.string, base, &integer);
        if (parsed == JINJA_PARSED) return jinja_int(integer);
        if (parsed == JINJA_PARSED_BIG)
            return jinja_fail(jinja, "integers over 64 bits are not supported");
    }
    if (self.kind == JINJA_FLOAT && isinf(self.as.real))
        return jinja_fail(jinja, "cannot convert float infinity to integer");
    if (!jinja_to_float(self, &real) || isnan(real) || isinf(real)) return fallback;
    if (fabs(real) >= 9.2e18) return jinja_fail(jinja, "integers over 64 bits are not supported");
    return jinja_int((int64_t)real);
}

FILTER(format)
{
    if (call->arg_count && call->named_count)
        return jinja_fail(jinja, "can't handle positional and keyword arguments at the same time");
    struct jinja_value args;
    if (call->named_count) {
        args = jinja_dict(jinja, JINJA_DICT, call->named_count);
        for (size_t i = 0; i < call->named_count; i++)
            jinja_dict_set(jinja, args.as.dict, call->named[i].key, call->named[i].value);
    } else {
        args = jinja_list(jinja, JINJA_TUPLE, call->arg_count);
        for (size_t i = 0; i < call->arg_count; i++) jinja_push(jinja, args, call->args[i]);
    }
    return jinja_percent(jinja, jinja_str(jinja, self), args);
}

FILTER(indent)
{
    struct jinja_value width = call->bound[0];
    bool first = jinja_arg_bool(jinja, call->bound[1], false);
    bool blank = jinja_arg_bool(jinja, call->bound[2], false);
    if (self.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, self);
    if (self.kind != JINJA_STRING) return jinja_fail(jinja, "indent needs a string");
    if (width.kind != JINJA_STRING)
        width = jinja_operate(jinja, JINJA_MUL, jinja_chars(jinja, " "),
                              width.kind == JINJA_MISSING ? jinja_int(4) : width);
    if (jinja->failed) return jinja_none();
    struct jinja_value newline = jinja_chars(jinja, "\n");
    newline.as.string->markup = self.as.string->markup;
    struct jinja_value lines =
        jinja_split_lines(jinja, jinja_operate(jinja, JINJA_ADD, self, newline), false);
    const struct jinja_string *indent = width.as.string;
    struct buffer *out = jinja_begin(jinja);
    for (size_t i = 0; i < lines.as.list->count && !jinja->failed; i++) {
        const struct jinja_string *line = lines.as.list->items[i].as.string;
        if (i) jinja_append(jinja, out, "\n", 1);
        if (i ? blank || line->len : first) jinja_append(jinja, out, indent->data, indent->len);
        jinja_append(jinja, out, line->data, line->len);
    }
    struct jinja_value result = jinja_end(jinja, out);
    result.as.string->markup = self.as.string->markup;
    return result;
}

FILTER(length)
{
    return jinja_int((int64_t)jinja_length(jinja, self));
}

FILTER(lower)
{
    return jinja_change_case(jinja, jinja_str(jinja, self), JINJA_LOWER);
}

FILTER(replace)
{
    int64_t count = jinja_given(call->bound[2]) ? jinja_arg_int(jinja, call->bound[2], -1) : -1;
    struct jinja_value text = jinja_str(jinja, self);
    text = jinja_text_view(jinja, text.as.string->data, text.as.string->len);
    return jinja_replace(jinja, text, jinja_str(jinja, call->bound[0]),
                         jinja_str(jinja, call->bound[1]), count < 0 ? -1 : count);
}

FILTER(round)
{
    struct jinja_value method = jinja_arg_string(jinja, call->bound[1], "common");
    int64_t precision = jinja_arg_int(jinja, call->bound[0], 0);
    double real;
    if (self.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, self);
    if (!jinja_as_real(self, &real))
        return jinja_fail(jinja, "type %s doesn't define __round__ method", jinja_type_name(self));
    if (jinja_string_is(method.as.string, "common")) return jinja_round(jinja, self, precision);
    bool up = jinja_string_is(method.as.string, "ceil");
    if (!up && !jinja_string_is(method.as.string, "floor"))
        return jinja_fail(jinja, "method must be common, ceil or floor");
    double scale = pow(10, (double)precision), scaled = real * scale;
    if (isnan(scaled) || isinf(scaled)) return jinja_fail(jinja, "round: the number is too large");
    return jinja_float(((up ? ceil(scaled) : floor(scaled)) + 0.0) / scale); /* no -0.0 */
}

FILTER(string)
{
    return jinja_str(jinja, self);
}

FILTER(title)
{
    struct jinja_value text = jinja_str(jinja, self);
    const char *at = text.as.string->data, *end = at + text.as.string->len;
    struct buffer *out = jinja_begin(jinja);
    int before = -1; /* whether the last was a separator */
    while (at < end && !jinja->failed) {
        int32_t code = jinja_decode(&at, end), mapped[3];
        bool separator = jinja_is_space(code) || (code < 0x80 && code && strchr("-({[<", code));
        size_t count =
            jinja_map_case(code, before != separator ? JINJA_UPPER : JINJA_LOWER, mapped);
        for (size_t i = 0; i < count; i++) jinja_append_code(jinja, out, mapped[i]);
        before = separator;
    }
    return jinja_end(jinja, out);
}

FILTER(trim)
{
    return jinja_strip(jinja, jinja_str(jinja, self), call->bound[0], JINJA_BOTH);
}

FILTER(truncate)
{
    int64_t length = jinja_arg_int(jinja, call->bound[0], 255);
    bool kill = jinja_arg_bool(jinja, call->bound[1], false);
    struct jinja_value end = jinja_arg_string(jinja, call->bound[2], "...");
    int64_t leeway = jinja_given(call->bound[3]) ? jinja_arg_int(jinja, call->bound[3], 5) : 5;
    if (jinja->failed) return jinja_none();
    int64_t tail = (int64_t)jinja_string_chars(end.as.string);
    if (length < tail || leeway < 0)
        return jinja_fail(jinja,
                          "truncate: the length is shorter than the end, or leeway negative");
    int64_t chars = (int64_t)jinja_length(jinja, self);
    if (chars <= length || chars - length <= leeway) return self;
    struct jinja_value cut =
        jinja_slice(jinja, self, jinja_missing(), jinja_int(length - tail), jinja_missing());
    if (jinja->failed || cut.kind != JINJA_STRING)
        return jinja_fail(jinja, "truncate needs a string");
    if (!kill) {
        const char *space = memrchr(cut.as.string->data, ' ', cut.as.string->len);
        if (space) cut = jinja_part(jinja, cut, 0, (size_t)(space - cut.as.string->data));
    }
    return jinja_operate(jinja, JINJA_ADD, cut, end);
}

FILTER(upper)
{
    return jinja_change_case(jinja, jinja_str(jinja, self), JINJA_UPPER);
}

static void append_quoted(struct jinja_context *jinja, struct buffer *out, struct jinja_value value,
                          bool query)
{
    struct jinja_value text = jinja_str(jinja, value);
    for (size_t i = 0; i < text.as.string->len && !jinja->failed; i++) {
        unsigned char c = (unsigned char)text.as.string->data[i];
        char escape[4];
        if ((c < 0x80 && (jinja_is_alpha(c) || jinja_is_decimal(c))) || (c && strchr("_.-~", c)) ||
            (c == '/' && !query))
            jinja_append(jinja, out, (char *)&c, 1);
        else if (c == ' ' && query)
            jinja_append(jinja, out, "+", 1);
        else {
            snprintf(escape, sizeof(escape), "%%%02X", c);
            jinja_append(jinja, out, escape, 3);
        }
    }
}

FILTER(urlencode)
{
    struct buffer *out = jinja_begin(jinja);
    if (self.kind == JINJA_STRING || !jinja_can_iterate(self)) {
        append_quoted(jinja, out, self, false);
        return jinja_end(jinja, out);
    }
    struct jinja_view view = {NULL, JINJA_VIEW_ITEMS};
    if (self.kind == JINJA_DICT) {
        view.dict = self.as.dict;
        self = (struct jinja_value){.kind = JINJA_VIEW, .as.view = &view};
    }
    struct jinja_iterator *iterator = jinja_iterate(jinja, self);
    struct jinja_value item;
    for (size_t i = 0; jinja_next(jinja, iterator, &item); i++) {
        struct jinja_value pair = jinja_collect(jinja, JINJA_TUPLE, item);
        if (pair.as.list->count != 2) jinja_fail(jinja, "urlencode needs pairs");
        if (jinja->failed) break;
        if (i) jinja_append(jinja, out, "&", 1);
        append_quoted(jinja, out, pair.as.list->items[0], true);
        jinja_append(jinja, out, "=", 1);
        append_quoted(jinja, out, pair.as.list->items[1], true);
    }
    return jinja_end(jinja, out);
}

FILTER(wordcount)
{
    struct jinja_value text = jinja_str(jinja, self);
    const char *at = text.as.string->data, *end = at + text.as.string->len;
    int64_t count = 0;
    for (bool inside = false; at < end;) {
        bool word = jinja_is_word(jinja_decode(&at, end));
        count += word && !inside;
        inside = word;
    }
    return jinja_int(count);
}

FILTER(xmlattr)
{
    bool space = jinja_arg_bool(jinja, call->bound[0], true);
    if (self.kind != JINJA_DICT) return jinja_fail(jinja, "xmlattr needs a mapping");
    struct buffer *out = jinja_begin(jinja);
    for (size_t i = 0; i < self.as.dict->count && !jinja->failed; i++) {
        const struct jinja_pair *pair = &self.as.dict->pairs[i];
        if (pair->value.kind == JINJA_NONE || pair->value.kind == JINJA_UNDEFINED) continue;
        if (!jinja_is_string(pair->key))
            jinja_fail(jinja, "xmlattr needs string keys");
        else if (strpbrk(jinja_str(jinja, pair->key).as.string->data, " \t\n\r\v\f/>="))
            jinja_fail(jinja, "Invalid character in attribute name");
        if (out->len || space) jinja_append(jinja, out, " ", 1);
        jinja_append_escaped(jinja, out, pair->key, true);
        jinja_append(jinja, out, "=\"", 2);
        jinja_append_escaped(jinja, out, pair->value, true);
        jinja_append(jinja, out, "\"", 1);
    }
    return jinja_end(jinja, out);
}

static const struct jinja_builtin filters[] = {
    {"abs", filter_abs, 0, false, {0}},
    {"attr", filter_attr, 1, false, {"name"}},
    {"batch", jinja_filter_batch, 1, false, {"linecount", "fill_with"}},
    {"capitalize", filter_capitalize, 0, false, {0}},
    {"center", filter_center, 0, false, {"width"}},
    {"count", filter_length, 0, false, {0}},
    {"d", filter_default, 0, false, {"default_value", "boolean"}},
    {"default", filter_default, 0, false, {"default_value", "boolean"}},
    {"dictsort", jinja_filter_dictsort, 0, false, {"case_sensitive", "by", "reverse"}},
    {"e", filter_escape, 0, false, {0}},
    {"escape", filter_escape, 0, false, {0}},
    {"filesizeformat", filter_filesizeformat, 0, false, {"binary"}},
    {"first", jinja_filter_first, 0, false, {0}},
    {"float", filter_float, 0, false, {"default"}},
    {"forceescape", filter_forceescape, 0, false, {0}},
    {"format", filter_format, 0, true, {0}},
    {"groupby", jinja_filter_groupby, 1, false, {"attribute", "default", "case_sensitive"}},
    {"indent", filter_indent, 0, false, {"width", "first", "blank"}},
    {"int", filter_int, 0, false, {"default", "base"}},
    {"items", jinja_filter_items, 0, false, {0}},
    {"join", jinja_filter_join, 0, false, {"d", "attribute"}},
    {"last", jinja_filter_last, 0, false, {0}},
    {"length", filter_length, 0, false, {0}},
    {"list", jinja_filter_list, 0, false, {0}},
    {"lower", filter_lower, 0, false, {0}},
    {"map", jinja_filter_map, 0, true, {0}},
    {"max", jinja_filter_max, 0, false, {"case_sensitive", "attribute"}},
    {"min", jinja_filter_min, 0, false, {"case_sensitive", "attribute"}},
    {"pprint", jinja_filter_pprint, 0, false, {0}},
    {"reject", jinja_filter_reject, 0, true, {0}},
    {"rejectattr", jinja_filter_rejectattr, 0, true, {0}},
    {"replace", filter_replace, 2, false, {"old", "new", "count"}},
    {"reverse", jinja_filter_reverse, 0, false, {0}},
    {"round", filter_round, 0, false, {"precision", "method"}},
    {"safe", filter_safe, 0, false, {0}},
    {"select", jinja_filter_select, 0, true, {0}},
    {"selectattr", jinja_filter_selectattr, 0, true, {0}},
    {"slice", jinja_filter_slice, 1, false, {"slices", "fill_with"}},
    {"sort", jinja_filter_sort, 0, false, {"reverse", "case_sensitive", "attribute"}},
    {"string", filter_string, 0, false, {0}},
    {"sum", jinja_filter_sum, 0, false, {"attribute", "start"}},
    {"title", filter_title, 0, false, {0}},
    {"tojson", jinja_tojson, 0, false, {"ensure_ascii", "indent", "separators", "sort_keys"}},
    {"trim", filter_trim, 0, false, {"chars"}},
    {"truncate", filter_truncate, 0, false, {"length", "killwords", "end", "leeway"}},
    {"unique", jinja_filter_unique, 0, false, {"case_sensitive", "attribute"}},
    {"upper", filter_upper, 0, false, {0}},
    {"urlencode", filter_urlencode, 0, false, {0}},
    {"wordcount", filter_wordcount, 0, false, {0}},
    {"xmlattr", filter_xmlattr, 0, false, {"autospace"}},
};

const struct jinja_builtin *jinja_find_filter(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++)
        if (strlen(filters[i].name) == len && !memcmp(filters[i].name, name, len))
            return &filters[i];
    return NULL;
}

bool jinja_filter_is_refused(const char *name, size_t len)
{
    static const char *const refused[] = {"random", "striptags", "urlize", "wordwrap"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
        if (strlen(refused[i]) == len && !memcmp(refused[i], name, len)) return true;
    return false;
}
