/*
 * logits_run.h - one sequence through an executor: log probabilities at chosen positions, and
 * greedy continuation. Thread: the engine's, which in tests is the only one.
 */
#ifndef TESTS_SUPPORT_LOGITS_RUN_H
#define TESTS_SUPPORT_LOGITS_RUN_H

#include <stdint.h>

#include "kernels/batch.h"
#include "runtime/executor.h"

/* Small options: one CPU rank, 1 thread, dtype and quantization as stored. */
struct executor_options logits_options(int max_model_len);

/* Opens the model and loads it, or fails the test. */
struct logits_model {
    struct model *model;
    struct executor *executor;
};
struct logits_model logits_open(const char *path, const struct executor_options *options);
void logits_close(struct logits_model *opened);

/* Runs ids[0..len) from position 0, in chunks of `chunk`, and fills results[i] for positions[i]
 * (ascending, each < len - 1): the log probability of ids[position + 1] and the 20 most probable.
 */
void logits_run(struct executor *executor, const int32_t *ids, int len, int chunk,
                const int *positions, int count, struct logits_result *results);

/* Greedy continuation of ids[0..len) by `count` tokens; `out` lies right behind ids. */
void logits_greedy(struct executor *executor, const int32_t *ids, int len, int count, int32_t *out);

#endif
