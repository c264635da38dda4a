/*
 * engine_runner.h - the real engine on a real executor, for tests: run requests, keep what came
 * out.
 *
 * Thread: the test's own; one runner at a time.
 */
#ifndef TESTS_SUPPORT_ENGINE_RUNNER_H
#define TESTS_SUPPORT_ENGINE_RUNNER_H

#include <semaphore.h>

#include "runtime/executor.h"
#include "scheduler/engine.h"

enum { RUN_TOKENS_MAX = 256 };

struct run_request {
    const int32_t *prompt;
    int prompt_len, max_tokens;
    float temperature, repetition_penalty; /* repetition_penalty 0: 1 */
    uint64_t seed;
    int prompt_logprobs; /* as sampling_params; 0-initialised means: the own token of each */
    bool wants_prompt_logprobs;
};

struct run_result {
    int32_t tokens[RUN_TOKENS_MAX];
    float logprobs[RUN_TOKENS_MAX];
    int count, cached_len, preempted_count;
    float *prompt_logprobs; /* [prompt_len], [0] unused; NULL where not asked; free it */
    enum finish_reason finish;
    struct error error;
};

struct runner {
    struct model *model;
    struct executor *executor;
    struct engine *engine;
    sem_t woken;
    struct error failure; /* of a rank */
    int64_t failed_ns;
};

/* `options->failed` is taken over. Fails the test where the model cannot be served. */
void runner_open(struct runner *runner, const char *path, const struct executor_options *options,
                 bool prefix_caching);
void runner_close(struct runner *runner);

/* Runs all at once to their end. */
void runner_run(struct runner *runner, const struct run_request *requests, int count,
                struct run_result *results);

/* The same tokens and the same bits of their log probabilities. */
void assert_same_run(const struct run_result *a, const struct run_result *b);

#endif
