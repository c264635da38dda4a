/*
 * sample.h - the inside of the sampler, for its files and its tests.
 *
 * Thread: see cpu.h. A row of logits is sampled by one thread from the row and its batch_sampling
 * alone, so the token does not depend on the batch or on the threads.
 *
 * The rules, in the order of batch.h: bias and mask; penalties; temperature; top-k; top-p; min-p.
 * Candidates are ordered by logit, ties by lower id, and each filter keeps a prefix of that order:
 * top-k exactly k tokens (of tied ones the lower ids); top-p the shortest prefix whose mass reaches
 * top_p of the mass that top-k left (at least one token); min-p the tokens whose probability is at
 * least min_p times the largest. (vLLM keeps all tokens tied with the k-th and applies min-p first:
 * the sets differ with ties, and where min-p takes mass that top-p counts.)
 *
 * A token is then drawn by inverse CDF, exact to 53 bits of one uniform number: along that order
 * where top-k or top-p is on, along the ids else. The number is Philox4x32-10 (Salmon, Moraes, Dror
 * and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011) of the key `seed` and the counter
 * `position`.
 *
 * Temperature 0 takes the largest logit, the lowest id of tied ones. NaN counts as -infinity. Where
 * nothing is left to choose from (all forbidden, or no number at all), the largest raw logit is
 * taken, forbidden or not; token 0 where there is none. The first row with a NaN is logged.
 */
#ifndef KERNELS_CPU_SAMPLE_H
#define KERNELS_CPU_SAMPLE_H

#include "kernels/cpu/vector.h"

struct sample_candidate {
    uint32_t key; /* of the logit: descending, as unsigned */
    int32_t id;
};

struct sample_scratch { /* of a thread; [vocab] each */
    float *logits;
    float *probs;
    int32_t *ids;
    int32_t *counts; /* all 0 between rows */
    struct sample_candidate *candidates, *spare;
    double *sums; /* [vocab / SAMPLE_CHUNK + 1] */
};

/* A slot's tokens so far. */
struct sample_history {
    const int32_t *tokens;
    int len, prompt_len;
};

void sample_philox(uint64_t seed, uint32_t position, uint32_t out[4]);

/* Bias, mask and penalties, in place. */
void sample_modify(float *logits, int vocab, const struct batch *batch,
                   const struct batch_sampling *sampling, const struct sample_history *history,
                   int32_t *counts);

/* What top-k, top-p and min-p keep of scratch->logits, of which `max` is the largest: candidates
 * and probs[i] = exp((logit - max) / temperature) in order; how many. top_k or top_p must be on. */
int sample_keep(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                float max, const struct batch_sampling *sampling);

/* The token for scratch->logits, already modified; `fallback` where nothing can be chosen. */
int sample_choose(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                  const struct batch_sampling *sampling, int fallback);

/* Log probability and rank of `token`, and the `top_count` most probable ones, into `out`. */
void sample_logprobs(const struct cpu_vector *vector, const float *logits, int vocab, int token,
                     int top_count, struct logits_result *out);

#endif
