/* tokenizer_config.c - tokenizer_config.json, special_tokens_map.json and chat templates: the files
 * beside a tokenizer. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_files.h"
#include "server/text/tokenizer_json.h"

enum { CONFIG_BYTES_MAX = 64 << 20 };

/* The JSON object of a file in the directory; `*doc` stays NULL if there is no such file. */
static enum status read_object(const char *directory, const char *name, yyjson_doc **doc,
                               struct error *error)
{
    struct buffer path = {0};
    char *text = NULL;
    size_t len = 0;
    yyjson_read_err reason = {0};
    buffer_printf(&path, "%s/%s", directory, name);
    enum status status = tokenizer_file_read(path.data, CONFIG_BYTES_MAX, &text, &len, error);
    if (status == STATUS_NOT_FOUND) {
        status = STATUS_OK;
    } else if (!status) {
        *doc = yyjson_read_opts(text, len, 0, NULL, &reason);
        if (!*doc)
            status = error_set(error, STATUS_INVALID, NULL, "%s is not valid JSON: %s at byte %zu",
                               path.data, reason.msg, reason.pos);
        else if (!yyjson_is_obj(yyjson_doc_get_root(*doc)))
            status = error_set(error, STATUS_INVALID, NULL, "%s is not a JSON object", path.data);
    }
    if (status && *doc) {
        yyjson_doc_free(*doc);
        *doc = NULL;
    }
    free(text);
    buffer_free(&path);
    return status;
}

/* "..." or {"content": "..."}, else NULL. */
static const char *token_text(yyjson_val *value, size_t *len)
{
    if (yyjson_is_obj(value)) value = yyjson_obj_get(value, "content");
    if (!yyjson_is_str(value)) return NULL;
    *len = yyjson_get_len(value);
    return yyjson_get_str(value);
}

/* A special token of a SentencePiece model that its config declares: looked for in texts. One that
 * the model lacks gets the id that the config gives it, or the next free one. */
static void declare_token(struct tokenizer *tokenizer, yyjson_val *value, int64_t id)
{
    struct added_token token = {.special = true};
    size_t len = 0;
    const char *text = token_text(value, &len);
    if (!text || !len || added_find(&tokenizer->added, text, len)) return;
    int32_t own = vocab_find(&tokenizer->vocab, text, len);
    if (own >= 0) id = own;
    if (id < 0) {
        id = tokenizer->vocab.size;
        while (added_has_id(&tokenizer->added, (int32_t)id)) id++;
    }
    if (id > VOCAB_ID_MAX) return; /* such an id no model has */
    token.id = (int32_t)id, token.content = text, token.content_len = len;
    if (yyjson_is_obj(value)) {
        token.lstrip = yyjson_get_bool(yyjson_obj_get(value, "lstrip"));
        token.rstrip = yyjson_get_bool(yyjson_obj_get(value, "rstrip"));
        token.single_word = yyjson_get_bool(yyjson_obj_get(value, "single_word"));
        yyjson_val *special = yyjson_obj_get(value, "special");
        if (yyjson_is_bool(special)) token.special = yyjson_get_bool(special);
    }
    added_add(&tokenizer->added, &tokenizer->arena, &token);
}

static void declare_tokens(struct tokenizer *tokenizer, yyjson_val *root)
{
    static const char *const names[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                        "sep_token", "cls_token", "mask_token"};
    size_t i, count;
    yyjson_val *key, *value;
    yyjson_obj_foreach(yyjson_obj_get(root, "added_tokens_decoder"), i, count, key, value)
    {
        declare_token(tokenizer, value, strtoll(yyjson_get_str(key), NULL, 10));
    }
    for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
        declare_token(tokenizer, yyjson_obj_get(root, names[n]), -1);
    yyjson_arr_foreach(yyjson_obj_get(root, "additional_special_tokens"), i, count, value)
    {
        declare_token(tokenizer, value, -1);
    }
}

static void read_special_tokens(struct tokenizer *tokenizer, yyjson_val *root, bool override)
{
    size_t len;
    const char *text = token_text(yyjson_obj_get(root, "bos_token"), &len);
    if (text && (override || !*tokenizer->bos_text)) tokenizer_set_bos(tokenizer, text, len);
    text = token_text(yyjson_obj_get(root, "eos_token"), &len);
    if (text && (override || !*tokenizer->eos_text)) tokenizer_set_eos(tokenizer, text, len);
    if (tokenizer->sentencepiece) declare_tokens(tokenizer, root);
}

/* "chat_template": a string, or a list of {"name", "template"}. */
static enum status read_templates(struct tokenizer *tokenizer, yyjson_val *value,
                                  struct error *error)
{
    size_t i, count, len;
    yyjson_val *item;
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    if (yyjson_is_str(value)) {
        tokenizer_add_template(tokenizer, "default", yyjson_get_str(value), yyjson_get_len(value));
        return STATUS_OK;
    }
    if (!yyjson_is_arr(value))
        return json_refuse(error, "tokenizer_config.json", "chat_template",
                           "must be a string or an array");
    yyjson_arr_foreach(value, i, count, item)
    {
        const char *where = "tokenizer_config.json chat_template";
        const char *name = json_need_string(item, where, "name", &len, error);
        const char *source = name ? json_need_string(item, where, "template", &len, error) : NULL;
        if (!source) return STATUS_INVALID;
        tokenizer_add_template(tokenizer, name, source, len);
    }
    return STATUS_OK;
}

static enum status read_template_file(struct tokenizer *tokenizer, const char *path,
                                      const char *name, struct error *error)
{
    char *text = NULL;
    size_t len = 0;
    enum status status = tokenizer_file_read(path, CONFIG_BYTES_MAX, &text, &len, error);
    if (status == STATUS_NOT_FOUND) return STATUS_OK;
    if (!status) tokenizer_add_template(tokenizer, name, text, len);
    free(text);
    return status;
}

/* chat_template.jinja and additional_chat_templates/NAME.jinja come before tokenizer_config.json's:
 * newer exports write them there. */
static enum status read_template_files(struct tokenizer *tokenizer, const char *directory,
                                       struct error *error)
{
    struct buffer path = {0};
    buffer_printf(&path, "%s/chat_template.jinja", directory);
    enum status status = read_template_file(tokenizer, path.data, "default", error);
    buffer_clear(&path);
    buffer_printf(&path, "%s/additional_chat_templates", directory);
    DIR *folder = status ? NULL : opendir(path.data);
    for (struct dirent *entry; folder && !status && (entry = readdir(folder));) {
        char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".jinja") != 0) continue;
        struct buffer file = {0};
        buffer_printf(&file, "%s/%s", path.data, entry->d_name);
        *dot = 0;
        status = read_template_file(tokenizer, file.data, entry->d_name, error);
        buffer_free(&file);
    }
    if (folder) closedir(folder);
    buffer_free(&path);
    return status;
}

/* What transformers' LlamaTokenizer puts around a text: a tokenizer.json says it itself. */
static enum status read_around(struct tokenizer *tokenizer, yyjson_val *root, struct error *error)
{
    bool add_bos = true, add_eos = false;
    const char *where = "tokenizer_config.json";
    enum status status;
    if ((status = json_get_bool(root, where, "add_bos_token", &add_bos, error)) ||
        (status = json_get_bool(root, where, "add_eos_token", &add_eos, error)))
        return status;
    const struct added_token *bos =
        added_find(&tokenizer->added, tokenizer->bos_text, strlen(tokenizer->bos_text));
    const struct added_token *eos =
        added_find(&tokenizer->added, tokenizer->eos_text, strlen(tokenizer->eos_text));
    if (add_bos && bos) token_list_append(&tokenizer->before, bos->id);
    if (add_eos && eos) token_list_append(&tokenizer->after, eos->id);
    return STATUS_OK;
}

enum status tokenizer_read_config(struct tokenizer *tokenizer, const char *directory,
                                  struct error *error)
{
    yyjson_doc *config = NULL, *map = NULL;
    enum status status;
    if ((status = read_template_files(tokenizer, directory, error)) ||
        (status = read_object(directory, "tokenizer_config.json", &config, error)) ||
        (status = read_object(directory, "special_tokens_map.json", &map, error)))
        goto out;
    yyjson_val *root = yyjson_doc_get_root(config);
    read_special_tokens(tokenizer, root, true);
    read_special_tokens(tokenizer, yyjson_doc_get_root(map), false);
    if ((status = read_templates(tokenizer, yyjson_obj_get(root, "chat_template"), error)))
        goto out;
    if (tokenizer->sentencepiece) status = read_around(tokenizer, root, error);
out:
    yyjson_doc_free(config);
    yyjson_doc_free(map);
    return status;
}
