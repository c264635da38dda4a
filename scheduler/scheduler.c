/* scheduler.c - life and death of requests in the scheduler. See scheduler.h; plan.c, commit.c. */
#include "scheduler/scheduler.h"

#include <stdlib.h>

#include "runtime/base/check.h"
#include "scheduler/scheduler_state.h"

static bool create_sequences(struct scheduler *s)
{
    int rows_max = s->options.limits.rows_max, page_tokens = s->options.page_tokens;
    size_t pages_max = (size_t)((s->context_max + page_tokens - 1) / page_tokens);
    s->sequences = calloc((size_t)rows_max, sizeof(*s->sequences));
    s->table_pages = calloc((size_t)rows_max * pages_max, sizeof(*s->table_pages));
    if (!s->sequences || !s->table_pages) return false;
    for (int i = 0; i < rows_max; i++) {
        struct sequence *sequence = &s->sequences[i];
        sequence->slot = i;
        sequence->table.pages = s->table_pages + (size_t)i * pages_max;
        sequence->table.pages_max = (int)pages_max;
        list_push_back(&s->idle, &sequence->node);
    }
    for (int i = 0; i < SCHEDULER_IN_FLIGHT_MAX; i++) {
        s->plans[i].rows = calloc((size_t)rows_max, sizeof(*s->plans[i].rows));
        if (!s->plans[i].rows) return false;
    }
    return true;
}

struct scheduler *scheduler_create(const struct scheduler_options *options)
{
    const struct batch_limits *limits = &options->limits;
    CHECK(limits->rows_max >= 1 && limits->tokens_max >= 1 && limits->logits_max >= 1);
    CHECK(options->max_model_len >= 1 && options->queue_max >= 0);
    struct scheduler *s = calloc(1, sizeof(*s));
    if (!s) return NULL;
    s->options = *options;
    int64_t cache_max = (options->page_count - 1) * options->page_tokens;
    s->context_max = options->max_model_len < cache_max ? options->max_model_len : (int)cache_max;
    list_init(&s->running), list_init(&s->leaving), list_init(&s->idle), list_init(&s->finished);
    s->cache = kv_cache_create(&(struct kv_cache_options){.page_count = options->page_count,
                                                          .page_tokens = options->page_tokens,
                                                          .prefix_caching = options->prefix_caching,
                                                          .hash_mask = options->hash_mask});
    if (!s->cache || !create_sequences(s) || !queue_init(&s->waiting, scheduler_live_max(s))) {
        scheduler_destroy(s);
        return NULL;
    }
    return s;
}

void scheduler_destroy(struct scheduler *s)
{
    if (!s) return;
    CHECK(s->live_count == 0);
    for (int i = 0; i < SCHEDULER_IN_FLIGHT_MAX; i++) free(s->plans[i].rows);
    free(s->waiting.entries);
    free(s->table_pages);
    free(s->sequences);
    kv_cache_destroy(s->cache);
    free(s);
}

int scheduler_live_max(const struct scheduler *s)
{
    return s->options.limits.rows_max + s->options.queue_max;
}

enum status scheduler_check(const struct scheduler *s, struct request *request, struct error *error)
{
    const struct batch_limits *limits = &s->options.limits;
    struct request_space space = {s->context_max, s->options.page_tokens};
    enum status status = request_reserve(request, &space, error);
    if (status) return status;
    int page_tokens = s->options.page_tokens;
    if ((request->token_max + page_tokens - 1) / page_tokens > limits->pages_max)
        return error_set(error, STATUS_INVALID, "prompt",
                         "%d tokens take more than the %d pages of a step", request->token_max,
                         limits->pages_max);
    int forbidden = request->sampling.min_tokens > 0 ? request->stop_token_count : 0;
    if (request->bias_count + forbidden > limits->bias_max)
        return error_set(error, STATUS_INVALID, "logit_bias",
                         "logit_bias and the stop tokens under min_tokens are %d entries, and a "
                         "step takes %d",
                         request->bias_count + forbidden, limits->bias_max);
    if (request_uses_history(request) && request->token_max > limits->history_max)
        return error_set(error, STATUS_INVALID, "prompt",
                         "penalties over %d tokens were asked, and a step takes %d",
                         request->token_max, limits->history_max);
    return STATUS_OK;
}

void scheduler_submit(struct scheduler *s, struct request *request, int64_t now_ns)
{
    CHECK(request->state == REQUEST_NEW && request->token_max >= request->prompt_len);
    CHECK(s->live_count < scheduler_live_max(s));
    s->live_count++;
    request->arrival = s->arrivals++;
    if (!request->submitted_ns) request->submitted_ns = now_ns;
    request->state = REQUEST_WAITING;
    queue_push(&s->waiting, request, s->options.priority_policy);
}

void scheduler_finish(struct scheduler *s, struct request *request, enum finish_reason reason,
                      int64_t now_ns)
{
    struct sequence *sequence = request->sequence;
    if (request->state == REQUEST_WAITING) queue_remove(&s->waiting, request);
    if (s->blocked == request) s->blocked = NULL;
    request->state = REQUEST_FINISHED;
    request->finish = reason;
    request->finished_ns = now_ns;
    request->sequence = NULL;
    s->live_count--;
    list_push_back(&s->finished, &request->node);
    if (!sequence) return;
    sequence->request = NULL;
    scheduler_leave(s, sequence);
}

void scheduler_leave(struct scheduler *s, struct sequence *sequence)
{
    if (!sequence->leaving) {
        list_remove(&sequence->node);
        list_push_back(&s->leaving, &sequence->node);
        sequence->leaving = true;
        s->running_count--;
    }
    if (sequence->in_flight == 0) scheduler_release(s, sequence);
}

void scheduler_release(struct scheduler *s, struct sequence *sequence)
{
    CHECK(sequence->leaving && sequence->in_flight == 0 && sequence->sampling == 0);
    struct request *request = sequence->request;
    kv_table_close(s->cache, &sequence->table);
    list_remove(&sequence->node);
    list_push_back(&s->idle, &sequence->node);
    sequence->leaving = false;
    sequence->request = NULL;
    if (!request) return;
    request->sequence = NULL; /* preempted: back to its place in the queue */
    request->state = REQUEST_WAITING;
    queue_push(&s->waiting, request, s->options.priority_policy);
}

void scheduler_cancel(struct scheduler *s, struct request *request, int64_t now_ns)
{
    if (request->state == REQUEST_WAITING || request->state == REQUEST_RUNNING)
        scheduler_finish(s, request, FINISH_ABORT, now_ns);
}

void scheduler_end_all(struct scheduler *s, enum finish_reason reason, int64_t now_ns)
{
    while (s->waiting.count) /* the last of the heap: nothing to sift */
        scheduler_finish(s, s->waiting.entries[s->waiting.count - 1].request, reason, now_ns);
    for (int i = 0; i < s->options.limits.rows_max; i++)
        if (s->sequences[i].request) scheduler_finish(s, s->sequences[i].request, reason, now_ns);
}

void scheduler_take_finished(struct scheduler *s, struct list_node *to)
{
    list_splice(to, &s->finished);
}

int scheduler_live(const struct scheduler *s)
{
    return s->live_count;
}

void scheduler_stats(const struct scheduler *s, struct scheduler_stats *out)
{
    struct kv_counts counts = kv_cache_counts(s->cache);
    *out = (struct scheduler_stats){
        .running = s->running_count,
        .waiting = s->live_count - s->running_count,
        .in_flight = s->in_flight,
        .pages_used = counts.used,
        .pages_total = counts.total,
        .prefix_queries = s->prefix_queries,
        .prefix_hits = s->prefix_hits,
        .preemptions = s->preemptions,
        .prompt_tokens = s->prompt_tokens,
        .generated_tokens = s->generated_tokens,
    };
}
