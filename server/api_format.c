/* api_format.c - see api_format.h. */
#include "server/api_format.h"

#include <string.h>

#include "server/api_logprobs.h"
#include "server/json.h"
#include "server/reasoning.h"

static void add_ids(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                    const int32_t *ids, int count)
{
    yyjson_mut_obj_add_val(doc, object, name, yyjson_mut_arr_with_sint32(doc, ids, (size_t)count));
}

static yyjson_mut_val *finish_value(yyjson_mut_doc *doc, const struct completion_choice *choice)
{
    switch (choice->finish) {
    case FINISH_STOP: return yyjson_mut_str(doc, "stop");
    case FINISH_LENGTH: return yyjson_mut_str(doc, "length");
    case FINISH_ABORT: return yyjson_mut_str(doc, "abort");
    case FINISH_ERROR: return yyjson_mut_str(doc, "error");
    case FINISH_NONE: break;
    }
    return yyjson_mut_null(doc);
}

/* finish_reason and stop_reason: the stop string or the request's own stop token that ended it. */
static void add_finish(yyjson_mut_doc *doc, yyjson_mut_val *object,
                       const struct completion_choice *choice)
{
    yyjson_mut_val *reason = yyjson_mut_null(doc);
    if (choice->stop_string)
        reason = yyjson_mut_strn(doc, choice->stop_string->text, choice->stop_string->len);
    else if (choice->stop_token >= 0)
        reason = yyjson_mut_int(doc, choice->stop_token);
    yyjson_mut_obj_add_val(doc, object, "finish_reason", finish_value(doc, choice));
    yyjson_mut_obj_add_val(doc, object, "stop_reason", reason);
}

static void add_usage(yyjson_mut_doc *doc, yyjson_mut_val *root, struct completion_usage usage)
{
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "usage");
    yyjson_mut_obj_add_int(doc, object, "prompt_tokens", usage.prompt_tokens);
    yyjson_mut_obj_add_int(doc, object, "completion_tokens", usage.completion_tokens);
    yyjson_mut_obj_add_int(doc, object, "total_tokens",
                           usage.prompt_tokens + usage.completion_tokens);
    yyjson_mut_val *details = yyjson_mut_obj_add_obj(doc, object, "prompt_tokens_details");
    yyjson_mut_obj_add_int(doc, details, "cached_tokens", usage.cached_tokens);
}

static yyjson_mut_val *begin(const struct api_reply *reply, yyjson_mut_doc *doc, const char *object)
{
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "id", reply->id);
    yyjson_mut_obj_add_str(doc, root, "object", object);
    yyjson_mut_obj_add_int(doc, root, "created", reply->created);
    yyjson_mut_obj_add_str(doc, root, "model", reply->request->model);
    return root;
}

/* What the cursor has not told yet of a choice: its range of text and of tokens. */
struct piece {
    const char *text;
    size_t text_len;
    int from, to;
};

static struct piece next_piece(const struct completion_choice *choice, struct api_cursor *cursor)
{
    struct piece piece = {
        .text = choice->text.data ? choice->text.data + cursor->text : "",
        .text_len = choice->ready_len - cursor->text,
        .from = cursor->tokens,
        .to = choice->tokens.count,
    };
    cursor->text = choice->ready_len;
    cursor->tokens = choice->tokens.count;
    return piece;
}

/* The fields of a completion's choice, the same in both shapes. */
static void add_completion_choice(const struct api_reply *reply, yyjson_mut_doc *doc,
                                  yyjson_mut_val *object, const struct completion_choice *choice,
                                  struct api_cursor *cursor)
{
    const struct api_request *request = reply->request;
    bool first = !cursor->begun;
    struct piece piece = next_piece(choice, cursor);
    struct buffer text = {0};
    if (first && request->echo)
        buffer_append(&text, choice->prompt->text, choice->prompt->text_len);
    buffer_append(&text, piece.text, piece.text_len);
    yyjson_mut_obj_add_int(doc, object, "index", choice->index);
    yyjson_mut_obj_add_strncpy(doc, object, "text", text.data, text.len);
    buffer_free(&text);
    if (request->logprobs)
        yyjson_mut_obj_add_val(doc, object, "logprobs",
                               api_completion_logprobs(reply, doc, choice, piece.from, piece.to,
                                                       first && request->echo,
                                                       &cursor->offset_chars));
    else
        yyjson_mut_obj_add_null(doc, object, "logprobs");
    if (request->return_token_ids) {
        if (first)
            add_ids(doc, object, "prompt_token_ids", choice->prompt->ids, choice->prompt->count);
        add_ids(doc, object, "token_ids", choice->tokens.ids + piece.from, piece.to - piece.from);
    }
}

/* The content (and reasoning) of a chat's message or delta, and the choice's fields beside it. */
static void add_chat_choice(const struct api_reply *reply, yyjson_mut_doc *doc,
                            yyjson_mut_val *object, yyjson_mut_val *message,
                            const struct completion_choice *choice, struct api_cursor *cursor,
                            bool whole)
{
    const struct api_request *request = reply->request;
    size_t from_byte = cursor->text;
    struct piece piece = next_piece(choice, cursor);
    struct reasoning_parts parts = {.content = piece.text, .content_len = piece.text_len};
    if (reply->reasoning_parser) {
        reasoning_split(reply->reasoning_parser, choice->text.data, choice->ready_len, from_byte,
                        choice->finished, &parts);
        cursor->text = parts.used;
    }
    if (parts.reasoning_len)
        yyjson_mut_obj_add_strncpy(doc, message, "reasoning_content", parts.reasoning,
                                   parts.reasoning_len);
    else if (whole && reply->reasoning_parser)
        yyjson_mut_obj_add_null(doc, message, "reasoning_content");
    if (parts.content_len || whole || !parts.reasoning_len)
        yyjson_mut_obj_add_strncpy(doc, message, "content", parts.content, parts.content_len);
    yyjson_mut_val *logprobs = request->logprobs
                                   ? api_chat_logprobs(reply, doc, choice, piece.from, piece.to)
                                   : yyjson_mut_null(doc);
    yyjson_mut_obj_add_val(doc, object, "logprobs", logprobs);
    if (request->return_token_ids)
        add_ids(doc, object, "token_ids", choice->tokens.ids + piece.from, piece.to - piece.from);
}

void api_format_whole(const struct api_reply *reply, struct buffer *out)
{
    const struct api_request *request = reply->request;
    const struct completion *completion = reply->completion;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = begin(reply, doc, request->chat ? "chat.completion" : "text_completion");
    yyjson_mut_val *choices = yyjson_mut_obj_add_arr(doc, root, "choices");
    for (int i = 0; i < completion->choice_count; i++) {
        const struct completion_choice *choice = &completion->choices[i];
        struct api_cursor cursor = {0};
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, choices);
        if (request->chat) {
            yyjson_mut_obj_add_int(doc, object, "index", choice->index);
            yyjson_mut_val *message = yyjson_mut_obj_add_obj(doc, object, "message");
            yyjson_mut_obj_add_str(doc, message, "role", "assistant");
            add_chat_choice(reply, doc, object, message, choice, &cursor, true);
            yyjson_mut_obj_add_null(doc, message, "refusal");
            yyjson_mut_obj_add_arr(doc, message, "tool_calls");
        } else {
            add_completion_choice(reply, doc, object, choice, &cursor);
            if (request->prompt_logprobs != LOGPROBS_NONE)
                yyjson_mut_obj_add_val(doc, object, "prompt_logprobs",
                                       api_prompt_logprobs(reply, doc, choice));
        }
        add_finish(doc, object, choice);
    }
    add_usage(doc, root, completion_usage(completion));
    if (request->chat && request->prompt_logprobs != LOGPROBS_NONE)
        yyjson_mut_obj_add_val(doc, root, "prompt_logprobs",
                               api_prompt_logprobs(reply, doc, completion->choices));
    if (request->chat && request->return_token_ids)
        add_ids(doc, root, "prompt_token_ids", completion->prompts->ids,
                completion->prompts->count);
    json_write(doc, out);
}

/* Whether there is something to tell: text, tokens someone asked for, the beginning, the end. */
static bool has_news(const struct api_reply *reply, const struct completion_choice *choice,
                     const struct api_cursor *cursor)
{
    const struct api_request *request = reply->request;
    if (cursor->finished) return false;
    if (choice->finished || choice->ready_len > cursor->text) return true;
    if (choice->tokens.count > cursor->tokens && (request->logprobs || request->return_token_ids))
        return true;
    /* The echo waits until the prompt's log probabilities are there. */
    return !cursor->begun && request->echo &&
           (!request->logprobs || choice->prompt_logprobs_count == choice->prompt->count);
}

bool api_format_chunk(const struct api_reply *reply, int index, struct api_cursor *cursor,
                      struct buffer *out)
{
    const struct api_request *request = reply->request;
    const struct completion_choice *choice = &reply->completion->choices[index];
    bool role = request->chat && !cursor->begun;
    if (!role && !has_news(reply, choice, cursor)) return false;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root =
        begin(reply, doc, request->chat ? "chat.completion.chunk" : "text_completion");
    yyjson_mut_val *choices = yyjson_mut_obj_add_arr(doc, root, "choices");
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, choices);
    if (request->chat) {
        yyjson_mut_obj_add_int(doc, object, "index", choice->index);
        yyjson_mut_val *delta = yyjson_mut_obj_add_obj(doc, object, "delta");
        if (role) {
            yyjson_mut_obj_add_str(doc, delta, "role", "assistant");
            yyjson_mut_obj_add_str(doc, delta, "content", "");
            yyjson_mut_obj_add_null(doc, object, "logprobs");
        } else {
            add_chat_choice(reply, doc, object, delta, choice, cursor, false);
        }
        if (role && request->return_token_ids && !index)
            add_ids(doc, root, "prompt_token_ids", choice->prompt->ids, choice->prompt->count);
    } else {
        add_completion_choice(reply, doc, object, choice, cursor);
    }
    cursor->begun = true;
    if (choice->finished && !role) {
        add_finish(doc, object, choice);
        cursor->finished = true;
    } else {
        yyjson_mut_obj_add_null(doc, object, "finish_reason");
    }
    if (request->continuous_usage) {
        struct completion_usage usage = {choice->prompt->count, cursor->tokens, choice->cached_len};
        add_usage(doc, root, usage);
    }
    json_write(doc, out);
    return true;
}

void api_format_usage_chunk(const struct api_reply *reply, struct buffer *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root =
        begin(reply, doc, reply->request->chat ? "chat.completion.chunk" : "text_completion");
    yyjson_mut_obj_add_arr(doc, root, "choices");
    add_usage(doc, root, completion_usage(reply->completion));
    json_write(doc, out);
}
