/* jinja_value.c - strings, lists and dicts: see jinja_value.h and jinja_context.h. */
#include "server/text/jinja_value.h"

#include <string.h>

#include "runtime/base/check.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_ops.h"

enum { DICT_INDEX_FROM = 9 }; /* smaller dicts are searched in order */

size_t jinja_string_chars(struct jinja_string *string)
{
    if (string->chars == SIZE_MAX) {
        size_t chars = 0;
        for (size_t i = 0; i < string->len; i++)
            chars += ((unsigned char)string->data[i] & 0xc0) != 0x80;
        string->chars = chars;
    }
    return string->chars;
}

size_t jinja_string_offset(struct jinja_string *string, size_t at)
{
    size_t chars = jinja_string_chars(string);
    if (chars == string->len) return at;
    if (at >= chars) return string->len;
    size_t offset = 0;
    while (true) {
        if (((unsigned char)string->data[offset] & 0xc0) != 0x80 && at-- == 0) return offset;
        offset++;
    }
}

bool jinja_string_equal(const struct jinja_string *a, const struct jinja_string *b)
{
    return a == b || (a->len == b->len && !memcmp(a->data, b->data, a->len));
}

bool jinja_string_is(const struct jinja_string *string, const char *text)
{
    size_t len = strlen(text);
    return string->len == len && !memcmp(string->data, text, len);
}

int32_t jinja_decode(const char **at, const char *end)
{
    const unsigned char *p = (const unsigned char *)*at;
    int more = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc0 ? 1 : 0;
    if (more >= end - *at) more = 0;
    int32_t code = more == 3 ? *p & 7 : more == 2 ? *p & 15 : more == 1 ? *p & 31 : *p;
    for (int i = 1; i <= more; i++) code = code << 6 | (p[i] & 0x3f);
    *at += 1 + more;
    return code;
}

size_t jinja_encode(int32_t code, char out[4])
{
    if (code < 0x80) return out[0] = (char)code, 1;
    if (code < 0x800)
        return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18), out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63)), out[3] = (char)(0x80 | (code & 63));
    return 4;
}

const char *jinja_type_name(struct jinja_value value)
{
    static const char *const names[] = {
        [JINJA_MISSING] = "missing",
        [JINJA_UNDEFINED] = "Undefined",
        [JINJA_NONE] = "None",
        [JINJA_BOOL] = "bool",
        [JINJA_INT] = "int",
        [JINJA_BIG] = "int",
        [JINJA_FLOAT] = "float",
        [JINJA_STRING] = "str",
        [JINJA_LIST] = "list",
        [JINJA_TUPLE] = "tuple",
        [JINJA_DICT] = "dict",
        [JINJA_VIEW] = "dict view",
        [JINJA_RANGE] = "range",
        [JINJA_ITERATOR] = "generator",
        [JINJA_NAMESPACE] = "namespace",
        [JINJA_MACRO] = "macro",
        [JINJA_FUNCTION] = "function",
        [JINJA_METHOD] = "method",
        [JINJA_LOOP] = "loop",
        [JINJA_CYCLER] = "cycler",
        [JINJA_JOINER] = "joiner",
    };
    return names[value.kind];
}

static struct jinja_value string_value(struct jinja_context *jinja, const char *text, size_t len)
{
    struct jinja_string *string = jinja_alloc(jinja, sizeof(*string));
    string->data = text, string->len = len, string->chars = SIZE_MAX;
    return (struct jinja_value){.kind = JINJA_STRING, .as.string = string};
}

struct jinja_value jinja_text(struct jinja_context *jinja, const char *text, size_t len)
{
    if (len > JINJA_TEXT_MAX || jinja->arena.total_bytes + len > JINJA_BYTES_MAX)
        jinja_fail(jinja, "the template makes too much text"), len = 0;
    return string_value(jinja, arena_strndup(&jinja->arena, text, len), len);
}

struct jinja_value jinja_text_view(struct jinja_context *jinja, const char *text, size_t len)
{
    return string_value(jinja, text, len);
}

struct jinja_value jinja_chars(struct jinja_context *jinja, const char *text)
{
    return string_value(jinja, text, strlen(text));
}

struct jinja_value jinja_markup(struct jinja_context *jinja, struct jinja_value string)
{
    struct jinja_value copy = string_value(jinja, string.as.string->data, string.as.string->len);
    copy.as.string->chars = string.as.string->chars, copy.as.string->markup = true;
    return copy;
}

/* Room for `count` items of `bytes` each, or NULL and failed. */
static void *more_room(struct jinja_context *jinja, const void *old, size_t used, size_t count,
                       size_t bytes)
{
    if (count > JINJA_BYTES_MAX / bytes ||
        jinja->arena.total_bytes + count * bytes > JINJA_BYTES_MAX) {
        jinja_fail(jinja, "the template makes values that are too large");
        return NULL;
    }
    char *room = arena_alloc(&jinja->arena, count * bytes);
    if (used) memcpy(room, old, used * bytes);
    return room;
}

struct jinja_value jinja_list(struct jinja_context *jinja, enum jinja_kind kind, size_t capacity)
{
    struct jinja_list *list = jinja_alloc(jinja, sizeof(*list));
    if (capacity) list->items = more_room(jinja, NULL, 0, capacity, sizeof(*list->items));
    if (list->items) list->capacity = capacity;
    return (struct jinja_value){.kind = (uint8_t)kind, .as.list = list};
}

void jinja_push(struct jinja_context *jinja, struct jinja_value value, struct jinja_value item)
{
    struct jinja_list *list = value.as.list;
    if (jinja->failed) return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        void *items = more_room(jinja, list->items, list->count, capacity, sizeof(*list->items));
        if (!items) return;
        list->items = items, list->capacity = capacity;
    }
    list->items[list->count++] = item;
}

struct jinja_value jinja_pair_of(struct jinja_context *jinja, struct jinja_value first,
                                 struct jinja_value second)
{
    struct jinja_value tuple = jinja_list(jinja, JINJA_TUPLE, 2);
    jinja_push(jinja, tuple, first), jinja_push(jinja, tuple, second);
    return tuple;
}

bool jinja_hashable(struct jinja_value value)
{
    if (value.kind == JINJA_LIST || value.kind == JINJA_DICT) return false;
    if (value.kind != JINJA_TUPLE) return true;
    for (size_t i = 0; i < value.as.list->count; i++)
        if (!jinja_hashable(value.as.list->items[i])) return false;
    return true;
}

static uint32_t hash_bytes(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < len; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

/* Equal values hash alike: 1, 1.0 and true are one key. */
static uint32_t hash_value(struct jinja_value value)
{
    double real;
    uint32_t hash = 1;
    switch (value.kind) {
    case JINJA_STRING: return hash_bytes(value.as.string->data, value.as.string->len);
    case JINJA_BOOL: real = value.as.boolean; break;
    case JINJA_INT: real = (double)value.as.integer; break;
    case JINJA_FLOAT: real = value.as.real; break;
    case JINJA_TUPLE:
        for (size_t i = 0; i < value.as.list->count; i++)
            hash = hash * 31 + hash_value(value.as.list->items[i]);
        return hash;
    default: return value.kind;
    }
    if (real == 0) real = 0; /* -0.0 */
    return hash_bytes(&real, sizeof(real));
}

struct jinja_value jinja_dict(struct jinja_context *jinja, enum jinja_kind kind, size_t capacity)
{
    struct jinja_dict *dict = jinja_alloc(jinja, sizeof(*dict));
    if (capacity) dict->pairs = more_room(jinja, NULL, 0, capacity, sizeof(*dict->pairs));
    if (dict->pairs) dict->capacity = capacity;
    return (struct jinja_value){.kind = (uint8_t)kind, .as.dict = dict};
}

static bool same_key(struct jinja_value a, struct jinja_value b)
{
    if (a.kind == JINJA_STRING && b.kind == JINJA_STRING)
        return jinja_string_equal(a.as.string, b.as.string);
    return jinja_same_key(a, b);
}

struct jinja_value *jinja_dict_find(const struct jinja_dict *dict, struct jinja_value key)
{
    if (!dict->index) {
        for (size_t i = 0; i < dict->count; i++)
            if (same_key(dict->pairs[i].key, key)) return &dict->pairs[i].value;
        return NULL;
    }
    for (size_t at = hash_value(key);; at++) {
        uint32_t entry = dict->index[at & (dict->index_size - 1)];
        if (!entry) return NULL;
        if (same_key(dict->pairs[entry - 1].key, key)) return &dict->pairs[entry - 1].value;
    }
}

struct jinja_value *jinja_dict_find_text(const struct jinja_dict *dict, const char *text,
                                         size_t len)
{
    struct jinja_string string = {text, len, SIZE_MAX, false};
    return jinja_dict_find(dict, (struct jinja_value){.kind = JINJA_STRING, .as.string = &string});
}

static void index_add(struct jinja_dict *dict, size_t position)
{
    size_t at = hash_value(dict->pairs[position].key);
    while (dict->index[at & (dict->index_size - 1)]) at++;
    dict->index[at & (dict->index_size - 1)] = (uint32_t)position + 1;
}

void jinja_dict_set(struct jinja_context *jinja, struct jinja_dict *dict, struct jinja_value key,
                    struct jinja_value value)
{
    if (jinja->failed) return;
    if (!jinja_hashable(key)) {
        jinja_fail(jinja, "unhashable type: '%s'", jinja_type_name(key));
        return;
    }
    struct jinja_value *old = jinja_dict_find(dict, key);
    if (old) {
        *old = value;
        return;
    }
    if (dict->count == dict->capacity) {
        size_t capacity = dict->capacity ? dict->capacity * 2 : 8;
        void *pairs = more_room(jinja, dict->pairs, dict->count, capacity, sizeof(*dict->pairs));
        if (!pairs) return;
        dict->pairs = pairs, dict->capacity = capacity;
    }
    dict->pairs[dict->count++] = (struct jinja_pair){key, value};
    if (dict->count < DICT_INDEX_FROM) return;
    if (dict->index_size < dict->count * 2) {
        size_t size = dict->index_size ? dict->index_size * 2 : 32;
        uint32_t *index = more_room(jinja, NULL, 0, size, sizeof(*index));
        if (!index) {
            dict->count--; /* failed: the old index still finds what is there */
            return;
        }
        memset(index, 0, size * sizeof(*index));
        dict->index = index, dict->index_size = size;
        for (size_t i = 0; i + 1 < dict->count; i++) index_add(dict, i);
    }
    index_add(dict, dict->count - 1);
}

struct jinja_value jinja_undefined_name(struct jinja_string *name)
{
    return (struct jinja_value){.kind = JINJA_UNDEFINED, .as.string = name};
}

struct jinja_value jinja_undefined_of(struct jinja_value owner, struct jinja_string *name)
{
    uint8_t detail = (uint8_t)(1 + owner.kind);
    return (struct jinja_value){.kind = JINJA_UNDEFINED, .detail = detail, .as.string = name};
}

struct jinja_value jinja_undefined_hint(struct jinja_context *jinja, const char *hint)
{
    struct jinja_value text = jinja_chars(jinja, hint);
    text.kind = JINJA_UNDEFINED, text.detail = JINJA_OF_HINT;
    return text;
}
