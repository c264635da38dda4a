/*
 * request_state.h - the inside of a request; for the scheduler and the engine only.
 *
 * Thread: the owner that request.h names. `cancelled` and `cancel_node` are the exceptions: the one
 * is atomic, the other is guarded by the engine's lock.
 */
#ifndef SCHEDULER_REQUEST_STATE_H
#define SCHEDULER_REQUEST_STATE_H

#include <stdatomic.h>

#include "runtime/base/list.h"
#include "scheduler/request.h"

struct sequence;

enum request_state {
    REQUEST_NEW,     /* not submitted, or still in the inbox */
    REQUEST_WAITING, /* in the queue, at queue_index */
    REQUEST_RUNNING, /* has a sequence */
    REQUEST_FINISHED,
};

struct request {
    /* fixed at creation */
    struct sampling_params sampling;
    int32_t *stop_tokens; /* [stop_token_count] */
    struct logit_bias *bias;
    int stop_token_count, bias_count;
    int prompt_len, priority;
    void *user;

    /* fixed by request_reserve */
    int32_t *tokens;  /* [token_max] prompt, then generated */
    uint64_t *hashes; /* [token_max / page_tokens] see kv_hash_pages */
    int token_max;    /* where generation ends with FINISH_LENGTH at the latest */

    /* the engine thread's */
    enum request_state state;
    struct list_node node; /* inbox or finished list */
    struct sequence *sequence;
    int64_t arrival; /* counts submits: the order of fcfs */
    int queue_index;
    int token_count;          /* known tokens */
    int hash_count;           /* of hashes[] */
    int prompt_logprobs_next; /* index of the next prompt token to report the log probability of */
    bool admitted;            /* ever */

    /* for EVENT_FINISHED */
    enum finish_reason finish;
    int32_t stop_token;
    int cached_len, preempted_count;
    int64_t submitted_ns, scheduled_ns, first_token_ns, finished_ns;

    atomic_bool cancelled;
    struct list_node cancel_node;
};

/* Sizes what the engine thread will write to: on the server thread, before the request is handed
 * over. STATUS_INVALID, naming the field, when it can never fit; again on the same request is fine.
 */
struct request_space {
    int max_model_len; /* at most what the whole cache holds */
    int page_tokens;
};
enum status request_reserve(struct request *request, const struct request_space *space,
                            struct error *error);

/* Generated tokens so far. */
static inline int request_generated(const struct request *request)
{
    return request->token_count - request->prompt_len;
}

/* Whether a penalty needs the tokens so far on the device. */
bool request_uses_history(const struct request *request);
bool request_stops_at(const struct request *request, int32_t token);

#endif
