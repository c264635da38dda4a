/*
 * request.h - one sequence to generate: prompt, sampling parameters, state, and what is reported of
 * it.
 *
 * A completion with n > 1 is n requests over one prompt; the prefix cache shares the prompt's
 * pages. Thread: the server thread creates a request and fills `options`; from engine_submit until
 * its EVENT_FINISHED was taken from the outbox everything belongs to the engine thread, except that
 * engine_cancel may be called. The server thread destroys it afterwards.
 */
#ifndef SCHEDULER_REQUEST_H
#define SCHEDULER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/batch.h"
#include "runtime/base/status.h"

struct request; /* scheduler/request_state.h has the inside */

struct logit_bias {
    int32_t token;
    float value;
};

enum { LOGIT_BIAS_MAX = 1024, STOP_TOKENS_MAX = 64 };

struct sampling_params {
    float temperature, top_p, min_p;
    int top_k; /* 0 or -1: off */
    float presence_penalty, frequency_penalty, repetition_penalty;
    uint64_t seed;
    int max_tokens, min_tokens; /* generated tokens; max_tokens >= 1, or 0: prefill only (echo) */
    bool ignore_eos;
    int logprobs;        /* LOGPROBS_NONE, or alternatives per generated token */
    int prompt_logprobs; /* LOGPROBS_NONE, or alternatives per prompt token (0: its own only) */
};

struct request_options {
    const int32_t *prompt; /* copied; at least one token */
    int prompt_len;
    struct sampling_params sampling;
    const int32_t
        *stop_tokens; /* stop_token_ids and the model's EOS ids (unless ignore_eos); copied */
    int stop_token_count;
    const struct logit_bias *bias; /* copied */
    int bias_count;
    int priority; /* lower is earlier, with --scheduling-policy priority; else ignored */
    void *user;   /* the server's */
};

/* NULL only when out of memory. Lengths and ranges were checked by the caller (CHECK). */
struct request *request_create(const struct request_options *options);
void request_destroy(struct request *request);
void *request_user(const struct request *request);

enum finish_reason {
    FINISH_NONE,
    FINISH_STOP,   /* a stop token (its id in the event), which is the last token reported */
    FINISH_LENGTH, /* max_tokens or the context's end */
    FINISH_ABORT,  /* cancelled */
    FINISH_ERROR,  /* the engine failed; event.error says how */
};

enum event_kind { EVENT_PROMPT_LOGPROBS, EVENT_TOKEN, EVENT_FINISHED };

struct engine_event {
    enum event_kind kind;
    struct request *request;
    void *user;
    int32_t token; /* EVENT_TOKEN: generated. EVENT_PROMPT_LOGPROBS: prompt[index] */
    int index;     /* of the token among generated (or prompt) tokens, each exactly once, in order;
                      prompt logprobs begin with index 1, the first token has none */
    bool has_logprobs;
    struct logits_result logprobs;
    /* EVENT_FINISHED: */
    enum finish_reason finish;
    int prompt_len, cached_len,
        generated_len; /* cached_len: prompt tokens found in the prefix cache */
    int preempted_count;
    int64_t submitted_ns, scheduled_ns, first_token_ns,
        finished_ns; /* clock_ns; 0: never came to it */
    struct error error;
};

#endif
