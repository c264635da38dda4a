/* http_response.c - responses: status line, headers, whole or chunked bodies. */
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "server/http_connection.h"

const char *http_reason(int status)
{
    switch (status) {
#define REASON(number, name, text)                                                                 \
    case number: return #text;
        HTTP_STATUS_MAP(REASON)
#undef REASON
    default: return "Unknown";
    }
}

const char *http_header(const struct http_request *request, const char *name)
{
    for (int i = 0; i < request->header_count; i++)
        if (!strcmp(request->headers[i].name, name)) return request->headers[i].value;
    return NULL;
}

void http_add_header(struct http_request *request, const char *name, const char *value)
{
    buffer_append_string(&request->extra_headers, name);
    buffer_append_string(&request->extra_headers, ": ");
    for (; *value; value++)
        if (*value != '\r' && *value != '\n') buffer_append_char(&request->extra_headers, *value);
    buffer_append_string(&request->extra_headers, "\r\n");
}

static void append_head(struct http_request *request, int status, const char *content_type,
                        struct buffer *out)
{
    CHECK(!request->begun);
    request->begun = true;
    request->status = status;
    if (request->connection->server->draining) request->keep_alive = false;
    buffer_printf(out, "HTTP/1.1 %d %s\r\n", status, http_reason(status));
    if (content_type) buffer_printf(out, "Content-Type: %s\r\n", content_type);
    if (!request->keep_alive)
        buffer_append_string(out, "Connection: close\r\n");
    else if (request->http_1_0)
        buffer_append_string(out, "Connection: keep-alive\r\n");
    buffer_append(out, request->extra_headers.data, request->extra_headers.len);
}

void http_respond(struct http_request *request, int status, const char *content_type,
                  const void *body, size_t len)
{
    struct http_connection *connection = request->connection;
    request->gone = NULL; /* the handler is done with it, whatever becomes of the bytes */
    if (connection->dead) return;
    struct buffer head = {0};
    append_head(request, status, content_type, &head);
    if (status != 204) buffer_printf(&head, "Content-Length: %zu\r\n", len);
    buffer_append_string(&head, "\r\n");
    if (len && !request->head_only && status != 204) buffer_append(&head, body, len);
    http_connection_output(connection, head.data, head.len);
    buffer_free(&head);
    http_connection_response_ended(connection);
}

void http_begin(struct http_request *request, int status, const char *content_type)
{
    struct http_connection *connection = request->connection;
    if (connection->dead) return;
    struct buffer head = {0};
    request->chunked = !request->http_1_0;
    if (!request->chunked) request->keep_alive = false;
    append_head(request, status, content_type, &head);
    if (request->chunked) buffer_append_string(&head, "Transfer-Encoding: chunked\r\n");
    buffer_append_string(&head, "\r\n");
    http_connection_output(connection, head.data, head.len);
    buffer_free(&head);
    http_connection_flush(connection);
}

void http_write(struct http_request *request, const void *data, size_t len)
{
    struct http_connection *connection = request->connection;
    CHECK(request->begun);
    if (connection->dead || !len || request->head_only) return;
    if (http_unsent_bytes(request) > connection->server->config.limits.output_max) {
        log_warning("http", "dropped a client that does not read its stream: %zu bytes unsent",
                    http_unsent_bytes(request));
        http_connection_kill(connection);
        return;
    }
    if (request->chunked) {
        char size[24];
        int size_len = snprintf(size, sizeof(size), "%zx\r\n", len);
        http_connection_output(connection, size, (size_t)size_len);
    }
    http_connection_output(connection, data, len);
    if (request->chunked) http_connection_output(connection, "\r\n", 2);
    http_connection_flush(connection);
}

void http_end(struct http_request *request)
{
    struct http_connection *connection = request->connection;
    request->gone = NULL;
    if (connection->dead) return;
    if (request->chunked && !request->head_only) http_connection_output(connection, "0\r\n\r\n", 5);
    http_connection_response_ended(connection);
}

size_t http_unsent_bytes(const struct http_request *request)
{
    const struct http_connection *connection = request->connection;
    return connection->out.len + uv_stream_get_write_queue_size(&connection->io.stream);
}
