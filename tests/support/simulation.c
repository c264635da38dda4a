/* simulation.c - see simulation.h. simulation_check.c has what must hold after every call. */
#include "tests/support/simulation.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/batch.h"
#include "tests/support/fake_model.h"
#include "tests/support/simulation_state.h"

static int in(struct life *l, int low, int high)
{
    return fake_random_in(&l->random, low, high);
}

static bool chance(struct life *l, int percent)
{
    return in(l, 1, 100) <= percent;
}

static void draw_options(struct life *l)
{
    static const int page_tokens[] = {1, 2, 3, 4, 8, 16}, vocabs[] = {3, 7, 31, 500};
    static const uint64_t masks[] = {0, 0, 0, 1, 3, 255};
    struct scheduler_options *o = &l->options;
    o->page_tokens = page_tokens[in(l, 0, 5)];
    o->max_model_len = in(l, 4, SIM_CONTEXT_MAX);
    int rows = o->limits.rows_max = in(l, 1, SIM_ROWS_MAX);
    int pages = (o->max_model_len + o->page_tokens - 1) / o->page_tokens;
    /* Room for one to three sequences of full length, or for not even one. */
    o->page_count = chance(l, 20) ? in(l, 2, 24) : 1 + pages * in(l, 1, 3) + in(l, 0, 3);
    o->limits.tokens_max = chance(l, 10) ? in(l, 1, 4) : rows + in(l, 0, 40);
    o->limits.logits_max = chance(l, 20) ? in(l, 1, rows) : rows + in(l, 0, 16);
    o->limits.pages_max = pages * (chance(l, 30) ? in(l, 1, rows) : rows);
    o->limits.bias_max = chance(l, 30) ? 8 : 8 * rows;
    o->limits.history_max = o->max_model_len * in(l, 1, 3);
    o->queue_max = in(l, 0, 12);
    o->prefix_caching = chance(l, 80);
    o->priority_policy = chance(l, 25);
    o->hash_mask = masks[in(l, 0, 5)];
    l->vocab = vocabs[in(l, 0, 3)];
    l->context_max = (int)(o->page_count - 1) * o->page_tokens;
    if (l->context_max > o->max_model_len) l->context_max = o->max_model_len;
    l->request_count = in(l, 1, SIM_REQUESTS_MAX);
    l->cancel_percent = chance(l, 60) ? 0 : chance(l, 70) ? 2 : 25;
    l->submit_percent = chance(l, 50) ? 90 : 10; /* all at once, or one by one */
    l->fails = chance(l, 3);
    l->storm = chance(l, 35);
    for (int i = 0; i < SIM_DOCUMENTS; i++)
        for (int j = 0; j < SIM_CONTEXT_MAX; j++) l->documents[i][j] = in(l, 0, l->vocab - 1);
}

/* A prompt: an earlier one's, an earlier one's next turn, or the beginning of a document and more.
 */
static void draw_prompt(struct life *l, struct sim_request *r)
{
    const struct sim_request *other =
        r > l->requests ? &l->requests[in(l, 0, (int)(r - l->requests) - 1)] : NULL;
    int len = 0, most = l->context_max + 1; /* one too long is refused */
    if (other && chance(l, 30)) {
        len = other->options.prompt_len;
        memcpy(r->prompt, other->prompt, (size_t)len * sizeof(int32_t));
    } else if (other && chance(l, 40)) {
        len = other->options.prompt_len;
        memcpy(r->prompt, other->prompt, (size_t)len * sizeof(int32_t));
        memcpy(r->prompt + len, other->expected, (size_t)other->expected_count * sizeof(int32_t));
        len += other->expected_count;
        for (int more = in(l, 1, 5); more > 0; more--) r->prompt[len++] = in(l, 0, l->vocab - 1);
    } else {
        len = in(l, 1, l->storm ? (most + 5) / 6 : chance(l, 20) ? most : (most + 1) / 2);
        if (len > SIM_CONTEXT_MAX) len = SIM_CONTEXT_MAX;
        memcpy(r->prompt, l->documents[in(l, 0, SIM_DOCUMENTS - 1)], (size_t)len * sizeof(int32_t));
        for (int more = in(l, 0, 3); more > 0; more--) r->prompt[len++] = in(l, 0, l->vocab - 1);
    }
    r->options.prompt = r->prompt;
    r->options.prompt_len = len < most      ? len
                            : chance(l, 10) ? most
                                            : l->context_max - (l->context_max > 1);
}

static void draw_request(struct life *l, struct sim_request *r)
{
    memset(r, 0, sizeof(*r));
    draw_prompt(l, r);
    struct sampling_params *sampling = &r->options.sampling;
    *sampling = (struct sampling_params){
        .top_p = 1,
        .repetition_penalty = chance(l, 20) ? 1.5f : 1,
        .seed = (uint64_t)in(l, 0, 2),
        .max_tokens = chance(l, 8) ? 0 : in(l, 1, 2 + l->context_max / (l->storm ? 1 : 2)),
        .min_tokens = chance(l, 20) ? in(l, 1, 6) : 0,
        .logprobs = chance(l, 30) ? in(l, 0, 3) : LOGPROBS_NONE,
        .prompt_logprobs = chance(l, 15) ? in(l, 0, 3) : LOGPROBS_NONE};
    r->options.stop_tokens = r->stop;
    r->options.stop_token_count = chance(l, l->storm ? 10 : 50) ? in(l, 1, 2) : 0;
    r->options.bias = r->bias;
    r->options.bias_count = chance(l, 20) ? in(l, 1, 3) : 0;
    for (int i = 0; i < 2; i++) r->stop[i] = in(l, 0, l->vocab - 1);
    for (int i = 0; i < 3; i++)
        r->bias[i] = (struct logit_bias){in(l, 0, l->vocab - 1), (float)in(l, -3, 3)};
    r->options.priority = in(l, -1, 1);
    r->options.user = r;
    int prompt_len = r->options.prompt_len;
    r->refused = prompt_len + (sampling->max_tokens > 0) > l->context_max;
    if (!r->refused)
        r->expected_count =
            fake_model_expect(&r->options, l->context_max, l->vocab, r->expected, r->token_logprobs,
                              r->prompt_logprobs, &r->expected_finish);
}

static void submit(struct life *l)
{
    struct sim_request *r = &l->requests[l->submitted];
    if (scheduler_live(l->scheduler) == scheduler_live_max(l->scheduler)) return;
    l->submitted++;
    r->request = request_create(&r->options);
    CHECK(r->request);
    struct error error;
    enum status status = scheduler_check(l->scheduler, r->request, &error);
    CHECK(status == (r->refused ? STATUS_INVALID : STATUS_OK));
    if (r->refused) {
        request_destroy(r->request);
        r->request = NULL;
        l->totals->refused++;
        return;
    }
    r->live = true;
    r->order = l->submitted;
    l->work += r->options.prompt_len + r->options.sampling.max_tokens + 4;
    scheduler_submit(l->scheduler, r->request, ++l->now);
}

static void cancel(struct life *l)
{
    struct sim_request *r = &l->requests[in(l, 0, l->submitted - 1)];
    if (!r->live) return;
    r->cancelled = true;
    scheduler_cancel(l->scheduler, r->request, ++l->now);
    l->totals->cancelled++;
}

static void plan(struct life *l)
{
    struct batch *batch = l->batches[(l->first + l->in_flight) % 2];
    int prefill_max = chance(l, 50) ? l->options.limits.tokens_max : in(l, 0, 8);
    if (!scheduler_plan(l->scheduler, batch, prefill_max, ++l->now)) {
        CHECK(l->in_flight > 0 || scheduler_live(l->scheduler) == 0); /* else it hangs */
        return;
    }
    CHECK(batch->decode_count == 0 || batch->token_count - batch->decode_count <= prefill_max);
    l->in_flight++;
    simulation_check_plan(l, batch);
}

static void take_events(struct life *l, int count)
{
    for (int i = 0; i < count; i++) {
        const struct scheduler_event *event = &l->events[i];
        struct sim_request *r = request_user(event->request);
        CHECK(r->live && !r->cancelled && r->request == event->request);
        float logprob;
        if (event->kind == EVENT_TOKEN) {
            CHECK(event->index == r->seen && r->seen < r->expected_count);
            CHECK(event->token == r->expected[event->index]);
            CHECK(event->has_logprobs == (r->options.sampling.logprobs != LOGPROBS_NONE));
            logprob = r->token_logprobs[r->seen++];
            l->totals->tokens++;
        } else {
            CHECK(event->index == ++r->prompt_seen && event->index < r->options.prompt_len);
            CHECK(event->token == r->prompt[event->index] && event->has_logprobs && r->seen == 0);
            logprob = r->prompt_logprobs[event->index];
            l->totals->prompt_logprobs++;
        }
        if (event->has_logprobs) CHECK(event->logprobs.logprob == logprob);
    }
}

static void take_finished(struct life *l)
{
    struct list_node finished, *node;
    list_init(&finished);
    scheduler_take_finished(l->scheduler, &finished);
    while ((node = list_pop_front(&finished))) {
        struct request *request = LIST_ITEM(node, struct request, node);
        struct sim_request *r = request->user;
        CHECK(r->live && r->request == request && request_generated(request) == r->seen);
        if (request->finish == FINISH_ABORT) {
            CHECK(r->cancelled);
        } else if (request->finish == FINISH_ERROR) {
            CHECK(l->failed);
        } else {
            CHECK(request->finish == r->expected_finish && r->seen == r->expected_count);
            CHECK(r->prompt_seen == (r->options.sampling.prompt_logprobs == LOGPROBS_NONE
                                         ? 0
                                         : r->options.prompt_len - 1));
            l->totals->stopped += request->finish == FINISH_STOP;
        }
        r->live = false;
        r->request = NULL;
        request_destroy(request);
    }
}

static void commit(struct life *l)
{
    fake_model_run(l->model, l->batches[l->first], l->result);
    l->first = (l->first + 1) % 2;
    l->in_flight--;
    int count = scheduler_commit(l->scheduler, l->result, l->events, ++l->now);
    take_events(l, count);
    l->totals->steps++;
}

static void open_life(struct life *l)
{
    draw_options(l);
    for (int i = 0; i < l->request_count; i++) draw_request(l, &l->requests[i]);
    l->scheduler = scheduler_create(&l->options);
    l->model = fake_model_create(&(struct fake_model_options){
        l->options.limits, l->options.page_tokens, (int)l->options.page_count,
        l->options.max_model_len, l->vocab});
    for (int i = 0; i < 2; i++) l->batches[i] = batch_create(&l->options.limits);
    l->result = batch_result_create(&l->options.limits);
    l->events = calloc((size_t)l->options.limits.logits_max, sizeof(*l->events));
    CHECK(l->scheduler && l->events);
}

static void close_life(struct life *l)
{
    struct scheduler_stats stats;
    scheduler_stats(l->scheduler, &stats);
    if (!l->failed) CHECK(stats.pages_used == 0 && stats.in_flight == 0);
    CHECK(stats.running == 0 && stats.waiting == 0);
    for (int i = 0; i < l->submitted; i++) CHECK(!l->requests[i].live);
    l->totals->lives++;
    l->totals->requests += (uint64_t)l->submitted;
    l->totals->preemptions += stats.preemptions;
    l->totals->prefix_hits += stats.prefix_hits;
    scheduler_destroy(l->scheduler);
    fake_model_destroy(l->model);
    for (int i = 0; i < 2; i++) batch_destroy(l->batches[i]);
    batch_result_destroy(l->result);
    free(l->events);
}

/* One call, drawn at random; what the engine may do in any order. */
static void act(struct life *l)
{
    if (l->submitted < l->request_count && chance(l, l->submit_percent))
        submit(l);
    else if (l->submitted > 0 && chance(l, l->cancel_percent))
        cancel(l);
    else if (l->in_flight < 2 && (l->in_flight == 0 || chance(l, 60)))
        plan(l);
    else if (l->in_flight > 0)
        commit(l);
}

void simulation_run(uint64_t seed, struct simulation_totals *totals)
{
    struct life *l = calloc(1, sizeof(*l));
    CHECK(l);
    l->random = seed * 0x9e3779b97f4a7c15u;
    l->totals = totals;
    open_life(l);
    int64_t calls = 0;
    while (l->submitted < l->request_count || scheduler_live(l->scheduler) > 0 ||
           l->in_flight > 0) {
        act(l);
        take_finished(l);
        simulation_check(l);
        /* Every step brings someone on; with recomputation still a small multiple of the work. */
        CHECK(++calls < 1000 + 100 * (l->work + l->request_count));
        if (l->fails && l->submitted == l->request_count && chance(l, 5)) {
            l->failed = true;
            scheduler_end_all(l->scheduler, FINISH_ERROR, ++l->now);
            take_finished(l);
            simulation_check(l);
            totals->failed++;
            break;
        }
    }
    close_life(l);
    free(l);
}
