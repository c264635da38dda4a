/* test_engine.c - the engine thread over a fake model: events, queue limits, cancels, failure. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "runtime/base/clock.h"
#include "runtime/batch.h"
#include "scheduler/engine.h"
#include "scheduler/engine_backend.h"
#include "tests/support/fake_model.h"

enum { VOCAB = 97, CONTEXT = 256, PAGE_TOKENS = 16, PAGES = 80 };

struct fixture {
    struct engine *engine;
    struct engine_backend backend;
    struct fake_model *model;
    const struct batch *queue[2];
    struct batch_result *results[2];
    int queued, turn;
    int64_t fail_at_step; /* -1: never */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool gate_closed, woken, stuck; /* wait() blocks behind a closed gate; stuck: it does now */
};

static void backend_submit(void *self, const struct batch *batch)
{
    struct fixture *f = self;
    assert_true(f->queued < 2);
    f->queue[f->queued++] = batch;
}

static const struct batch_result *backend_wait(void *self, struct error *error)
{
    struct fixture *f = self;
    pthread_mutex_lock(&f->lock);
    f->stuck = f->gate_closed;
    pthread_cond_broadcast(&f->changed);
    while (f->gate_closed) pthread_cond_wait(&f->changed, &f->lock);
    f->stuck = false;
    pthread_mutex_unlock(&f->lock);
    const struct batch *batch = f->queue[0];
    f->queue[0] = f->queue[1];
    f->queued--;
    if (f->fail_at_step >= 0 && batch->step >= f->fail_at_step) {
        error_set(error, STATUS_DEVICE, NULL, "rank 3: matmul: it burns");
        return NULL;
    }
    struct batch_result *result = f->results[f->turn++ % 2];
    fake_model_run(f->model, batch, result);
    return result;
}

static void wake(void *arg)
{
    struct fixture *f = arg;
    pthread_mutex_lock(&f->lock);
    f->woken = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void set_gate(struct fixture *f, bool closed)
{
    pthread_mutex_lock(&f->lock);
    f->gate_closed = closed;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void open_fixture(struct fixture *f, int rows_max, int queue_max)
{
    *f = (struct fixture){.fail_at_step = -1};
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    struct batch_limits limits = {.rows_max = rows_max,
                                  .tokens_max = 64,
                                  .pages_max = rows_max * CONTEXT / PAGE_TOKENS,
                                  .logits_max = 32,
                                  .bias_max = 64,
                                  .history_max = 2 * CONTEXT};
    f->model =
        fake_model_create(&(struct fake_model_options){limits, PAGE_TOKENS, PAGES, CONTEXT, VOCAB});
    for (int i = 0; i < 2; i++) f->results[i] = batch_result_create(&limits);
    f->backend = (struct engine_backend){.self = f,
                                         .submit = backend_submit,
                                         .wait = backend_wait,
                                         .limits = limits,
                                         .page_tokens = PAGE_TOKENS,
                                         .max_model_len = CONTEXT,
                                         .page_count = PAGES};
    struct engine_options options = {
        .queue_max = queue_max, .prefix_caching = true, .wake = wake, .wake_arg = f};
    struct error error;
    assert_int_equal(engine_create_on(&options, &f->backend, &f->engine, &error), STATUS_OK);
}

static void close_fixture(struct fixture *f)
{
    engine_destroy(f->engine);
    fake_model_destroy(f->model);
    for (int i = 0; i < 2; i++) batch_result_destroy(f->results[i]);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

/* Waits for the next event. */
static struct engine_event next_event(struct fixture *f)
{
    struct engine_event event;
    while (engine_poll(f->engine, &event, 1) == 0) {
        pthread_mutex_lock(&f->lock);
        while (!f->woken) pthread_cond_wait(&f->changed, &f->lock);
        f->woken = false;
        pthread_mutex_unlock(&f->lock);
    }
    return event;
}

struct asked { /* a request and what it must give */
    int32_t prompt[CONTEXT], stop[2];
    struct request_options options;
    int32_t expected[CONTEXT];
    float token_logprobs[CONTEXT], prompt_logprobs[CONTEXT];
    int expected_count, seen, prompt_seen;
    enum finish_reason expected_finish, finish;
    struct request *request;
    struct engine_event end;
};

static void ask(struct asked *a, int seed, int prompt_len, int max_tokens)
{
    memset(a, 0, sizeof(*a));
    for (int i = 0; i < prompt_len; i++) a->prompt[i] = (i * 7 + seed) % VOCAB;
    a->stop[0] = 3;
    a->options = (struct request_options){.prompt = a->prompt,
                                          .prompt_len = prompt_len,
                                          .stop_tokens = a->stop,
                                          .stop_token_count = 1,
                                          .user = a,
                                          .sampling = {.top_p = 1,
                                                       .repetition_penalty = 1,
                                                       .seed = (uint64_t)seed,
                                                       .max_tokens = max_tokens,
                                                       .logprobs = LOGPROBS_NONE,
                                                       .prompt_logprobs = LOGPROBS_NONE}};
}

static void create(struct asked *a)
{
    a->expected_count =
        fake_model_expect(&a->options, CONTEXT, VOCAB, a->expected, a->token_logprobs,
                          a->prompt_logprobs, &a->expected_finish);
    a->request = request_create(&a->options);
    assert_non_null(a->request);
}

static void take(struct asked *a, const struct engine_event *event)
{
    assert_ptr_equal(event->request, a->request);
    assert_int_equal(a->finish, FINISH_NONE);
    if (event->kind == EVENT_TOKEN) {
        assert_int_equal(event->index, a->seen);
        assert_int_equal(event->token, a->expected[a->seen++]);
    } else if (event->kind == EVENT_PROMPT_LOGPROBS) {
        assert_int_equal(event->index, ++a->prompt_seen);
        assert_int_equal(event->token, a->prompt[event->index]);
        assert_true(event->logprobs.logprob == a->prompt_logprobs[event->index]);
    } else {
        a->finish = event->finish;
        a->end = *event;
        request_destroy(event->request);
    }
}

static void run_until_finished(struct fixture *f, int count)
{
    while (count > 0) {
        struct engine_event event = next_event(f);
        take(event.user, &event);
        count -= event.kind == EVENT_FINISHED;
    }
}

static void test_tokens_in_order(void **state)
{
    struct fixture f;
    struct asked *asked = calloc(40, sizeof(*asked));
    open_fixture(&f, 8, 100);
    for (int i = 0; i < 40; i++) {
        ask(&asked[i], i / 2, 1 + i * 5, 30);
        if (i % 4 == 3) asked[i].options.sampling.prompt_logprobs = 2;
        if (i % 4 == 2) asked[i].options.sampling.logprobs = 0;
        create(&asked[i]);
        assert_int_equal(engine_submit(f.engine, &asked[i].request, 1, NULL), STATUS_OK);
    }
    run_until_finished(&f, 40);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(asked[i].finish, asked[i].expected_finish);
        assert_int_equal(asked[i].seen, asked[i].expected_count);
        assert_int_equal(asked[i].end.generated_len, asked[i].expected_count);
        assert_int_equal(asked[i].end.prompt_len, 1 + i * 5);
        assert_int_equal(asked[i].prompt_seen, i % 4 == 3 ? i * 5 : 0);
        assert_true(asked[i].end.submitted_ns > 0);
        assert_true(asked[i].end.scheduled_ns >= asked[i].end.submitted_ns);
        assert_true(asked[i].end.first_token_ns >= asked[i].end.scheduled_ns);
        assert_true(asked[i].end.finished_ns >= asked[i].end.first_token_ns);
    }
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    assert_int_equal(stats.running + stats.waiting, 0);
    assert_int_equal(stats.pages_total, PAGES - 1);
    assert_true(stats.steps > 0 && stats.generated_tokens > 0 && !stats.failed);
    uint64_t steps = 0;
    for (int i = 0; i <= STEP_TOKENS_BOUNDS; i++) steps += stats.step_tokens_counts[i];
    assert_int_equal(steps, stats.steps);
    close_fixture(&f);
    free(asked);
}

static void test_refusals(void **state)
{
    struct fixture f;
    struct asked asked[6];
    struct error error;
    open_fixture(&f, 1, 2);
    ask(&asked[0], 1, CONTEXT, 5);
    create(&asked[0]);
    assert_int_equal(engine_submit(f.engine, &asked[0].request, 1, &error), STATUS_INVALID);
    assert_string_equal(error.param, "prompt");
    assert_non_null(strstr(error.message, "256"));
    request_destroy(asked[0].request);

    set_gate(&f, true);
    for (int i = 0; i < 5; i++) {
        ask(&asked[i], i, 10, 4);
        create(&asked[i]);
    }
    struct request *pair[] = {asked[1].request, asked[2].request};
    struct request *two[] = {asked[3].request, asked[4].request};
    assert_int_equal(engine_submit(f.engine, &asked[0].request, 1, &error), STATUS_OK);
    assert_int_equal(engine_submit(f.engine, pair, 2, &error), STATUS_OK); /* 1 runs, 2 wait */
    assert_int_equal(engine_submit(f.engine, two, 2, &error), STATUS_QUEUE_FULL);
    assert_int_equal(engine_submit(f.engine, two, 1, &error), STATUS_QUEUE_FULL);
    set_gate(&f, false);
    run_until_finished(&f, 3);
    assert_int_equal(engine_submit(f.engine, two, 2, &error), STATUS_OK);
    run_until_finished(&f, 2);
    close_fixture(&f);
}

static void wait_stuck(struct fixture *f)
{
    pthread_mutex_lock(&f->lock);
    while (!f->stuck) pthread_cond_wait(&f->changed, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static void test_cancel_anywhere(void **state)
{
    struct fixture f;
    struct asked asked[8];
    open_fixture(&f, 2, 10);
    set_gate(&f, true);
    for (int i = 0; i < 8; i++) {
        ask(&asked[i], i, 20, 200);
        asked[i].options.stop_token_count = 0;
        create(&asked[i]);
        assert_int_equal(engine_submit(f.engine, &asked[i].request, 1, NULL), STATUS_OK);
        if (i == 1) wait_stuck(&f); /* some are running, in flight even */
    }
    for (int i = 0; i < 8; i++) {
        engine_cancel(f.engine, asked[i].request);
        engine_cancel(f.engine, asked[i].request);
    }
    set_gate(&f, false);
    run_until_finished(&f, 8);
    for (int i = 0; i < 8; i++) assert_int_equal(asked[i].finish, FINISH_ABORT);
    struct engine_stats stats;
    int64_t until = clock_ns() + 5000000000;
    do { /* what was in flight comes back with its step */
        engine_stats(f.engine, &stats);
    } while (stats.pages_used && clock_ns() < until);
    assert_int_equal(stats.pages_used, 0);
    close_fixture(&f);
}

static void test_failure_ends_all(void **state)
{
    struct fixture f;
    struct asked asked[6], late;
    struct error error;
    open_fixture(&f, 2, 10);
    f.fail_at_step = 3;
    set_gate(&f, true);
    for (int i = 0; i < 6; i++) {
        ask(&asked[i], i, 20, 100);
        asked[i].options.stop_token_count = 0;
        create(&asked[i]);
        assert_int_equal(engine_submit(f.engine, &asked[i].request, 1, NULL), STATUS_OK);
    }
    set_gate(&f, false);
    run_until_finished(&f, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(asked[i].finish, FINISH_ERROR);
        assert_int_equal(asked[i].end.error.status, STATUS_DEVICE);
        assert_non_null(strstr(asked[i].end.error.message, "rank 3"));
    }
    ask(&late, 1, 5, 5);
    create(&late);
    assert_int_equal(engine_submit(f.engine, &late.request, 1, &error), STATUS_UNAVAILABLE);
    request_destroy(late.request);
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    assert_true(stats.failed);
    close_fixture(&f);
}

static void test_destroy_in_the_middle(void **state)
{
    for (int round = 0; round < 20; round++) {
        struct fixture f;
        struct asked asked[10];
        open_fixture(&f, 3, 10);
        for (int i = 0; i < 10; i++) {
            ask(&asked[i], i, 20, 200);
            asked[i].options.stop_token_count = 0;
            create(&asked[i]);
            assert_int_equal(engine_submit(f.engine, &asked[i].request, 1, NULL), STATUS_OK);
        }
        for (int i = 0; i < round; i++) next_event(&f);
        close_fixture(&f);
    }
}

/* Cancels meet requests in every state, also in the outbox. */
static void test_cancels_at_random(void **state)
{
    enum { COUNT = 600, LIVE = 12 };
    struct fixture f;
    struct asked *asked = calloc(COUNT, sizeof(*asked));
    struct engine_event events[7];
    uint64_t random = 5;
    int submitted = 0, finished = 0, aborted = 0;
    open_fixture(&f, 4, 8);
    while (finished < COUNT) {
        if (submitted < COUNT && submitted - finished < LIVE) {
            struct asked *a = &asked[submitted];
            ask(a, submitted % 5, fake_random_in(&random, 1, 60), fake_random_in(&random, 0, 30));
            create(a);
            assert_int_equal(engine_submit(f.engine, &a->request, 1, NULL), STATUS_OK);
            submitted++;
        }
        int pick = fake_random_in(&random, finished > LIVE ? finished - LIVE : 0, submitted - 1);
        if (asked[pick].finish == FINISH_NONE && fake_random_in(&random, 0, 9) == 0)
            engine_cancel(f.engine, asked[pick].request);
        int count = engine_poll(f.engine, events, fake_random_in(&random, 1, 7));
        for (int i = 0; i < count; i++) {
            struct asked *a = events[i].user;
            take(a, &events[i]);
            if (events[i].kind != EVENT_FINISHED) continue;
            finished++;
            aborted += a->finish == FINISH_ABORT;
            if (a->finish != FINISH_ABORT) assert_int_equal(a->seen, a->expected_count);
        }
    }
    assert_true(aborted > 0 && aborted < COUNT);
    close_fixture(&f);
    free(asked);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_idle_costs_nothing(void **state)
{
    struct fixture f;
    open_fixture(&f, 2, 10);
    double before = cpu_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
    assert_true(cpu_seconds() - before < 0.003);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancels_at_random),  cmocka_unit_test(test_tokens_in_order),
        cmocka_unit_test(test_refusals),           cmocka_unit_test(test_cancel_anywhere),
        cmocka_unit_test(test_failure_ends_all),   cmocka_unit_test(test_destroy_in_the_middle),
        cmocka_unit_test(test_idle_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
