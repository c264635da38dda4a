/* scheduler_bench.c - see scheduler_bench.h. */
#include "bench/scheduler_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "kernels/batch.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/batch.h"
#include "scheduler/request_state.h"
#include "scheduler/scheduler.h"

enum { PAGE_TOKENS = 32, PREFILL_TOKENS = 8192, WARMUP = 20 };

static void submit(struct scheduler *scheduler, int seed, int prompt_len, int max_tokens)
{
    int32_t *prompt = malloc((size_t)prompt_len * sizeof(*prompt));
    CHECK(prompt);
    for (int i = 0; i < prompt_len; i++) prompt[i] = seed * 31 + i; /* no two share a page */
    struct request *request =
        request_create(&(struct request_options){.prompt = prompt,
                                                 .prompt_len = prompt_len,
                                                 .sampling = {.top_p = 1,
                                                              .repetition_penalty = 1,
                                                              .max_tokens = max_tokens,
                                                              .logprobs = LOGPROBS_NONE,
                                                              .prompt_logprobs = LOGPROBS_NONE}});
    free(prompt);
    CHECK(request && scheduler_check(scheduler, request, NULL) == STATUS_OK);
    scheduler_submit(scheduler, request, 0);
}

static void fake_result(const struct batch *batch, struct batch_result *result)
{
    result->step = batch->step;
    result->logits_count = batch->logits_count;
    for (int i = 0; i < batch->logits_count; i++)
        result->logits[i].token = (int32_t)((batch->step * 7919 + i) & 0xffff);
}

static void destroy_all(struct scheduler *scheduler)
{
    struct list_node finished, *node;
    list_init(&finished);
    scheduler_end_all(scheduler, FINISH_ABORT, 0);
    scheduler_take_finished(scheduler, &finished);
    while ((node = list_pop_front(&finished)))
        request_destroy(LIST_ITEM(node, struct request, node));
    scheduler_destroy(scheduler);
}

struct scheduler_cost scheduler_bench(int running, int waiting, int prompt_len, int steps,
                                      int short_of_pages)
{
    /* Those whose prompt was first generate while the others' are computed. */
    int growth = steps + 4 * WARMUP + 2 * running * prompt_len / PREFILL_TOKENS;
    int len_max = prompt_len + growth;
    int pages_each = len_max / PAGE_TOKENS + 1;
    /* Short of pages: every running sequence can grow, and the first in the queue wants more. */
    int waiting_len = short_of_pages ? running * (growth + PAGE_TOKENS) : prompt_len;
    int context = len_max > waiting_len + 1 ? len_max : waiting_len + 1;
    struct batch_limits limits = {.rows_max = short_of_pages ? 2 * running : running,
                                  .tokens_max = PREFILL_TOKENS,
                                  .pages_max = 2 * running * (context / PAGE_TOKENS + 1),
                                  .logits_max = 2 * running,
                                  .bias_max = 1024,
                                  .history_max = context};
    int64_t pages = (int64_t)running * pages_each + (short_of_pages ? 0 : pages_each);
    struct scheduler *scheduler =
        scheduler_create(&(struct scheduler_options){.limits = limits,
                                                     .page_tokens = PAGE_TOKENS,
                                                     .max_model_len = context,
                                                     .page_count = pages + 1,
                                                     .queue_max = running + waiting,
                                                     .prefix_caching = true});
    struct batch *batch = batch_create(&limits);
    struct batch_result *result = batch_result_create(&limits);
    struct scheduler_event *events = calloc((size_t)limits.logits_max, sizeof(*events));
    double *plan_us = calloc((size_t)steps, sizeof(double));
    double *commit_us = calloc((size_t)steps, sizeof(double));
    CHECK(scheduler && events && plan_us && commit_us);

    for (int i = 0; i < running; i++) submit(scheduler, i, prompt_len, growth);
    do { /* the prompts, and a first token for each */
        CHECK(scheduler_plan(scheduler, batch, PREFILL_TOKENS, 0));
        fake_result(batch, result);
        scheduler_commit(scheduler, result, events, 0);
    } while (batch->decode_count < running);
    for (int i = 0; i < waiting; i++)
        submit(scheduler, 1000 + i, i == 0 ? waiting_len : PAGE_TOKENS, 1);
    for (int step = -WARMUP; step < steps; step++) {
        int64_t begin = clock_ns();
        bool planned = scheduler_plan(scheduler, batch, PREFILL_TOKENS, 0);
        int64_t middle = clock_ns();
        CHECK(planned && batch->decode_count == running && batch->row_count == running);
        fake_result(batch, result);
        int64_t back = clock_ns();
        scheduler_commit(scheduler, result, events, 0);
        if (step < 0) continue;
        plan_us[step] = (double)(middle - begin) * 1e-3;
        commit_us[step] = (double)(clock_ns() - back) * 1e-3;
    }
    samples_sort(plan_us, steps);
    samples_sort(commit_us, steps);
    struct scheduler_cost cost = {plan_us[steps / 2], plan_us[steps * 99 / 100],
                                  commit_us[steps / 2]};
    destroy_all(scheduler);
    batch_destroy(batch);
    batch_result_destroy(result);
    free(events);
    free(plan_us);
    free(commit_us);
    return cost;
}

int command_bench_scheduler(int argc, char **argv)
{
    enum { RUNNING = 256, STEPS = 1000 };
    if (argc > 1) {
        bool help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
        fprintf(help ? stdout : stderr,
                "Usage: penstock bench scheduler\n\nWhat planning and committing one step of %d "
                "decoding sequences costs, with an\nempty queue and with 100,000 requests in it.\n",
                RUNNING);
        return help ? 0 : 2;
    }
    printf("%d sequences decode, %d steps, microseconds a step\n", RUNNING, STEPS);
    printf("%8s %8s  %-14s %12s %10s %14s\n", "context", "waiting", "they lack", "plan median",
           "plan p99", "commit median");
    static const int prompts[] = {256, 2048, 8192};
    for (size_t i = 0; i < sizeof(prompts) / sizeof(*prompts); i++)
        for (int variant = 0; variant < 3; variant++) {
            int waiting = variant == 0 ? 0 : 100000;
            struct scheduler_cost cost =
                scheduler_bench(RUNNING, waiting, prompts[i], STEPS, variant == 2);
            static const char *const lacks[] = {"-", "a slot", "pages"};
            printf("%8d %8d  %-14s %12.1f %10.1f %14.1f\n", prompts[i], waiting, lacks[variant],
                   cost.plan_median, cost.plan_p99, cost.commit_median);
        }
    return 0;
}
