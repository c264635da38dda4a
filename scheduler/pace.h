/*
 * pace.h - how many prompt tokens may go along with decode rows without stalling the streams.
 *
 * A stream must not feel a neighbour's long prompt: a step with both may take at most about twice
 * the time of its decode rows alone. Where many requests could begin at once it is their throughput
 * that counts (few streams decode at poor efficiency while the rest stands by), and the bound grows
 * with how many wait per stream. What a token costs differs by a factor of thousands between
 * machines and models, so it is measured. Thread: the engine thread's. Takes times, reads no clock.
 */
#ifndef SCHEDULER_PACE_H
#define SCHEDULER_PACE_H

#include <stdint.h>

struct pace {         /* all zero: nothing is known */
    double decode_ns; /* of a step of decode rows only; 0: not known */
    double token_ns;  /* that one prompt token adds; 0: not known */
    int mixed_steps;  /* since one of decode rows only */
};

/* The bound for the next plan, while `decoding` streams run and `pending` requests have a prompt to
 * compute and could; 0 now and then, to see what decoding alone costs. */
int pace_prefill_max(const struct pace *pace, int decoding, int pending, int tokens_max);

/* A step that had so many decode rows and prompt tokens took so long. */
void pace_observe(struct pace *pace, int decode_count, int prefill_tokens, int64_t step_ns);

#endif
