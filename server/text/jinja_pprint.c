/*
 * jinja_pprint.c - the filter pprint: what Python's pprint.pformat makes of a value, 80 wide, with
 * the keys of dicts in order.
 */
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_filters.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_text.h"

enum { WIDTH = 80 };

struct printer {
    struct jinja_context *jinja;
    struct buffer *out;
};

static int compare_pairs(const void *a, const void *b, void *context)
{
    const struct jinja_value x = ((const struct jinja_pair *)a)->key;
    const struct jinja_value y = ((const struct jinja_pair *)b)->key;
    double real;
    bool numbers = jinja_as_real(x, &real) && jinja_as_real(y, &real);
    if (numbers || (x.kind == y.kind && x.kind == JINJA_STRING))
        return jinja_compare(context, x, y);
    return strcmp(jinja_type_name(x), jinja_type_name(y));
}

/* The pairs in order; a copy. */
static struct jinja_pair *sorted_pairs(struct printer *printer, const struct jinja_dict *dict)
{
    struct jinja_pair *pairs = jinja_alloc(printer->jinja, (dict->count + 1) * sizeof(*pairs));
    if (dict->count) memcpy(pairs, dict->pairs, dict->count * sizeof(*pairs));
    qsort_r(pairs, dict->count, sizeof(*pairs), compare_pairs, printer->jinja);
    return pairs;
}

/* A value with its dicts in order: its repr is what pprint calls the representation. */
static struct jinja_value in_order(struct printer *printer, struct jinja_value value)
{
    struct jinja_context *jinja = printer->jinja;
    struct jinja_value copy = value;
    if (!jinja_enter(jinja)) return jinja_leave(jinja), value;
    if (value.kind == JINJA_DICT) {
        struct jinja_pair *pairs = sorted_pairs(printer, value.as.dict);
        copy = jinja_dict(jinja, JINJA_DICT, value.as.dict->count);
        for (size_t i = 0; i < value.as.dict->count; i++)
            jinja_dict_set(jinja, copy.as.dict, pairs[i].key, in_order(printer, pairs[i].value));
    } else if (value.kind == JINJA_LIST || value.kind == JINJA_TUPLE) {
        copy = jinja_list(jinja, value.kind, value.as.list->count);
        for (size_t i = 0; i < value.as.list->count; i++)
            jinja_push(jinja, copy, in_order(printer, value.as.list->items[i]));
    }
    jinja_leave(jinja);
    return copy;
}

static struct jinja_value repr_of(struct jinja_context *jinja, struct jinja_value value)
{
    struct buffer *text = jinja_begin(jinja);
    jinja_write_repr(jinja, text, value);
    return jinja_end(jinja, text);
}

static size_t width_of(struct jinja_value text)
{
    return jinja_string_chars(text.as.string);
}

static void write_text(struct printer *printer, struct jinja_value text)
{
    jinja_append(printer->jinja, printer->out, text.as.string->data, text.as.string->len);
}

static void new_line(struct printer *printer, size_t indent)
{
    jinja_append_chars(printer->jinja, printer->out, "\n");
    jinja_append_times(printer->jinja, printer->out, " ", 1, (int64_t)indent);
}

/* One line of a long string: pushes the reprs of the pieces that fit. */
static void push_pieces(struct printer *printer, struct jinja_value chunks, struct jinja_value line,
                        int64_t room, int64_t room_at_end)
{
    struct jinja_context *jinja = printer->jinja;
    const char *data = line.as.string->data, *end = data + line.as.string->len;
    const char *from = data, *fits = data, *at = data;
    while (at < end && jinja_spend(jinja, 1)) {
        const char *next = at; /* a word and the space after it */
        while (at < end && !jinja_is_space(jinja_decode(&next, end))) at = next;
        for (next = at; at < end && jinja_is_space(jinja_decode(&next, end));) at = next;
        struct jinja_value piece = jinja_text_view(jinja, from, (size_t)(at - from));
        int64_t limit = at == end ? room_at_end : room;
        if ((int64_t)width_of(repr_of(jinja, piece)) > limit && fits > from) {
            piece = jinja_text_view(jinja, from, (size_t)(fits - from));
            jinja_push(jinja, chunks, repr_of(jinja, piece));
            from = fits;
        }
        fits = at;
    }
    if (end > from)
        jinja_push(jinja, chunks,
                   repr_of(jinja, jinja_text_view(jinja, from, (size_t)(end - from))));
}

static void print_string(struct printer *printer, struct jinja_value value, size_t indent,
                         size_t allowance, bool top)
{
    struct jinja_context *jinja = printer->jinja;
    struct jinja_value lines = jinja_split_lines(jinja, value, true);
    struct jinja_value chunks = jinja_list(jinja, JINJA_LIST, 0);
    if (top) indent++, allowance++;
    int64_t room = WIDTH - (int64_t)indent, room_at_end = room - (int64_t)allowance;
    for (size_t i = 0; i < lines.as.list->count && !jinja->failed; i++) {
        struct jinja_value rep = repr_of(jinja, lines.as.list->items[i]);
        bool last = i + 1 == lines.as.list->count;
        if ((int64_t)width_of(rep) <= (last ? room_at_end : room))
            jinja_push(jinja, chunks, rep);
        else
            push_pieces(printer, chunks, lines.as.list->items[i], room, last ? room_at_end : room);
    }
    bool several = chunks.as.list->count > 1;
    if (top && several) jinja_append_chars(jinja, printer->out, "(");
    for (size_t i = 0; i < chunks.as.list->count && !jinja->failed; i++) {
        if (i) new_line(printer, indent);
        write_text(printer, chunks.as.list->items[i]);
    }
    if (top && several) jinja_append_chars(jinja, printer->out, ")");
}

static void print_value(struct printer *printer, struct jinja_value value, size_t indent,
                        size_t allowance, bool top);

static void print_dict(struct printer *printer, const struct jinja_dict *dict, size_t indent,
                       size_t allowance)
{
    struct jinja_context *jinja = printer->jinja;
    jinja_append_chars(jinja, printer->out, "{");
    for (size_t i = 0; i < dict->count && !jinja->failed; i++) {
        struct jinja_value key = repr_of(jinja, dict->pairs[i].key);
        bool last = i + 1 == dict->count;
        write_text(printer, key);
        jinja_append_chars(jinja, printer->out, ": ");
        print_value(printer, dict->pairs[i].value, indent + 1 + width_of(key) + 2,
                    last ? allowance + 1 : 1, false);
        if (last) break;
        jinja_append_chars(jinja, printer->out, ",");
        new_line(printer, indent + 1);
    }
    jinja_append_chars(jinja, printer->out, "}");
}

static void print_list(struct printer *printer, struct jinja_value value, size_t indent,
                       size_t allowance)
{
    const struct jinja_list *list = value.as.list;
    const char *close = value.kind == JINJA_LIST ? "]" : list->count == 1 ? ",)" : ")";
    jinja_append_chars(printer->jinja, printer->out, value.kind == JINJA_LIST ? "[" : "(");
    for (size_t i = 0; i < list->count && !printer->jinja->failed; i++) {
        bool last = i + 1 == list->count;
        print_value(printer, list->items[i], indent + 1, last ? allowance + strlen(close) : 1,
                    false);
        if (last) break;
        jinja_append_chars(printer->jinja, printer->out, ",");
        new_line(printer, indent + 1);
    }
    jinja_append_chars(printer->jinja, printer->out, close);
}

/* `allowance` is what must still fit behind the value on its last line. */
static void print_value(struct printer *printer, struct jinja_value value, size_t indent,
                        size_t allowance, bool top)
{
    struct jinja_context *jinja = printer->jinja;
    if (jinja_enter(jinja)) {
        struct jinja_value rep = repr_of(jinja, value);
        bool fits = width_of(rep) + indent + allowance <= WIDTH;
        bool plain = value.kind == JINJA_STRING && !value.as.string->markup;
        if (!fits && value.kind == JINJA_DICT)
            print_dict(printer, value.as.dict, indent, allowance);
        else if (!fits && (value.kind == JINJA_LIST || value.kind == JINJA_TUPLE))
            print_list(printer, value, indent, allowance);
        else if (!fits && plain)
            print_string(printer, value, indent, allowance, top);
        else
            write_text(printer, rep);
    }
    jinja_leave(jinja);
}

JINJA_FILTER(pprint)
{
    struct printer printer = {jinja, jinja_begin(jinja)};
    print_value(&printer, in_order(&printer, self), 0, 0, true);
    return jinja_end(jinja, printer.out);
}
