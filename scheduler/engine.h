/*
 * engine.h - the engine thread: inbox -> scheduler -> executor -> outbox.
 *
 * Thread: the server thread makes every call here unless said otherwise; the engine's own thread
 * owns the scheduler, the KV cache and every submitted request. The two meet in the inbox (submits,
 * cancels) and the outbox (events), nowhere else. `wake` is called on the engine thread, once per
 * step that produced events, and must only signal (uv_async_send).
 */
#ifndef SCHEDULER_ENGINE_H
#define SCHEDULER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/executor.h"
#include "scheduler/request.h"

struct engine;

struct engine_options {
    /* --max-num-queued-reqs: so many may be alive beyond the --max-num-seqs that can run, before
     * STATUS_QUEUE_FULL */
    int queue_max;
    bool prefix_caching;
    bool priority_policy; /* --scheduling-policy priority; else fcfs */
    void (*wake)(void *arg);
    void *wake_arg;
};

enum { STEP_TOKENS_BOUNDS = 16 };

struct engine_stats { /* since start, or now */
    int running, waiting;
    int64_t pages_used,
        pages_total; /* pages_used: referenced by live requests; cached ones are free */
    uint64_t prefix_queries, prefix_hits; /* tokens */
    uint64_t preemptions, steps, prompt_tokens, generated_tokens;
    uint64_t
        step_tokens_counts[STEP_TOKENS_BOUNDS + 1]; /* histogram over 1, 2, 4, ... 32768, +Inf */
    uint64_t step_tokens_sum;
    int64_t
        last_step_ns; /* clock_ns when a step last completed, or when work last arrived on idle */
    bool failed;
};

/* The executor is used by the engine thread from now on until engine_destroy, and not freed by it.
 */
enum status engine_create(const struct engine_options *options, struct executor *executor,
                          struct engine **out, struct error *error);
/* Ends what is left and joins the thread. Events not yet taken are lost, and requests whose
 * EVENT_FINISHED was not taken are destroyed. */
void engine_destroy(struct engine *engine);

/* Owns the request from now on if STATUS_OK; else (queue full, never fits the cache or the context,
 * failed) the caller keeps it. `request_count` requests are taken all or none (n > 1). */
enum status engine_submit(struct engine *engine, struct request *const *requests, int request_count,
                          struct error *error);

/* Its EVENT_FINISHED still comes, perhaps with another reason when it was already done. */
void engine_cancel(struct engine *engine, struct request *request);

/* Takes up to `max` events, in order; 0 when there are none. */
int engine_poll(struct engine *engine, struct engine_event *out, int max);

/* A consistent copy; any thread. */
void engine_stats(struct engine *engine, struct engine_stats *out);

#endif
