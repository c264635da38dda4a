/* jinja_format.c - "..." % args and "...".format(). */
#include "server/text/jinja_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_escape.h"
#include "server/text/jinja_number.h"
#include "server/text/jinja_ops.h"

enum { PERCENT_PRECISION_MAX = 350, PERCENT_WIDTH_MAX = 1000000 };

/* The arguments of %: a tuple's items in turn, or one value, or a mapping. */
struct percent {
    struct jinja_context *jinja;
    struct jinja_value args;
    size_t used;
    bool markup;
};

static struct jinja_value next_arg(struct percent *percent)
{
    if (percent->args.kind == JINJA_TUPLE) {
        if (percent->used < percent->args.as.list->count)
            return percent->args.as.list->items[percent->used++];
    } else if (!percent->used) {
        percent->used = 1;
        return percent->args;
    }
    return jinja_fail(percent->jinja, "not enough arguments for format string");
}

static struct jinja_value named_arg(struct percent *percent, const char **at, const char *end)
{
    const char *from = ++*at;
    int depth = 1;
    while (*at < end && depth) {
        depth += (**at == '(') - (**at == ')');
        ++*at;
    }
    if (depth) return jinja_fail(percent->jinja, "incomplete format key");
    if (percent->args.kind != JINJA_DICT)
        return jinja_fail(percent->jinja, "format requires a mapping");
    struct jinja_value *found =
        jinja_dict_find_text(percent->args.as.dict, from, (size_t)(*at - 1 - from));
    percent->used = 1;
    return found ? *found : jinja_fail(percent->jinja, "the format's key is not in the mapping");
}

/* A width or precision: digits, or * for an argument. */
static int64_t take_size(struct percent *percent, const char **at, const char *end)
{
    int64_t size = 0;
    if (*at < end && **at == '*') {
        ++*at;
        struct jinja_value arg = next_arg(percent);
        if (arg.kind != JINJA_INT && arg.kind != JINJA_BOOL)
            jinja_fail(percent->jinja, "* wants int");
        else
            jinja_as_int(arg, &size);
    }
    for (; *at < end && **at >= '0' && **at <= '9' && size <= PERCENT_WIDTH_MAX; ++*at)
        size = size * 10 + **at - '0';
    if (size > PERCENT_WIDTH_MAX || size < -PERCENT_WIDTH_MAX) {
        jinja_fail(percent->jinja, "the width of a format is too large");
        size = 0;
    }
    return size;
}

static void percent_integer(struct percent *percent, struct buffer *out, struct jinja_spec *spec,
                            struct jinja_value arg)
{
    int64_t integer = 0;
    bool decimal = strchr("diu", spec->type) != NULL;
    if (arg.kind == JINJA_FLOAT && decimal && fabs(arg.as.real) < 9.2e18) {
        integer = (int64_t)arg.as.real;
    } else if (!jinja_as_int(arg, &integer)) {
        jinja_fail(percent->jinja, "%%%c format: a%s number is required, not %s", spec->type,
                   decimal ? " real" : "n integer", jinja_type_name(arg));
        return;
    }
    if (decimal) spec->type = 'd';
    if (spec->precision < 0) {
        jinja_format_int(percent->jinja, out, spec, integer);
        return;
    }
    /* The precision is the least number of digits: format them alone first. */
    struct jinja_spec digits = {.fill = '0', .align = '=', .type = spec->type};
    digits.width = spec->precision + (integer < 0);
    struct buffer *text = jinja_begin(percent->jinja);
    jinja_format_int(percent->jinja, text, &digits, integer);
    struct jinja_value body = jinja_end(percent->jinja, text);
    const char *sign = integer < 0 ? "-" : spec->sign == '+' ? "+" : spec->sign == ' ' ? " " : "";
    const char *prefix = !spec->alternate    ? ""
                         : spec->type == 'x' ? "0x"
                         : spec->type == 'X' ? "0X"
                         : spec->type == 'o' ? "0o"
                                             : "";
    jinja_pad_number(percent->jinja, out, spec, sign, prefix, body.as.string->data + (integer < 0));
}

static void percent_text(struct percent *percent, struct buffer *out, struct jinja_spec *spec,
                         struct jinja_value arg)
{
    struct jinja_context *jinja = percent->jinja;
    struct buffer *text = jinja_begin(jinja);
    if (spec->type == 's')
        jinja_append_escaped(jinja, text, arg, percent->markup);
    else
        jinja_write_repr(jinja, text, arg);
    struct jinja_value string = jinja_end(jinja, text);
    jinja_pad_text(jinja, out, spec, string);
}

static void percent_letter(struct percent *percent, struct buffer *out, struct jinja_spec *spec,
                           struct jinja_value arg)
{
    struct jinja_context *jinja = percent->jinja;
    int64_t code;
    spec->precision = -1;
    if (jinja_as_int(arg, &code) && code >= 0 && code <= 0x10ffff &&
        (code < 0xd800 || code >= 0xe000)) {
        struct buffer *text = jinja_begin(jinja);
        jinja_append_code(jinja, text, (int32_t)code);
        arg = jinja_end(jinja, text);
    }
    if (!jinja_is_string(arg) || jinja_string_chars(arg.as.string) != 1)
        jinja_fail(jinja, "%%c requires int or char");
    else
        jinja_pad_text(jinja, out, spec, arg);
}

static void percent_value(struct percent *percent, struct buffer *out, struct jinja_spec *spec,
                          struct jinja_value arg)
{
    double real;
    bool zero = spec->align == '=';
    if (percent->jinja->failed) return;
    if (spec->type == 's' || spec->type == 'r' || spec->type == 'a' || spec->type == 'c') {
        if (zero) spec->fill = ' ';
        spec->align = spec->align == '<' ? '<' : '>';
        if (spec->type == 'c')
            percent_letter(percent, out, spec, arg);
        else
            percent_text(percent, out, spec, arg);
    } else if (spec->precision > PERCENT_PRECISION_MAX) {
        jinja_fail(percent->jinja, "the precision of a format is too large");
    } else if (spec->type && strchr("diuoxX", spec->type)) {
        percent_integer(percent, out, spec, arg);
    } else if (spec->type && strchr("eEfFgG", spec->type)) {
        bool number = arg.kind != JINJA_STRING && jinja_to_float(arg, &real);
        if (number)
            jinja_format_real(percent->jinja, out, spec, real);
        else
            jinja_fail(percent->jinja, "must be real number, not %s", jinja_type_name(arg));
    } else {
        jinja_fail(percent->jinja, "unsupported format character");
    }
}

/* One conversion, after its "%". */
static void percent_one(struct percent *percent, struct buffer *out, const char **at,
                        const char *end)
{
    struct jinja_spec spec = {.fill = ' ', .precision = -1};
    struct jinja_value arg = jinja_missing();
    if (*at < end && **at == '(') arg = named_arg(percent, at, end);
    bool left = false, zero = false;
    for (; *at < end && **at && strchr("#0- +", **at); ++*at) {
        if (**at == '#')
            spec.alternate = true;
        else if (**at == '0')
            zero = true;
        else if (**at == '-')
            left = true;
        else if (**at == '+' || !spec.sign)
            spec.sign = **at;
    }
    spec.width = take_size(percent, at, end);
    if (spec.width < 0) left = true, spec.width = -spec.width;
    if (*at < end && **at == '.') {
        ++*at;
        int64_t precision = take_size(percent, at, end);
        spec.precision = precision < 0 ? 0 : (int)precision;
    }
    while (*at < end && **at && strchr("hlL", **at)) ++*at;
    if (*at == end) {
        jinja_fail(percent->jinja, "incomplete format");
        return;
    }
    spec.type = *(*at)++;
    if (spec.type == '%') {
        jinja_append(percent->jinja, out, "%", 1);
        return;
    }
    spec.align = left ? '<' : zero ? '=' : '>';
    if (zero && !left) spec.fill = '0';
    if (arg.kind == JINJA_MISSING) arg = next_arg(percent);
    percent_value(percent, out, &spec, arg);
}

struct jinja_value jinja_percent(struct jinja_context *jinja, struct jinja_value format,
                                 struct jinja_value args)
{
    struct percent percent = {jinja, args, 0, format.as.string->markup};
    const char *at = format.as.string->data, *end = at + format.as.string->len;
    struct buffer *out = jinja_begin(jinja);
    while (at < end && !jinja->failed) {
        const char *run = at;
        while (at < end && *at != '%') at++;
        jinja_append(jinja, out, run, (size_t)(at - run));
        if (at++ < end) percent_one(&percent, out, &at, end);
    }
    bool counted = args.kind == JINJA_TUPLE || args.kind == JINJA_STRING ||
                   args.kind == JINJA_INT || args.kind == JINJA_FLOAT || args.kind == JINJA_BOOL ||
                   args.kind == JINJA_NONE;
    size_t given = args.kind == JINJA_TUPLE ? args.as.list->count : 1;
    if (counted && percent.used < given)
        jinja_fail(jinja, "not all arguments converted during string formatting");
    struct jinja_value result = jinja_end(jinja, out);
    result.as.string->markup = percent.markup;
    return result;
}

/* "{...}" fields. */
struct fields {
    struct jinja_context *jinja;
    const struct jinja_call *call;
    int64_t next; /* of automatic numbering */
    bool automatic, manual, markup;
};

static struct jinja_value first_value(struct fields *fields, const char *name, size_t len)
{
    struct jinja_context *jinja = fields->jinja;
    const struct jinja_call *call = fields->call;
    int64_t index = 0;
    bool number = len < 10;
    for (size_t i = 0; i < len && number; i++) {
        number = name[i] >= '0' && name[i] <= '9';
        index = index * 10 + name[i] - '0';
    }
    if (number) {
        if (!len) index = fields->next++;
        fields->automatic |= !len, fields->manual |= len != 0;
        if (fields->automatic && fields->manual)
            return jinja_fail(jinja, "cannot mix manual and automatic field numbering");
        if ((size_t)index < call->arg_count) return call->args[index];
        return jinja_fail(jinja, "Replacement index %d out of range for positional args tuple",
                          (int)index);
    }
    struct jinja_string text = {name, len, SIZE_MAX, false};
    for (size_t i = 0; i < call->named_count; i++)
        if (jinja_is_string(call->named[i].key) &&
            jinja_string_equal(call->named[i].key.as.string, &text))
            return call->named[i].value;
    return jinja_fail(jinja, "format() was not given '%.*s'", (int)(len < 100 ? len : 100), name);
}

/* name.attribute[key]... */
static struct jinja_value field_value(struct fields *fields, const char *at, const char *end)
{
    const char *from = at;
    while (at < end && *at != '.' && *at != '[') at++;
    struct jinja_value value = first_value(fields, from, (size_t)(at - from));
    while (at < end && !fields->jinja->failed) {
        bool item = *at++ == '[';
        from = at;
        while (at < end && (item ? *at != ']' : *at != '.' && *at != '[')) at++;
        struct jinja_value key = jinja_text_view(fields->jinja, from, (size_t)(at - from));
        if (at == from || (item && at == end))
            return jinja_fail(fields->jinja, "Empty attribute in format string");
        if (!item) {
            value = jinja_attribute(fields->jinja, value, key.as.string);
            continue;
        }
        bool number = at - from < 18;
        for (const char *p = from; p < at && number; p++) number = *p >= '0' && *p <= '9';
        if (number) key = jinja_int(strtoll(from, NULL, 10));
        value = jinja_item(fields->jinja, value, key);
        at++;
        if (at < end && *at != '.' && *at != '[')
            return jinja_fail(fields->jinja,
                              "Only '.' or '[' may follow ']' in format field specifier");
    }
    return value;
}

static void format_fields(struct fields *fields, struct buffer *out, const char *at,
                          const char *end, int depth);

/* One field without its braces: name, !conversion, :specification. */
static void format_field(struct fields *fields, struct buffer *out, const char *at, const char *end,
                         int depth)
{
    struct jinja_context *jinja = fields->jinja;
    const char *name_end = at, *spec = NULL;
    bool bracket = false;
    char conversion = 0;
    while (name_end < end && (bracket || (*name_end != '!' && *name_end != ':'))) {
        bracket = *name_end == '[' || (bracket && *name_end != ']');
        name_end++;
    }
    if (name_end < end && *name_end == '!') {
        conversion = name_end + 1 < end ? name_end[1] : 0;
        if (!conversion || !strchr("sra", conversion) ||
            (name_end + 2 < end && name_end[2] != ':')) {
            jinja_fail(jinja, "Unknown conversion specifier in a format string");
            return;
        }
        spec = name_end + 2 < end ? name_end + 3 : NULL;
    } else if (name_end < end) {
        spec = name_end + 1;
    }
    struct jinja_value value = field_value(fields, at, name_end);
    if (conversion && !jinja->failed) {
        struct buffer *text = jinja_begin(jinja);
        if (conversion == 's')
            jinja_write_str(jinja, text, value);
        else
            jinja_write_repr(jinja, text, value);
        value = jinja_end(jinja, text);
    }
    struct buffer *text = jinja_begin(jinja);
    if (spec) format_fields(fields, text, spec, end, depth + 1);
    struct jinja_value how = jinja_end(jinja, text);
    if (jinja->failed) return;
    struct buffer *formatted = jinja_begin(jinja);
    jinja_format_value(jinja, formatted, value, how.as.string->data, how.as.string->len);
    struct jinja_value result = jinja_end(jinja, formatted);
    result.as.string->markup = jinja_is_string(value) && value.as.string->markup;
    jinja_append_escaped(jinja, out, result, fields->markup);
}

static void format_fields(struct fields *fields, struct buffer *out, const char *at,
                          const char *end, int depth)
{
    struct jinja_context *jinja = fields->jinja;
    if (depth > 1) jinja_fail(jinja, "Max string recursion exceeded");
    while (at < end && !jinja->failed) {
        const char *run = at;
        while (at < end && *at != '{' && *at != '}') at++;
        jinja_append(jinja, out, run, (size_t)(at - run));
        if (at == end) return;
        char c = *at++;
        if (at < end && *at == c) {
            jinja_append(jinja, out, at++, 1);
            continue;
        }
        if (c == '}' || at == end) {
            jinja_fail(jinja, "Single '%c' encountered in format string", c);
            return;
        }
        const char *from = at;
        for (int open = 1; at < end; at++) {
            open += (*at == '{') - (*at == '}');
            if (!open) break;
        }
        if (at == end) {
            jinja_fail(jinja, "expected '}' before end of string");
            return;
        }
        format_field(fields, out, from, at++, depth);
    }
}

struct jinja_value jinja_format(struct jinja_context *jinja, struct jinja_value format,
                                const struct jinja_call *call)
{
    struct fields fields = {.jinja = jinja, .call = call, .markup = format.as.string->markup};
    struct buffer *out = jinja_begin(jinja);
    const char *at = format.as.string->data;
    format_fields(&fields, out, at, at + format.as.string->len, 0);
    struct jinja_value result = jinja_end(jinja, out);
    result.as.string->markup = fields.markup;
    return result;
}
