/* test_scheduler.c - what a plan puts into a batch, and when; the simulator has the long runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/batch.h"
#include "scheduler/pace.h"
#include "scheduler/request_state.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_state.h"
#include "tests/support/fake_model.h"

enum { VOCAB = 997, CONTEXT = 8192, PAGE_TOKENS = 16, EVENTS = 512 };

struct fixture {
    struct scheduler_options options;
    struct scheduler *scheduler;
    struct fake_model *model;
    struct batch *batches[2];
    struct batch_result *result;
    struct scheduler_event events[EVENTS];
    int first, in_flight, event_count;
    int64_t now;
};

static void open_fixture(struct fixture *f, int rows, int tokens, int64_t pages)
{
    memset(f, 0, sizeof(*f));
    f->options = (struct scheduler_options){.limits = {.rows_max = rows,
                                                       .tokens_max = tokens,
                                                       .pages_max = rows * CONTEXT / PAGE_TOKENS,
                                                       .logits_max = EVENTS,
                                                       .bias_max = 256,
                                                       .history_max = 2 * CONTEXT},
                                            .page_tokens = PAGE_TOKENS,
                                            .max_model_len = CONTEXT,
                                            .page_count = pages + 1,
                                            .queue_max = 100,
                                            .prefix_caching = true};
    f->scheduler = scheduler_create(&f->options);
    f->model = fake_model_create(&(struct fake_model_options){f->options.limits, PAGE_TOKENS,
                                                              (int)pages + 1, CONTEXT, VOCAB});
    for (int i = 0; i < 2; i++) f->batches[i] = batch_create(&f->options.limits);
    f->result = batch_result_create(&f->options.limits);
}

static void close_fixture(struct fixture *f)
{
    struct list_node finished, *node;
    list_init(&finished);
    scheduler_end_all(f->scheduler, FINISH_ABORT, 0);
    scheduler_take_finished(f->scheduler, &finished);
    while ((node = list_pop_front(&finished)))
        request_destroy(LIST_ITEM(node, struct request, node));
    scheduler_destroy(f->scheduler);
    fake_model_destroy(f->model);
    for (int i = 0; i < 2; i++) batch_destroy(f->batches[i]);
    batch_result_destroy(f->result);
}

static struct request_options options_of(const int32_t *prompt, int prompt_len, int max_tokens)
{
    return (struct request_options){.prompt = prompt,
                                    .prompt_len = prompt_len,
                                    .sampling = {.top_p = 1,
                                                 .repetition_penalty = 1,
                                                 .max_tokens = max_tokens,
                                                 .logprobs = LOGPROBS_NONE,
                                                 .prompt_logprobs = LOGPROBS_NONE}};
}

static struct request *submit(struct fixture *f, const struct request_options *options)
{
    struct request *request = request_create(options);
    assert_int_equal(scheduler_check(f->scheduler, request, NULL), STATUS_OK);
    scheduler_submit(f->scheduler, request, ++f->now);
    return request;
}

/* A request over tokens seed, seed + 1, ... */
static struct request *submit_plain(struct fixture *f, int seed, int prompt_len, int max_tokens)
{
    static int32_t prompt[CONTEXT];
    for (int i = 0; i < prompt_len; i++) prompt[i] = (seed + i) % VOCAB;
    struct request_options options = options_of(prompt, prompt_len, max_tokens);
    return submit(f, &options);
}

static const struct batch *plan(struct fixture *f, int prefill_max)
{
    struct batch *batch = f->batches[(f->first + f->in_flight) % 2];
    if (!scheduler_plan(f->scheduler, batch, prefill_max, ++f->now)) return NULL;
    f->in_flight++;
    return batch;
}

static void commit(struct fixture *f)
{
    fake_model_run(f->model, f->batches[f->first], f->result);
    f->first = (f->first + 1) % 2;
    f->in_flight--;
    f->event_count = scheduler_commit(f->scheduler, f->result, f->events, ++f->now);
}

/* Runs to the end; the tokens computed. Requests stay allocated for their tests' questions. */
static int64_t run_all(struct fixture *f)
{
    int64_t tokens = 0;
    while (scheduler_live(f->scheduler) > 0) {
        const struct batch *batch = f->in_flight < 2 ? plan(f, CONTEXT) : NULL;
        if (batch) tokens += batch->token_count;
        if (!batch || f->in_flight == 2) commit(f);
    }
    while (f->in_flight) commit(f);
    return tokens;
}

static void test_decodes_first_then_chunks(void **state)
{
    struct fixture f;
    open_fixture(&f, 8, 100, 500);
    submit_plain(&f, 0, 10, 50);
    submit_plain(&f, 100, 20, 50);
    const struct batch *batch = plan(&f, 100);
    assert_int_equal(batch->decode_count, 0);
    assert_int_equal(batch->token_count, 30);
    assert_int_equal(batch->logits_count, 2);
    submit_plain(&f, 300, 250, 50);
    batch = plan(&f, 100); /* with the first still running: ids are known to the device only */
    assert_int_equal(batch->decode_count, 2);
    assert_int_equal(batch->tokens[0], TOKEN_FROM_SLOT);
    assert_int_equal(batch->positions[1], 20);
    assert_int_equal(batch->row_count, 3);
    assert_int_equal(batch->rows[2].q_len, 98); /* the rest of --max-num-batched-tokens */
    assert_int_equal(batch->rows[2].logits_count, 0);
    commit(&f), commit(&f);
    batch = plan(&f, 32); /* a bound that spares the streams */
    assert_int_equal(batch->decode_count, 2);
    assert_true(batch->tokens[0] >= 0);
    assert_int_equal(batch->rows[2].q_len, 32);
    assert_int_equal(batch->rows[2].kv_len, 130);
    commit(&f);
    batch = plan(&f, 0);
    assert_int_equal(batch->token_count, 2);
    commit(&f);
    close_fixture(&f);
}

static void test_same_prompts_are_computed_once(void **state)
{
    struct fixture f;
    open_fixture(&f, 8, 2048, 500);
    for (int i = 0; i < 6; i++) submit_plain(&f, 0, 1000, 1);
    const struct batch *batch = plan(&f, 2048);
    assert_int_equal(batch->row_count, 6); /* all in the very same step */
    assert_int_equal(batch->rows[0].q_len, 1000);
    for (int i = 1; i < 6; i++) assert_int_equal(batch->rows[i].q_len, 1000 % PAGE_TOKENS);
    commit(&f);
    for (int i = 1; i < 6; i++) assert_int_equal(f.events[i].token, f.events[0].token);
    close_fixture(&f);
}

/* Each turn's prompt is the last one's, its answer and something new. */
static void test_chats_hit_the_cache(void **state)
{
    struct fixture f;
    open_fixture(&f, 4, 512, 500);
    static int32_t chat[CONTEXT];
    int len = 0, found = 0, could = 0;
    for (int turn = 0; turn < 12; turn++) {
        int known = len;
        for (int i = 0; i < 120; i++) chat[len++] = (turn * 31 + i * 7) % VOCAB;
        struct request_options options = options_of(chat, len, 300);
        struct request *request = submit(&f, &options);
        run_all(&f);
        memcpy(chat + len, request->tokens + len, 300 * sizeof(*chat));
        assert_int_equal(request_generated(request), 300);
        len += 300;
        could += known, found += request->cached_len;
    }
    assert_true(found >= could * 0.95);
    struct scheduler_stats stats;
    scheduler_stats(f.scheduler, &stats);
    assert_int_equal(stats.prefix_hits, found);
    close_fixture(&f);
}

static void test_cancel_frees_within_one_step(void **state)
{
    struct fixture f;
    struct scheduler_stats stats;
    open_fixture(&f, 4, 512, 100);
    struct request *request = submit_plain(&f, 0, 200, 100);
    plan(&f, 512), plan(&f, 512);
    scheduler_cancel(f.scheduler, request, ++f.now);
    scheduler_cancel(f.scheduler, request, ++f.now); /* twice is harmless */
    assert_int_equal(scheduler_live(f.scheduler), 0);
    scheduler_stats(f.scheduler, &stats);
    assert_int_equal(stats.pages_used, 13); /* batches in flight name them */
    commit(&f), commit(&f);
    assert_int_equal(f.event_count, 0);
    scheduler_stats(f.scheduler, &stats);
    assert_int_equal(stats.pages_used, 0);
    close_fixture(&f);
}

static void test_newest_gives_way(void **state)
{
    struct fixture f;
    open_fixture(&f, 4, 512, 12);
    struct request *requests[3];
    for (int i = 0; i < 3; i++) requests[i] = submit_plain(&f, i * 50, 40, 100);
    run_all(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(requests[i]->finish, FINISH_LENGTH);
        assert_int_equal(request_generated(requests[i]), 100);
        static int32_t prompt[40], expected[CONTEXT];
        static float logprobs[CONTEXT];
        enum finish_reason finish;
        for (int j = 0; j < 40; j++) prompt[j] = (i * 50 + j) % VOCAB;
        struct request_options options = options_of(prompt, 40, 100);
        fake_model_expect(&options, CONTEXT, VOCAB, expected, logprobs, NULL, &finish);
        assert_memory_equal(requests[i]->tokens + 40, expected, 100 * sizeof(int32_t));
    }
    assert_int_equal(requests[0]->preempted_count, 0);
    assert_true(requests[2]->preempted_count > 0);
    assert_true(requests[2]->preempted_count < 8); /* no storm */
    close_fixture(&f);
}

static void test_min_tokens_forbids_stops(void **state)
{
    struct fixture f;
    int32_t prompt[] = {1, 2, 3}, stops[] = {5, 6};
    struct logit_bias bias = {9, 1.5f};
    struct request_options options = options_of(prompt, 3, 10);
    options.stop_tokens = stops, options.stop_token_count = 2;
    options.bias = &bias, options.bias_count = 1;
    options.sampling.min_tokens = 2;
    open_fixture(&f, 4, 512, 12);
    submit(&f, &options);
    for (int i = 0; i < 3; i++) {
        const struct batch *batch = plan(&f, 512);
        assert_int_equal(batch->sampling[0].bias_count, i < 2 ? 3 : 1);
        assert_true(batch->bias_ids[0] == 9 && batch->bias_values[0] == 1.5f);
        if (i < 2) assert_true(batch->bias_ids[2] == 6 && isinf(batch->bias_values[2]));
        commit(&f);
    }
    close_fixture(&f);
}

static void test_history_goes_with_a_new_slot(void **state)
{
    struct fixture f;
    int32_t prompt[60] = {1, 2, 3};
    struct request_options options = options_of(prompt, 60, 100);
    options.sampling.presence_penalty = 1;
    open_fixture(&f, 4, 40, 50);
    struct request *request = submit(&f, &options);
    const struct batch *batch = plan(&f, 512);
    assert_int_equal(batch->rows[0].history_len, 60); /* all of it, with the first chunk */
    assert_int_equal(batch->rows[0].history_prompt_len, 60);
    commit(&f);
    batch = plan(&f, 512);
    assert_int_equal(batch->rows[0].history_len, HISTORY_KEEP);
    assert_int_equal(batch->sampling[0].uses_history, 1);
    commit(&f);
    for (int i = 0; i < 5; i++) plan(&f, 512), commit(&f);
    scheduler_leave(f.scheduler, request->sequence); /* as a preemption does */
    batch = plan(&f, 512);
    assert_int_equal(batch->rows[0].history_len, 66);
    assert_int_equal(batch->rows[0].history_prompt_len, 60);
    assert_int_equal(batch->rows[0].kv_len, 66); /* and what was computed was found again */
    assert_int_equal(batch->rows[0].q_len, 2);
    commit(&f);
    close_fixture(&f);
}

static void test_prefill_only(void **state)
{
    struct fixture f;
    open_fixture(&f, 4, 40, 50);
    int32_t prompt[100] = {7};
    struct request_options options = options_of(prompt, 100, 0);
    options.sampling.prompt_logprobs = 1;
    struct request *request = submit(&f, &options);
    int seen = 0;
    while (plan(&f, 512)) {
        commit(&f);
        for (int i = 0; i < f.event_count; i++) {
            assert_int_equal(f.events[i].kind, EVENT_PROMPT_LOGPROBS);
            assert_int_equal(f.events[i].index, ++seen);
        }
    }
    assert_int_equal(seen, 99);
    assert_int_equal(request->finish, FINISH_LENGTH);
    assert_int_equal(request_generated(request), 0);
    close_fixture(&f);
}

static void test_priority_goes_first(void **state)
{
    struct fixture f;
    open_fixture(&f, 1, 64, 50);
    scheduler_destroy(f.scheduler);
    f.options.priority_policy = true;
    f.scheduler = scheduler_create(&f.options);
    static const int priorities[] = {1, 0, 1, -5, 0};
    struct request *requests[5];
    for (int i = 0; i < 5; i++) {
        int32_t prompt = i;
        struct request_options options = options_of(&prompt, 1, 3);
        options.priority = priorities[i];
        requests[i] = submit(&f, &options);
    }
    run_all(&f);
    static const int order[] = {3, 1, 4, 0, 2};
    for (int i = 1; i < 5; i++)
        assert_true(requests[order[i]]->scheduled_ns > requests[order[i - 1]]->scheduled_ns);
    close_fixture(&f);
}

static void test_refusals_name_the_limit(void **state)
{
    struct fixture f;
    struct error error;
    open_fixture(&f, 2, 64, 4); /* 64 tokens in all */
    static int32_t prompt[64];
    struct request_options options = options_of(prompt, 64, 1);
    struct request *request = request_create(&options);
    assert_int_equal(scheduler_check(f.scheduler, request, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "64"));
    request_destroy(request);
    options = options_of(prompt, 63, 1 << 30); /* cut to what there is */
    request = submit(&f, &options);
    run_all(&f);
    assert_int_equal(request->finish, FINISH_LENGTH);
    assert_int_equal(request_generated(request), 1);
    close_fixture(&f);
}

/* A machine where decoding takes 8 ms and a prompt token 0.05 ms, or ten times that. */
static void test_pace_keeps_steps_short(void **state)
{
    for (int slow = 1; slow <= 10; slow *= 10) {
        struct pace pace = {0};
        double worst = 0, tokens = 0;
        for (int step = 0; step < 400; step++) {
            int chunk = pace_prefill_max(&pace, 32, 3, 2048);
            double ns = 8e6 + chunk * 5e4 * slow;
            pace_observe(&pace, 32, chunk, (int64_t)ns);
            if (step >= 20 && ns > worst) worst = ns;
            if (step >= 20) tokens += chunk;
        }
        assert_true(worst <= 2 * 8e6);
        assert_true(tokens / 380 > 0.5 * 8e6 / (5e4 * slow)); /* and much of it is used */
        int few = pace_prefill_max(&pace, 32, 3, 2048),
            many = pace_prefill_max(&pace, 32, 19, 2048);
        assert_true(many >= 7 * few);
        assert_int_equal(pace_prefill_max(&pace, 1, 255, 2048), 2048); /* a burst */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decodes_first_then_chunks),
        cmocka_unit_test(test_same_prompts_are_computed_once),
        cmocka_unit_test(test_chats_hit_the_cache),
        cmocka_unit_test(test_cancel_frees_within_one_step),
        cmocka_unit_test(test_newest_gives_way),
        cmocka_unit_test(test_min_tokens_forbids_stops),
        cmocka_unit_test(test_history_goes_with_a_new_slot),
        cmocka_unit_test(test_prefill_only),
        cmocka_unit_test(test_priority_goes_first),
        cmocka_unit_test(test_refusals_name_the_limit),
        cmocka_unit_test(test_pace_keeps_steps_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
