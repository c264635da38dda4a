/*
 * server.c - see server.h. Listens first, loads on a thread of its own, drains on SIGTERM.
 */
#include "server/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "server/api_error.h"
#include "server/json.h"
#include "server/metrics.h"
#include "server/router.h"

enum {
    PROGRESS_MS = 100,
    DRAIN_CHECK_MS = 20,
    FAILED_GRACE_MS = 500, /* for the last answers after a rank failed */
    CLOSE_GRACE_MS = 1000, /* for clients to read the last answers after draining */
    STEP_STALL_S = 10,     /* without a finished step while there is work: not ready */
    RETRY_LOADING_S = 5,
    RETRY_QUEUE_S = 1,
};

/* ---- what handlers use ---- */

enum status server_check_open(const struct server *server, struct error *error)
{
    switch (server->state) {
    case SERVER_READY: return STATUS_OK;
    case SERVER_LOADING:
        return error_set(error, STATUS_UNAVAILABLE, NULL, "the model is still loading");
    case SERVER_DRAINING:
        return error_set(error, STATUS_UNAVAILABLE, NULL, "the server is shutting down");
    case SERVER_FAILED: break;
    }
    return error_set(error, STATUS_UNAVAILABLE, NULL, "the engine has failed");
}

enum status server_check_ready(struct server *server, struct error *error)
{
    enum status status = server_check_open(server, error);
    if (status) return status;
    struct engine_stats stats;
    engine_stats(server->service->engine, &stats);
    if (stats.failed) return error_set(error, STATUS_UNAVAILABLE, NULL, "the engine has failed");
    int64_t silent_s = (clock_ns() - stats.last_step_ns) / 1000000000;
    if (stats.running && silent_s > STEP_STALL_S)
        return error_set(error, STATUS_UNAVAILABLE, NULL,
                         "the engine has not finished a step for %lld s", (long long)silent_s);
    return STATUS_OK;
}

void server_respond_error(struct http_request *request, const struct error *error)
{
    struct buffer body = {0};
    char seconds[16];
    int status = api_http_status(error->status);
    api_format_error(status, error->message, error->param, &body);
    if (status == 429 || status == 503) {
        snprintf(seconds, sizeof(seconds), "%d", status == 429 ? RETRY_QUEUE_S : RETRY_LOADING_S);
        http_add_header(request, "Retry-After", seconds);
    }
    http_respond(request, status, "application/json", body.data, body.len);
    buffer_free(&body);
}

void server_respond_json(struct http_request *request, yyjson_mut_doc *doc)
{
    struct buffer body = {0};
    json_write(doc, &body);
    http_respond(request, 200, "application/json", body.data, body.len);
    buffer_free(&body);
}

/* ---- the end ---- */

static void close_all(struct server *server)
{
    if (server->closing) return;
    server->closing = true;
    http_server_close(server->http);
    uv_close((uv_handle_t *)&server->wake, NULL);
    uv_close((uv_handle_t *)&server->loaded, NULL);
    uv_close((uv_handle_t *)&server->broken, NULL);
    uv_close((uv_handle_t *)&server->terminate, NULL);
    uv_close((uv_handle_t *)&server->interrupt, NULL);
    uv_close((uv_handle_t *)&server->timer, NULL);
}

/* Ends the process without waiting for threads that cannot be stopped. */
static _Noreturn void leave_now(struct server *server, int status)
{
    if (server->options->uds) unlink(server->options->uds);
    _exit(status);
}

static void on_drain_check(uv_timer_t *timer)
{
    struct server *server = timer->data;
    int64_t now = clock_ns();
    bool answered = !server->generation_count;
    bool closed = answered && !http_server_connection_count(server->http);
    if (answered && !closed && now + CLOSE_GRACE_MS * 1000000ll < server->deadline_ns)
        server->deadline_ns = now + CLOSE_GRACE_MS * 1000000ll;
    if (!closed && now < server->deadline_ns) return;
    if (!answered)
        log_warning("server", "%d requests did not finish in time", server->generation_count);
    log_info("server", "done");
    if (server->state == SERVER_FAILED) leave_now(server, 1);
    close_all(server);
}

static void begin_drain(struct server *server, int64_t grace_ms)
{
    server->deadline_ns = clock_ns() + grace_ms * 1000000;
    http_server_drain(server->http);
    uv_timer_start(&server->timer, on_drain_check, 0, DRAIN_CHECK_MS);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct server *server = signal->data;
    if (server->state == SERVER_LOADING) leave_now(server, 0);
    if (server->state != SERVER_READY) {
        log_info("server", "second signal: ending at once");
        leave_now(server, server->state == SERVER_FAILED);
    }
    server->state = SERVER_DRAINING;
    log_info("server", "draining: %d requests, up to %g s", server->generation_count,
             server->options->shutdown_timeout);
    begin_drain(server, (int64_t)(server->options->shutdown_timeout * 1000));
}

/* ---- the engine's signals ---- */

static void on_wake(uv_async_t *async)
{
    struct server *server = async->data;
    if (server->service) service_dispatch(server->service);
}

static void hook_wake(void *arg)
{
    struct server *server = arg;
    uv_async_send(&server->wake);
}

static void hook_failed(void *arg, const struct error *error)
{
    struct server *server = arg;
    pthread_mutex_lock(&server->failure_lock);
    server->failure = *error;
    pthread_mutex_unlock(&server->failure_lock);
    uv_async_send(&server->broken);
}

static void on_broken(uv_async_t *async)
{
    struct server *server = async->data;
    pthread_mutex_lock(&server->failure_lock);
    log_error("server", "%s", server->failure.message);
    pthread_mutex_unlock(&server->failure_lock);
    if (server->state == SERVER_LOADING) leave_now(server, 1);
    if (server->service) service_dispatch(server->service);
    server->state = SERVER_FAILED;
    server->exit_status = 1;
    begin_drain(server, FAILED_GRACE_MS);
}

static void hook_observe(void *arg, const struct completion_choice *choice,
                         const struct engine_event *event)
{
    struct server *server = arg;
    metrics_observe(server->metrics, choice, event);
}

/* ---- loading ---- */

static void hook_progress(void *arg, int64_t bytes, int64_t total)
{
    struct server *server = arg;
    atomic_fetch_add(&server->load_done, bytes);
    atomic_store(&server->load_total, total);
}

static void *load(void *arg)
{
    struct server *server = arg;
    struct service_hooks hooks = {.arg = server,
                                  .progress = hook_progress,
                                  .wake = hook_wake,
                                  .failed = hook_failed,
                                  .observe = hook_observe};
    service_open(server->options, &hooks, &server->opened, &server->load_error);
    uv_async_send(&server->loaded);
    return NULL;
}

static void on_progress(uv_timer_t *timer)
{
    struct server *server = timer->data;
    int64_t done = atomic_load(&server->load_done), total = atomic_load(&server->load_total);
    if (total <= 0) return;
    if (done > total) done = total; /* every rank counts, the total is one's */
    enum { WIDTH = 40 };
    char bar[WIDTH + 1];
    int filled = (int)(done * WIDTH / total);
    for (int i = 0; i < WIDTH; i++) bar[i] = i < filled ? '=' : ' ';
    bar[WIDTH] = 0;
    fprintf(stderr, "\rloading [%s] %3d%% of %.1f MB", bar, (int)(done * 100 / total),
            (double)total / 1e6);
}

static void on_loaded(uv_async_t *async)
{
    struct server *server = async->data;
    pthread_join(server->loader, NULL);
    uv_timer_stop(&server->timer);
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r%72s\r", "");
    if (!server->opened) {
        fprintf(stderr, "penstock serve: %s\n", server->load_error.message);
        server->exit_status = 1;
        close_all(server);
        return;
    }
    server->service = server->opened;
    server->state = SERVER_READY;
    const struct executor_info *info = executor_info(server->service->executor);
    log_info("server",
             "ready: %s on %s, context %d tokens, KV cache %lld pages of %d tokens (%.0f MB), "
             "weights %.0f MB",
             service_model_name(server->options), info->device_name, info->max_model_len,
             (long long)info->page_count - 1, info->page_tokens, (double)info->kv_bytes / 1e6,
             (double)info->weight_bytes / 1e6);
}

/* ---- the beginning ---- */

static enum status open_http(struct server *server, struct error *error)
{
    const struct options *options = server->options;
    struct http_config config = {
        .limits = http_default_limits,
        .arg = server,
        .handle = router_handle,
        .format_error = router_format_error,
        .error_content_type = "application/json",
        .finished = router_finished,
        .ssl_keyfile = options->ssl_keyfile,
        .ssl_certfile = options->ssl_certfile,
    };
    config.limits.body_bytes_max = options->max_body_bytes;
    int port = options->port;
    enum status status = http_server_create(&server->loop, &config, &server->http, error);
    if (status) return status;
    status = options->uds ? http_server_listen_unix(server->http, options->uds, error)
                          : http_server_listen(server->http, options->host, port, &port, error);
    if (status) return status;
    if (options->uds)
        log_info("server", "listening on %s", options->uds);
    else
        log_info("server", "listening on %s://%s:%d", options->ssl_keyfile ? "https" : "http",
                 options->host, port);
    return STATUS_OK;
}

static void open_handles(struct server *server)
{
    CHECK(!uv_loop_init(&server->loop));
    CHECK(!uv_async_init(&server->loop, &server->wake, on_wake));
    CHECK(!uv_async_init(&server->loop, &server->loaded, on_loaded));
    CHECK(!uv_async_init(&server->loop, &server->broken, on_broken));
    CHECK(!uv_signal_init(&server->loop, &server->terminate));
    CHECK(!uv_signal_init(&server->loop, &server->interrupt));
    CHECK(!uv_timer_init(&server->loop, &server->timer));
    server->wake.data = server->loaded.data = server->broken.data = server;
    server->terminate.data = server->interrupt.data = server->timer.data = server;
    CHECK(!uv_signal_start(&server->terminate, on_signal, SIGTERM));
    CHECK(!uv_signal_start(&server->interrupt, on_signal, SIGINT));
}

int server_run(const struct options *options)
{
    struct server *server = calloc(1, sizeof(*server));
    struct error error;
    CHECK(server);
    server->options = options;
    server->started_unix_s = clock_unix_s();
    server->metrics = metrics_create(service_model_name(options));
    pthread_mutex_init(&server->failure_lock, NULL);
    open_handles(server);
    if (open_http(server, &error)) {
        fprintf(stderr, "penstock serve: %s\n", error.message);
        return 1; /* nothing runs yet: the process ends with everything it has */
    }
    if (isatty(STDERR_FILENO))
        uv_timer_start(&server->timer, on_progress, PROGRESS_MS, PROGRESS_MS);
    CHECK(!pthread_create(&server->loader, NULL, load, server));
    uv_run(&server->loop, UV_RUN_DEFAULT);
    int exit_status = server->exit_status;
    service_close(server->service);
    http_server_destroy(server->http);
    metrics_destroy(server->metrics);
    pthread_mutex_destroy(&server->failure_lock);
    CHECK(!uv_loop_close(&server->loop));
    free(server);
    return exit_status;
}
