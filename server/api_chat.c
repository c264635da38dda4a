/* api_chat.c - the body of /v1/chat/completions: messages through the chat template to one prompt.
 */
#include <string.h>

#include "server/api_request.h"
#include "server/json.h"
#include "server/service.h"

enum { FINAL_TAIL_MAX = 4096 };

#define NO_TOOLS "tool calls are not supported yet"

static const struct json_refusal chat_refusals[] = {
    {"tools", HARMLESS_EMPTY, NULL, NO_TOOLS},
    {"functions", HARMLESS_EMPTY, NULL, NO_TOOLS},
    {"tool_choice", HARMLESS_WORD, "none|auto", NO_TOOLS},
    {"function_call", HARMLESS_WORD, "none|auto", NO_TOOLS},
    {"modalities", HARMLESS_NULL, NULL, "only text goes in and out"},
    {"audio", HARMLESS_NULL, NULL, "only text goes in and out"},
    {"web_search_options", HARMLESS_NULL, NULL, "there is no web search"},
    {"store", HARMLESS_FALSE, NULL, "nothing is stored"},
    {"service_tier", HARMLESS_WORD, "auto|default",
     "there is one tier; leave it out or use priority"},
    {"echo", HARMLESS_FALSE, NULL, "echo is for /v1/completions"},
    {"thinking_token_budget", HARMLESS_NULL, NULL, "not supported; limit max_completion_tokens"},
    {"media_io_kwargs", HARMLESS_EMPTY, NULL, "only text goes in and out"},
};

/* The text of an array of content parts, joined by newlines as vLLM does; parts must be text. */
static enum status join_parts(yyjson_val *parts, struct buffer *out, struct error *error)
{
    size_t index, max;
    yyjson_val *part;
    yyjson_arr_foreach(parts, index, max, part)
    {
        const char *type = yyjson_get_str(yyjson_obj_get(part, "type"));
        yyjson_val *text = yyjson_is_str(part) ? part : yyjson_obj_get(part, "text");
        if (!yyjson_is_str(part) && (!type || (strcmp(type, "text") && strcmp(type, "input_text") &&
                                               strcmp(type, "output_text"))))
            return error_set(error, STATUS_UNSUPPORTED, "messages",
                             "messages: content parts of type '%.40s' are not supported, only text",
                             type ? type : "?");
        if (!yyjson_is_str(text))
            return error_set(error, STATUS_INVALID, "messages",
                             "messages: a content part has no text");
        if (index) buffer_append_char(out, '\n');
        buffer_append(out, yyjson_get_str(text), yyjson_get_len(text));
    }
    return STATUS_OK;
}

/* Templates want a call's arguments as an object; clients send them as its JSON text. */
static void open_arguments(yyjson_mut_doc *doc, yyjson_mut_val *message)
{
    yyjson_mut_val *calls = yyjson_mut_obj_get(message, "tool_calls"), *call;
    size_t index, max;
    yyjson_mut_arr_foreach(calls, index, max, call)
    {
        yyjson_mut_val *function = yyjson_mut_obj_get(call, "function");
        yyjson_mut_val *arguments = yyjson_mut_obj_get(function, "arguments");
        if (!yyjson_mut_is_str(arguments)) continue;
        yyjson_doc *parsed =
            yyjson_read(yyjson_mut_get_str(arguments), yyjson_mut_get_len(arguments), 0);
        if (yyjson_is_obj(yyjson_doc_get_root(parsed)))
            yyjson_mut_obj_put(function, yyjson_mut_str(doc, "arguments"),
                               yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed)));
        yyjson_doc_free(parsed);
    }
}

static enum status add_message(yyjson_mut_doc *doc, yyjson_mut_val *messages, yyjson_val *message,
                               size_t at, struct error *error)
{
    if (!yyjson_is_obj(message) || !yyjson_is_str(yyjson_obj_get(message, "role")))
        return error_set(error, STATUS_INVALID, "messages",
                         "messages[%zu] must be an object with a role", at);
    yyjson_val *content = json_field(message, "content");
    if (content && !yyjson_is_str(content) && !yyjson_is_arr(content))
        return error_set(error, STATUS_INVALID, "messages",
                         "messages[%zu].content must be a string or an array of parts", at);
    bool calls = json_field(message, "tool_calls") || json_field(message, "reasoning_content");
    const char *role = yyjson_get_str(yyjson_obj_get(message, "role"));
    if (!content && !calls && strcmp(role, "assistant"))
        return error_set(error, STATUS_INVALID, "messages", "messages[%zu] has no content", at);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, message);
    if (yyjson_is_arr(content)) {
        struct buffer text = {0};
        enum status status = join_parts(content, &text, error);
        yyjson_mut_obj_put(copy, yyjson_mut_str(doc, "content"),
                           yyjson_mut_strncpy(doc, text.len ? text.data : "", text.len));
        buffer_free(&text);
        if (status) return status;
    }
    open_arguments(doc, copy);
    yyjson_mut_arr_append(messages, copy);
    return STATUS_OK;
}

static enum status add_messages(yyjson_mut_doc *doc, yyjson_mut_val *variables, yyjson_val *root,
                                struct error *error)
{
    yyjson_val *messages = json_field(root, "messages"), *message;
    if (!yyjson_is_arr(messages) || !yyjson_arr_size(messages))
        return error_set(error, STATUS_INVALID, "messages",
                         "messages must be an array of at least one message");
    yyjson_mut_val *copies = yyjson_mut_obj_add_arr(doc, variables, "messages");
    size_t index, max;
    yyjson_arr_foreach(messages, index, max, message)
    {
        enum status status = add_message(doc, copies, message, index, error);
        if (status) return status;
    }
    return STATUS_OK;
}

/* chat_template_kwargs and the other fields that only templates read. */
static enum status add_extras(yyjson_mut_doc *doc, yyjson_mut_val *variables, yyjson_val *root,
                              struct error *error)
{
    yyjson_val *kwargs = json_field(root, "chat_template_kwargs"), *key, *value;
    yyjson_val *effort = json_field(root, "reasoning_effort");
    yyjson_val *documents = json_field(root, "documents");
    if (kwargs && !yyjson_is_obj(kwargs))
        return error_set(error, STATUS_INVALID, "chat_template_kwargs",
                         "chat_template_kwargs must be an object");
    if (effort && !yyjson_is_str(effort))
        return error_set(error, STATUS_INVALID, "reasoning_effort",
                         "reasoning_effort must be a string");
    if (documents && !yyjson_is_arr(documents))
        return error_set(error, STATUS_INVALID, "documents", "documents must be an array");
    if (effort)
        yyjson_mut_obj_add_val(doc, variables, "reasoning_effort",
                               yyjson_val_mut_copy(doc, effort));
    yyjson_mut_obj_add_val(doc, variables, "documents",
                           documents ? yyjson_val_mut_copy(doc, documents) : yyjson_mut_null(doc));
    yyjson_mut_obj_add_null(doc, variables, "tools");
    size_t index, max;
    yyjson_obj_foreach(kwargs, index, max, key, value)
    {
        const char *name = yyjson_get_str(key);
        if (!strcmp(name, "messages") || !strcmp(name, "tools") || !strcmp(name, "chat_template"))
            return error_set(error, STATUS_INVALID, "chat_template_kwargs",
                             "chat_template_kwargs may not set %s", name);
        yyjson_mut_obj_put(variables, yyjson_mut_strncpy(doc, name, yyjson_get_len(key)),
                           yyjson_val_mut_copy(doc, value));
    }
    return STATUS_OK;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Cuts the rendered text behind the last message's content, so that the model goes on with it. */
static enum status cut_final(yyjson_val *root, struct buffer *text, struct error *error)
{
    yyjson_val *content = json_field(yyjson_arr_get_last(json_field(root, "messages")), "content");
    struct buffer joined = {0};
    enum status status = STATUS_OK;
    if (yyjson_is_str(content))
        buffer_append(&joined, yyjson_get_str(content), yyjson_get_len(content));
    else if (content)
        status = join_parts(content, &joined, error);
    const char *whole = joined.len ? joined.data : "";
    size_t begin = 0, end = joined.len, len = joined.len;
    while (begin < end && is_space(whole[begin])) begin++;
    while (end > begin && is_space(whole[end - 1])) end--;
    size_t stripped = end - begin, at = text->len;
    bool found = false;
    /* What follows the last message in a template is short; a longer search would be quadratic. */
    size_t lowest = at > stripped + FINAL_TAIL_MAX ? at - stripped - FINAL_TAIL_MAX : 0;
    while (!status && stripped && !found && at-- > lowest)
        found = at + stripped <= text->len && !memcmp(text->data + at, whole + begin, stripped);
    if (!status && !found)
        status = error_set(error, STATUS_INVALID, "continue_final_message",
                           "continue_final_message: the last message's content is empty or the "
                           "chat template does not show it");
    if (found) {
        /* A template that keeps trailing spaces keeps them; one that trims them decides. */
        size_t kept = len - begin;
        bool verbatim = at + kept <= text->len && !memcmp(text->data + at, whole + begin, kept);
        text->len = at + (verbatim ? kept : stripped);
        text->data[text->len] = 0;
    }
    buffer_free(&joined);
    return status;
}

static enum status render(const struct service *service, const struct chat_template *chat_template,
                          yyjson_val *root, bool add_prompt, struct buffer *out,
                          struct error *error)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *variables = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, variables);
    yyjson_mut_obj_add_str(doc, variables, "bos_token", tokenizer_bos_text(service->tokenizer));
    yyjson_mut_obj_add_str(doc, variables, "eos_token", tokenizer_eos_text(service->tokenizer));
    yyjson_mut_obj_add_bool(doc, variables, "add_generation_prompt", add_prompt);
    enum status status = add_messages(doc, variables, root, error);
    if (!status) status = add_extras(doc, variables, root, error);
    if (!status) {
        yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
        status = chat_template_render(chat_template, yyjson_doc_get_root(whole), out, error);
        if (status && error && !*error->param)
            snprintf(error->param, sizeof(error->param), "messages");
        yyjson_doc_free(whole);
    }
    yyjson_mut_doc_free(doc);
    return status;
}

enum status api_render_chat(const struct service *service, yyjson_val *root, struct buffer *out,
                            struct error *error)
{
    bool final = false, add_prompt = true;
    const char *source = NULL;
    size_t source_len = 0;
    enum status status = json_bool(root, "continue_final_message", &final, error);
    if (!status) status = json_bool(root, "add_generation_prompt", &add_prompt, error);
    if (!status) status = json_string(root, "chat_template", &source, &source_len, error);
    if (status) return status;
    if (final && add_prompt && json_field(root, "add_generation_prompt"))
        return error_set(error, STATUS_INVALID, "continue_final_message",
                         "continue_final_message and add_generation_prompt exclude each other");
    if (source && !service->options->trust_request_chat_template)
        return error_set(error, STATUS_UNSUPPORTED, "chat_template",
                         "chat_template: start the server with --trust-request-chat-template to "
                         "let requests bring their own");
    struct chat_template *own = NULL;
    if (source) {
        status = chat_template_parse(source, source_len, &own, error);
        if (status) {
            snprintf(error->param, sizeof(error->param), "chat_template");
            return error_prefix(error, status, "chat_template");
        }
    } else if (!service->chat_template) {
        *error = service->chat_template_error;
        return error->status;
    }
    status =
        render(service, own ? own : service->chat_template, root, add_prompt && !final, out, error);
    if (own) chat_template_destroy(own);
    return !status && final ? cut_final(root, out, error) : status;
}

static enum status parse_chat_logprobs(const struct service *service, yyjson_val *root,
                                       struct api_request *out, struct error *error)
{
    int64_t top = 0;
    enum status status = json_bool(root, "logprobs", &out->logprobs, error);
    if (!status)
        status = json_int(root, "top_logprobs", 0, service->options->max_logprobs, &top, error);
    if (status) return status;
    if (top && !out->logprobs)
        return error_set(error, STATUS_INVALID, "top_logprobs",
                         "top_logprobs needs logprobs: true");
    out->top_logprobs = (int)top;
    out->params.sampling.logprobs = out->logprobs ? (int)top : LOGPROBS_NONE;
    out->params.sampling.prompt_logprobs = out->prompt_logprobs;
    return STATUS_OK;
}

enum status api_parse_chat(const struct service *service, const char *body, size_t len,
                           struct arena *arena, struct api_request *out, struct error *error)
{
    yyjson_doc *doc;
    struct buffer text = {0};
    bool add_special = false;
    *out = (struct api_request){.chat = true};
    enum status status = json_read_object(body, len, &doc, error);
    if (status) return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    status = api_parse_common(service, root, arena, out, error);
    if (!status)
        status = json_refuse_fields(root, chat_refusals,
                                    sizeof(chat_refusals) / sizeof(*chat_refusals), error);
    if (!status) status = parse_chat_logprobs(service, root, out, error);
    if (!status) status = json_bool(root, "add_special_tokens", &add_special, error);
    if (!status) status = api_render_chat(service, root, &text, error);
    if (!status) {
        out->prompts = arena_zalloc(arena, sizeof(*out->prompts));
        out->prompt_count = 1;
        status = api_encode(service, text.len ? text.data : "", text.len, add_special, arena,
                            out->prompts, error);
    }
    if (!status && !out->prompts->count)
        status = error_set(error, STATUS_INVALID, "messages", "the prompt has no tokens");
    if (!status) status = api_check_lengths(service, root, out, error);
    buffer_free(&text);
    yyjson_doc_free(doc);
    return status;
}
