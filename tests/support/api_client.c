/* api_client.c - see api_client.h. */
#include "tests/support/api_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/http_client.h"

static void append_json(struct buffer *out, yyjson_val *value)
{
    char *text = yyjson_val_write(value, 0, NULL);
    buffer_printf(out, "%s,", text ? text : "?");
    free(text);
}

static void append_string(struct buffer *out, yyjson_val *value)
{
    if (yyjson_is_str(value)) buffer_append(out, yyjson_get_str(value), yyjson_get_len(value));
}

static void append_ids(struct buffer *out, yyjson_val *ids)
{
    size_t i, max;
    yyjson_val *id;
    yyjson_arr_foreach(ids, i, max, id) buffer_printf(out, "%d,", yyjson_get_int(id));
}

/* Completions have four parallel arrays, chats one of entries: both become one text per token. */
static void append_logprobs(struct buffer *out, yyjson_val *logprobs)
{
    size_t i, max;
    yyjson_val *entry;
    yyjson_arr_foreach(yyjson_obj_get(logprobs, "content"), i, max, entry) append_json(out, entry);
    yyjson_val *tokens = yyjson_obj_get(logprobs, "tokens");
    yyjson_arr_foreach(tokens, i, max, entry)
    {
        append_json(out, entry);
        append_json(out, yyjson_arr_get(yyjson_obj_get(logprobs, "token_logprobs"), i));
        append_json(out, yyjson_arr_get(yyjson_obj_get(logprobs, "top_logprobs"), i));
        append_json(out, yyjson_arr_get(yyjson_obj_get(logprobs, "text_offset"), i));
    }
}

static void take_choice(struct api_answer *answer, yyjson_val *choice)
{
    int index = yyjson_get_int(yyjson_obj_get(choice, "index"));
    if (index < 0 || index >= API_CHOICES) return;
    if (index >= answer->choice_count) answer->choice_count = index + 1;
    yyjson_val *message = yyjson_obj_get(choice, "message");
    if (!message) message = yyjson_obj_get(choice, "delta");
    append_string(&answer->text[index], yyjson_obj_get(choice, "text"));
    append_string(&answer->text[index], yyjson_obj_get(message, "content"));
    append_string(&answer->reasoning[index], yyjson_obj_get(message, "reasoning_content"));
    append_logprobs(&answer->logprobs[index], yyjson_obj_get(choice, "logprobs"));
    append_ids(&answer->token_ids[index], yyjson_obj_get(choice, "token_ids"));
    append_ids(&answer->prompt_ids, yyjson_obj_get(choice, "prompt_token_ids"));
    yyjson_val *finish = yyjson_obj_get(choice, "finish_reason");
    yyjson_val *reason = yyjson_obj_get(choice, "stop_reason");
    if (yyjson_is_str(finish))
        snprintf(answer->finish[index], sizeof(answer->finish[index]), "%s",
                 yyjson_get_str(finish));
    if (reason && !yyjson_is_null(reason)) {
        char *text = yyjson_val_write(reason, 0, NULL);
        snprintf(answer->stop_reason[index], sizeof(answer->stop_reason[index]), "%s", text);
        free(text);
    }
}

static void take_object(struct api_answer *answer, const char *text, size_t len)
{
    yyjson_doc *doc = yyjson_read(text, len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *choice;
    size_t i, max;
    answer->chunk_count++;
    yyjson_arr_foreach(yyjson_obj_get(root, "choices"), i, max, choice) take_choice(answer, choice);
    append_ids(&answer->prompt_ids, yyjson_obj_get(root, "prompt_token_ids"));
    yyjson_val *usage = yyjson_obj_get(root, "usage");
    if (usage) {
        answer->prompt_tokens = yyjson_get_int(yyjson_obj_get(usage, "prompt_tokens"));
        answer->completion_tokens = yyjson_get_int(yyjson_obj_get(usage, "completion_tokens"));
        answer->cached_tokens = yyjson_get_int(
            yyjson_obj_get(yyjson_obj_get(usage, "prompt_tokens_details"), "cached_tokens"));
    }
    yyjson_doc_free(doc);
}

static void take_events(struct api_answer *answer, const char *text)
{
    while (!strncmp(text, "data: ", 6)) {
        const char *end = strstr(text, "\n\n");
        if (!end) return;
        text += 6;
        answer->done = !strncmp(text, "[DONE]", 6);
        if (!answer->done) take_object(answer, text, (size_t)(end - text));
        text = end + 2;
    }
}

bool api_ask(int port, const char *path, const char *fields, bool stream, struct api_answer *answer)
{
    struct http_reply reply = {0};
    struct buffer body = {0};
    *answer = (struct api_answer){.prompt_tokens = -1, .completion_tokens = -1};
    for (int i = 0; i < API_CHOICES; i++) {
        buffer_append(&answer->text[i], "", 0);
        buffer_append(&answer->reasoning[i], "", 0);
        buffer_append(&answer->logprobs[i], "", 0);
        buffer_append(&answer->token_ids[i], "", 0);
    }
    buffer_append(&answer->prompt_ids, "", 0);
    buffer_printf(&body, "{%s%s}", fields,
                  stream ? ",\"stream\":true,\"stream_options\":{\"include_usage\":true}" : "");
    bool fine = http_call(port, path, body.data, &reply);
    answer->status = reply.status;
    if (fine && stream && reply.status == 200)
        take_events(answer, reply.body.data);
    else if (fine)
        take_object(answer, reply.body.data, reply.body.len);
    answer->raw = reply.body;
    reply.body = (struct buffer){0};
    http_reply_free(&reply);
    buffer_free(&body);
    return fine;
}

void api_answer_free(struct api_answer *answer)
{
    for (int i = 0; i < API_CHOICES; i++) {
        buffer_free(&answer->text[i]);
        buffer_free(&answer->reasoning[i]);
        buffer_free(&answer->logprobs[i]);
        buffer_free(&answer->token_ids[i]);
    }
    buffer_free(&answer->prompt_ids);
    buffer_free(&answer->raw);
}
