/*
 * http.h - an HTTP/1.1 server on a libuv loop: connections, requests in, responses out.
 *
 * One request of a connection is handled at a time; pipelined ones wait in a bounded buffer, beyond
 * which nothing is read. Every size and every wait is bounded by http_limits. A response is either
 * whole (http_respond) or a stream (http_begin, http_write..., http_end); a reader too slow for a
 * stream is dropped. It knows nothing of JSON or models.
 *
 * Thread: the loop's, for every call. Memory: a request lives until its response has ended or
 * `gone` returned.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "runtime/base/arena.h"
#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

struct http_server;
struct http_connection;

enum { HTTP_HEADERS_MAX = 100 };

struct http_limits {
    int64_t body_bytes_max;
    size_t head_bytes_max; /* request line and headers */
    size_t pipelined_max;  /* bytes kept while a response is pending */
    size_t output_max;     /* unsent bytes of a stream before its reader counts as too slow */
    int idle_timeout_ms;   /* between requests */
    int head_timeout_ms;   /* from a request's first byte to the end of its headers */
    int body_timeout_ms;   /* for a body, plus its size at body_bytes_per_s */
    int body_bytes_per_s;
    int write_timeout_ms;  /* without the client taking a byte */
    int linger_timeout_ms; /* after an answer that closes, for the client to read it */
};

extern const struct http_limits http_default_limits;

struct http_header {
    const char *name, *value; /* name in lower case */
};

struct http_request {
    const char *method, *path, *query; /* query: "" if none */
    struct http_header headers[HTTP_HEADERS_MAX];
    int header_count;
    struct buffer body;
    struct arena arena; /* whatever should live as long as the request */
    void *user;         /* the handler's */
    /* Called when the client went away before the response ended; the request is freed after it.
     * Never after http_respond or http_end. */
    void (*gone)(struct http_request *request);
    /* the server's own */
    struct http_connection *connection;
    struct buffer head, extra_headers;
    int64_t received_ns;
    int status; /* of the response, 0 before */
    bool head_only, keep_alive, http_1_0, chunked, begun;
};

struct http_config {
    struct http_limits limits;
    void *arg;
    void (*handle)(void *arg, struct http_request *request);
    /* Fills `out` with the body of a refusal by the HTTP layer itself. */
    void (*format_error)(void *arg, int status, const char *message, struct buffer *out);
    const char *error_content_type;
    /* After every response, also a dropped one (status 499); may be NULL. */
    void (*finished)(void *arg, const struct http_request *request, int status);
    const char *ssl_keyfile, *ssl_certfile; /* both or none */
};

enum status http_server_create(uv_loop_t *loop, const struct http_config *config,
                               struct http_server **out, struct error *error);

/* `port` 0 takes a free one; *bound_port (may be NULL) tells which. */
enum status http_server_listen(struct http_server *server, const char *host, int port,
                               int *bound_port, struct error *error);
/* A stale socket file is replaced, one that answers is not. */
enum status http_server_listen_unix(struct http_server *server, const char *path,
                                    struct error *error);

/* Responses from now on close their connections and idle ones are closed; listening goes on. */
void http_server_drain(struct http_server *server);
int http_server_connection_count(const struct http_server *server);
/* Closes everything; handles are gone after the loop ran once more. `gone` is called for open
 * requests. */
void http_server_close(struct http_server *server);
void http_server_destroy(struct http_server *server); /* after the loop ran out */

/* The value of a header (name in lower case), or NULL. */
const char *http_header(const struct http_request *request, const char *name);

/* Before the response begins. CR and LF in a value are dropped. */
void http_add_header(struct http_request *request, const char *name, const char *value);
void http_respond(struct http_request *request, int status, const char *content_type,
                  const void *body, size_t len);
void http_begin(struct http_request *request, int status, const char *content_type);
void http_write(struct http_request *request, const void *data, size_t len);
void http_end(struct http_request *request);

/* Bytes of the stream that the client has not taken yet. */
size_t http_unsent_bytes(const struct http_request *request);

const char *http_reason(int status);

#endif
