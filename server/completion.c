/* completion.c - see completion.h. */
#include "server/completion.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "scheduler/engine.h"
#include "server/service.h"

struct completion *completion_create(struct service *service,
                                     const struct completion_params *params,
                                     const struct completion_prompt *prompts, int prompt_count)
{
    struct completion *completion = calloc(1, sizeof(*completion));
    CHECK(completion && prompt_count > 0 && params->n > 0);
    completion->service = service;
    completion->params = *params;
    completion->prompt_count = prompt_count;
    completion->choice_count = prompt_count * params->n;
    completion->prompts = prompts;
    completion->choices = arena_zalloc(&completion->arena, (size_t)completion->choice_count *
                                                               sizeof(*completion->choices));
    for (int i = 0; i < completion->choice_count; i++) {
        struct completion_choice *choice = &completion->choices[i];
        choice->completion = completion;
        choice->index = i;
        choice->prompt = &prompts[i / params->n];
        choice->stop_token = -1;
        choice->detokenizer = detokenizer_create(service->tokenizer, params->skip_special);
    }
    list_init(&completion->dirty);
    list_init(&completion->node);
    return completion;
}

void completion_destroy(struct completion *completion)
{
    list_remove(&completion->node);
    list_remove(&completion->dirty);
    for (int i = 0; i < completion->choice_count; i++) {
        struct completion_choice *choice = &completion->choices[i];
        buffer_free(&choice->text);
        token_list_free(&choice->tokens);
        free(choice->logprobs);
        free(choice->prompt_logprobs);
        detokenizer_destroy(choice->detokenizer);
        if (choice->request) request_destroy(choice->request);
    }
    arena_free(&completion->arena);
    free(completion);
}

/* The request's own stop tokens and, unless it ignores them, the model's. */
static int gather_stop_tokens(const struct completion *completion, int32_t *out)
{
    const struct completion_params *params = &completion->params;
    const struct service *service = completion->service;
    int count = 0;
    for (int i = 0; i < params->stop_token_count; i++) out[count++] = params->stop_tokens[i];
    if (params->sampling.ignore_eos) return count;
    for (int i = 0; i < service->eos_count && count < STOP_TOKENS_MAX; i++)
        out[count++] = service->eos[i];
    return count;
}

enum status completion_start(struct completion *completion, struct error *error)
{
    const struct completion_params *params = &completion->params;
    int32_t stop_tokens[STOP_TOKENS_MAX];
    int count = completion->choice_count;
    struct request **requests = arena_alloc(&completion->arena, (size_t)count * sizeof(*requests));
    for (int i = 0; i < count; i++) {
        struct completion_choice *choice = &completion->choices[i];
        struct request_options options = {
            .prompt = choice->prompt->ids,
            .prompt_len = choice->prompt->count,
            .sampling = params->sampling,
            .stop_tokens = stop_tokens,
            .stop_token_count = gather_stop_tokens(completion, stop_tokens),
            .bias = params->bias,
            .bias_count = params->bias_count,
            .priority = params->priority,
            .user = choice,
        };
        options.sampling.seed += (uint64_t)i;
        requests[i] = choice->request = request_create(&options);
        if (!choice->request)
            return error_set(error, STATUS_UNAVAILABLE, NULL, "out of memory for the request");
    }
    enum status status = engine_submit(completion->service->engine, requests, count, error);
    if (status) return status;
    completion->open_count = count;
    list_push_back(&completion->service->completions, &completion->node);
    return STATUS_OK;
}

void completion_release(struct completion *completion)
{
    completion->released = true;
    completion->updated = NULL;
    list_remove(&completion->dirty);
    if (!completion->open_count) {
        completion_destroy(completion);
        return;
    }
    for (int i = 0; i < completion->choice_count; i++)
        if (!completion->choices[i].finished && !completion->choices[i].stopped)
            engine_cancel(completion->service->engine, completion->choices[i].request);
}

static void *grow(void *items, int count, int *capacity, size_t size)
{
    if (count < *capacity) return items;
    *capacity = *capacity ? 2 * *capacity : 16;
    items = realloc(items, (size_t)*capacity * size);
    CHECK(items);
    return items;
}

static bool ends_generation(const struct completion_choice *choice, int32_t token)
{
    int32_t stop_tokens[STOP_TOKENS_MAX];
    int count = gather_stop_tokens(choice->completion, stop_tokens);
    for (int i = 0; i < count; i++)
        if (stop_tokens[i] == token) return true;
    return false;
}

/* Looks for stop strings in what came since text[0..from). */
static void check_stops(struct completion_choice *choice, size_t from)
{
    const struct completion_params *params = &choice->completion->params;
    struct stop_match match;
    /* Below min_tokens nothing stops, but the text may already begin what stops later. */
    bool may_stop = choice->tokens.count > params->sampling.min_tokens;
    if (may_stop && stop_find(params->stops, params->stop_count, choice->text.data,
                              choice->text.len, from, &match)) {
        choice->text.len = params->include_stop ? match.end : match.start;
        choice->text.data[choice->text.len] = 0;
        choice->ready_len = choice->text.len;
        choice->stopped = true;
        choice->stop_string = &params->stops[match.index];
        engine_cancel(choice->completion->service->engine, choice->request);
        return;
    }
    size_t held = params->include_stop || !choice->text.len
                      ? 0
                      : stop_held_bytes(params->stops, params->stop_count, choice->text.data,
                                        choice->text.len);
    choice->ready_len = choice->text.len - held;
}

static void take_token(struct completion_choice *choice, const struct engine_event *event)
{
    const struct completion_params *params = &choice->completion->params;
    CHECK(event->index == choice->tokens.count);
    if (event->has_logprobs) {
        choice->logprobs = grow(choice->logprobs, choice->tokens.count, &choice->logprobs_capacity,
                                sizeof(*choice->logprobs));
        choice->logprobs[choice->tokens.count] = event->logprobs;
    }
    token_list_append(&choice->tokens, event->token);
    size_t before = choice->text.len;
    bool last = ends_generation(choice, event->token);
    if (!last || params->include_stop)
        detokenizer_push(choice->detokenizer, event->token, &choice->text);
    if (last || !params->stop_count)
        choice->ready_len = choice->text.len; /* the end comes with EVENT_FINISHED */
    else
        check_stops(choice, before);
}

static void take_prompt_logprobs(struct completion_choice *choice, const struct engine_event *event)
{
    int count = choice->prompt->count;
    if (!choice->prompt_logprobs) {
        choice->prompt_logprobs = calloc((size_t)count, sizeof(*choice->prompt_logprobs));
        CHECK(choice->prompt_logprobs);
        choice->prompt_logprobs_count = 1;
    }
    CHECK(event->index == choice->prompt_logprobs_count && event->index < count);
    choice->prompt_logprobs[choice->prompt_logprobs_count++] = event->logprobs;
}

static void close_request(struct completion_choice *choice)
{
    choice->finished = true;
    request_destroy(choice->request);
    choice->request = NULL;
    choice->completion->open_count--;
}

static void take_end(struct completion_choice *choice, const struct engine_event *event)
{
    const struct completion_params *params = &choice->completion->params;
    choice->cached_len = event->cached_len;
    choice->finish = choice->stopped ? FINISH_STOP : event->finish;
    choice->error = event->error;
    if (!choice->stopped) {
        detokenizer_finish(choice->detokenizer, &choice->text);
        choice->ready_len = choice->text.len;
    }
    for (int i = 0; choice->finish == FINISH_STOP && !choice->stopped && choice->tokens.count &&
                    i < params->stop_token_count;
         i++)
        if (params->stop_tokens[i] == choice->tokens.ids[choice->tokens.count - 1])
            choice->stop_token = params->stop_tokens[i];
    close_request(choice);
}

void completion_take_event(const struct engine_event *event)
{
    struct completion_choice *choice = event->user;
    struct completion *completion = choice->completion;
    struct service *service = completion->service;
    if (service->hooks.observe) service->hooks.observe(service->hooks.arg, choice, event);
    if (completion->released) {
        /* Nobody reads any more, and the prompts and stop strings are gone. */
        if (event->kind == EVENT_FINISHED) close_request(choice);
        if (!completion->open_count) completion_destroy(completion);
        return;
    }
    if (event->kind == EVENT_TOKEN) {
        if (choice->stopped) return;
        choice->last_token_ns = clock_ns();
        take_token(choice, event);
    } else if (event->kind == EVENT_PROMPT_LOGPROBS) {
        take_prompt_logprobs(choice, event);
    } else {
        take_end(choice, event);
    }
    list_remove(&completion->dirty);
    list_push_back(&service->dirty, &completion->dirty);
}

struct completion_usage completion_usage(const struct completion *completion)
{
    struct completion_usage usage = {0};
    for (int i = 0; i < completion->prompt_count; i++)
        usage.prompt_tokens += completion->prompts[i].count;
    for (int i = 0; i < completion->choice_count; i++) {
        usage.completion_tokens += completion->choices[i].tokens.count;
        if (i % completion->params.n == 0) usage.cached_tokens += completion->choices[i].cached_len;
    }
    return usage;
}
