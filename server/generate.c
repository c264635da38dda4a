/* generate.c - see generate.h. */
#include "server/generate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "server/api_error.h"
#include "server/api_format.h"
#include "server/api_request.h"
#include "server/metrics.h"
#include "server/stream.h"

/* Larger bodies would hold up the other clients' streams while they are tokenised. */
enum { INLINE_BODY_BYTES = 16 * 1024 };

struct generation {
    struct server *server;
    struct http_request *http; /* NULL: answered, or the client is gone */
    struct buffer body;
    struct arena arena;
    struct api_request request;
    struct api_reply reply;
    struct api_cursor *cursors; /* of a stream, per choice */
    struct completion *completion;
    struct error error;
    enum status parsed;
    uv_work_t work;
    bool working, streaming;
};

static void generation_end(struct generation *generation)
{
    if (generation->completion) completion_release(generation->completion);
    buffer_free(&generation->body);
    arena_free(&generation->arena);
    generation->server->generation_count--;
    free(generation);
}

static void on_gone(struct http_request *http)
{
    struct generation *generation = http->user;
    generation->http = NULL;
    if (!generation->working) generation_end(generation);
}

static void answer_error(struct generation *generation, const struct error *error)
{
    struct http_request *http = generation->http;
    generation->http = NULL;
    if (http) server_respond_error(http, error);
    generation_end(generation);
}

/* The engine failed while a stream was under way: the status line is sent, so an event tells. */
static void stream_error(struct generation *generation, const struct error *error)
{
    struct buffer events = {0};
    stream_open(&events);
    api_format_error(api_http_status(error->status), error->message, error->param, &events);
    stream_close(&events);
    stream_done(&events);
    http_write(generation->http, events.data, events.len);
    http_end(generation->http);
    generation->http = NULL;
    buffer_free(&events);
    generation_end(generation);
}

static const struct error *find_failure(const struct completion *completion)
{
    for (int i = 0; i < completion->choice_count; i++)
        if (completion->choices[i].finished && completion->choices[i].finish == FINISH_ERROR)
            return &completion->choices[i].error;
    return NULL;
}

static void update_stream(struct generation *generation)
{
    struct buffer events = {0};
    struct completion *completion = generation->completion;
    for (int i = 0; i < completion->choice_count; i++)
        for (;;) {
            size_t before = events.len;
            stream_open(&events);
            if (!api_format_chunk(&generation->reply, i, &generation->cursors[i], &events)) {
                events.len = before;
                break;
            }
            stream_close(&events);
        }
    bool over = !completion->open_count;
    if (over && generation->request.include_usage) {
        stream_open(&events);
        api_format_usage_chunk(&generation->reply, &events);
        stream_close(&events);
    }
    if (over) stream_done(&events);
    if (events.len && !generation->streaming) {
        generation->streaming = true;
        stream_begin(generation->http);
    }
    if (events.len) http_write(generation->http, events.data, events.len);
    buffer_free(&events);
    if (!over) return;
    http_end(generation->http);
    generation->http = NULL;
    generation_end(generation);
}

static void on_updated(struct completion *completion)
{
    struct generation *generation = completion->user;
    if (!generation->http) return;
    const struct error *failure = find_failure(completion);
    if (failure) {
        struct error copy = *failure;
        if (copy.status == STATUS_OK) copy.status = STATUS_DEVICE;
        if (generation->streaming)
            stream_error(generation, &copy);
        else
            answer_error(generation, &copy);
        return;
    }
    if (generation->request.stream) {
        update_stream(generation);
        return;
    }
    if (completion->open_count) return;
    struct buffer body = {0};
    api_format_whole(&generation->reply, &body);
    struct http_request *http = generation->http;
    generation->http = NULL;
    http_respond(http, 200, "application/json", body.data, body.len);
    buffer_free(&body);
    generation_end(generation);
}

/* "cmpl-" or "chatcmpl-" and the client's X-Request-Id, or random digits. */
static void make_id(struct generation *generation)
{
    char *id = generation->reply.id;
    const char *given = http_header(generation->http, "x-request-id");
    size_t len =
        (size_t)snprintf(id, API_ID_MAX, "%s", generation->request.chat ? "chatcmpl-" : "cmpl-");
    for (; given && *given && len < API_ID_MAX - 1; given++)
        if (isalnum((unsigned char)*given) || strchr("-_.:", *given)) id[len++] = *given;
    id[len] = 0;
    if (given) return;
    unsigned char random[16];
    CHECK(getrandom(random, sizeof(random), 0) == sizeof(random));
    for (int i = 0; i < 16; i++)
        len += (size_t)snprintf(id + len, API_ID_MAX - len, "%02x", random[i]);
}

static void start(struct generation *generation)
{
    struct server *server = generation->server;
    const struct api_request *request = &generation->request;
    struct error error = generation->error;
    enum status status = generation->parsed;
    /* The server may have begun to drain, or a rank may have died, while a thread parsed. */
    if (!status) status = server_check_open(server, &error);
    if (status) {
        answer_error(generation, &error);
        return;
    }
    generation->completion = completion_create(server->service, &request->params, request->prompts,
                                               request->prompt_count);
    generation->completion->user = generation;
    generation->completion->updated = on_updated;
    generation->reply.request = request;
    generation->reply.completion = generation->completion;
    generation->reply.tokenizer = server->service->tokenizer;
    generation->reply.created = clock_unix_s();
    generation->reply.reasoning_parser = server->options->reasoning_parser;
    make_id(generation);
    generation->cursors =
        arena_zalloc(&generation->arena,
                     (size_t)generation->completion->choice_count * sizeof(*generation->cursors));
    status = completion_start(generation->completion, &error);
    if (status) {
        answer_error(generation, &error);
        return;
    }
    metrics_request_started(server->metrics, generation->completion);
}

static void parse(struct generation *generation)
{
    enum status (*parse_body)(const struct service *, const char *, size_t, struct arena *,
                              struct api_request *, struct error *) =
        generation->request.chat ? api_parse_chat : api_parse_completion;
    generation->parsed =
        parse_body(generation->server->service, generation->body.data, generation->body.len,
                   &generation->arena, &generation->request, &generation->error);
    buffer_free(&generation->body);
}

static void on_work(uv_work_t *work)
{
    parse(work->data);
}

static void on_worked(uv_work_t *work, int status)
{
    struct generation *generation = work->data;
    generation->working = false;
    if (generation->http)
        start(generation);
    else
        generation_end(generation);
}

static void generate(struct server *server, struct http_request *http, bool chat)
{
    struct generation *generation = calloc(1, sizeof(*generation));
    CHECK(generation);
    generation->server = server;
    generation->http = http;
    generation->request.chat = chat;
    generation->body = http->body;
    http->body = (struct buffer){0};
    http->user = generation;
    http->gone = on_gone;
    server->generation_count++;
    generation->work.data = generation;
    generation->working = generation->body.len > INLINE_BODY_BYTES &&
                          !uv_queue_work(&server->loop, &generation->work, on_work, on_worked);
    if (generation->working) return;
    parse(generation);
    start(generation);
}

void generate_completion(struct server *server, struct http_request *http)
{
    generate(server, http, false);
}

void generate_chat(struct server *server, struct http_request *http)
{
    generate(server, http, true);
}
