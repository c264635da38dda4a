/* json.c - see json.h. */
#include "server/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

/* Deepest nesting of brackets outside strings. */
static int depth_of(const char *text, size_t len)
{
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > deepest) deepest = depth;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return deepest;
}

enum status json_read_object(const char *text, size_t len, yyjson_doc **out, struct error *error)
{
    if (!len) return error_set(error, STATUS_INVALID, NULL, "the request has no body; send JSON");
    if (depth_of(text, len) > JSON_DEPTH_MAX)
        return error_set(error, STATUS_INVALID, NULL, "the body is nested deeper than %d levels",
                         JSON_DEPTH_MAX);
    yyjson_read_err problem;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, len, 0, NULL, &problem);
    if (!doc)
        return error_set(error, STATUS_INVALID, NULL, "the body is not valid JSON: %s at byte %zu",
                         problem.msg, problem.pos);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        return error_set(error, STATUS_INVALID, NULL, "the body must be a JSON object");
    }
    *out = doc;
    return STATUS_OK;
}

void json_write(yyjson_mut_doc *doc, struct buffer *out)
{
    size_t len;
    char *text = yyjson_mut_write(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &len);
    CHECK(text);
    buffer_append(out, text, len);
    free(text);
    yyjson_mut_doc_free(doc);
}

yyjson_val *json_field(yyjson_val *object, const char *name)
{
    yyjson_val *value = yyjson_obj_get(object, name);
    return yyjson_is_null(value) ? NULL : value;
}

enum status json_bool(yyjson_val *object, const char *name, bool *out, struct error *error)
{
    yyjson_val *value = json_field(object, name);
    if (!value) return STATUS_OK;
    if (!yyjson_is_bool(value))
        return error_set(error, STATUS_INVALID, name, "%s must be true or false", name);
    *out = yyjson_get_bool(value);
    return STATUS_OK;
}

bool json_whole(yyjson_val *value, int64_t *out)
{
    if (yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX) return false;
    if (yyjson_is_int(value)) return *out = yyjson_get_sint(value), true;
    double real = yyjson_get_real(value);
    if (!yyjson_is_real(value) || real != floor(real) || fabs(real) > 9e15) return false;
    return *out = (int64_t)real, true;
}

enum status json_int(yyjson_val *object, const char *name, int64_t min, int64_t max, int64_t *out,
                     struct error *error)
{
    int64_t number;
    yyjson_val *value = json_field(object, name);
    if (!value) return STATUS_OK;
    if (!json_whole(value, &number))
        return error_set(error, STATUS_INVALID, name, "%s must be a whole number", name);
    if (number < min)
        return error_set(error, STATUS_INVALID, name, "%s must be at least %lld", name,
                         (long long)min);
    if (number > max)
        return error_set(error, STATUS_INVALID, name, "%s must be at most %lld", name,
                         (long long)max);
    *out = number;
    return STATUS_OK;
}

enum status json_float(yyjson_val *object, const char *name, double min, double max, double *out,
                       struct error *error)
{
    yyjson_val *value = json_field(object, name);
    if (!value) return STATUS_OK;
    if (!yyjson_is_num(value))
        return error_set(error, STATUS_INVALID, name, "%s must be a number", name);
    double number = yyjson_get_num(value);
    if (!(number >= min && number <= max))
        return error_set(error, STATUS_INVALID, name, "%s must be between %g and %g", name, min,
                         max);
    *out = number;
    return STATUS_OK;
}

enum status json_string(yyjson_val *object, const char *name, const char **out, size_t *len,
                        struct error *error)
{
    yyjson_val *value = json_field(object, name);
    if (!value) return STATUS_OK;
    if (!yyjson_is_str(value))
        return error_set(error, STATUS_INVALID, name, "%s must be a string", name);
    *out = yyjson_get_str(value);
    if (len) *len = yyjson_get_len(value);
    return STATUS_OK;
}

static bool is_word(yyjson_val *value, const char *words)
{
    size_t len = yyjson_get_len(value);
    if (!yyjson_is_str(value) || !len) return false;
    for (const char *at = words; at; at = strchr(at, '|'), at += at != NULL)
        if (!strncmp(at, yyjson_get_str(value), len) && (at[len] == '|' || !at[len])) return true;
    return false;
}

enum status json_refuse_fields(yyjson_val *object, const struct json_refusal *refusals,
                               size_t count, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct json_refusal *refusal = &refusals[i];
        yyjson_val *value = json_field(object, refusal->name);
        if (!value) continue;
        if (refusal->harmless == HARMLESS_FALSE && yyjson_is_false(value)) continue;
        if (refusal->harmless == HARMLESS_EMPTY && yyjson_is_ctn(value) && !yyjson_get_len(value))
            continue;
        if (refusal->harmless == HARMLESS_WORD && is_word(value, refusal->word)) continue;
        return error_set(error, STATUS_UNSUPPORTED, refusal->name, "%s: %s", refusal->name,
                         refusal->reason);
    }
    return STATUS_OK;
}
