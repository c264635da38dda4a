/*
 * simulation.h - drives the real scheduler and KV cache through one random life, from a seed.
 *
 * Each seed draws limits, a cache (often tiny), requests (shared prompts, next turns of old ones,
 * every option), cancels, failures, and an order of submits, plans and commits with up to two plans
 * in flight. After every call all pages, sequences and counts are checked, and every token is
 * compared with what the request would give alone (fake_model.h). A breach is a CHECK that names
 * the place; the seed repeats it. Thread: one per simulation.
 */
#ifndef TESTS_SUPPORT_SIMULATION_H
#define TESTS_SUPPORT_SIMULATION_H

#include <stdint.h>

struct simulation_totals { /* added up over lives */
    uint64_t lives, requests, refused, steps, tokens, preemptions, prefix_hits, cancelled, failed;
    uint64_t prompt_logprobs, stopped, late_rows;
};

void simulation_run(uint64_t seed, struct simulation_totals *totals);

#endif
