/* commit.c - applies a batch's results: tokens become known, requests end, pages come back. */
#include "runtime/base/check.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_state.h"

struct applying { /* one result while it is applied */
    struct scheduler *scheduler;
    const struct batch_result *result;
    struct scheduler_event *events;
    int event_count;
    int64_t now_ns;
};

void scheduler_index(struct scheduler *s, struct sequence *sequence)
{
    struct request *request = sequence->request;
    if (!s->options.prefix_caching) return;
    request->hash_count = kv_hash_pages(s->options.page_tokens, request->tokens,
                                        request->token_count, request->hashes, request->hash_count);
    /* Only what is both written by some plan and known by its id. */
    int len = sequence->planned < request->token_count ? sequence->planned : request->token_count;
    kv_table_index(s->cache, &sequence->table, request->tokens, request->hashes, len);
}

static void put_event(struct applying *a, struct request *request, enum event_kind kind,
                      const struct logits_result *logits, int index, int top_count)
{
    struct scheduler_event *event = &a->events[a->event_count++];
    event->request = request;
    event->kind = kind;
    event->token = logits->token;
    event->index = index;
    event->has_logprobs = top_count != LOGPROBS_NONE;
    if (event->has_logprobs) event->logprobs = *logits;
}

static void apply_token(struct applying *a, struct request *request,
                        const struct logits_result *logits)
{
    struct scheduler *s = a->scheduler;
    int index = request_generated(request);
    CHECK(request->token_count < request->token_max);
    request->tokens[request->token_count++] = logits->token;
    scheduler_index(s, request->sequence); /* also what is about to end: the next turn finds it */
    if (index == 0) request->first_token_ns = a->now_ns;
    s->generated_tokens++;
    put_event(a, request, EVENT_TOKEN, logits, index, request->sampling.logprobs);
    if (index + 1 > request->sampling.min_tokens && request_stops_at(request, logits->token)) {
        request->stop_token = logits->token;
        scheduler_finish(s, request, FINISH_STOP, a->now_ns);
    } else if (request->token_count == request->token_max) {
        scheduler_finish(s, request, FINISH_LENGTH, a->now_ns);
    }
}

static void apply_row(struct applying *a, const struct plan_row *row)
{
    struct scheduler *s = a->scheduler;
    struct sequence *sequence = row->sequence;
    struct request *request = sequence->request;
    CHECK(sequence->in_flight > 0);
    sequence->in_flight--;
    sequence->sampling -= row->samples;
    if (request) { /* else it ended when this row was already on its way */
        const struct logits_result *logits = a->result->logits + row->logits_start;
        int prompt_count = row->logits_count - row->samples;
        for (int i = 0; i < prompt_count; i++)
            put_event(a, request, EVENT_PROMPT_LOGPROBS, &logits[i],
                      request->prompt_logprobs_next++, request->sampling.prompt_logprobs);
        if (row->samples)
            apply_token(a, request, &logits[prompt_count]);
        else if (request->sampling.max_tokens == 0 && row->kv_len == request->prompt_len)
            scheduler_finish(s, request, FINISH_LENGTH, a->now_ns);
    }
    if (sequence->leaving && sequence->in_flight == 0) scheduler_release(s, sequence);
}

int scheduler_commit(struct scheduler *s, const struct batch_result *result,
                     struct scheduler_event *events, int64_t now_ns)
{
    CHECK(s->in_flight > 0);
    const struct plan *plan = &s->plans[s->plan_first];
    CHECK(result->step == plan->step && result->logits_count == plan->logits_count);
    struct applying a = {.scheduler = s, .result = result, .events = events, .now_ns = now_ns};
    for (int i = 0; i < plan->row_count; i++) apply_row(&a, &plan->rows[i]);
    s->plan_first = (s->plan_first + 1) % SCHEDULER_IN_FLIGHT_MAX;
    s->in_flight--;
    return a.event_count;
}
