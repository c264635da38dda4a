/*
 * http_connection.h - the inside of the HTTP server, shared by http_*.c only.
 *
 * Thread: the loop's. A connection reads a request, waits for its response, flushes it, and goes on
 * with the next; `dead` ones only wait for libuv to let go of the handle.
 */
#ifndef SERVER_HTTP_CONNECTION_H
#define SERVER_HTTP_CONNECTION_H

#include <llhttp.h>

#include "runtime/base/list.h"
#include "server/http.h"

struct http_tls;
struct http_tls_context;

enum { HTTP_READ_BYTES = 64 * 1024, HTTP_LISTENERS_MAX = 8 };

union http_io {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct http_server {
    uv_loop_t *loop;
    struct http_config config;
    union http_io listeners[HTTP_LISTENERS_MAX];
    int listener_count;
    uv_timer_t timer; /* runs only while there are connections */
    struct list_node connections;
    int connection_count;
    bool draining, closing;
    llhttp_settings_t settings;
    struct http_tls_context *tls;
    char read_buffer[HTTP_READ_BYTES];
};

enum http_state {
    HTTP_STATE_IDLE,      /* no byte of the next request yet */
    HTTP_STATE_HEAD,      /* in its headers */
    HTTP_STATE_BODY,      /* in its body */
    HTTP_STATE_HANDLING,  /* complete; its response has not ended */
    HTTP_STATE_FLUSHING,  /* the response ended, its bytes are not all with the kernel */
    HTTP_STATE_LINGERING, /* our side is shut; the client may still be sending */
};

struct http_connection {
    struct list_node node;
    struct http_server *server;
    union http_io io;
    struct http_tls *tls; /* NULL: plain */
    enum http_state state;
    int64_t since_ns; /* when the state began, or the client last took a byte */
    llhttp_t parser;
    struct http_request *request;
    struct buffer waiting; /* received beyond the current request */
    struct buffer out;     /* to be written next */
    struct buffer writing; /* with libuv */
    uv_write_t write;
    uv_shutdown_t shutdown;
    size_t queue_seen; /* unsent bytes at the last tick */
    int reject_status; /* set by the parser's callbacks */
    const char *reject_message;
    size_t name_at, header_at[HTTP_HEADERS_MAX][2]; /* offsets into request->head */
    bool served;                                    /* has had a response */
    bool write_busy, read_stopped, advancing, dead;
};

/* http_parse.c */
void http_parse_settings(llhttp_settings_t *settings);
/* Feeds bytes; returns how many were used. The rest is to wait, or the connection was refused. */
size_t http_parse(struct http_connection *connection, const char *data, size_t len);

/* http_connection.c */
void http_connection_open(struct http_server *server, uv_stream_t *listener);
void http_connection_kill(struct http_connection *connection); /* `gone` follows from the loop */
void http_connection_output(struct http_connection *connection, const void *data, size_t len);
void http_connection_flush(struct http_connection *connection);
void http_connection_response_ended(struct http_connection *connection);
void http_connection_tick(struct http_connection *connection, int64_t now_ns);
void http_request_free(struct http_request *request);

/* http_tls.c: memory BIOs on OpenSSL. */
enum status http_tls_context_create(const char *keyfile, const char *certfile,
                                    struct http_tls_context **out, struct error *error);
void http_tls_context_destroy(struct http_tls_context *context);
struct http_tls *http_tls_create(struct http_tls_context *context);
void http_tls_destroy(struct http_tls *tls);
/* Received bytes in; plain ones are appended to `plain`, what must be sent to `cipher`. false: give
 * up. */
bool http_tls_receive(struct http_tls *tls, const void *data, size_t len, struct buffer *plain,
                      struct buffer *cipher);
void http_tls_send(struct http_tls *tls, const void *data, size_t len, struct buffer *cipher);

#endif
