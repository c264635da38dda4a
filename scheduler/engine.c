/*
 * engine.c - see engine.h. One lock guards the inbox, the outbox's lists and what is published;
 * everything else here is the engine thread's alone.
 */
#include "scheduler/engine.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/memory_guard.h"
#include "runtime/batch.h"
#include "scheduler/engine_backend.h"
#include "scheduler/outbox.h"
#include "scheduler/pace.h"
#include "scheduler/request_state.h"
#include "scheduler/scheduler.h"

/* Planning ahead hides about 0.1 ms of planning. Where steps are this long that is nothing, and new
 * requests and cancels would wait one more step for it. */
static const int64_t PLAN_AHEAD_MAX_NS = 20 * 1000 * 1000;

_Static_assert((int)SCHEDULER_IN_FLIGHT_MAX == (int)EXECUTOR_IN_FLIGHT_MAX, "plans and batches");

struct flight { /* a batch between submit and commit */
    struct batch *batch;
    int64_t submitted_ns;
};

struct engine {
    struct engine_options options;
    struct engine_backend backend;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t work; /* something is in the inbox, or stop */
    struct list_node inbox, cancels;
    int live; /* requests taken and not yet published as finished */
    bool stop;
    struct engine_stats published;
    struct error failure; /* written once, before published.failed */
    struct outbox outbox;

    /* the engine thread's */
    struct scheduler *scheduler;
    struct flight flights[SCHEDULER_IN_FLIGHT_MAX];
    int flight_first, in_flight;
    struct outbox_block *block; /* being filled */
    struct pace pace;
    struct engine_stats stats;
    int64_t last_step_took_ns;
    bool failed;
};

/* Takes what came in; waits for something when there is nothing to do. False: stop. */
static bool take_inbox(struct engine *e)
{
    struct list_node inbox, *node;
    list_init(&inbox);
    pthread_mutex_lock(&e->lock);
    bool idle = e->in_flight == 0 && scheduler_live(e->scheduler) == 0;
    if (idle) {
        while (list_empty(&e->inbox) && list_empty(&e->cancels) && !e->stop)
            pthread_cond_wait(&e->work, &e->lock);
        e->stats.last_step_ns = clock_ns();
    }
    int64_t now = clock_ns();
    while ((node = list_pop_front(&e->inbox)))
        scheduler_submit(e->scheduler, LIST_ITEM(node, struct request, node), now);
    /* Under the lock: the server takes a request off this list before it destroys it. */
    while ((node = list_pop_front(&e->cancels)))
        scheduler_cancel(e->scheduler, LIST_ITEM(node, struct request, cancel_node), now);
    bool stop = e->stop;
    pthread_mutex_unlock(&e->lock);
    if (e->failed) scheduler_end_all(e->scheduler, FINISH_ERROR, now);
    return !stop;
}

/* The block that this step's events go to; NULL only when stopping. */
static struct outbox_block *open_block(struct engine *e)
{
    if (e->block) return e->block;
    pthread_mutex_lock(&e->lock);
    e->block = outbox_take_free(&e->outbox, &e->stop);
    pthread_mutex_unlock(&e->lock);
    return e->block;
}

/* Hands over events and statistics. */
static void publish(struct engine *e)
{
    struct list_node finished;
    list_init(&finished);
    scheduler_take_finished(e->scheduler, &finished);
    int finished_count = 0;
    for (struct list_node *node = finished.next; node != &finished; node = node->next)
        finished_count++;
    struct scheduler_stats now;
    scheduler_stats(e->scheduler, &now);
    e->stats.running = now.running, e->stats.waiting = now.waiting;
    e->stats.pages_used = now.pages_used, e->stats.pages_total = now.pages_total;
    e->stats.prefix_queries = now.prefix_queries, e->stats.prefix_hits = now.prefix_hits;
    e->stats.preemptions = now.preemptions;
    e->stats.prompt_tokens = now.prompt_tokens;
    e->stats.generated_tokens = now.generated_tokens;
    e->stats.failed = e->failed;

    struct outbox_block *block = e->block;
    if (finished_count > 0) block = open_block(e);
    bool wake = false;
    pthread_mutex_lock(&e->lock);
    e->published = e->stats;
    e->live -= finished_count;
    if (block && (block->event_count > 0 || finished_count > 0)) {
        list_splice(&block->finished, &finished);
        outbox_put_ready(&e->outbox, block);
        e->block = NULL;
        wake = true;
    }
    pthread_mutex_unlock(&e->lock);
    while (!list_empty(&finished)) /* no block: the engine is being destroyed, they go with it */
        request_destroy(LIST_ITEM(list_pop_front(&finished), struct request, node));
    if (wake && e->options.wake) e->options.wake(e->options.wake_arg);
}

static void fail(struct engine *e, const struct error *error)
{
    memory_forbid(false); /* the steps are over */
    log_error("engine", "%s", error->message);
    pthread_mutex_lock(&e->lock);
    e->failure = *error;
    if (e->failure.status == STATUS_OK) e->failure.status = STATUS_DEVICE;
    e->published.failed = true;
    pthread_mutex_unlock(&e->lock);
    e->failed = true;
    scheduler_end_all(e->scheduler, FINISH_ERROR, clock_ns());
}

static void observe_step(struct engine *e, const struct flight *flight, int64_t now)
{
    const struct batch *batch = flight->batch;
    /* Batches run one after the other: this one began when it could. */
    int64_t began =
        flight->submitted_ns > e->stats.last_step_ns ? flight->submitted_ns : e->stats.last_step_ns;
    e->last_step_took_ns = now - began;
    pace_observe(&e->pace, batch->decode_count, batch->token_count - batch->decode_count,
                 now - began);
    int bound = 0;
    while (bound < STEP_TOKENS_BOUNDS && batch->token_count > 1 << bound) bound++;
    e->stats.step_tokens_counts[bound]++;
    e->stats.step_tokens_sum += (uint64_t)batch->token_count;
    e->stats.steps++;
    e->stats.last_step_ns = now;
}

/* Waits for the oldest batch and applies its result. */
static void finish_step(struct engine *e)
{
    struct error error = {0};
    struct flight *flight = &e->flights[e->flight_first];
    const struct batch_result *result = e->backend.wait(e->backend.self, &error);
    e->flight_first = (e->flight_first + 1) % SCHEDULER_IN_FLIGHT_MAX;
    e->in_flight--;
    if (e->failed) return; /* nobody is left to be told */
    if (!result) {
        fail(e, &error);
        return;
    }
    int64_t now = clock_ns();
    observe_step(e, flight, now);
    struct outbox_block *block = open_block(e);
    if (!block) return; /* stopping */
    CHECK(block->event_count == 0);
    block->event_count = scheduler_commit(e->scheduler, result, block->events, now);
}

/* Plans and submits one batch; false when there is nothing to run. */
static bool start_step(struct engine *e)
{
    struct flight *flight = &e->flights[(e->flight_first + e->in_flight) % SCHEDULER_IN_FLIGHT_MAX];
    int decoding, pending;
    scheduler_pressure(e->scheduler, &decoding, &pending);
    int prefill_max = pace_prefill_max(&e->pace, decoding, pending, e->backend.limits.tokens_max);
    if (!scheduler_plan(e->scheduler, flight->batch, prefill_max, clock_ns())) return false;
    flight->submitted_ns = clock_ns();
    e->backend.submit(e->backend.self, flight->batch);
    e->in_flight++;
    return true;
}

static void *engine_main(void *arg)
{
    struct engine *e = arg;
    memory_forbid(true);
    while (take_inbox(e)) {
        int depth = e->last_step_took_ns > PLAN_AHEAD_MAX_NS ? 1 : SCHEDULER_IN_FLIGHT_MAX;
        bool started = !e->failed && e->in_flight < depth && start_step(e);
        if (e->in_flight > 0 && (!started || e->in_flight >= depth)) {
            finish_step(e);
        } else if (!started) { /* what is alive and cannot run, with nothing under way, hangs */
            CHECK(scheduler_live(e->scheduler) == 0);
        }
        publish(e);
    }
    while (e->in_flight > 0) { /* the executor wants every batch waited for */
        struct error error = {0};
        e->backend.wait(e->backend.self, &error);
        e->in_flight--;
    }
    return NULL;
}

static void free_engine(struct engine *e)
{
    for (int i = 0; i < SCHEDULER_IN_FLIGHT_MAX; i++) batch_destroy(e->flights[i].batch);
    outbox_close(&e->outbox);
    scheduler_destroy(e->scheduler);
    pthread_cond_destroy(&e->work);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

enum status engine_create_on(const struct engine_options *options,
                             const struct engine_backend *backend, struct engine **out,
                             struct error *error)
{
    struct engine *e = calloc(1, sizeof(*e));
    if (!e) return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for the engine");
    e->options = *options;
    e->backend = *backend;
    list_init(&e->inbox), list_init(&e->cancels);
    CHECK(pthread_mutex_init(&e->lock, NULL) == 0 && pthread_cond_init(&e->work, NULL) == 0);
    bool outbox = outbox_init(&e->outbox, &e->lock, backend->limits.logits_max);
    e->scheduler = scheduler_create(&(struct scheduler_options){
        .limits = backend->limits,
        .page_tokens = backend->page_tokens,
        .max_model_len = backend->max_model_len,
        .page_count = backend->page_count,
        .queue_max = options->queue_max,
        .prefix_caching = options->prefix_caching,
        .priority_policy = options->priority_policy,
    });
    for (int i = 0; i < SCHEDULER_IN_FLIGHT_MAX; i++)
        e->flights[i].batch = batch_create(&backend->limits);
    e->stats.last_step_ns = clock_ns();
    e->stats.pages_total = backend->page_count - 1;
    e->published = e->stats;
    if (!outbox || !e->scheduler || pthread_create(&e->thread, NULL, engine_main, e)) {
        free_engine(e);
        return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for the engine");
    }
    *out = e;
    return STATUS_OK;
}

void engine_destroy(struct engine *e)
{
    if (!e) return;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_signal(&e->work);
    pthread_cond_signal(&e->outbox.freed);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    struct list_node finished, *node;
    list_init(&finished);
    scheduler_end_all(e->scheduler, FINISH_ABORT, clock_ns());
    scheduler_take_finished(e->scheduler, &finished);
    list_splice(&finished, &e->inbox);
    while ((node = list_pop_front(&finished)))
        request_destroy(LIST_ITEM(node, struct request, node));
    free_engine(e);
}

/* Whether the engine takes that many more; lock held. */
static enum status check_room(const struct engine *e, int request_count, struct error *error)
{
    int live_max = scheduler_live_max(e->scheduler);
    if (e->published.failed)
        return error_set(error, STATUS_UNAVAILABLE, NULL, "the engine failed: %s",
                         e->failure.message);
    if (request_count > live_max)
        return error_set(error, STATUS_INVALID, "n",
                         "%d sequences were asked, at most %d can run "
                         "or wait",
                         request_count, live_max);
    if (e->live + request_count > live_max)
        return error_set(error, STATUS_QUEUE_FULL, NULL,
                         "the queue is full: %d requests wait (--max-num-queued-reqs %d)",
                         e->published.waiting, e->options.queue_max);
    return STATUS_OK;
}

enum status engine_submit(struct engine *e, struct request *const *requests, int request_count,
                          struct error *error)
{
    for (int i = 0; i < request_count; i++) {
        enum status status = scheduler_check(e->scheduler, requests[i], error);
        if (status) return status;
    }
    int64_t now = clock_ns();
    pthread_mutex_lock(&e->lock);
    enum status status = check_room(e, request_count, error);
    if (status == STATUS_OK) {
        e->live += request_count;
        for (int i = 0; i < request_count; i++) {
            requests[i]->submitted_ns = now;
            list_push_back(&e->inbox, &requests[i]->node);
        }
        pthread_cond_signal(&e->work);
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

void engine_cancel(struct engine *e, struct request *request)
{
    if (atomic_exchange(&request->cancelled, true)) return;
    pthread_mutex_lock(&e->lock);
    list_push_back(&e->cancels, &request->cancel_node);
    pthread_cond_signal(&e->work);
    pthread_mutex_unlock(&e->lock);
}

int engine_poll(struct engine *e, struct engine_event *out, int max)
{
    return outbox_poll(&e->outbox, &e->failure, out, max);
}

void engine_stats(struct engine *e, struct engine_stats *out)
{
    pthread_mutex_lock(&e->lock);
    *out = e->published;
    pthread_mutex_unlock(&e->lock);
}
