/* jinja_text.c - see jinja_text.h. */
#include "server/text/jinja_text.h"

#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_escape.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_ops.h"

struct jinja_value jinja_part(struct jinja_context *jinja, struct jinja_value text, size_t from,
                              size_t to)
{
    struct jinja_value part = jinja_text_view(jinja, text.as.string->data + from, to - from);
    part.as.string->markup = text.as.string->markup;
    return part;
}

static struct jinja_value end_like(struct jinja_context *jinja, struct buffer *text,
                                   struct jinja_value model)
{
    struct jinja_value string = jinja_end(jinja, text);
    string.as.string->markup = model.as.string->markup;
    return string;
}

static bool strips(const struct jinja_value *chars, const char *at, const char *next, int32_t code)
{
    if (!chars) return jinja_is_space(code);
    return memmem(chars->as.string->data, chars->as.string->len, at, (size_t)(next - at)) != NULL;
}

struct jinja_value jinja_strip(struct jinja_context *jinja, struct jinja_value text,
                               struct jinja_value chars, enum jinja_side side)
{
    const struct jinja_value *set = jinja_given(chars) ? &chars : NULL;
    if (set && !jinja_is_string(chars)) return jinja_fail(jinja, "strip arg must be None or str");
    const char *data = text.as.string->data, *from = data, *to = data + text.as.string->len;
    jinja_spend(jinja, text.as.string->len / 64);
    while (side != JINJA_RIGHT && from < to) {
        const char *next = from;
        int32_t code = jinja_decode(&next, to);
        if (!strips(set, from, next, code)) break;
        from = next;
    }
    while (side != JINJA_LEFT && from < to) {
        const char *last = to - 1;
        while (last > from && ((unsigned char)*last & 0xc0) == 0x80) last--;
        const char *next = last;
        int32_t code = jinja_decode(&next, to);
        if (!strips(set, last, to, code)) break;
        to = last;
    }
    if (from == data && to == data + text.as.string->len) return text;
    return jinja_part(jinja, text, (size_t)(from - data), (size_t)(to - data));
}

/* Whether the sigma at `at` ends a word: Python writes a final sigma there. */
static bool final_sigma(const struct jinja_string *string, const char *at)
{
    const char *start = string->data, *end = start + string->len, *p = at + 2;
    bool before = false;
    while (p < end) {
        int32_t code = jinja_decode(&p, end);
        if (jinja_is_cased(code)) return false;
        if (jinja_is_word(code) || jinja_is_space(code) || code < 0x80) {
            if (code != '\'' && code != '.' && code != ':' && code != '^' && code != '`') break;
        }
    }
    for (p = at; p > start;) {
        const char *last = p - 1;
        while (last > start && ((unsigned char)*last & 0xc0) == 0x80) last--;
        const char *next = last;
        int32_t code = jinja_decode(&next, end);
        before = jinja_is_cased(code);
        if (code != '\'' && code != '.' && code != ':' && code != '^' && code != '`') break;
        p = last;
    }
    return before;
}

static void append_case(struct jinja_context *jinja, struct buffer *out,
                        const struct jinja_string *string, const char *at, int32_t code,
                        enum jinja_case to)
{
    int32_t mapped[3];
    if (to == JINJA_LOWER && code == 0x3a3) {
        jinja_append_code(jinja, out, final_sigma(string, at) ? 0x3c2 : 0x3c3);
        return;
    }
    size_t count = jinja_map_case(code, to, mapped);
    for (size_t i = 0; i < count; i++) jinja_append_code(jinja, out, mapped[i]);
}

struct jinja_value jinja_change_case(struct jinja_context *jinja, struct jinja_value text,
                                     enum jinja_case to)
{
    const struct jinja_string *string = text.as.string;
    struct buffer *out = jinja_begin(jinja);
    const char *at = string->data, *end = at + string->len;
    while (at < end && !jinja->failed) {
        const char *from = at;
        int32_t code = jinja_decode(&at, end);
        append_case(jinja, out, string, from, code, to);
    }
    return end_like(jinja, out, text);
}

struct jinja_value jinja_capitalize(struct jinja_context *jinja, struct jinja_value text)
{
    const struct jinja_string *string = text.as.string;
    struct buffer *out = jinja_begin(jinja);
    const char *at = string->data, *end = at + string->len;
    while (at < end && !jinja->failed) {
        const char *from = at;
        int32_t code = jinja_decode(&at, end);
        append_case(jinja, out, string, from, code,
                    from == string->data ? JINJA_TITLE : JINJA_LOWER);
    }
    return end_like(jinja, out, text);
}

static void replace_empty(struct jinja_context *jinja, struct buffer *out,
                          const struct jinja_string *string, const struct jinja_string *to,
                          int64_t times)
{
    const char *at = string->data, *end = at + string->len;
    while (times-- && !jinja->failed) {
        jinja_append(jinja, out, to->data, to->len);
        if (at == end) return;
        const char *from = at;
        jinja_decode(&at, end);
        jinja_append(jinja, out, from, (size_t)(at - from));
    }
    jinja_append(jinja, out, at, (size_t)(end - at));
}

struct jinja_value jinja_replace(struct jinja_context *jinja, struct jinja_value text,
                                 struct jinja_value from, struct jinja_value to, int64_t times)
{
    const struct jinja_string *string = text.as.string, *old = from.as.string;
    const char *at = string->data, *end = at + string->len;
    struct buffer *out = jinja_begin(jinja);
    if (!old->len) {
        replace_empty(jinja, out, string, to.as.string, times);
        return end_like(jinja, out, text);
    }
    while (times-- && jinja_spend(jinja, 1)) {
        const char *found = memmem(at, (size_t)(end - at), old->data, old->len);
        if (!found) break;
        jinja_append(jinja, out, at, (size_t)(found - at));
        jinja_append(jinja, out, to.as.string->data, to.as.string->len);
        at = found + old->len;
    }
    jinja_append(jinja, out, at, (size_t)(end - at));
    return end_like(jinja, out, text);
}

static bool ends_line(int32_t code)
{
    return (code >= 10 && code <= 13) || (code >= 0x1c && code <= 0x1e) || code == 0x85 ||
           code == 0x2028 || code == 0x2029;
}

struct jinja_value jinja_split_lines(struct jinja_context *jinja, struct jinja_value text,
                                     bool keep)
{
    struct jinja_value lines = jinja_list(jinja, JINJA_LIST, 0);
    jinja_spend(jinja, text.as.string->len / 64);
    const char *data = text.as.string->data, *end = data + text.as.string->len, *line = data;
    for (const char *at = data; at < end && !jinja->failed;) {
        const char *from = at;
        int32_t code = jinja_decode(&at, end);
        if (!ends_line(code)) continue;
        if (code == '\r' && at < end && *at == '\n') at++;
        jinja_push(
            jinja, lines,
            jinja_part(jinja, text, (size_t)(line - data), (size_t)((keep ? at : from) - data)));
        jinja_spend(jinja, 1);
        line = at;
    }
    if (line < end)
        jinja_push(jinja, lines,
                   jinja_part(jinja, text, (size_t)(line - data), (size_t)(end - data)));
    return lines;
}

struct jinja_value jinja_justify(struct jinja_context *jinja, struct jinja_value text,
                                 int64_t width, struct jinja_value fill, enum jinja_side side)
{
    int64_t chars = (int64_t)jinja_string_chars(text.as.string);
    if (jinja_string_chars(fill.as.string) != 1)
        return jinja_fail(jinja, "The fill character must be exactly one character long");
    if (width <= chars) return text;
    int64_t spare = width - chars;
    int64_t left = side == JINJA_LEFT    ? 0
                   : side == JINJA_RIGHT ? spare
                                         : spare / 2 + (spare & width & 1);
    struct buffer *out = jinja_begin(jinja);
    jinja_append_times(jinja, out, fill.as.string->data, fill.as.string->len, left);
    jinja_append(jinja, out, text.as.string->data, text.as.string->len);
    jinja_append_times(jinja, out, fill.as.string->data, fill.as.string->len, spare - left);
    return end_like(jinja, out, text);
}

struct jinja_value jinja_join(struct jinja_context *jinja, struct jinja_value separator,
                              struct jinja_value items, bool strict)
{
    struct jinja_iterator *iterator = jinja_iterate(jinja, items);
    struct jinja_value item;
    bool escape = strict && separator.as.string->markup;
    struct buffer *out = jinja_begin(jinja);
    for (size_t i = 0; jinja_next(jinja, iterator, &item); i++) {
        if (i) jinja_append(jinja, out, separator.as.string->data, separator.as.string->len);
        if (strict && !escape && !jinja_is_string(item))
            jinja_fail(jinja, "sequence item %zu: expected str instance, %s found", i,
                       jinja_type_name(item));
        if (escape)
            jinja_append_escaped(jinja, out, item, true);
        else
            jinja_write_str(jinja, out, item);
    }
    struct jinja_value joined = jinja_end(jinja, out);
    joined.as.string->markup = escape;
    return joined;
}
