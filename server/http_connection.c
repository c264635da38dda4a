/*
 * http_connection.c - one connection: bytes in, one request at a time, bytes out, its timeouts.
 *
 * Thread: the loop's. It never calls a handler from inside the parser, and never frees a connection
 * before libuv closed its handle.
 */
#include "server/http_connection.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

static void advance(struct http_connection *connection);

void http_request_free(struct http_request *request)
{
    if (!request) return;
    buffer_free(&request->body);
    buffer_free(&request->head);
    buffer_free(&request->extra_headers);
    arena_free(&request->arena);
    free(request);
}

static void on_closed(uv_handle_t *handle)
{
    struct http_connection *connection = handle->data;
    struct http_request *request = connection->request;
    if (request) {
        bool handled = connection->state == HTTP_STATE_HANDLING;
        connection->request = NULL;
        if (handled && request->gone) request->gone(request);
        if (handled && connection->server->config.finished)
            connection->server->config.finished(connection->server->config.arg, request, 499);
        http_request_free(request);
    }
    if (connection->tls) http_tls_destroy(connection->tls);
    buffer_free(&connection->waiting);
    buffer_free(&connection->out);
    buffer_free(&connection->writing);
    free(connection);
}

void http_connection_kill(struct http_connection *connection)
{
    if (connection->dead) return;
    connection->dead = true;
    list_remove(&connection->node);
    if (--connection->server->connection_count == 0) uv_timer_stop(&connection->server->timer);
    uv_close(&connection->io.handle, on_closed);
}

static void set_state(struct http_connection *connection, enum http_state state)
{
    connection->state = state;
    connection->since_ns = clock_ns();
}

/* ---- out ---- */

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    struct http_connection *connection = shutdown->data;
    if (status && !connection->dead) http_connection_kill(connection);
}

/* The response's bytes are all with the kernel. */
static void flushed(struct http_connection *connection)
{
    if (connection->state != HTTP_STATE_FLUSHING) return;
    struct http_request *request = connection->request;
    bool keep_alive = request->keep_alive && !connection->server->draining;
    connection->request = NULL;
    http_request_free(request);
    if (keep_alive) {
        set_state(connection, HTTP_STATE_IDLE);
        advance(connection);
        return;
    }
    set_state(connection, HTTP_STATE_LINGERING);
    connection->shutdown.data = connection;
    if (uv_shutdown(&connection->shutdown, &connection->io.stream, on_shutdown))
        http_connection_kill(connection);
}

static void on_written(uv_write_t *write, int status)
{
    struct http_connection *connection = write->data;
    connection->write_busy = false;
    buffer_clear(&connection->writing);
    if (connection->dead) return;
    if (status) {
        http_connection_kill(connection);
        return;
    }
    connection->since_ns = clock_ns();
    http_connection_flush(connection);
}

void http_connection_output(struct http_connection *connection, const void *data, size_t len)
{
    if (connection->dead) return;
    if (connection->tls)
        http_tls_send(connection->tls, data, len, &connection->out);
    else
        buffer_append(&connection->out, data, len);
}

void http_connection_flush(struct http_connection *connection)
{
    if (connection->dead || connection->write_busy) return;
    struct buffer *out = &connection->out;
    size_t sent = 0;
    if (out->len) {
        uv_buf_t buf = uv_buf_init(out->data, (unsigned)out->len);
        int n = uv_try_write(&connection->io.stream, &buf, 1);
        if (n < 0 && n != UV_EAGAIN) {
            http_connection_kill(connection);
            return;
        }
        sent = n > 0 ? (size_t)n : 0;
    }
    if (sent == out->len) {
        /* One large answer should not pin its memory for as long as the connection idles. */
        if (out->capacity > HTTP_READ_BYTES) buffer_free(out);
        buffer_clear(out);
        flushed(connection);
        return;
    }
    struct buffer writing = connection->writing;
    connection->writing = *out, *out = writing;
    uv_buf_t rest =
        uv_buf_init(connection->writing.data + sent, (unsigned)(connection->writing.len - sent));
    connection->write.data = connection;
    connection->write_busy = true;
    connection->queue_seen = rest.len;
    connection->since_ns = clock_ns();
    if (uv_write(&connection->write, &connection->io.stream, &rest, 1, on_written)) {
        connection->write_busy = false;
        http_connection_kill(connection);
    }
}

void http_connection_response_ended(struct http_connection *connection)
{
    if (connection->dead) return;
    struct http_server *server = connection->server;
    if (server->config.finished)
        server->config.finished(server->config.arg, connection->request,
                                connection->request->status);
    connection->served = true;
    set_state(connection, HTTP_STATE_FLUSHING);
    http_connection_flush(connection);
}

/* ---- in ---- */

static void respond_rejected(struct http_connection *connection)
{
    struct http_server *server = connection->server;
    if (!connection->request) {
        connection->request = calloc(1, sizeof(*connection->request));
        CHECK(connection->request);
        connection->request->connection = connection;
        connection->request->received_ns = clock_ns();
    }
    struct http_request *request = connection->request;
    if (!request->method) request->method = "-", request->path = "-", request->query = "";
    request->keep_alive = false;
    set_state(connection, HTTP_STATE_HANDLING);
    struct buffer body = {0};
    server->config.format_error(server->config.arg, connection->reject_status,
                                connection->reject_message, &body);
    http_respond(request, connection->reject_status, server->config.error_content_type, body.data,
                 body.len);
    buffer_free(&body);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct http_connection *connection = handle->data;
    *buf = uv_buf_init(connection->server->read_buffer, HTTP_READ_BYTES);
}

/* Reads on while there is room: end of file and reset must be seen while a response is pending. */
static void update_reading(struct http_connection *connection)
{
    if (connection->dead) return;
    bool full = connection->waiting.len >= connection->server->config.limits.pipelined_max;
    if (full == connection->read_stopped) return;
    connection->read_stopped = full;
    if (full)
        uv_read_stop(&connection->io.stream);
    else if (uv_read_start(&connection->io.stream, on_alloc, on_read))
        http_connection_kill(connection);
}

static bool parsing(const struct http_connection *connection)
{
    return connection->state <= HTTP_STATE_BODY && !connection->dead;
}

static void drop_waiting(struct http_connection *connection, size_t used)
{
    struct buffer *waiting = &connection->waiting;
    memmove(waiting->data, waiting->data + used, waiting->len - used);
    waiting->len -= used;
    if (!waiting->len) buffer_free(waiting);
}

/* Runs the parser over what waits, and the handler for each request that is complete. */
static void advance(struct http_connection *connection)
{
    if (connection->advancing)
        return; /* a response ended inside its handler: the loop below goes on */
    connection->advancing = true;
    while (parsing(connection) && connection->waiting.len) {
        size_t used = http_parse(connection, connection->waiting.data, connection->waiting.len);
        drop_waiting(connection, used);
        if (connection->dead) break;
        if (connection->reject_status)
            respond_rejected(connection);
        else if (connection->state == HTTP_STATE_HANDLING)
            connection->server->config.handle(connection->server->config.arg, connection->request);
    }
    if (connection->state == HTTP_STATE_LINGERING) buffer_free(&connection->waiting);
    connection->advancing = false;
    update_reading(connection);
}

static bool decrypt(struct http_connection *connection, const char *data, size_t len)
{
    bool fine =
        http_tls_receive(connection->tls, data, len, &connection->waiting, &connection->out);
    http_connection_flush(connection);
    return fine && !connection->dead;
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct http_connection *connection = stream->data;
    if (connection->dead || !count) return;
    if (count < 0) {
        http_connection_kill(connection);
        return;
    }
    if (connection->state == HTTP_STATE_LINGERING) return;
    if (connection->tls) {
        if (!decrypt(connection, buf->base, (size_t)count)) {
            http_connection_kill(connection);
            return;
        }
    } else {
        buffer_append(&connection->waiting, buf->base, (size_t)count);
    }
    advance(connection);
}

/* ---- open, time ---- */

void http_connection_open(struct http_server *server, uv_stream_t *listener)
{
    struct http_connection *connection = calloc(1, sizeof(*connection));
    CHECK(connection);
    connection->server = server;
    list_init(&connection->node);
    int status = listener->type == UV_TCP ? uv_tcp_init(server->loop, &connection->io.tcp)
                                          : uv_pipe_init(server->loop, &connection->io.pipe, 0);
    if (status) {
        free(connection);
        return;
    }
    connection->io.handle.data = connection;
    llhttp_init(&connection->parser, HTTP_REQUEST, &server->settings);
    connection->parser.data = connection;
    if (server->connection_count++ == 0) uv_timer_again(&server->timer);
    list_push_back(&server->connections, &connection->node);
    set_state(connection, HTTP_STATE_IDLE);
    if (uv_accept(listener, &connection->io.stream)) {
        http_connection_kill(connection);
        return;
    }
    if (listener->type == UV_TCP) {
        uv_tcp_nodelay(&connection->io.tcp, 1);
        uv_tcp_keepalive(&connection->io.tcp, 1, 60);
    }
    if (server->tls) connection->tls = http_tls_create(server->tls);
    if (uv_read_start(&connection->io.stream, on_alloc, on_read)) http_connection_kill(connection);
}

static void time_out(struct http_connection *connection, const char *what)
{
    connection->reject_status = 408;
    connection->reject_message = what;
    respond_rejected(connection);
}

void http_connection_tick(struct http_connection *connection, int64_t now_ns)
{
    const struct http_limits *limits = &connection->server->config.limits;
    int64_t waited_ms = (now_ns - connection->since_ns) / 1000000;
    if (connection->write_busy) {
        size_t queued = uv_stream_get_write_queue_size(&connection->io.stream);
        if (queued != connection->queue_seen)
            connection->queue_seen = queued, connection->since_ns = now_ns;
        else if (waited_ms > limits->write_timeout_ms)
            http_connection_kill(connection);
        return;
    }
    switch (connection->state) {
    case HTTP_STATE_IDLE:
        if (waited_ms > limits->idle_timeout_ms) http_connection_kill(connection);
        break;
    case HTTP_STATE_HEAD:
        if (waited_ms > limits->head_timeout_ms)
            time_out(connection, "the request's headers did not arrive in time");
        break;
    case HTTP_STATE_BODY: {
        int64_t allowed_ms = limits->body_timeout_ms + (int64_t)connection->request->body.len *
                                                           1000 / limits->body_bytes_per_s;
        if (waited_ms > allowed_ms)
            time_out(connection, "the request's body did not arrive in time");
        break;
    }
    case HTTP_STATE_LINGERING:
        if (waited_ms > limits->linger_timeout_ms) http_connection_kill(connection);
        break;
    default: break;
    }
}
