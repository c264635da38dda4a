/* http_parse.c - llhttp's callbacks: bytes of a connection become its http_request, within the
 * limits. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "server/http_connection.h"

static int reject(struct http_connection *connection, int status, const char *message)
{
    connection->reject_status = status;
    connection->reject_message = message;
    return HPE_USER;
}

static int on_message_begin(llhttp_t *parser)
{
    struct http_connection *connection = parser->data;
    CHECK(!connection->request);
    struct http_request *request = calloc(1, sizeof(*request));
    CHECK(request);
    request->connection = connection;
    request->received_ns = clock_ns();
    connection->request = request;
    connection->state = HTTP_STATE_HEAD;
    connection->since_ns = request->received_ns;
    return 0;
}

static int append_head(struct http_connection *connection, const char *data, size_t len)
{
    struct buffer *head = &connection->request->head;
    if (head->len + len > connection->server->config.limits.head_bytes_max)
        return reject(connection, 431, "the request's headers are too large");
    buffer_append(head, data, len);
    return 0;
}

static int on_url(llhttp_t *parser, const char *data, size_t len)
{
    return append_head(parser->data, data, len);
}

static int on_url_complete(llhttp_t *parser)
{
    return append_head(parser->data, "", 1);
}

static int on_header_field(llhttp_t *parser, const char *data, size_t len)
{
    struct http_connection *connection = parser->data;
    if (connection->state != HTTP_STATE_HEAD) return 0; /* a trailer of a chunked body */
    if (connection->request->header_count == HTTP_HEADERS_MAX)
        return reject(connection, 431, "the request has too many headers");
    if (!connection->name_at) connection->name_at = connection->request->head.len;
    return append_head(connection, data, len);
}

static int on_header_field_complete(llhttp_t *parser)
{
    struct http_connection *connection = parser->data;
    if (connection->state != HTTP_STATE_HEAD) return 0;
    struct buffer *head = &connection->request->head;
    for (size_t i = connection->name_at; i < head->len; i++)
        head->data[i] = (char)tolower((unsigned char)head->data[i]);
    int status = append_head(connection, "", 1);
    connection->header_at[connection->request->header_count][0] = connection->name_at;
    connection->header_at[connection->request->header_count][1] = head->len;
    return status;
}

static int on_header_value(llhttp_t *parser, const char *data, size_t len)
{
    struct http_connection *connection = parser->data;
    return connection->state == HTTP_STATE_HEAD ? append_head(connection, data, len) : 0;
}

static int on_header_value_complete(llhttp_t *parser)
{
    struct http_connection *connection = parser->data;
    if (connection->state != HTTP_STATE_HEAD) return 0;
    connection->request->header_count++;
    connection->name_at = 0;
    return append_head(connection, "", 1);
}

/* "http://host/path?query" or "/path?query" -> path and query. */
static void split_url(struct http_request *request)
{
    char *url = request->head.data;
    if (!strncasecmp(url, "http://", 7) || !strncasecmp(url, "https://", 8)) {
        char *path = strchr(strchr(url, ':') + 3, '/');
        url = path ? path : url + strlen(url);
    }
    request->path = *url ? url : "/";
    char *hash = strchr(url, '#');
    if (hash) *hash = 0;
    char *question = strchr(url, '?');
    request->query = question ? question + 1 : "";
    if (question) *question = 0;
}

static int check_expect(struct http_connection *connection)
{
    const char *expect = http_header(connection->request, "expect");
    if (!expect) return 0;
    if (strcasecmp(expect, "100-continue"))
        return reject(connection, 417, "only 'Expect: 100-continue' can be met");
    if (!connection->request->http_1_0) {
        static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
        http_connection_output(connection, text, sizeof(text) - 1);
        http_connection_flush(connection);
    }
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http_connection *connection = parser->data;
    struct http_request *request = connection->request;
    for (int i = 0; i < request->header_count; i++) {
        request->headers[i].name = request->head.data + connection->header_at[i][0];
        request->headers[i].value = request->head.data + connection->header_at[i][1];
    }
    split_url(request);
    request->method = llhttp_method_name((llhttp_method_t)llhttp_get_method(parser));
    request->head_only = llhttp_get_method(parser) == HTTP_HEAD;
    request->http_1_0 = llhttp_get_http_major(parser) == 1 && llhttp_get_http_minor(parser) == 0;
    /* An offer to upgrade (h2c from Java's client) is declined by answering over HTTP/1.1. */
    parser->upgrade = 0;
    if (llhttp_get_http_major(parser) != 1)
        return reject(connection, 505, "only HTTP/1.0 and HTTP/1.1 are spoken");
    if (parser->flags & F_CONTENT_LENGTH &&
        parser->content_length > (uint64_t)connection->server->config.limits.body_bytes_max)
        return reject(connection, 413, "the request's body is larger than --max-body-bytes");
    connection->state = HTTP_STATE_BODY;
    connection->since_ns = clock_ns();
    return check_expect(connection);
}

static int on_body(llhttp_t *parser, const char *data, size_t len)
{
    struct http_connection *connection = parser->data;
    struct buffer *body = &connection->request->body;
    if (body->len + len > (size_t)connection->server->config.limits.body_bytes_max)
        return reject(connection, 413, "the request's body is larger than --max-body-bytes");
    buffer_append(body, data, len);
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct http_connection *connection = parser->data;
    connection->request->keep_alive = llhttp_should_keep_alive(parser);
    connection->state = HTTP_STATE_HANDLING;
    return HPE_PAUSED; /* the handler runs when the parser has returned */
}

void http_parse_settings(llhttp_settings_t *settings)
{
    llhttp_settings_init(settings);
    settings->on_message_begin = on_message_begin;
    settings->on_url = on_url;
    settings->on_url_complete = on_url_complete;
    settings->on_header_field = on_header_field;
    settings->on_header_field_complete = on_header_field_complete;
    settings->on_header_value = on_header_value;
    settings->on_header_value_complete = on_header_value_complete;
    settings->on_headers_complete = on_headers_complete;
    settings->on_body = on_body;
    settings->on_message_complete = on_message_complete;
}

size_t http_parse(struct http_connection *connection, const char *data, size_t len)
{
    llhttp_t *parser = &connection->parser;
    llhttp_errno_t result = llhttp_execute(parser, data, len);
    if (result == HPE_OK) return len;
    if (result == HPE_PAUSED) {
        size_t used = (size_t)(llhttp_get_error_pos(parser) - data);
        llhttp_resume(parser);
        return used;
    }
    if (!connection->reject_status)
        reject(connection, 400, "the request is not well-formed HTTP/1.1");
    return len;
}
