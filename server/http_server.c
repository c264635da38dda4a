/*
 * http_server.c - listening sockets, the list of connections and the clock that bounds their waits.
 *
 * Thread: the loop's.
 */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "server/http_connection.h"

enum { TICK_MS = 500, BACKLOG = 1024 };

const struct http_limits http_default_limits = {
    .body_bytes_max = 32 << 20,
    .head_bytes_max = 64 << 10,
    .pipelined_max = 64 << 10,
    .output_max = 8 << 20,
    .idle_timeout_ms = 75000,
    .head_timeout_ms = 30000,
    .body_timeout_ms = 30000,
    .body_bytes_per_s = 16 << 10,
    .write_timeout_ms = 60000,
    .linger_timeout_ms = 2000,
};

static void on_tick(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    int64_t now = clock_ns();
    struct list_node *node = server->connections.next, *next;
    for (; node != &server->connections; node = next) {
        next = node->next;
        http_connection_tick(LIST_ITEM(node, struct http_connection, node), now);
    }
}

enum status http_server_create(uv_loop_t *loop, const struct http_config *config,
                               struct http_server **out, struct error *error)
{
    struct http_server *server = calloc(1, sizeof(*server));
    CHECK(server);
    server->loop = loop;
    server->config = *config;
    list_init(&server->connections);
    http_parse_settings(&server->settings);
    if (config->ssl_keyfile) {
        enum status status =
            http_tls_context_create(config->ssl_keyfile, config->ssl_certfile, &server->tls, error);
        if (status) {
            free(server);
            return status;
        }
    }
    CHECK(!uv_timer_init(loop, &server->timer));
    server->timer.data = server;
    CHECK(!uv_timer_start(&server->timer, on_tick, TICK_MS, TICK_MS));
    uv_timer_stop(&server->timer); /* uv_timer_again starts it with the same interval */
    *out = server;
    return STATUS_OK;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct http_server *server = listener->data;
    if (!status && !server->closing) http_connection_open(server, listener);
}

static enum status listen_on(struct http_server *server, union http_io *io, const char *what,
                             struct error *error)
{
    io->handle.data = server;
    int status = uv_listen(&io->stream, BACKLOG, on_connection);
    if (!status) return STATUS_OK;
    return error_set(error, STATUS_IO, NULL, "cannot listen on %s: %s", what, uv_strerror(status));
}

enum status http_server_listen(struct http_server *server, const char *host, int port,
                               int *bound_port, struct error *error)
{
    CHECK(server->listener_count < HTTP_LISTENERS_MAX);
    char service[16], what[160];
    snprintf(service, sizeof(service), "%d", port);
    snprintf(what, sizeof(what), "%s port %d", host, port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed)
        return error_set(error, STATUS_INVALID, "--host", "--host: '%s': %s", host,
                         gai_strerror(failed));
    union http_io *io = &server->listeners[server->listener_count];
    CHECK(!uv_tcp_init(server->loop, &io->tcp));
    server->listener_count++;
    int bound = uv_tcp_bind(&io->tcp, found->ai_addr, 0);
    freeaddrinfo(found);
    if (bound)
        return error_set(error, STATUS_IO, NULL, "cannot listen on %s: %s", what,
                         uv_strerror(bound));
    enum status status = listen_on(server, io, what, error);
    if (status || !bound_port) return status;
    struct sockaddr_storage address;
    int len = sizeof(address);
    CHECK(!uv_tcp_getsockname(&io->tcp, (struct sockaddr *)&address, &len));
    *bound_port =
        ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&address)->sin6_port
                                            : ((struct sockaddr_in *)(void *)&address)->sin_port);
    return STATUS_OK;
}

/* Removes a socket file that nobody listens on any more. */
static void remove_stale(const char *path)
{
    struct stat info;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (stat(path, &info) || !S_ISSOCK(info.st_mode) || strlen(path) >= sizeof(address.sun_path))
        return;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address))) unlink(path);
    close(fd);
}

enum status http_server_listen_unix(struct http_server *server, const char *path,
                                    struct error *error)
{
    CHECK(server->listener_count < HTTP_LISTENERS_MAX);
    if (strlen(path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
        return error_set(error, STATUS_INVALID, "--uds", "--uds: the path is too long");
    remove_stale(path);
    union http_io *io = &server->listeners[server->listener_count];
    CHECK(!uv_pipe_init(server->loop, &io->pipe, 0));
    server->listener_count++;
    int bound = uv_pipe_bind(&io->pipe, path);
    if (bound)
        return error_set(error, STATUS_IO, "--uds", "cannot listen on %s: %s", path,
                         uv_strerror(bound));
    return listen_on(server, io, path, error);
}

void http_server_drain(struct http_server *server)
{
    server->draining = true;
    struct list_node *node = server->connections.next, *next;
    for (; node != &server->connections; node = next) {
        next = node->next;
        struct http_connection *connection = LIST_ITEM(node, struct http_connection, node);
        /* The first request of a new one may be on its way. */
        bool idle = connection->state == HTTP_STATE_IDLE && connection->served;
        if (idle) http_connection_kill(connection);
    }
}

int http_server_connection_count(const struct http_server *server)
{
    return server->connection_count;
}

void http_server_close(struct http_server *server)
{
    if (server->closing) return;
    server->closing = true;
    while (!list_empty(&server->connections))
        http_connection_kill(LIST_ITEM(server->connections.next, struct http_connection, node));
    for (int i = 0; i < server->listener_count; i++) uv_close(&server->listeners[i].handle, NULL);
    uv_close((uv_handle_t *)&server->timer, NULL);
}

void http_server_destroy(struct http_server *server)
{
    if (!server) return;
    CHECK(server->closing);
    http_tls_context_destroy(server->tls);
    free(server);
}
