/* api_text.c - see api_text.h. */
#include "server/api_text.h"

#include <string.h>

#include "server/api_request.h"
#include "server/json.h"
#include "server/text/tokenizer_unicode.h"

/* The text to tokenise: the prompt as given, or the messages through the chat template. */
static enum status take_text(const struct service *service, yyjson_val *root, struct buffer *text,
                             bool *add_special, struct error *error)
{
    const char *prompt = NULL;
    size_t len = 0;
    bool chat = json_field(root, "messages") != NULL;
    *add_special = !chat;
    enum status status = json_bool(root, "add_special_tokens", add_special, error);
    if (!status) status = json_string(root, "prompt", &prompt, &len, error);
    if (status) return status;
    if (chat) return api_render_chat(service, root, text, error);
    if (!prompt) return error_set(error, STATUS_INVALID, "prompt", "prompt or messages is missing");
    buffer_append(text, prompt, len);
    return STATUS_OK;
}

static void add_strings(const struct service *service, yyjson_mut_doc *doc, yyjson_mut_val *root,
                        const struct completion_prompt *prompt)
{
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, root, "token_strs");
    struct buffer text = {0};
    for (int i = 0; i < prompt->count; i++) {
        size_t len = 0;
        const char *bytes = tokenizer_token_bytes(service->tokenizer, prompt->ids[i], &len);
        buffer_clear(&text);
        utf8_append_lossy(&text, bytes ? bytes : "", bytes ? len : 0);
        yyjson_mut_arr_append(array, yyjson_mut_strncpy(doc, text.data, text.len));
    }
    buffer_free(&text);
}

static void respond_tokens(const struct service *service, struct http_request *request,
                           const struct completion_prompt *prompt, bool strings)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_int(doc, root, "count", prompt->count);
    yyjson_mut_obj_add_int(doc, root, "max_model_len", service->max_model_len);
    yyjson_mut_obj_add_val(doc, root, "tokens",
                           yyjson_mut_arr_with_sint32(doc, prompt->ids, (size_t)prompt->count));
    if (strings)
        add_strings(service, doc, root, prompt);
    else
        yyjson_mut_obj_add_null(doc, root, "token_strs");
    server_respond_json(request, doc);
}

static enum status check_model(const struct service *service, yyjson_val *root, struct error *error)
{
    const char *model = NULL;
    enum status status = json_string(root, "model", &model, NULL, error);
    if (status || !model || !*model || service_serves(service->options, model)) return status;
    return error_set(error, STATUS_NOT_FOUND, "model", "The model `%.200s` does not exist", model);
}

void api_tokenize(struct server *server, struct http_request *request)
{
    const struct service *service = server->service;
    yyjson_doc *doc = NULL;
    struct error error = {0};
    struct buffer text = {0};
    struct completion_prompt prompt = {0};
    bool add_special, strings = false;
    enum status status = json_read_object(request->body.data, request->body.len, &doc, &error);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!status) status = check_model(service, root, &error);
    if (!status) status = json_bool(root, "return_token_strs", &strings, &error);
    if (!status) status = take_text(service, root, &text, &add_special, &error);
    if (!status)
        status = api_encode(service, text.len ? text.data : "", text.len, add_special,
                            &request->arena, &prompt, &error);
    if (status)
        server_respond_error(request, &error);
    else
        respond_tokens(service, request, &prompt, strings);
    buffer_free(&text);
    yyjson_doc_free(doc);
}

static enum status take_ids(const struct service *service, yyjson_val *root,
                            struct token_list *list, struct error *error)
{
    yyjson_val *tokens = json_field(root, "tokens"), *item;
    if (!yyjson_is_arr(tokens))
        return error_set(error, STATUS_INVALID, "tokens", "tokens must be an array of token ids");
    size_t index, max;
    yyjson_arr_foreach(tokens, index, max, item)
    {
        int64_t id;
        if (!json_whole(item, &id) || id < 0 || id >= tokenizer_vocab_size(service->tokenizer))
            return error_set(error, STATUS_INVALID, "tokens",
                             "tokens[%zu] is no token id of the model (0 to %d)", index,
                             tokenizer_vocab_size(service->tokenizer) - 1);
        token_list_append(list, (int32_t)id);
    }
    return STATUS_OK;
}

void api_detokenize(struct server *server, struct http_request *request)
{
    const struct service *service = server->service;
    yyjson_doc *doc = NULL;
    struct error error = {0};
    struct token_list list = {0};
    struct buffer text = {0};
    enum status status = json_read_object(request->body.data, request->body.len, &doc, &error);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!status) status = check_model(service, root, &error);
    if (!status) status = take_ids(service, root, &list, &error);
    if (!status)
        status = tokenizer_decode(service->tokenizer, list.ids, list.count, false, &text, &error);
    if (status) {
        server_respond_error(request, &error);
    } else {
        yyjson_mut_doc *answer = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *object = yyjson_mut_obj(answer);
        yyjson_mut_doc_set_root(answer, object);
        yyjson_mut_obj_add_strncpy(answer, object, "prompt", text.len ? text.data : "", text.len);
        server_respond_json(request, answer);
    }
    token_list_free(&list);
    buffer_free(&text);
    yyjson_doc_free(doc);
}
