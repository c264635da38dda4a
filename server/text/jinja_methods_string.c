/* jinja_methods_string.c - methods of str. */
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_escape.h"
#include "server/text/jinja_methods.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_text.h"

#define METHOD(name)                                                                               \
    static struct jinja_value method_##name(struct jinja_context *jinja, struct jinja_value self,  \
                                            const struct jinja_call *call)

/* The text that was built, marked as its input was. */
static struct jinja_value end_like(struct jinja_context *jinja, struct buffer *out,
                                   struct jinja_value self)
{
    struct jinja_value text = jinja_end(jinja, out);
    text.as.string->markup = self.as.string->markup;
    return text;
}

METHOD(strip)
{
    return jinja_strip(jinja, self, call->bound[0], JINJA_BOTH);
}

METHOD(lstrip)
{
    return jinja_strip(jinja, self, call->bound[0], JINJA_LEFT);
}

METHOD(rstrip)
{
    return jinja_strip(jinja, self, call->bound[0], JINJA_RIGHT);
}

METHOD(upper)
{
    return jinja_change_case(jinja, self, JINJA_UPPER);
}

METHOD(lower)
{
    return jinja_change_case(jinja, self, JINJA_LOWER);
}

METHOD(casefold)
{
    return jinja_change_case(jinja, self, JINJA_FOLD);
}

METHOD(capitalize)
{
    return jinja_capitalize(jinja, self);
}

METHOD(swapcase)
{
    const char *at = self.as.string->data, *end = at + self.as.string->len;
    struct buffer *out = jinja_begin(jinja);
    while (at < end && !jinja->failed) {
        int32_t code = jinja_decode(&at, end), mapped[3];
        size_t count =
            jinja_map_case(code, jinja_is_upper(code) ? JINJA_LOWER : JINJA_UPPER, mapped);
        for (size_t i = 0; i < count; i++) jinja_append_code(jinja, out, mapped[i]);
    }
    return end_like(jinja, out, self);
}

METHOD(title)
{
    const char *at = self.as.string->data, *end = at + self.as.string->len;
    struct buffer *out = jinja_begin(jinja);
    for (bool cased = false; at < end && !jinja->failed;) {
        int32_t code = jinja_decode(&at, end), mapped[3];
        size_t count = jinja_map_case(code, cased ? JINJA_LOWER : JINJA_TITLE, mapped);
        for (size_t i = 0; i < count; i++) jinja_append_code(jinja, out, mapped[i]);
        cased = jinja_is_cased(code);
    }
    return end_like(jinja, out, self);
}

/* The string from parameter `at`, or failed. */
static struct jinja_string *text_arg(struct jinja_context *jinja, const struct jinja_call *call,
                                     int at)
{
    return jinja_arg_string(jinja, call->bound[at], "").as.string;
}

/* [start, stop) of parameters 1 and 2, in bytes; false: nothing can be found there. */
static bool byte_range(struct jinja_context *jinja, struct jinja_value self,
                       const struct jinja_call *call, size_t *from, size_t *to)
{
    int64_t chars = (int64_t)jinja_string_chars(self.as.string);
    int64_t start = jinja_given(call->bound[1]) ? jinja_arg_int(jinja, call->bound[1], 0) : 0;
    int64_t stop = jinja_given(call->bound[2]) ? jinja_arg_int(jinja, call->bound[2], 0) : chars;
    if (start < 0) start = start + chars < 0 ? 0 : start + chars;
    if (stop < 0) stop = stop + chars < 0 ? 0 : stop + chars;
    if (stop > chars) stop = chars;
    if (start > stop || jinja->failed) return false;
    *from = jinja_string_offset(self.as.string, (size_t)start);
    *to = jinja_string_offset(self.as.string, (size_t)stop);
    return true;
}

static const char *find_last(const char *at, size_t len, const struct jinja_string *what)
{
    for (const char *p = at + len; what->len <= len && p >= at + what->len; p--)
        if (!memcmp(p - what->len, what->data, what->len)) return p - what->len;
    return NULL;
}

static int64_t find(struct jinja_context *jinja, struct jinja_value self,
                    const struct jinja_call *call, bool last)
{
    size_t from, to, chars = 0;
    const struct jinja_string *what = text_arg(jinja, call, 0);
    jinja_spend(jinja, self.as.string->len / 64);
    if (!byte_range(jinja, self, call, &from, &to)) return -1;
    const char *data = self.as.string->data;
    const char *found = last ? find_last(data + from, to - from, what)
                             : memmem(data + from, to - from, what->data, what->len);
    if (!found) return -1;
    for (const char *p = data; p < found; p++) chars += ((unsigned char)*p & 0xc0) != 0x80;
    return (int64_t)chars;
}

METHOD(find)
{
    return jinja_int(find(jinja, self, call, false));
}

METHOD(rfind)
{
    return jinja_int(find(jinja, self, call, true));
}

METHOD(index)
{
    int64_t at = find(jinja, self, call, false);
    return at < 0 ? jinja_fail(jinja, "substring not found") : jinja_int(at);
}

METHOD(rindex)
{
    int64_t at = find(jinja, self, call, true);
    return at < 0 ? jinja_fail(jinja, "substring not found") : jinja_int(at);
}

METHOD(count)
{
    size_t from, to;
    const struct jinja_string *what = text_arg(jinja, call, 0);
    jinja_spend(jinja, self.as.string->len / 64);
    if (!byte_range(jinja, self, call, &from, &to)) return jinja_int(0);
    struct jinja_value part = jinja_part(jinja, self, from, to);
    if (!what->len) return jinja_int((int64_t)jinja_string_chars(part.as.string) + 1);
    const char *at = part.as.string->data, *end = at + part.as.string->len;
    int64_t count = 0;
    while (jinja_spend(jinja, 1) && (at = memmem(at, (size_t)(end - at), what->data, what->len)))
        at += what->len, count++;
    return jinja_int(count);
}

static bool has_end(const struct jinja_string *text, const struct jinja_string *end, bool prefix)
{
    if (end->len > text->len) return false;
    return !memcmp(text->data + (prefix ? 0 : text->len - end->len), end->data, end->len);
}

/* startswith and endswith, of a string or any of a tuple. */
static struct jinja_value matches(struct jinja_context *jinja, struct jinja_value self,
                                  const struct jinja_call *call, bool prefix)
{
    size_t from, to;
    struct jinja_value ends = call->bound[0];
    if (ends.kind != JINJA_TUPLE) {
        ends = jinja_list(jinja, JINJA_TUPLE, 1);
        jinja_push(jinja, ends, call->bound[0]);
    }
    bool possible = byte_range(jinja, self, call, &from, &to);
    struct jinja_value part = possible ? jinja_part(jinja, self, from, to) : self;
    for (size_t i = 0; i < ends.as.list->count; i++) {
        struct jinja_value end = ends.as.list->items[i];
        if (end.kind == JINJA_UNDEFINED)
            return jinja_fail(jinja, "%s first arg must be str or a tuple of str, not Undefined",
                              prefix ? "startswith" : "endswith");
        if (!jinja_is_string(end))
            return jinja_fail(jinja, "%s first arg must be str or a tuple of str, not %s",
                              prefix ? "startswith" : "endswith", jinja_type_name(end));
        if (possible && has_end(part.as.string, end.as.string, prefix)) return jinja_bool(true);
    }
    return jinja_bool(false);
}

METHOD(startswith)
{
    return matches(jinja, self, call, true);
}

METHOD(endswith)
{
    return matches(jinja, self, call, false);
}

METHOD(removeprefix)
{
    const struct jinja_string *end = text_arg(jinja, call, 0);
    if (!has_end(self.as.string, end, true)) return self;
    return jinja_part(jinja, self, end->len, self.as.string->len);
}

METHOD(removesuffix)
{
    const struct jinja_string *end = text_arg(jinja, call, 0);
    if (!has_end(self.as.string, end, false)) return self;
    return jinja_part(jinja, self, 0, self.as.string->len - end->len);
}

METHOD(replace)
{
    struct jinja_value from = jinja_arg_string(jinja, call->bound[0], "");
    struct jinja_value to = jinja_arg_string(jinja, call->bound[1], "");
    int64_t count = jinja_arg_int(jinja, call->bound[2], -1);
    if (jinja->failed) return jinja_none();
    if (self.as.string->markup) to = jinja_escape(jinja, to);
    return jinja_replace(jinja, self, from, to, count < 0 ? -1 : count);
}

METHOD(join)
{
    return jinja_join(jinja, self, call->bound[0], true);
}

static void reverse(struct jinja_list *list)
{
    for (size_t i = 0; i + i + 1 < list->count; i++) {
        struct jinja_value item = list->items[i];
        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = item;
    }
}

/* Splits at runs of whitespace, from the left or the right. */
static struct jinja_value split_space(struct jinja_context *jinja, struct jinja_value self,
                                      int64_t times, bool right)
{
    struct jinja_value parts = jinja_list(jinja, JINJA_LIST, 0);
    enum jinja_side side = right ? JINJA_RIGHT : JINJA_LEFT;
    struct jinja_value rest = jinja_strip(jinja, self, jinja_missing(), side);
    while (rest.as.string->len && jinja_spend(jinja, 1)) {
        const char *data = rest.as.string->data, *end = data + rest.as.string->len, *cut = NULL;
        for (const char *at = data; times && at < end && (right || !cut);) {
            const char *from = at;
            if (jinja_is_space(jinja_decode(&at, end))) cut = right ? at : from;
        }
        if (!cut) {
            jinja_push(jinja, parts, rest);
            break;
        }
        size_t at = (size_t)(cut - data), len = rest.as.string->len;
        jinja_push(jinja, parts, jinja_part(jinja, rest, right ? at : 0, right ? len : at));
        rest = jinja_part(jinja, rest, right ? 0 : at, right ? at : len);
        rest = jinja_strip(jinja, rest, jinja_missing(), side);
        times -= times > 0;
    }
    if (right) reverse(parts.as.list);
    return parts;
}

static struct jinja_value split_at(struct jinja_context *jinja, struct jinja_value self,
                                   const struct jinja_string *separator, int64_t times, bool right)
{
    struct jinja_value parts = jinja_list(jinja, JINJA_LIST, 0);
    size_t from = 0, to = self.as.string->len;
    const char *data = self.as.string->data;
    jinja_spend(jinja, to / 64);
    while (times && jinja_spend(jinja, 1)) {
        const char *found = right ? find_last(data + from, to - from, separator)
                                  : memmem(data + from, to - from, separator->data, separator->len);
        if (!found) break;
        size_t at = (size_t)(found - data);
        if (right) {
            jinja_push(jinja, parts, jinja_part(jinja, self, at + separator->len, to));
            to = at;
        } else {
            jinja_push(jinja, parts, jinja_part(jinja, self, from, at));
            from = at + separator->len;
        }
        times -= times > 0;
    }
    jinja_push(jinja, parts, jinja_part(jinja, self, from, to));
    if (right) reverse(parts.as.list);
    return parts;
}

static struct jinja_value split(struct jinja_context *jinja, struct jinja_value self,
                                const struct jinja_call *call, bool right)
{
    int64_t times = jinja_arg_int(jinja, call->bound[1], -1);
    if (times < 0) times = -1;
    if (!jinja_given(call->bound[0])) return split_space(jinja, self, times, right);
    const struct jinja_string *separator = text_arg(jinja, call, 0);
    if (!jinja->failed && !separator->len) return jinja_fail(jinja, "empty separator");
    if (jinja->failed) return jinja_none();
    return split_at(jinja, self, separator, times, right);
}

METHOD(split)
{
    return split(jinja, self, call, false);
}

METHOD(rsplit)
{
    return split(jinja, self, call, true);
}

METHOD(splitlines)
{
    return jinja_split_lines(jinja, self, jinja_arg_bool(jinja, call->bound[0], false));
}

static struct jinja_value partition(struct jinja_context *jinja, struct jinja_value self,
                                    const struct jinja_call *call, bool right)
{
    struct jinja_value separator = jinja_arg_string(jinja, call->bound[0], "");
    if (jinja->failed) return jinja_none();
    if (!separator.as.string->len) return jinja_fail(jinja, "empty separator");
    struct jinja_value parts = split_at(jinja, self, separator.as.string, 1, right);
    struct jinja_value tuple = jinja_list(jinja, JINJA_TUPLE, 3);
    struct jinja_value empty = jinja_part(jinja, self, 0, 0);
    bool found = parts.as.list->count == 2;
    if (jinja->failed) return tuple;
    const struct jinja_value *items = parts.as.list->items;
    jinja_push(jinja, tuple, found || !right ? items[0] : empty);
    jinja_push(jinja, tuple, found ? separator : empty);
    jinja_push(jinja, tuple, found ? items[1] : right ? items[0] : empty);
    return tuple;
}

METHOD(partition)
{
    return partition(jinja, self, call, false);
}

METHOD(rpartition)
{
    return partition(jinja, self, call, true);
}

static struct jinja_value justify(struct jinja_context *jinja, struct jinja_value self,
                                  const struct jinja_call *call, enum jinja_side side)
{
    struct jinja_value fill = jinja_arg_string(jinja, call->bound[1], " ");
    return jinja_justify(jinja, self, jinja_arg_int(jinja, call->bound[0], 0), fill, side);
}

METHOD(center)
{
    return justify(jinja, self, call, JINJA_BOTH);
}

METHOD(ljust)
{
    return justify(jinja, self, call, JINJA_LEFT);
}

METHOD(rjust)
{
    return justify(jinja, self, call, JINJA_RIGHT);
}

METHOD(zfill)
{
    int64_t width = jinja_arg_int(jinja, call->bound[0], 0);
    const struct jinja_string *string = self.as.string;
    bool sign = string->len && (string->data[0] == '-' || string->data[0] == '+');
    struct buffer *out = jinja_begin(jinja);
    jinja_append(jinja, out, string->data, sign);
    int64_t chars = (int64_t)jinja_string_chars(self.as.string);
    if (width > chars) jinja_append_times(jinja, out, "0", 1, width - chars);
    jinja_append(jinja, out, string->data + sign, string->len - sign);
    return end_like(jinja, out, self);
}

METHOD(expandtabs)
{
    int64_t tab = jinja_arg_int(jinja, call->bound[0], 8), column = 0;
    const char *at = self.as.string->data, *end = at + self.as.string->len;
    struct buffer *out = jinja_begin(jinja);
    while (at < end && !jinja->failed) {
        const char *from = at;
        int32_t code = jinja_decode(&at, end);
        if (code == '\t') {
            int64_t spaces = tab > 0 ? tab - column % tab : 0;
            jinja_append_times(jinja, out, " ", 1, spaces);
            column += spaces;
        } else {
            jinja_append(jinja, out, from, (size_t)(at - from));
            column = code == '\n' || code == '\r' ? 0 : column + 1;
        }
    }
    return end_like(jinja, out, self);
}

METHOD(format)
{
    return jinja_format(jinja, self, call);
}

METHOD(format_map)
{
    if (call->bound[0].kind != JINJA_DICT) return jinja_fail(jinja, "format_map needs a mapping");
    struct jinja_call named = {0};
    named.named = call->bound[0].as.dict->pairs;
    named.named_count = call->bound[0].as.dict->count;
    return jinja_format(jinja, self, &named);
}

/* Whether one code point passes; `first`: it begins the string. */
static bool code_is(int32_t code, enum jinja_text_test test, bool first)
{
    switch (test) {
    case JINJA_IS_ALNUM: return jinja_is_alpha(code) || jinja_is_numeric(code);
    case JINJA_IS_ALPHA: return jinja_is_alpha(code);
    case JINJA_IS_ASCII: return code < 0x80;
    case JINJA_IS_DECIMAL: return jinja_is_decimal(code);
    case JINJA_IS_DIGIT: return jinja_is_digit(code);
    case JINJA_IS_IDENTIFIER: return jinja_is_word(code) && !(first && jinja_is_numeric(code));
    case JINJA_IS_NUMERIC: return jinja_is_numeric(code);
    case JINJA_IS_PRINTABLE: return jinja_is_printable(code);
    default: return jinja_is_space(code);
    }
}

/* islower, isupper and istitle look at cased code points only, and need one. */
static bool case_is(const struct jinja_string *string, enum jinja_text_test test)
{
    const char *at = string->data, *end = at + string->len;
    bool any = false, before = false;
    while (at < end) {
        int32_t code = jinja_decode(&at, end);
        bool upper = jinja_is_upper(code), lower = jinja_is_lower(code);
        bool title = jinja_is_title(code), cased = upper || lower || title;
        if (test == JINJA_IS_LOWER && (upper || title)) return false;
        if (test == JINJA_IS_UPPER && (lower || title)) return false;
        if (test == JINJA_IS_TITLE && cased && lower != before) return false;
        any |= cased, before = cased;
    }
    return any;
}

bool jinja_text_is(struct jinja_context *jinja, struct jinja_value text, enum jinja_text_test test)
{
    const struct jinja_string *string = text.as.string;
    const char *at = string->data, *end = at + string->len;
    if (test == JINJA_IS_LOWER || test == JINJA_IS_UPPER || test == JINJA_IS_TITLE)
        return case_is(string, test);
    if (at == end) return test == JINJA_IS_ASCII || test == JINJA_IS_PRINTABLE;
    for (bool first = true; at < end; first = false)
        if (!code_is(jinja_decode(&at, end), test, first)) return false;
    return true;
}

#define TEXT_TEST(name, test)                                                                      \
    METHOD(name)                                                                                   \
    {                                                                                              \
        return jinja_bool(jinja_text_is(jinja, self, test));                                       \
    }

TEXT_TEST(isalnum, JINJA_IS_ALNUM)
TEXT_TEST(isalpha, JINJA_IS_ALPHA)
TEXT_TEST(isascii, JINJA_IS_ASCII)
TEXT_TEST(isdecimal, JINJA_IS_DECIMAL)
TEXT_TEST(isdigit, JINJA_IS_DIGIT)
TEXT_TEST(isidentifier, JINJA_IS_IDENTIFIER)
TEXT_TEST(islower, JINJA_IS_LOWER)
TEXT_TEST(isnumeric, JINJA_IS_NUMERIC)
TEXT_TEST(isprintable, JINJA_IS_PRINTABLE)
TEXT_TEST(isspace, JINJA_IS_SPACE)
TEXT_TEST(istitle, JINJA_IS_TITLE)
TEXT_TEST(isupper, JINJA_IS_UPPER)

/* Methods that str has and this engine does not: there, so that they are defined and callable. */
METHOD(refused)
{
    return jinja_fail(jinja, "the str methods encode, maketrans and translate are not supported");
}

const struct jinja_builtin jinja_string_methods[] = {
    {"strip", method_strip, 0, false, {""}},
    {"lstrip", method_lstrip, 0, false, {""}},
    {"rstrip", method_rstrip, 0, false, {""}},
    {"split", method_split, 0, false, {"sep", "maxsplit"}},
    {"startswith", method_startswith, 1, false, {"", "", ""}},
    {"endswith", method_endswith, 1, false, {"", "", ""}},
    {"replace", method_replace, 2, false, {"", "", ""}},
    {"join", method_join, 1, false, {""}},
    {"upper", method_upper, 0, false, {0}},
    {"lower", method_lower, 0, false, {0}},
    {"title", method_title, 0, false, {0}},
    {"capitalize", method_capitalize, 0, false, {0}},
    {"casefold", method_casefold, 0, false, {0}},
    {"swapcase", method_swapcase, 0, false, {0}},
    {"find", method_find, 1, false, {"", "", ""}},
    {"rfind", method_rfind, 1, false, {"", "", ""}},
    {"index", method_index, 1, false, {"", "", ""}},
    {"rindex", method_rindex, 1, false, {"", "", ""}},
    {"count", method_count, 1, false, {"", "", ""}},
    {"rsplit", method_rsplit, 0, false, {"sep", "maxsplit"}},
    {"splitlines", method_splitlines, 0, false, {"keepends"}},
    {"partition", method_partition, 1, false, {""}},
    {"rpartition", method_rpartition, 1, false, {""}},
    {"removeprefix", method_removeprefix, 1, false, {""}},
    {"removesuffix", method_removesuffix, 1, false, {""}},
    {"center", method_center, 1, false, {"", ""}},
    {"ljust", method_ljust, 1, false, {"", ""}},
    {"rjust", method_rjust, 1, false, {"", ""}},
    {"zfill", method_zfill, 1, false, {""}},
    {"expandtabs", method_expandtabs, 0, false, {"tabsize"}},
    {"format", method_format, 0, true, {0}},
    {"format_map", method_format_map, 1, false, {""}},
    {"isalnum", method_isalnum, 0, false, {0}},
    {"isalpha", method_isalpha, 0, false, {0}},
    {"isascii", method_isascii, 0, false, {0}},
    {"isdecimal", method_isdecimal, 0, false, {0}},
    {"isdigit", method_isdigit, 0, false, {0}},
    {"isidentifier", method_isidentifier, 0, false, {0}},
    {"islower", method_islower, 0, false, {0}},
    {"isnumeric", method_isnumeric, 0, false, {0}},
    {"isprintable", method_isprintable, 0, false, {0}},
    {"isspace", method_isspace, 0, false, {0}},
    {"istitle", method_istitle, 0, false, {0}},
    {"isupper", method_isupper, 0, false, {0}},
    {"encode", method_refused, 0, true, {0}},
    {"maketrans", method_refused, 0, true, {0}},
    {"translate", method_refused, 0, true, {0}},
    {0},
};
