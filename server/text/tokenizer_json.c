/* tokenizer_json.c - tokenizer.json as a whole; its parts are read in tokenizer_json_*.c. */
#include "server/text/tokenizer_json.h"

#include <stdio.h>
#include <string.h>

#include "server/text/tokenizer_core.h"

enum status json_refuse(struct error *error, const char *where, const char *key, const char *what)
{
    char path[ERROR_PARAM_MAX];
    snprintf(path, sizeof(path), "%s%s%s", where, *where && *key ? "." : "", key);
    return error_set(error, STATUS_INVALID, path, "%s %s", path, what);
}

enum status json_refuse_type(struct error *error, const char *where, const char *type)
{
    return error_set(error, STATUS_UNSUPPORTED, where, "%s of type '%.60s' is not supported", where,
                     type);
}

enum status json_get_bool(yyjson_val *object, const char *where, const char *key, bool *out,
                          struct error *error)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    if (!yyjson_is_bool(value)) return json_refuse(error, where, key, "must be true or false");
    *out = yyjson_get_bool(value);
    return STATUS_OK;
}

enum status json_get_string(yyjson_val *object, const char *where, const char *key,
                            const char **out, size_t *len, struct error *error)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    if (!yyjson_is_str(value)) return json_refuse(error, where, key, "must be a string");
    *out = yyjson_get_str(value);
    if (len) *len = yyjson_get_len(value);
    return STATUS_OK;
}

yyjson_val *json_need_array(yyjson_val *object, const char *where, const char *key,
                            struct error *error)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    if (yyjson_is_arr(value)) return value;
    json_refuse(error, where, key, value ? "must be an array" : "is missing");
    return NULL;
}

const char *json_need_string(yyjson_val *object, const char *where, const char *key, size_t *len,
                             struct error *error)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    if (yyjson_is_str(value)) {
        *len = yyjson_get_len(value);
        return yyjson_get_str(value);
    }
    json_refuse(error, where, key, value ? "must be a string" : "is missing");
    return NULL;
}

static enum status read_added_token(struct tokenizer *tokenizer, yyjson_val *item,
                                    struct error *error)
{
    struct added_token token = {.normalized = true};
    const char *where = "added_tokens";
    enum status status = STATUS_OK;
    if (!yyjson_is_obj(item)) return json_refuse(error, where, "", "must be objects");
    token.content = json_need_string(item, where, "content", &token.content_len, error);
    if (!token.content) return STATUS_INVALID;
    yyjson_val *id = yyjson_obj_get(item, "id");
    if (!yyjson_is_uint(id) || yyjson_get_uint(id) > VOCAB_ID_MAX)
        return json_refuse(error, where, "id", "must be a token id");
    token.id = (int32_t)yyjson_get_uint(id);
    token.normalized = !yyjson_get_bool(yyjson_obj_get(item, "special"));
    if ((status = json_get_bool(item, where, "special", &token.special, error)) ||
        (status = json_get_bool(item, where, "normalized", &token.normalized, error)) ||
        (status = json_get_bool(item, where, "single_word", &token.single_word, error)) ||
        (status = json_get_bool(item, where, "lstrip", &token.lstrip, error)) ||
        (status = json_get_bool(item, where, "rstrip", &token.rstrip, error)))
        return status;
    if (!token.content_len) return STATUS_OK; /* the library ignores it too */
    int32_t own = vocab_find(&tokenizer->vocab, token.content, token.content_len);
    if (own >= 0) token.id = own;
    added_add(&tokenizer->added, &tokenizer->arena, &token);
    return STATUS_OK;
}

static enum status read_added_tokens(struct tokenizer *tokenizer, yyjson_val *list,
                                     struct error *error)
{
    size_t i, count;
    yyjson_val *item;
    if (!list || yyjson_is_null(list)) return STATUS_OK;
    if (!yyjson_is_arr(list)) return json_refuse(error, "added_tokens", "", "must be an array");
    yyjson_arr_foreach(list, i, count, item)
    {
        enum status status = read_added_token(tokenizer, item, error);
        if (status) return status;
    }
    return STATUS_OK;
}

static enum status read_root(struct tokenizer *tokenizer, yyjson_val *root, struct error *error)
{
    enum status status;
    yyjson_val *model = yyjson_obj_get(root, "model");
    if (!yyjson_is_obj(root))
        return error_set(error, STATUS_INVALID, NULL, "it is not a JSON object");
    if (!yyjson_is_obj(model))
        return json_refuse(error, "", "model", model ? "must be an object" : "is missing");
    /* truncation and padding belong to batching for training: a server does neither */
    if ((status = json_read_normalizer(tokenizer, yyjson_obj_get(root, "normalizer"), 0, error)) ||
        (status =
             json_read_pre_tokenizer(tokenizer, yyjson_obj_get(root, "pre_tokenizer"), 0, error)) ||
        (status = json_read_model(tokenizer, model, error)) ||
        (status = read_added_tokens(tokenizer, yyjson_obj_get(root, "added_tokens"), error)) ||
        (status =
             json_read_post_processor(tokenizer, yyjson_obj_get(root, "post_processor"), 0, error)))
        return status;
    yyjson_val *decoder = yyjson_obj_get(root, "decoder");
    if (!decoder || yyjson_is_null(decoder)) {
        decoder_add(&tokenizer->decoder, DECODE_JOIN);
        return STATUS_OK;
    }
    return json_read_decoder(tokenizer, decoder, 0, error);
}

enum status tokenizer_read_json(struct tokenizer *tokenizer, char *text, size_t len,
                                struct error *error)
{
    yyjson_read_err reason;
    yyjson_doc *doc = yyjson_read_opts(text, len, YYJSON_READ_INSITU, NULL, &reason);
    if (!doc)
        return error_set(error, STATUS_INVALID, NULL, "it is not valid JSON: %s at byte %zu",
                         reason.msg, reason.pos);
    tokenizer->parses_special = true;
    enum status status = read_root(tokenizer, yyjson_doc_get_root(doc), error);
    yyjson_doc_free(doc);
    return status;
}
