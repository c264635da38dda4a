/* request.c - see request.h and request_state.h. */
#include "scheduler/request.h"

#include <stdlib.h>
#include <string.h>

#include "kvcache/kv_cache.h"
#include "runtime/base/check.h"
#include "scheduler/request_state.h"

static void *copy_array(const void *from, size_t count, size_t item_bytes)
{
    void *to = malloc(count ? count * item_bytes : 1);
    if (to && count) memcpy(to, from, count * item_bytes);
    return to;
}

struct request *request_create(const struct request_options *options)
{
    const struct sampling_params *sampling = &options->sampling;
    CHECK(options->prompt_len >= 1 && sampling->max_tokens >= 0);
    CHECK(options->stop_token_count >= 0 && options->stop_token_count <= STOP_TOKENS_MAX);
    CHECK(options->bias_count >= 0 && options->bias_count <= LOGIT_BIAS_MAX);
    CHECK(sampling->logprobs >= LOGPROBS_NONE && sampling->logprobs <= LOGPROBS_MAX);
    CHECK(sampling->prompt_logprobs >= LOGPROBS_NONE && sampling->prompt_logprobs <= LOGPROBS_MAX);
    struct request *request = calloc(1, sizeof(*request));
    if (!request) return NULL;
    request->sampling = *sampling;
    request->prompt_len = request->token_count = options->prompt_len;
    request->priority = options->priority;
    request->user = options->user;
    request->stop_token_count = options->stop_token_count;
    request->bias_count = options->bias_count;
    request->prompt_logprobs_next = 1; /* the first token follows nothing */
    request->queue_index = -1;
    list_init(&request->node);
    list_init(&request->cancel_node);
    request->tokens = copy_array(options->prompt, (size_t)options->prompt_len, sizeof(int32_t));
    request->stop_tokens =
        copy_array(options->stop_tokens, (size_t)options->stop_token_count, sizeof(int32_t));
    request->bias =
        copy_array(options->bias, (size_t)options->bias_count, sizeof(struct logit_bias));
    if (!request->tokens || !request->stop_tokens || !request->bias) {
        request_destroy(request);
        return NULL;
    }
    return request;
}

void request_destroy(struct request *request)
{
    if (!request) return;
    free(request->hashes);
    free(request->bias);
    free(request->stop_tokens);
    free(request->tokens);
    free(request);
}

void *request_user(const struct request *request)
{
    return request->user;
}

enum status request_reserve(struct request *request, const struct request_space *space,
                            struct error *error)
{
    int prompt_len = request->prompt_len, context = space->max_model_len;
    int first = request->sampling.max_tokens > 0; /* room for one generated token, where wanted */
    if (prompt_len > context - first)
        return error_set(error, STATUS_INVALID, "prompt",
                         "the prompt has %d tokens%s, but the context holds %d", prompt_len,
                         first ? " and one must be generated" : "", context);
    int room = context - prompt_len;
    int generated_max = request->sampling.max_tokens < room ? request->sampling.max_tokens : room;
    int token_max = prompt_len + generated_max;
    size_t pages_max = (size_t)(token_max / space->page_tokens);
    int32_t *tokens = realloc(request->tokens, (size_t)token_max * sizeof(*tokens));
    if (tokens) request->tokens = tokens;
    uint64_t *hashes = realloc(request->hashes, (pages_max + 1) * sizeof(*hashes));
    if (hashes) request->hashes = hashes;
    if (!tokens || !hashes)
        return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for a request of %d tokens",
                         token_max);
    request->token_max = token_max;
    request->hash_count =
        kv_hash_pages(space->page_tokens, request->tokens, prompt_len, request->hashes, 0);
    return STATUS_OK;
}

bool request_uses_history(const struct request *request)
{
    const struct sampling_params *sampling = &request->sampling;
    return sampling->presence_penalty != 0 || sampling->frequency_penalty != 0 ||
           sampling->repetition_penalty != 1;
}

bool request_stops_at(const struct request *request, int32_t token)
{
    for (int i = 0; i < request->stop_token_count; i++)
        if (request->stop_tokens[i] == token) return true;
    return false;
}
