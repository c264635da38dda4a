/* tokenizer_json_steps.c - the normalizer, pre_tokenizer and decoder of a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/base64.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_json.h"
#include "server/text/tokenizer_unicode.h"

/* What ByteLevel splits at by itself: the expression of GPT-2. */
static const char BYTE_LEVEL_REGEX[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* What Whitespace keeps; the library's own \w here counts the two joiners. */
static const char WHITESPACE_REGEX[] = "[\\w\\x{200C}\\x{200D}]+|[^\\w\\s\\x{200C}\\x{200D}]+";

static char *copy_string(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    CHECK(copy);
    memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

/* The "pattern" member: {"String": ...}, {"Regex": ...} or a plain string. */
static enum status read_pattern(yyjson_val *value, const char *where,
                                struct tokenizer_regex **regex, char **string, size_t *string_len,
                                struct error *error)
{
    yyjson_val *pattern = yyjson_obj_get(value, "pattern");
    yyjson_val *fixed = yyjson_is_str(pattern) ? pattern : yyjson_obj_get(pattern, "String");
    yyjson_val *expression = yyjson_obj_get(pattern, "Regex");
    if (yyjson_is_str(expression)) {
        enum status status = tokenizer_regex_compile(yyjson_get_str(expression),
                                                     yyjson_get_len(expression), regex, error);
        return status ? error_prefix(error, status, "%s.pattern", where) : STATUS_OK;
    }
    if (!yyjson_is_str(fixed))
        return json_refuse(error, where, "pattern", "must hold a String or a Regex");
    *string = copy_string(yyjson_get_str(fixed), yyjson_get_len(fixed));
    *string_len = yyjson_get_len(fixed);
    return STATUS_OK;
}

/* Calls `read` for every member of the array `key`. */
static enum status read_sequence(struct tokenizer *tokenizer, yyjson_val *value, const char *where,
                                 const char *key, int depth, struct error *error,
                                 enum status (*read)(struct tokenizer *, yyjson_val *, int,
                                                     struct error *))
{
    yyjson_val *list = json_need_array(value, where, key, error), *item;
    size_t i, count;
    if (!list) return STATUS_INVALID;
    if (depth == JSON_DEPTH_MAX) return json_refuse(error, where, key, "is nested too deep");
    yyjson_arr_foreach(list, i, count, item)
    {
        enum status status = read(tokenizer, item, depth + 1, error);
        if (status) return status;
    }
    return STATUS_OK;
}

static enum status too_many(struct error *error, const char *where)
{
    return error_set(error, STATUS_TOO_LARGE, where, "%s has too many steps", where);
}

static enum status read_precompiled(struct normalize_step *step, yyjson_val *value,
                                    struct error *error)
{
    size_t len;
    const char *text = json_need_string(value, "normalizer", "precompiled_charsmap", &len, error);
    if (!text) return STATUS_INVALID;
    struct buffer blob = {0};
    enum status status =
        base64_append_decoded(&blob, text, len)
            ? charsmap_open(&step->charsmap, blob.data, blob.len, error)
            : json_refuse(error, "normalizer", "precompiled_charsmap", "is not Base64");
    buffer_free(&blob);
    return status;
}

static enum status read_normalizer_details(struct normalize_step *step, yyjson_val *value,
                                           struct error *error)
{
    const char *text;
    size_t len;
    enum status status;
    switch (step->kind) {
    case NORMALIZE_STRIP:
        step->left = step->right = true;
        status = json_get_bool(value, "normalizer", "strip_left", &step->left, error);
        return status ? status
                      : json_get_bool(value, "normalizer", "strip_right", &step->right, error);
    case NORMALIZE_PREPEND:
        if (!(text = json_need_string(value, "normalizer", "prepend", &len, error)))
            return STATUS_INVALID;
        step->string = copy_string(text, len), step->string_len = len;
        return STATUS_OK;
    case NORMALIZE_REPLACE:
        if (!(text = json_need_string(value, "normalizer", "content", &len, error)))
            return STATUS_INVALID;
        step->content = copy_string(text, len), step->content_len = len;
        return read_pattern(value, "normalizer", &step->regex, &step->string, &step->string_len,
                            error);
    case NORMALIZE_CHARSMAP: return read_precompiled(step, value, error);
    default: return STATUS_OK;
    }
}

enum status json_read_normalizer(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                 struct error *error)
{
    static const struct {
        const char *type;
        enum normalize_kind kind;
    } kinds[] = {
        {"NFC", NORMALIZE_NFC},
        {"NFD", NORMALIZE_NFD},
        {"NFKC", NORMALIZE_NFKC},
        {"NFKD", NORMALIZE_NFKD},
        {"Lowercase", NORMALIZE_LOWERCASE},
        {"Strip", NORMALIZE_STRIP},
        {"StripAccents", NORMALIZE_STRIP_ACCENTS},
        {"Nmt", NORMALIZE_NMT},
        {"Prepend", NORMALIZE_PREPEND},
        {"Replace", NORMALIZE_REPLACE},
        {"Precompiled", NORMALIZE_CHARSMAP},
    };
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    size_t len;
    const char *type = json_need_string(value, "normalizer", "type", &len, error);
    if (!type) return STATUS_INVALID;
    if (!strcmp(type, "Sequence"))
        return read_sequence(tokenizer, value, "normalizer", "normalizers", depth, error,
                             json_read_normalizer);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(type, kinds[i].type)) continue;
        struct normalize_step *step = normalizer_add(&tokenizer->normalizer, kinds[i].kind);
        return step ? read_normalizer_details(step, value, error) : too_many(error, "normalizer");
    }
    return json_refuse_type(error, "normalizer", type);
}

static struct split_step *add_split(struct tokenizer *tokenizer, enum split_kind kind,
                                    enum split_behavior behavior)
{
    struct splitter *splitter = &tokenizer->splitter;
    if (splitter->count == SPLIT_STEP_MAX) return NULL;
    struct split_step *step = &splitter->steps[splitter->count++];
    *step = (struct split_step){.kind = kind, .behavior = behavior};
    return step;
}

static enum status read_behavior(yyjson_val *value, enum split_behavior *out, struct error *error)
{
    static const char *const names[] = {
        [SPLIT_ISOLATED] = "Isolated",
        [SPLIT_REMOVED] = "Removed",
        [SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
        [SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
        [SPLIT_CONTIGUOUS] = "Contiguous",
    };
    const char *name = names[*out];
    enum status status = json_get_string(value, "pre_tokenizer", "behavior", &name, NULL, error);
    if (status) return status;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i])) {
            *out = (enum split_behavior)i;
            return STATUS_OK;
        }
    return json_refuse(error, "pre_tokenizer", "behavior", "is not one that is known");
}

static enum status read_byte_level(struct tokenizer *tokenizer, yyjson_val *value,
                                   struct error *error)
{
    bool prefix = true, use_regex = true;
    enum status status;
    if ((status = json_get_bool(value, "pre_tokenizer", "add_prefix_space", &prefix, error)) ||
        (status = json_get_bool(value, "pre_tokenizer", "use_regex", &use_regex, error)))
        return status;
    tokenizer->byte_level = true;
    if (prefix && !add_split(tokenizer, SPLIT_PREFIX, SPLIT_ISOLATED))
        return too_many(error, "pre_tokenizer");
    if (!use_regex) return STATUS_OK;
    struct split_step *step = add_split(tokenizer, SPLIT_REGEX, SPLIT_ISOLATED);
    if (!step) return too_many(error, "pre_tokenizer");
    return tokenizer_regex_compile(BYTE_LEVEL_REGEX, strlen(BYTE_LEVEL_REGEX), &step->regex, error);
}

static enum status read_metaspace(struct tokenizer *tokenizer, yyjson_val *value,
                                  struct error *error)
{
    const char *replacement = "\xE2\x96\x81", *scheme = "always";
    size_t len = 3;
    bool split = true, prefix = true;
    enum status status;
    if ((status =
             json_get_string(value, "pre_tokenizer", "replacement", &replacement, &len, error)) ||
        (status =
             json_get_string(value, "pre_tokenizer", "prepend_scheme", &scheme, NULL, error)) ||
        (status = json_get_bool(value, "pre_tokenizer", "add_prefix_space", &prefix, error)) ||
        (status = json_get_bool(value, "pre_tokenizer", "split", &split, error)))
        return status;
    if (!prefix) scheme = "never";
    if (!len || len != utf8_char_len((unsigned char)replacement[0]))
        return json_refuse(error, "pre_tokenizer", "replacement", "must be one character");
    struct split_step *step = add_split(tokenizer, SPLIT_METASPACE, SPLIT_ISOLATED);
    if (!step) return too_many(error, "pre_tokenizer");
    step->string = copy_string(replacement, len), step->string_len = len;
    if (!strcmp(scheme, "always"))
        step->prepend = SPLIT_PREPEND_ALWAYS;
    else if (!strcmp(scheme, "first"))
        step->prepend = SPLIT_PREPEND_FIRST;
    else if (!strcmp(scheme, "never"))
        step->prepend = SPLIT_PREPEND_NEVER;
    else
        return json_refuse(error, "pre_tokenizer", "prepend_scheme", "is not one that is known");
    if (!split) return STATUS_OK;
    if (!(step = add_split(tokenizer, SPLIT_STRING, SPLIT_MERGED_WITH_NEXT)))
        return too_many(error, "pre_tokenizer");
    step->string = copy_string(replacement, len), step->string_len = len;
    return STATUS_OK;
}

static enum status read_split(struct tokenizer *tokenizer, yyjson_val *value, const char *type,
                              struct error *error)
{
    struct split_step *step = add_split(tokenizer, SPLIT_REGEX, SPLIT_ISOLATED);
    bool individual = false;
    enum status status;
    size_t len;
    if (!step) return too_many(error, "pre_tokenizer");
    if (!strcmp(type, "Split")) {
        if ((status = read_behavior(value, &step->behavior, error)) ||
            (status = json_get_bool(value, "pre_tokenizer", "invert", &step->invert, error)) ||
            (status = read_pattern(value, "pre_tokenizer", &step->regex, &step->string,
                                   &step->string_len, error)))
            return status;
        if (!step->regex) step->kind = SPLIT_STRING;
        return STATUS_OK;
    }
    if (!strcmp(type, "Digits")) {
        step->kind = SPLIT_DIGITS;
        status = json_get_bool(value, "pre_tokenizer", "individual_digits", &individual, error);
        step->behavior = individual ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
        return status;
    }
    if (!strcmp(type, "Punctuation")) {
        step->kind = SPLIT_PUNCTUATION;
        return read_behavior(value, &step->behavior, error);
    }
    if (!strcmp(type, "Whitespace")) {
        step->behavior = SPLIT_REMOVED, step->invert = true;
        return tokenizer_regex_compile(WHITESPACE_REGEX, strlen(WHITESPACE_REGEX), &step->regex,
                                       error);
    }
    if (!strcmp(type, "WhitespaceSplit")) {
        step->kind = SPLIT_SPACES, step->behavior = SPLIT_REMOVED;
        return STATUS_OK;
    }
    step->kind = SPLIT_STRING, step->behavior = SPLIT_REMOVED; /* CharDelimiterSplit */
    const char *delimiter = json_need_string(value, "pre_tokenizer", "delimiter", &len, error);
    if (!delimiter) return STATUS_INVALID;
    step->string = copy_string(delimiter, len), step->string_len = len;
    return STATUS_OK;
}

enum status json_read_pre_tokenizer(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                    struct error *error)
{
    static const char *const splits[] = {"Split",      "Digits",          "Punctuation",
                                         "Whitespace", "WhitespaceSplit", "CharDelimiterSplit"};
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    size_t len;
    const char *type = json_need_string(value, "pre_tokenizer", "type", &len, error);
    if (!type) return STATUS_INVALID;
    if (!strcmp(type, "Sequence"))
        return read_sequence(tokenizer, value, "pre_tokenizer", "pretokenizers", depth, error,
                             json_read_pre_tokenizer);
    if (tokenizer->byte_level)
        return error_set(error, STATUS_UNSUPPORTED, "pre_tokenizer",
                         "pre_tokenizer '%.60s' after ByteLevel is not supported", type);
    if (!strcmp(type, "ByteLevel")) return read_byte_level(tokenizer, value, error);
    if (!strcmp(type, "Metaspace")) return read_metaspace(tokenizer, value, error);
    for (size_t i = 0; i < sizeof(splits) / sizeof(*splits); i++)
        if (!strcmp(type, splits[i])) return read_split(tokenizer, value, type, error);
    return json_refuse_type(error, "pre_tokenizer", type);
}

static enum status read_count(yyjson_val *value, const char *key, int *out, struct error *error)
{
    yyjson_val *number = yyjson_obj_get(value, key);
    if (!yyjson_is_uint(number) || yyjson_get_uint(number) > 1000)
        return json_refuse(error, "decoder", key, "must be a small number");
    *out = (int)yyjson_get_uint(number);
    return STATUS_OK;
}

static enum status read_decoder_details(struct decode_step *step, yyjson_val *value,
                                        struct error *error)
{
    const char *text = "\xE2\x96\x81", *scheme = "always";
    size_t len = 3;
    bool prefix = true;
    enum status status;
    switch (step->kind) {
    case DECODE_REPLACE:
        if (!(text = json_need_string(value, "decoder", "content", &len, error)))
            return STATUS_INVALID;
        step->content = copy_string(text, len), step->content_len = len;
        return read_pattern(value, "decoder", &step->regex, &step->string, &step->string_len,
                            error);
    case DECODE_STRIP:
        if (!(text = json_need_string(value, "decoder", "content", &len, error)))
            return STATUS_INVALID;
        if ((status = read_count(value, "start", &step->start, error)) ||
            (status = read_count(value, "stop", &step->stop, error)))
            return status;
        break;
    case DECODE_METASPACE:
        if ((status = json_get_string(value, "decoder", "replacement", &text, &len, error)) ||
            (status = json_get_string(value, "decoder", "prepend_scheme", &scheme, NULL, error)) ||
            (status = json_get_bool(value, "decoder", "add_prefix_space", &prefix, error)))
            return status;
        step->drop_first = prefix && strcmp(scheme, "never") != 0;
        break;
    default: return STATUS_OK;
    }
    if (!len || len != utf8_char_len((unsigned char)text[0]))
        return json_refuse(error, "decoder", step->kind == DECODE_STRIP ? "content" : "replacement",
                           "must be one character");
    step->string = copy_string(text, len), step->string_len = len;
    return STATUS_OK;
}

enum status json_read_decoder(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                              struct error *error)
{
    static const struct {
        const char *type;
        enum decode_kind kind;
    } kinds[] = {
        {"ByteLevel", DECODE_BYTE_LEVEL},
        {"ByteFallback", DECODE_BYTE_FALLBACK},
        {"Fuse", DECODE_FUSE},
        {"Replace", DECODE_REPLACE},
        {"Strip", DECODE_STRIP},
        {"Metaspace", DECODE_METASPACE},
    };
    size_t len;
    const char *type = json_need_string(value, "decoder", "type", &len, error);
    if (!type) return STATUS_INVALID;
    if (!strcmp(type, "Sequence"))
        return read_sequence(tokenizer, value, "decoder", "decoders", depth, error,
                             json_read_decoder);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (strcmp(type, kinds[i].type)) continue;
        struct decode_step *step = decoder_add(&tokenizer->decoder, kinds[i].kind);
        return step ? read_decoder_details(step, value, error) : too_many(error, "decoder");
    }
    return json_refuse_type(error, "decoder", type);
}
