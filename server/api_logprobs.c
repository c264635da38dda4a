/* api_logprobs.c - see api_logprobs.h. */
#include "server/api_logprobs.h"

#include <math.h>
#include <stdio.h>

#include "server/text/tokenizer_unicode.h"

/* Characters (code points) of well-formed text. */
static size_t count_chars(const struct buffer *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->len; i++) count += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return count;
}

/* JSON has no infinity; vLLM's floor stands for it. */
static yyjson_mut_val *logprob_value(yyjson_mut_doc *doc, float logprob)
{
    return yyjson_mut_real(doc, logprob > -9999.0f ? (double)logprob : -9999.0);
}

/* The token's bytes as text, or "token_id:N" where the request wants that. */
static void token_text(const struct api_reply *reply, int32_t id, bool as_id, struct buffer *out)
{
    size_t len = 0;
    buffer_clear(out);
    if (as_id) {
        buffer_printf(out, "token_id:%d", id);
        return;
    }
    const char *bytes = tokenizer_token_bytes(reply->tokenizer, id, &len);
    utf8_append_lossy(out, bytes ? bytes : "", bytes ? len : 0);
}

static yyjson_mut_val *copy_text(yyjson_mut_doc *doc, const struct buffer *text)
{
    return yyjson_mut_strncpy(doc, text->len ? text->data : "", text->len);
}

struct legacy { /* the four arrays of a completion's logprobs */
    yyjson_mut_val *tokens, *logprobs, *tops, *offsets;
    struct buffer text;
    size_t *offset_chars;
};

/* {token text: logprob}: the alternatives, and the token itself where it is none of them. */
static yyjson_mut_val *legacy_top(const struct api_reply *reply, yyjson_mut_doc *doc,
                                  struct legacy *legacy, const struct logits_result *result)
{
    yyjson_mut_val *top = yyjson_mut_obj(doc);
    int count = reply->request->top_logprobs, own = 0;
    if (count > result->top_count) count = result->top_count;
    for (int i = 0; i < count; i++) {
        own |= result->top_ids[i] == result->token;
        token_text(reply, result->top_ids[i], reply->request->tokens_as_ids, &legacy->text);
        yyjson_mut_obj_put(top, copy_text(doc, &legacy->text),
                           logprob_value(doc, result->top_logprobs[i]));
    }
    if (!own) {
        token_text(reply, result->token, reply->request->tokens_as_ids, &legacy->text);
        yyjson_mut_obj_put(top, copy_text(doc, &legacy->text), logprob_value(doc, result->logprob));
    }
    return top;
}

/* `result` NULL: the first token of the prompt, of which nothing is known. */
static void legacy_add(const struct api_reply *reply, yyjson_mut_doc *doc, struct legacy *legacy,
                       int32_t id, const struct logits_result *result)
{
    yyjson_mut_arr_add_uint(doc, legacy->offsets, *legacy->offset_chars);
    token_text(reply, id, false, &legacy->text);
    *legacy->offset_chars += count_chars(&legacy->text);
    token_text(reply, id, reply->request->tokens_as_ids, &legacy->text);
    yyjson_mut_arr_append(legacy->tokens, copy_text(doc, &legacy->text));
    yyjson_mut_arr_append(legacy->logprobs,
                          result ? logprob_value(doc, result->logprob) : yyjson_mut_null(doc));
    yyjson_mut_arr_append(legacy->tops,
                          result ? legacy_top(reply, doc, legacy, result) : yyjson_mut_null(doc));
}

yyjson_mut_val *api_completion_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                        const struct completion_choice *choice, int from, int to,
                                        bool with_prompt, size_t *offset_chars)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    struct legacy legacy = {.offset_chars = offset_chars};
    legacy.text = (struct buffer){0};
    legacy.tokens = yyjson_mut_obj_add_arr(doc, object, "tokens");
    legacy.logprobs = yyjson_mut_obj_add_arr(doc, object, "token_logprobs");
    legacy.tops = yyjson_mut_obj_add_arr(doc, object, "top_logprobs");
    legacy.offsets = yyjson_mut_obj_add_arr(doc, object, "text_offset");
    for (int i = 0; with_prompt && i < choice->prompt->count; i++)
        legacy_add(reply, doc, &legacy, choice->prompt->ids[i],
                   i && i < choice->prompt_logprobs_count ? &choice->prompt_logprobs[i] : NULL);
    for (int i = from; i < to && choice->logprobs; i++)
        legacy_add(reply, doc, &legacy, choice->tokens.ids[i], &choice->logprobs[i]);
    buffer_free(&legacy.text);
    return object;
}

static void chat_entry(const struct api_reply *reply, yyjson_mut_doc *doc, yyjson_mut_val *entry,
                       int32_t id, float logprob, struct buffer *text)
{
    size_t len = 0;
    const char *bytes = tokenizer_token_bytes(reply->tokenizer, id, &len);
    token_text(reply, id, reply->request->tokens_as_ids, text);
    yyjson_mut_obj_add_val(doc, entry, "token", copy_text(doc, text));
    yyjson_mut_obj_add_val(doc, entry, "logprob", logprob_value(doc, logprob));
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, entry, "bytes");
    for (size_t i = 0; bytes && i < len; i++)
        yyjson_mut_arr_add_uint(doc, array, (unsigned char)bytes[i]);
}

yyjson_mut_val *api_chat_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                  const struct completion_choice *choice, int from, int to)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_val *content = yyjson_mut_obj_add_arr(doc, object, "content");
    struct buffer text = {0};
    for (int i = from; i < to && choice->logprobs; i++) {
        const struct logits_result *result = &choice->logprobs[i];
        yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, content);
        chat_entry(reply, doc, entry, choice->tokens.ids[i], result->logprob, &text);
        yyjson_mut_val *top = yyjson_mut_obj_add_arr(doc, entry, "top_logprobs");
        for (int k = 0; k < result->top_count && k < reply->request->top_logprobs; k++)
            chat_entry(reply, doc, yyjson_mut_arr_add_obj(doc, top), result->top_ids[k],
                       result->top_logprobs[k], &text);
    }
    buffer_free(&text);
    return object;
}

static void prompt_entry(const struct api_reply *reply, yyjson_mut_doc *doc, yyjson_mut_val *map,
                         int32_t id, float logprob, int rank)
{
    char key[16];
    struct buffer text = {0};
    snprintf(key, sizeof(key), "%d", id);
    if (yyjson_mut_obj_get(map, key)) return;
    token_text(reply, id, false, &text);
    yyjson_mut_val *entry = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_val(doc, entry, "logprob", logprob_value(doc, logprob));
    yyjson_mut_obj_add_int(doc, entry, "rank", rank);
    yyjson_mut_obj_add_val(doc, entry, "decoded_token", copy_text(doc, &text));
    yyjson_mut_obj_add(map, yyjson_mut_strcpy(doc, key), entry);
    buffer_free(&text);
}

yyjson_mut_val *api_prompt_logprobs(const struct api_reply *reply, yyjson_mut_doc *doc,
                                    const struct completion_choice *choice)
{
    yyjson_mut_val *array = yyjson_mut_arr(doc);
    yyjson_mut_arr_add_null(doc, array);
    for (int i = 1; i < choice->prompt_logprobs_count; i++) {
        const struct logits_result *result = &choice->prompt_logprobs[i];
        yyjson_mut_val *map = yyjson_mut_arr_add_obj(doc, array);
        prompt_entry(reply, doc, map, result->token, result->logprob, result->rank);
        for (int k = 0; k < result->top_count && k < reply->request->prompt_logprobs; k++)
            prompt_entry(reply, doc, map, result->top_ids[k], result->top_logprobs[k], k + 1);
    }
    return array;
}
