/*
 * scheduler_state.h - the inside of the scheduler, shared by scheduler.c, plan.c, commit.c and
 * queue.c; tests look at it too.
 *
 * Thread: the engine thread's.
 */
#ifndef SCHEDULER_SCHEDULER_STATE_H
#define SCHEDULER_SCHEDULER_STATE_H

#include "kvcache/kv_cache.h"
#include "scheduler/request_state.h"
#include "scheduler/scheduler.h"

/* What a request holds while it runs: a slot of the device, pages, and how far its plans have come.
 * It outlives the request (which is then NULL) until no batch in flight names it. */
struct sequence {
    struct list_node node; /* running, most senior first; leaving; or idle */
    struct request *request;
    int slot;
    int in_flight; /* plans not yet committed that have a row of it */
    int sampling;  /* of those, how many will sample a token */
    int planned;   /* tokens whose K and V every plan so far writes */
    bool fresh;    /* no row was planned since it got its slot */
    bool leaving;  /* on the leaving list */
    struct kv_table table;
};

struct plan_row {
    struct sequence *sequence;
    int kv_len;
    int logits_start, logits_count; /* of the batch */
    bool samples;                   /* the last of them is a generated token */
};

struct plan { /* what scheduler_commit must know of a batch */
    int64_t step;
    int row_count, logits_count;
    struct plan_row *rows; /* [rows_max] */
};

struct queue_entry { /* the key is here so that sifting does not touch requests */
    int64_t priority, arrival;
    struct request *request;
};

struct queue { /* a binary heap; the most senior request is first */
    struct queue_entry *entries;
    int count, capacity;
};

struct scheduler {
    struct scheduler_options options;
    int context_max; /* tokens that one sequence can have: the model's or the cache's limit */
    struct kv_cache *cache;
    struct queue waiting;
    struct list_node running, leaving, idle, finished;
    int running_count, live_count;
    struct sequence *sequences; /* [rows_max] */
    int32_t *table_pages;       /* [rows_max][pages of context_max] */
    struct plan plans[SCHEDULER_IN_FLIGHT_MAX];
    int plan_first, in_flight;
    int64_t steps, arrivals;
    struct request *blocked; /* could not be admitted when the cache had seen blocked_releases */
    uint64_t blocked_releases;
    uint64_t prefix_queries, prefix_hits, preemptions, prompt_tokens, generated_tokens;
};

/* queue.c */
bool queue_init(struct queue *queue, int capacity);
void queue_push(struct queue *queue, struct request *request, bool by_priority);
void queue_remove(struct queue *queue, struct request *request);
struct request *queue_first(const struct queue *queue); /* NULL when empty */
/* Whether a comes before b. */
bool request_is_senior(const struct request *a, const struct request *b, bool by_priority);

/* scheduler.c */
void scheduler_finish(struct scheduler *scheduler, struct request *request,
                      enum finish_reason reason, int64_t now_ns);
/* Takes a running sequence out: its pages, slot and (if it still has one) request become free, or
 * wait again, as soon as no plan names it. */
void scheduler_leave(struct scheduler *scheduler, struct sequence *sequence);
void scheduler_release(struct scheduler *scheduler, struct sequence *sequence);

/* commit.c */
/* Makes the pages that the sequence has filled findable. */
void scheduler_index(struct scheduler *scheduler, struct sequence *sequence);

/* Tokens the sequence will have once all plans are committed. */
static inline int sequence_len(const struct sequence *sequence)
{
    return sequence->request->token_count + sequence->sampling;
}

#endif
