/* simulation_state.h - the inside of a simulated life; for simulation.c and simulation_check.c. */
#ifndef TESTS_SUPPORT_SIMULATION_STATE_H
#define TESTS_SUPPORT_SIMULATION_STATE_H

#include "kernels/batch.h"
#include "scheduler/scheduler_state.h"
#include "tests/support/fake_model.h"
#include "tests/support/simulation.h"

enum {
    SIM_CONTEXT_MAX = 72,
    SIM_PAGES_MAX = 3 * SIM_CONTEXT_MAX + 5,
    SIM_ROWS_MAX = 8,
    SIM_REQUESTS_MAX = 20,
    SIM_DOCUMENTS = 3,
    SIM_TOKENS_MAX = 2 * SIM_CONTEXT_MAX + 16,
};

struct sim_request {
    struct request_options options;
    int32_t prompt[SIM_TOKENS_MAX], stop[2];
    struct logit_bias bias[3];
    bool refused;
    int32_t expected[SIM_TOKENS_MAX];
    float token_logprobs[SIM_TOKENS_MAX], prompt_logprobs[SIM_TOKENS_MAX];
    int expected_count;
    enum finish_reason expected_finish;
    struct request *request; /* while live */
    bool live, cancelled;
    int order, seen, prompt_seen;
};

struct life {
    uint64_t random;
    struct scheduler_options options;
    int vocab, context_max;
    int cancel_percent, submit_percent;
    bool fails, failed;
    bool storm; /* many short prompts that grow long: pages run out again and again */
    int32_t documents[SIM_DOCUMENTS][SIM_CONTEXT_MAX];
    struct sim_request requests[SIM_REQUESTS_MAX];
    int request_count, submitted;
    int64_t now, work;
    struct scheduler *scheduler;
    struct fake_model *model;
    struct batch *batches[2];
    struct batch_result *result;
    struct scheduler_event *events;
    int first, in_flight;
    struct simulation_totals *totals;
};

/* What holds after every call. */
void simulation_check(const struct life *life);
/* And of a batch that was just planned. */
void simulation_check_plan(struct life *life, const struct batch *batch);

#endif
