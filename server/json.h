/*
 * json.h - reading the fields of a request and writing documents, on yyjson.
 *
 * Thread: any; pure. A field that is absent or null leaves its value as it was; one of the wrong
 * type or out of range is STATUS_INVALID with the field in `param`.
 */
#ifndef SERVER_JSON_H
#define SERVER_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

enum { JSON_DEPTH_MAX = 128 };

/* Parses a body that must be one object. Nesting beyond JSON_DEPTH_MAX is refused before parsing.
 * Free with yyjson_doc_free. */
enum status json_read_object(const char *text, size_t len, yyjson_doc **out, struct error *error);

/* Appends the document's text and frees the document. */
void json_write(yyjson_mut_doc *doc, struct buffer *out);

/* The field, or NULL if absent or null. */
yyjson_val *json_field(yyjson_val *object, const char *name);

enum status json_bool(yyjson_val *object, const char *name, bool *out, struct error *error);
enum status json_int(yyjson_val *object, const char *name, int64_t min, int64_t max, int64_t *out,
                     struct error *error);
enum status json_float(yyjson_val *object, const char *name, double min, double max, double *out,
                       struct error *error);
/* The string lives as long as the document. */
enum status json_string(yyjson_val *object, const char *name, const char **out, size_t *len,
                        struct error *error);

/* A whole number, also written 5.0. */
bool json_whole(yyjson_val *value, int64_t *out);

/* A field that is known and not supported: which values do no harm. */
enum json_harmless { HARMLESS_NULL, HARMLESS_FALSE, HARMLESS_EMPTY, HARMLESS_WORD };
struct json_refusal {
    const char *name;
    enum json_harmless harmless; /* besides null */
    const char *word;            /* of HARMLESS_WORD; alternatives separated by | */
    const char *reason;
};
enum status json_refuse_fields(yyjson_val *object, const struct json_refusal *refusals,
                               size_t count, struct error *error);

#endif
