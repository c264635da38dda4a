/*
 * http_client.h - a small blocking HTTP client for tests: exact bytes out, responses in.
 *
 * Thread: its owner's. Every wait ends.
 */
#ifndef TESTS_SUPPORT_HTTP_CLIENT_H
#define TESTS_SUPPORT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/buffer.h"

enum { HTTP_CLIENT_TIMEOUT_MS = 30000 };

struct http_client {
    int fd;
    int timeout_ms;   /* of every wait; 0: HTTP_CLIENT_TIMEOUT_MS */
    struct buffer in; /* received and not yet used */
};

struct http_reply {
    int status; /* 0: the connection ended first */
    struct buffer head, body;
};

bool http_client_connect(struct http_client *client, int port); /* on 127.0.0.1 */
bool http_client_connect_unix(struct http_client *client, const char *path);
void http_client_close(struct http_client *client);
bool http_client_send(struct http_client *client, const void *data, size_t len);
bool http_client_send_string(struct http_client *client, const char *text);

/* A whole request with a body (NULL: none); `headers` are further lines with CRLF, or "". */
bool http_client_request(struct http_client *client, const char *method, const char *path,
                         const char *headers, const char *body);

/* Status line and headers. */
bool http_client_read_head(struct http_client *client, struct http_reply *reply);
/* The next chunk of a chunked body replaces reply->body; false at its end or a broken connection.
 */
bool http_client_read_chunk(struct http_client *client, struct http_reply *reply);
/* Head and whole body, chunked or counted or until the end of the connection. */
bool http_client_read(struct http_client *client, struct http_reply *reply);
/* True when the server has closed and nothing is left to read. */
bool http_client_at_end(struct http_client *client);

/* Connects, asks, reads, closes. `body` NULL: GET. */
bool http_call(int port, const char *path, const char *body, struct http_reply *reply);
void http_reply_free(struct http_reply *reply);
/* The value of a header into `out`; false if absent. The name's case does not matter. */
bool http_reply_header(const struct http_reply *reply, const char *name, char *out, size_t size);

#endif
