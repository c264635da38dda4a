/*
 * tokenizer_json.h - what the readers of tokenizer.json share: typed access to members, with errors
 * that name the key.
 *
 * Thread: any; used at load time only.
 */
#ifndef SERVER_TEXT_TOKENIZER_JSON_H
#define SERVER_TEXT_TOKENIZER_JSON_H

#include <stdbool.h>
#include <yyjson.h>

#include "runtime/base/status.h"

struct tokenizer;

/* Nested Sequences deeper than this are refused. */
enum { JSON_DEPTH_MAX = 8 };

/* The member `key` of `object`: `*out` keeps its value if the member is missing or null. `where` is
 * the object's own key, for the error. */
enum status json_get_bool(yyjson_val *object, const char *where, const char *key, bool *out,
                          struct error *error);
enum status json_get_string(yyjson_val *object, const char *where, const char *key,
                            const char **out, size_t *len, struct error *error);

/* The member that must be there and be of the type: NULL after an error. */
yyjson_val *json_need_array(yyjson_val *object, const char *where, const char *key,
                            struct error *error);
const char *json_need_string(yyjson_val *object, const char *where, const char *key, size_t *len,
                             struct error *error);

/* STATUS_INVALID about `where`.`key`. */
enum status json_refuse(struct error *error, const char *where, const char *key, const char *what);

/* The "type" member of a component is not one that is supported. */
enum status json_refuse_type(struct error *error, const char *where, const char *type);

/* The parts of a tokenizer.json that are lists of steps. */
enum status json_read_normalizer(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                 struct error *error);
enum status json_read_pre_tokenizer(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                    struct error *error);
enum status json_read_decoder(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                              struct error *error);
enum status json_read_post_processor(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                     struct error *error);
enum status json_read_model(struct tokenizer *tokenizer, yyjson_val *model, struct error *error);

#endif
