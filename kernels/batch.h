/*
 * batch.h - one iteration of the engine: a ragged batch over the paged KV cache, and its results.
 *
 * The scheduler fills a batch (decode rows first, then prefill chunks), runtime/ hands it to every
 * rank, devices read it. All arrays are views into one allocation of the batch's owner
 * (runtime/batch.h allocates, copies and serialises), so one copy or one broadcast moves it. No
 * pointer in it refers to anything else.
 *
 * Thread: owned by the engine thread while it is filled, read-only from submit until its result is
 * taken.
 */
#ifndef KERNELS_BATCH_H
#define KERNELS_BATCH_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TOKEN_FROM_SLOT =
        -1, /* in tokens[]: the id that the slot sampled last, known to the device only */
    TARGET_SAMPLE = -1, /* in batch_logits.target: sample here */
    HISTORY_KEEP = -1,  /* in batch_row.history_len: the slot goes on with what it has */
    LOGPROBS_NONE = -1, /* in batch_logits.top_count */
    LOGPROBS_MAX = 20,  /* alternatives reported per position */
    PAGE_SCRAP = 0,     /* the page that padded rows write to; never handed out */
};

/* One sequence's part of a step. Its queries are tokens [q_start, q_start + q_len) of the batch, at
 * positions kv_len - q_len .. kv_len - 1; after the step the cache holds kv_len tokens of it, token
 * i in page pages[page_start + i / page_tokens]. */
struct batch_row {
    int32_t slot; /* per-sequence state on the device, [0, rows_max) */
    int32_t q_start, q_len;
    int32_t kv_len;
    int32_t page_start, page_count;
    int32_t logits_start, logits_count; /* its entries of logits[] */
    int32_t history_start,
        history_len;            /* HISTORY_KEEP, or: the slot is new and begins with history[] */
    int32_t history_prompt_len; /* of those, how many are the prompt (penalties tell them apart) */
};

/* One position whose logits are wanted. */
struct batch_logits {
    int32_t token;  /* index into tokens[]: whose hidden state */
    int32_t target; /* TARGET_SAMPLE, or the id whose log probability is asked (prompt_logprobs) */
    int32_t
        top_count; /* LOGPROBS_NONE: not even the token's own; else 0..LOGPROBS_MAX alternatives */
    int32_t row;   /* index into rows[] */
    int32_t sampling; /* index into sampling[]; -1 where target is not TARGET_SAMPLE */
};

/* How to sample; everything a device needs for it, in the order of application: bias and mask,
 * penalties, temperature, top-k, top-p, min-p. Log probabilities are of the raw logits, before all
 * of this. */
struct batch_sampling {
    float temperature;                         /* 0: greedy */
    float top_p;                               /* (0, 1]; 1: off */
    float min_p;                               /* [0, 1]; 0: off */
    int32_t top_k;                             /* 0: off */
    float presence_penalty, frequency_penalty; /* over generated tokens; 0: off */
    float repetition_penalty;                  /* over prompt and generated tokens; 1: off */
    int32_t bias_start, bias_count; /* into bias_ids[] and bias_values[]; -INFINITY forbids */
    int32_t mask_start;             /* into mask_words[], (vocab + 31) / 32 words; -1: none */
    uint64_t seed;                  /* with `position` the whole state of the random numbers */
    int32_t position;               /* absolute position of the token being sampled */
    int32_t uses_history;           /* the slot's history is needed (a penalty is on) */
};

struct batch_limits { /* sizes of the arrays, fixed at start */
    int rows_max, tokens_max, pages_max, logits_max, bias_max, history_max, mask_words_max;
};

struct batch {
    int64_t step;                /* counts from 0 */
    int row_count, decode_count; /* rows [0, decode_count) have q_len 1 and are past their prompt */
    int token_count, page_count, logits_count, sampling_count, bias_count, history_count,
        mask_count;
    struct batch_row *rows;
    int32_t *tokens;     /* [token_count] ids or TOKEN_FROM_SLOT */
    int32_t *positions;  /* [token_count] */
    int32_t *token_rows; /* [token_count] index of the row */
    int32_t *pages;
    struct batch_logits *logits; /* in the order of `token` */
    struct batch_sampling *sampling;
    int32_t *bias_ids;
    float *bias_values;
    int32_t *history;
    uint32_t *mask_words; /* bit i of word i / 32: token i is allowed */
};

struct logits_result {
    int32_t token; /* sampled, or the target */
    float logprob; /* of that token, natural logarithm; 0 where top_count is LOGPROBS_NONE */
    int32_t rank;  /* 1: the most probable; by raw logits; 0 where not asked */
    int32_t top_count;
    int32_t top_ids[LOGPROBS_MAX]; /* most probable first; ties by lower id */
    float top_logprobs[LOGPROBS_MAX];
};

struct batch_result {
    int64_t step;
    int logits_count;
    struct logits_result *logits; /* [logits_count], as batch.logits */
};

#endif
