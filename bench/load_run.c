/*
 * load_run.c - sends requests when they are due, over as many connections as it takes.
 *
 * Open loop: a request's clock starts when it was due, whether or not the generator was late, so a
 * slow server cannot hide its queue (no coordinated omission). With --max-concurrency a request
 * waits for a free slot and its clock starts there, as vLLM's does.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/load.h"
#include "bench/load_client.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum { PROGRESS_MS = 500 };

struct run {
    uv_loop_t loop;
    uv_timer_t due, progress;
    const struct load_options *options;
    const struct load_request *requests;
    struct load_record *records;
    struct load_client **idle, **clients;
    int count, next, running, finished, idle_count, client_count;
    int64_t start_ns;
};

static void send_due(struct run *run);

static void on_done(void *arg, struct load_client *client)
{
    struct run *run = arg;
    run->running--, run->finished++;
    run->idle[run->idle_count++] = client;
    send_due(run);
}

static void send_one(struct run *run, const struct load_target *target)
{
    struct load_client *client;
    if (run->idle_count) {
        client = run->idle[--run->idle_count];
    } else {
        client = load_client_create(&run->loop, target);
        run->clients[run->client_count++] = client;
    }
    int i = run->next++;
    int64_t now = clock_ns(), due = run->start_ns + run->requests[i].due_ns;
    bool closed_loop = run->options->max_concurrency > 0;
    run->records[i].start_ns = closed_loop ? now : due;
    run->running++;
    load_client_send(client, &run->requests[i], &run->records[i], on_done, run);
}

static void on_due(uv_timer_t *timer)
{
    send_due(timer->data);
}

static void send_due(struct run *run)
{
    const struct load_target *target = uv_loop_get_data(&run->loop);
    int limit = run->options->max_concurrency > 0 ? run->options->max_concurrency : run->count;
    while (run->next < run->count && run->running < limit) {
        int64_t left = run->start_ns + run->requests[run->next].due_ns - clock_ns();
        if (left > 0) {
            uv_update_time(&run->loop);
            uv_timer_start(&run->due, on_due, (uint64_t)(left / 1000000), 0);
            return;
        }
        send_one(run, target);
    }
    if (run->finished < run->count) return;
    uv_timer_stop(&run->progress);
    uv_close((uv_handle_t *)&run->progress, NULL);
    uv_close((uv_handle_t *)&run->due, NULL);
    for (int i = 0; i < run->client_count; i++) load_client_close(run->clients[i]);
}

static void on_progress(uv_timer_t *timer)
{
    struct run *run = timer->data;
    double seconds = (double)(clock_ns() - run->start_ns) * 1e-9;
    int64_t chunks = 0;
    for (int i = 0; i < run->next; i++)
        chunks += run->records[i].gap_count + (run->records[i].first_ns > 0);
    fprintf(stderr, "\r%d of %d done, %d running, %.1f requests/s, %.0f chunks/s   ", run->finished,
            run->count, run->running, run->finished / seconds, (double)chunks / seconds);
    fflush(stderr);
}

enum status load_run(const struct load_options *options, const struct load_request *requests,
                     int count, struct load_record *records, int64_t *duration_ns,
                     struct error *error)
{
    struct load_target target;
    enum status status =
        load_target_resolve(&target, options->base_url, options->endpoint, options->api_key, error);
    if (status) return status;
    struct run run = {.options = options, .requests = requests, .records = records, .count = count};
    run.idle = calloc((size_t)count + 1, sizeof(*run.idle));
    run.clients = calloc((size_t)count + 1, sizeof(*run.clients));
    CHECK(run.idle && run.clients);
    uv_loop_init(&run.loop);
    uv_loop_set_data(&run.loop, &target);
    uv_timer_init(&run.loop, &run.due);
    uv_timer_init(&run.loop, &run.progress);
    run.due.data = run.progress.data = &run;
    bool shown = isatty(STDERR_FILENO) && !options->disable_tqdm;
    if (shown) uv_timer_start(&run.progress, on_progress, PROGRESS_MS, PROGRESS_MS);
    run.start_ns = clock_ns();
    send_due(&run);
    uv_run(&run.loop, UV_RUN_DEFAULT);
    int64_t end = run.start_ns;
    for (int i = 0; i < count; i++)
        if (records[i].end_ns > end) end = records[i].end_ns;
    *duration_ns = end - run.start_ns;
    if (shown) fputs("\r\033[K", stderr);
    CHECK(uv_loop_close(&run.loop) == 0);
    free(run.idle), free(run.clients);
    return STATUS_OK;
}
