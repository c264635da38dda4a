/*
 * scheduler.h - which tokens run next: turns submitted requests into batches, and results into
 * tokens.
 *
 * Owns the queue, the running sequences and their KV pages. Thread: the engine thread makes every
 * call except scheduler_check. Pure bookkeeping: no clock (times are the caller's numbers, only
 * copied into requests), no threads, no device calls, no allocation after scheduler_create; the
 * same calls always give the same batches.
 *
 * Order is seniority: by arrival, or by priority and then arrival. Decode rows come first, then the
 * chunks of prompts already begun, then new ones, strictly in order. When pages run out, the most
 * junior sequence loses its own and goes back to its place in the queue, to be recomputed. The most
 * senior one always goes on, and whatever is accepted fits the cache alone, so everything ends.
 *
 * Two plans may be in flight. A sequence whose request has ended keeps its pages and its slot until
 * every batch that names them was committed; results for it are ignored.
 */
#ifndef SCHEDULER_SCHEDULER_H
#define SCHEDULER_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/batch.h"
#include "runtime/base/list.h"
#include "scheduler/request.h"

struct scheduler;

enum { SCHEDULER_IN_FLIGHT_MAX = 2 };

struct scheduler_options {
    struct batch_limits limits;
    int page_tokens, max_model_len;
    int64_t page_count; /* page 0 included */
    int queue_max;      /* requests beyond limits.rows_max that may be alive */
    bool prefix_caching, priority_policy;
    uint64_t hash_mask; /* see kv_cache_options; 0 but for tests */
};

struct scheduler_event { /* a token; ends are on the finished list */
    struct request *request;
    enum event_kind kind; /* EVENT_TOKEN or EVENT_PROMPT_LOGPROBS */
    int32_t token;
    int index;
    bool has_logprobs;
    struct logits_result logprobs;
};

struct scheduler_stats {
    int running, waiting, in_flight;
    int64_t pages_used, pages_total;
    uint64_t prefix_queries, prefix_hits; /* prompt tokens */
    uint64_t preemptions, prompt_tokens, generated_tokens;
};

/* NULL only when out of memory. */
struct scheduler *scheduler_create(const struct scheduler_options *options);
/* Live requests are left to the caller: scheduler_end_all first. */
void scheduler_destroy(struct scheduler *scheduler);

/* Whether the request can ever run; reserves its buffers. Any thread: only constants are read. */
enum status scheduler_check(const struct scheduler *scheduler, struct request *request,
                            struct error *error);
/* Most requests that may be alive at a time. */
int scheduler_live_max(const struct scheduler *scheduler);

/* Of a request that was checked; at most scheduler_live_max are alive (CHECK). */
void scheduler_submit(struct scheduler *scheduler, struct request *request, int64_t now_ns);
/* Ends the request, which goes on the finished list, unless it has ended already. */
void scheduler_cancel(struct scheduler *scheduler, struct request *request, int64_t now_ns);
/* Ends every live request. */
void scheduler_end_all(struct scheduler *scheduler, enum finish_reason reason, int64_t now_ns);

/* Fills the batch, which must then be run, in order; false when there is nothing to run now. While
 * sequences decode, at most prefill_max prompt tokens go along. At most SCHEDULER_IN_FLIGHT_MAX
 * plans may be uncommitted (CHECK). */
bool scheduler_plan(struct scheduler *scheduler, struct batch *batch, int prefill_max,
                    int64_t now_ns);

/* Applies the result of the oldest plan in flight. `events` has room for limits.logits_max; returns
 * how many were written, in order. */
int scheduler_commit(struct scheduler *scheduler, const struct batch_result *result,
                     struct scheduler_event *events, int64_t now_ns);

/* Moves the requests that ended since to the end of `to`, linked by request.node, oldest first. */
void scheduler_take_finished(struct scheduler *scheduler, struct list_node *to);

/* Requests that have not ended. */
int scheduler_live(const struct scheduler *scheduler);
/* Sequences that decode, and requests whose prompt is being computed or could be: those in the
 * queue count as far as slots are free, unless pages are what they wait for. */
void scheduler_pressure(const struct scheduler *scheduler, int *decoding, int *pending);
void scheduler_stats(const struct scheduler *scheduler, struct scheduler_stats *out);

#endif
