/* engine_runner.c - see engine_runner.h. */
#include "tests/support/engine_runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/clock.h"

static void on_wake(void *arg)
{
    sem_post(&((struct runner *)arg)->woken);
}

static void on_failed(void *arg, const struct error *error)
{
    struct runner *runner = arg;
    runner->failure = *error;
    runner->failed_ns = clock_ns();
}

void runner_open(struct runner *runner, const char *path, const struct executor_options *options,
                 bool prefix_caching)
{
    struct error error = {0};
    struct executor_options own = *options;
    memset(runner, 0, sizeof(*runner));
    sem_init(&runner->woken, 0, 0);
    own.failed = on_failed, own.failed_arg = runner;
    if (model_open(path, &runner->model, &error) ||
        executor_create(&own, runner->model, &runner->executor, &error))
        fail_msg("%s: %s", path, error.message);
    struct engine_options engine = {
        .queue_max = 1000, .prefix_caching = prefix_caching, .wake = on_wake, .wake_arg = runner};
    if (engine_create(&engine, runner->executor, &runner->engine, &error))
        fail_msg("%s", error.message);
}

void runner_close(struct runner *runner)
{
    engine_destroy(runner->engine);
    executor_destroy(runner->executor);
    model_close(runner->model);
    sem_destroy(&runner->woken);
}

static struct request *make_request(const struct run_request *from, struct run_result *result)
{
    struct request_options options = {
        .prompt = from->prompt,
        .prompt_len = from->prompt_len,
        .sampling =
            {
                .temperature = from->temperature,
                .top_p = 1,
                .repetition_penalty = from->repetition_penalty > 0 ? from->repetition_penalty : 1,
                .seed = from->seed,
                .max_tokens = from->max_tokens,
                .ignore_eos = true,
                .logprobs = 0,
                .prompt_logprobs =
                    from->wants_prompt_logprobs ? from->prompt_logprobs : LOGPROBS_NONE,
            },
        .user = result,
    };
    memset(result, 0, sizeof(*result));
    if (from->wants_prompt_logprobs)
        result->prompt_logprobs = calloc((size_t)from->prompt_len, sizeof(float));
    return request_create(&options);
}

static bool take_event(const struct engine_event *event)
{
    struct run_result *result = event->user;
    if (event->kind == EVENT_TOKEN) {
        assert_int_equal(event->index, result->count);
        assert_true(result->count < RUN_TOKENS_MAX && event->has_logprobs);
        result->tokens[result->count] = event->token;
        result->logprobs[result->count++] = event->logprobs.logprob;
    } else if (event->kind == EVENT_PROMPT_LOGPROBS) {
        result->prompt_logprobs[event->index] = event->logprobs.logprob;
    } else {
        result->finish = event->finish, result->error = event->error;
        result->cached_len = event->cached_len, result->preempted_count = event->preempted_count;
        request_destroy(event->request);
        return true;
    }
    return false;
}

void runner_run(struct runner *runner, const struct run_request *requests, int count,
                struct run_result *results)
{
    struct engine_event events[32];
    struct error error = {0};
    int left = count;
    for (int i = 0; i < count; i++) {
        struct request *request = make_request(&requests[i], &results[i]);
        if (engine_submit(runner->engine, &request, 1, &error)) fail_msg("%s", error.message);
    }
    while (left) {
        sem_wait(&runner->woken);
        for (int n; (n = engine_poll(runner->engine, events, 32)) > 0;)
            for (int i = 0; i < n; i++) left -= take_event(&events[i]);
    }
}

void assert_same_run(const struct run_result *a, const struct run_result *b)
{
    assert_int_equal(a->finish, b->finish);
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_int_equal(a->tokens[i], b->tokens[i]);
        assert_memory_equal(&a->logprobs[i], &b->logprobs[i], sizeof(float));
    }
}
