/* jinja_json.c - see jinja_json.h. */
#include "server/text/jinja_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_ops.h"

struct jinja_value jinja_from_json(struct jinja_context *jinja, struct yyjson_val *json)
{
    struct jinja_value value = jinja_none();
    char digits[32];
    size_t i, count;
    yyjson_val *key, *item;
    if (!jinja_enter(jinja)) return jinja_leave(jinja), value;
    switch (yyjson_get_type(json)) {
    case YYJSON_TYPE_BOOL: value = jinja_bool(yyjson_get_bool(json)); break;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(json)) {
            value = jinja_float(yyjson_get_real(json));
        } else if (yyjson_is_uint(json) && yyjson_get_uint(json) > INT64_MAX) {
            snprintf(digits, sizeof(digits), "%" PRIu64, yyjson_get_uint(json));
            value = jinja_text(jinja, digits, strlen(digits));
            value.kind = JINJA_BIG;
        } else {
            value = jinja_int(yyjson_get_sint(json));
        }
        break;
    case YYJSON_TYPE_RAW: /* a number the reader kept as text */
        value = jinja_text(jinja, yyjson_get_raw(json), yyjson_get_len(json));
        value.kind = JINJA_BIG;
        break;
    case YYJSON_TYPE_STR:
        value = jinja_text_view(jinja, yyjson_get_str(json), yyjson_get_len(json));
        break;
    case YYJSON_TYPE_ARR:
        value = jinja_list(jinja, JINJA_LIST, yyjson_arr_size(json));
        yyjson_arr_foreach(json, i, count, item)
            jinja_push(jinja, value, jinja_from_json(jinja, item));
        break;
    case YYJSON_TYPE_OBJ:
        value = jinja_dict(jinja, JINJA_DICT, yyjson_obj_size(json));
        yyjson_obj_foreach(json, i, count, key, item)
        {
            struct jinja_value name =
                jinja_text_view(jinja, yyjson_get_str(key), yyjson_get_len(key));
            jinja_dict_set(jinja, value.as.dict, name, jinja_from_json(jinja, item));
        }
        break;
    default: break;
    }
    jinja_leave(jinja);
    return value;
}

struct writer {
    struct jinja_context *jinja;
    struct buffer *out;
    bool ensure_ascii, sort_keys, pretty;
    struct jinja_value indent; /* a string, one level of it */
    struct jinja_value item_separator, key_separator;
};

static void write_value(struct writer *writer, struct jinja_value value, int level);

static void write_string(struct writer *writer, const struct jinja_string *string)
{
    struct jinja_context *jinja = writer->jinja;
    const char *at = string->data, *end = at + string->len;
    char escape[16];
    jinja_append(jinja, writer->out, "\"", 1);
    while (at < end && !jinja->failed) {
        const char *run = at;
        while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\' &&
               !(writer->ensure_ascii && (unsigned char)*at >= 0x7f))
            at++;
        jinja_append(jinja, writer->out, run, (size_t)(at - run));
        if (at == end) break;
        int32_t code = jinja_decode(&at, end);
        static const char from[] = "\"\\\n\r\t\f\b", to[] = "\"\\nrtfb";
        const char *simple = code && code < 0x80 ? strchr(from, code) : NULL;
        if (simple)
            snprintf(escape, sizeof(escape), "\\%c", to[simple - from]);
        else if (code < 0x10000)
            snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)code);
        else
            snprintf(escape, sizeof(escape), "\\u%04x\\u%04x",
                     0xd800 + (unsigned)((code - 0x10000) >> 10),
                     0xdc00 + (unsigned)((code - 0x10000) & 0x3ff));
        jinja_append_chars(jinja, writer->out, escape);
    }
    jinja_append(jinja, writer->out, "\"", 1);
}

static void write_real(struct writer *writer, double real)
{
    char text[40];
    jinja_spend(writer->jinja, 16);
    if (isnan(real))
        strcpy(text, "NaN");
    else if (isinf(real))
        strcpy(text, real < 0 ? "-Infinity" : "Infinity");
    else
        jinja_format_float(real, text);
    jinja_append_chars(writer->jinja, writer->out, text);
}

static void write_text(struct writer *writer, struct jinja_value string)
{
    jinja_append(writer->jinja, writer->out, string.as.string->data, string.as.string->len);
}

static void new_line(struct writer *writer, int level)
{
    if (!writer->pretty) return;
    jinja_append(writer->jinja, writer->out, "\n", 1);
    jinja_append_times(writer->jinja, writer->out, writer->indent.as.string->data,
                       writer->indent.as.string->len, level);
}

static void write_key(struct writer *writer, struct jinja_value key)
{
    if (key.kind == JINJA_STRING) {
        write_string(writer, key.as.string);
    } else if (key.kind == JINJA_BOOL || key.kind == JINJA_NONE || key.kind == JINJA_INT ||
               key.kind == JINJA_FLOAT || key.kind == JINJA_BIG) {
        jinja_append(writer->jinja, writer->out, "\"", 1);
        write_value(writer, key, 0);
        jinja_append(writer->jinja, writer->out, "\"", 1);
    } else {
        jinja_fail(writer->jinja, "keys must be str, int, float, bool or None, not %s",
                   jinja_type_name(key));
    }
}

static int compare_pairs(const void *a, const void *b, void *jinja)
{
    return jinja_compare(jinja, ((const struct jinja_pair *)a)->key,
                         ((const struct jinja_pair *)b)->key);
}

static void write_dict(struct writer *writer, const struct jinja_dict *dict, int level)
{
    const struct jinja_pair *pairs = dict->pairs;
    if (!dict->count) {
        jinja_append_chars(writer->jinja, writer->out, "{}");
        return;
    }
    if (writer->sort_keys) {
        struct jinja_pair *sorted = jinja_alloc(writer->jinja, dict->count * sizeof(*sorted));
        memcpy(sorted, pairs, dict->count * sizeof(*sorted));
        qsort_r(sorted, dict->count, sizeof(*sorted), compare_pairs, writer->jinja);
        pairs = sorted;
    }
    jinja_append_chars(writer->jinja, writer->out, "{");
    for (size_t i = 0; i < dict->count && !writer->jinja->failed; i++) {
        if (i) write_text(writer, writer->item_separator);
        new_line(writer, level + 1);
        write_key(writer, pairs[i].key);
        write_text(writer, writer->key_separator);
        write_value(writer, pairs[i].value, level + 1);
    }
    new_line(writer, level);
    jinja_append_chars(writer->jinja, writer->out, "}");
}

static void write_list(struct writer *writer, const struct jinja_list *list, int level)
{
    jinja_append_chars(writer->jinja, writer->out, "[");
    for (size_t i = 0; i < list->count && !writer->jinja->failed; i++) {
        if (i) write_text(writer, writer->item_separator);
        new_line(writer, level + 1);
        write_value(writer, list->items[i], level + 1);
    }
    if (list->count) new_line(writer, level);
    jinja_append_chars(writer->jinja, writer->out, "]");
}

static void write_value(struct writer *writer, struct jinja_value value, int level)
{
    struct jinja_context *jinja = writer->jinja;
    if (jinja_enter(jinja)) {
        switch (value.kind) {
        case JINJA_NONE: jinja_append_chars(jinja, writer->out, "null"); break;
        case JINJA_BOOL:
            jinja_append_chars(jinja, writer->out, value.as.boolean ? "true" : "false");
            break;
        case JINJA_INT:
        case JINJA_BIG: jinja_write_repr(jinja, writer->out, value); break;
        case JINJA_FLOAT: write_real(writer, value.as.real); break;
        case JINJA_STRING: write_string(writer, value.as.string); break;
        case JINJA_LIST:
        case JINJA_TUPLE: write_list(writer, value.as.list, level); break;
        case JINJA_DICT: write_dict(writer, value.as.dict, level); break;
        default:
            jinja_fail(jinja, "Object of type %s is not JSON serializable", jinja_type_name(value));
        }
    }
    jinja_leave(jinja);
}

static void take_separators(struct writer *writer, struct jinja_value separators)
{
    struct jinja_context *jinja = writer->jinja;
    writer->item_separator = jinja_chars(jinja, writer->pretty ? "," : ", ");
    writer->key_separator = jinja_chars(jinja, ": ");
    if (!jinja_given(separators)) return;
    if ((separators.kind == JINJA_LIST || separators.kind == JINJA_TUPLE) &&
        separators.as.list->count == 2 && jinja_is_string(separators.as.list->items[0]) &&
        jinja_is_string(separators.as.list->items[1])) {
        writer->item_separator = separators.as.list->items[0];
        writer->key_separator = separators.as.list->items[1];
    } else {
        jinja_fail(jinja, "tojson: separators must be two strings");
    }
}

struct jinja_value jinja_tojson(struct jinja_context *jinja, struct jinja_value value,
                                const struct jinja_call *call)
{
    struct writer writer = {.jinja = jinja};
    struct jinja_value indent = call->bound[1];
    int64_t spaces;
    writer.ensure_ascii = jinja_arg_bool(jinja, call->bound[0], false);
    writer.sort_keys = jinja_arg_bool(jinja, call->bound[3], false);
    writer.pretty = jinja_given(indent);
    if (writer.pretty && jinja_as_int(indent, &spaces)) {
        struct buffer *text = jinja_begin(jinja);
        jinja_append_times(jinja, text, " ", 1, spaces);
        indent = jinja_end(jinja, text);
    }
    writer.indent = writer.pretty ? indent : jinja_chars(jinja, "");
    if (writer.indent.kind != JINJA_STRING)
        return jinja_fail(jinja, "tojson: indent must be an integer or a string");
    take_separators(&writer, call->bound[2]);
    writer.out = jinja_begin(jinja);
    write_value(&writer, value, 0);
    return jinja_end(jinja, writer.out);
}
