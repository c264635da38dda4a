/*
 * scheduler_bench.h - what planning and committing a step costs, with no model behind it.
 *
 * Thread: the caller's.
 */
#ifndef BENCH_SCHEDULER_BENCH_H
#define BENCH_SCHEDULER_BENCH_H

struct scheduler_cost { /* microseconds a step */
    double plan_median, plan_p99, commit_median;
};

/* Decode steps of `running` sequences over prompts of prompt_len tokens, with `waiting` more in the
 * queue: behind full slots, or (short_of_pages) with slots free and too few pages. */
struct scheduler_cost scheduler_bench(int running, int waiting, int prompt_len, int steps,
                                      int short_of_pages);

/* `penstock bench scheduler`: prints the table. */
int command_bench_scheduler(int argc, char **argv);

#endif
