/*
 * server.h - the serving process: its state from loading to drained, and what request handlers
 * share.
 *
 * Thread: the server thread (the libuv loop). Other threads only signal through uv_async.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "runtime/base/status.h"
#include "server/http.h"
#include "server/options.h"
#include "server/service.h"

struct metrics;
struct yyjson_mut_doc;

enum server_state { SERVER_LOADING, SERVER_READY, SERVER_DRAINING, SERVER_FAILED };

struct server {
    const struct options *options;
    uv_loop_t loop;
    struct http_server *http;
    struct service *service; /* NULL while loading */
    struct metrics *metrics;
    enum server_state state;
    int64_t started_unix_s;
    int generation_count; /* requests being answered, with work in threads or in the engine */
    int exit_status;
    uv_async_t wake;   /* the engine has events */
    uv_async_t loaded; /* the loader thread is done */
    uv_async_t broken; /* a rank failed */
    uv_signal_t terminate, interrupt;
    uv_timer_t timer;    /* progress while loading, the end while draining */
    int64_t deadline_ns; /* of draining */
    /* written by the loader and by failing ranks */
    pthread_t loader;
    struct service *opened;
    struct error load_error, failure;
    pthread_mutex_t failure_lock;
    atomic_llong load_done, load_total;
    bool closing;
};

/* Listens, loads, serves and drains; returns the exit status of the process. */
int server_run(const struct options *options);

/* Why API requests cannot be taken now, as STATUS_UNAVAILABLE; STATUS_OK when they can. */
enum status server_check_open(const struct server *server, struct error *error);
/* The same for /ready, which also wants the engine's steps to go on. */
enum status server_check_ready(struct server *server, struct error *error);

/* Answers with an OpenAI-shaped error, and Retry-After where a later try makes sense. */
void server_respond_error(struct http_request *request, const struct error *error);
/* 200 with the document, which is freed. */
void server_respond_json(struct http_request *request, struct yyjson_mut_doc *doc);

#endif
