/*
 * load_client.c - see load_client.h. Owns the connection, the response parser and the SSE line in
 * progress.
 */
#include "bench/load_client.h"

#include <llhttp.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum { READ_BYTES = 64 << 10 };

struct load_client {
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    uv_loop_t *loop;
    const struct load_target *target;
    llhttp_t parser;
    bool connected, handle_open, closing, reused;
    struct buffer head, line;
    const struct load_request *request; /* NULL: idle */
    struct load_record *record;
    int64_t last_ns;
    int chunk_count;
    void (*done)(void *arg, struct load_client *client);
    void *arg;
    char read_buffer[READ_BYTES];
};

static llhttp_settings_t settings;

/* ---- the answer ---- */

static void add_gap(struct load_record *record, int64_t ns)
{
    if (record->gap_count == record->gap_capacity) {
        record->gap_capacity = record->gap_capacity ? record->gap_capacity * 2 : 64;
        record->gaps_ns =
            realloc(record->gaps_ns, (size_t)record->gap_capacity * sizeof(*record->gaps_ns));
        CHECK(record->gaps_ns);
    }
    record->gaps_ns[record->gap_count++] = ns;
}

static void take_text(struct load_client *client)
{
    int64_t now = clock_ns();
    client->chunk_count++;
    if (!client->record->first_ns)
        client->record->first_ns = now;
    else
        add_gap(client->record, now - client->last_ns);
    client->last_ns = now;
}

static bool has_text(yyjson_val *choice)
{
    yyjson_val *delta = yyjson_obj_get(choice, "delta");
    yyjson_val *text = delta ? yyjson_obj_get(delta, "content") : yyjson_obj_get(choice, "text");
    if (delta && !yyjson_get_len(text)) text = yyjson_obj_get(delta, "reasoning_content");
    return yyjson_is_str(text) && yyjson_get_len(text) > 0;
}

static void take_event(struct load_client *client, const char *data, size_t len)
{
    if (len >= 6 && !memcmp(data, "[DONE]", 6)) {
        client->record->success = !client->record->error[0];
        return;
    }
    yyjson_doc *document = yyjson_read(data, len, 0);
    yyjson_val *root = yyjson_doc_get_root(document);
    yyjson_val *failure = yyjson_obj_get(root, "error");
    if (!document || failure)
        snprintf(client->record->error, sizeof(client->record->error), "event: %.*s",
                 (int)(len < 100 ? len : 100), data);
    if (has_text(yyjson_arr_get_first(yyjson_obj_get(root, "choices")))) take_text(client);
    yyjson_val *usage = yyjson_obj_get(root, "usage");
    if (yyjson_is_obj(usage)) {
        client->record->output_len = yyjson_get_int(yyjson_obj_get(usage, "completion_tokens"));
        client->record->prompt_len = yyjson_get_int(yyjson_obj_get(usage, "prompt_tokens"));
    }
    yyjson_doc_free(document);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct load_client *client = parser->data;
    if (parser->status_code != 200) {
        char *error = client->record->error;
        if (!error[0])
            snprintf(error, sizeof(client->record->error), "HTTP %d: %.*s", parser->status_code,
                     (int)(len < 100 ? len : 100), at);
        return 0;
    }
    while (len) {
        const char *end = memchr(at, '\n', len);
        size_t part = end ? (size_t)(end - at) : len;
        buffer_append(&client->line, at, part);
        if (!end) return 0;
        if (client->line.len > 6 && !memcmp(client->line.data, "data: ", 6))
            take_event(client, client->line.data + 6, client->line.len - 6);
        buffer_clear(&client->line);
        at += part + 1, len -= part + 1;
    }
    return 0;
}

static void finish(struct load_client *client)
{
    if (!client->request) return;
    client->request = NULL;
    client->record->end_ns = clock_ns();
    if (!client->record->output_len) client->record->output_len = client->chunk_count;
    if (!client->record->success && !client->record->error[0])
        snprintf(client->record->error, sizeof(client->record->error), "the stream broke off");
    client->done(client->arg, client);
}

static int on_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED; /* finish outside of the parser: it may start the next request */
}

/* ---- the connection ---- */

static void start_connection(struct load_client *client);

static void on_closed(uv_handle_t *handle)
{
    struct load_client *client = handle->data;
    client->handle_open = false;
    if (client->closing) {
        buffer_free(&client->head), buffer_free(&client->line);
        free(client);
    } else if (client->request) {
        start_connection(client);
    }
}

static void drop_connection(struct load_client *client)
{
    client->connected = false;
    if (client->handle_open && !uv_is_closing((uv_handle_t *)&client->tcp))
        uv_close((uv_handle_t *)&client->tcp, on_closed);
}

/* A kept connection that the server closed meanwhile is no failure: once more on a new one. */
static void connection_failed(struct load_client *client, const char *what)
{
    bool again = client->reused && client->request && !client->record->first_ns;
    drop_connection(client);
    if (again || !client->request) return;
    if (!client->record->error[0])
        snprintf(client->record->error, sizeof(client->record->error), "%s", what);
    client->record->success = false;
    finish(client);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct load_client *client = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(client->read_buffer, READ_BYTES);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct load_client *client = stream->data;
    if (count == 0) return;
    if (count < 0) return connection_failed(client, uv_strerror((int)count));
    if (!client->request) return drop_connection(client);
    llhttp_errno_t result = llhttp_execute(&client->parser, buffer->base, (size_t)count);
    if (result == HPE_PAUSED) {
        if (!llhttp_should_keep_alive(&client->parser)) drop_connection(client);
        finish(client);
    } else if (result != HPE_OK) {
        client->reused = false;
        connection_failed(client, llhttp_errno_name(result));
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct load_client *client = write->data;
    if (status < 0 && status != UV_ECANCELED) connection_failed(client, uv_strerror(status));
}

static void write_request(struct load_client *client)
{
    uv_buf_t parts[2] = {
        uv_buf_init(client->head.data, (unsigned)client->head.len),
        uv_buf_init(client->request->body, (unsigned)client->request->body_len),
    };
    llhttp_init(&client->parser, HTTP_RESPONSE, &settings);
    client->parser.data = client;
    client->write.data = client;
    buffer_clear(&client->line);
    uv_write(&client->write, (uv_stream_t *)&client->tcp, parts, 2, on_written);
}

static void on_connected(uv_connect_t *connect, int status)
{
    struct load_client *client = connect->data;
    if (status == UV_ECANCELED) return;
    if (status < 0) return connection_failed(client, uv_strerror(status));
    client->connected = true;
    uv_read_start((uv_stream_t *)&client->tcp, on_alloc, on_read);
    write_request(client);
}

static void start_connection(struct load_client *client)
{
    client->reused = false;
    uv_tcp_init(client->loop, &client->tcp);
    uv_tcp_nodelay(&client->tcp, 1);
    client->tcp.data = client->connect.data = client;
    client->handle_open = true;
    int status = uv_tcp_connect(&client->connect, &client->tcp,
                                (const struct sockaddr *)&client->target->address, on_connected);
    if (status < 0) connection_failed(client, uv_strerror(status));
}

/* ---- from outside ---- */

struct load_client *load_client_create(uv_loop_t *loop, const struct load_target *target)
{
    struct load_client *client = calloc(1, sizeof(*client));
    CHECK(client);
    client->loop = loop, client->target = target;
    if (!settings.on_body) {
        llhttp_settings_init(&settings);
        settings.on_body = on_body;
        settings.on_message_complete = on_complete;
    }
    return client;
}

void load_client_send(struct load_client *client, const struct load_request *request,
                      struct load_record *record,
                      void (*done)(void *arg, struct load_client *client), void *arg)
{
    CHECK(!client->request && !client->closing);
    client->request = request, client->record = record;
    client->done = done, client->arg = arg;
    client->chunk_count = 0;
    buffer_clear(&client->head);
    buffer_printf(&client->head,
                  "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                  "Accept: text/event-stream\r\nContent-Length: %zu\r\n",
                  client->target->path, client->target->host, request->body_len);
    if (client->target->api_key)
        buffer_printf(&client->head, "Authorization: Bearer %s\r\n", client->target->api_key);
    buffer_append_string(&client->head, "\r\n");
    client->reused = client->connected;
    if (client->connected)
        write_request(client);
    else if (!client->handle_open)
        start_connection(client);
    /* else: on_closed starts it */
}

void load_client_close(struct load_client *client)
{
    client->closing = true;
    client->request = NULL;
    if (client->handle_open) {
        drop_connection(client);
    } else {
        buffer_free(&client->head), buffer_free(&client->line);
        free(client);
    }
}

enum status load_target_resolve(struct load_target *target, const char *base_url,
                                const char *endpoint, const char *api_key, struct error *error)
{
    memset(target, 0, sizeof(*target));
    if (strncmp(base_url, "http://", 7) != 0)
        return error_set(error, STATUS_UNSUPPORTED, "--base-url",
                         "--base-url %s: only http:// is measured; put TLS in a proxy", base_url);
    const char *host = base_url + 7, *path = strchr(host, '/');
    size_t len = path ? (size_t)(path - host) : strlen(host);
    if (!len || len >= sizeof(target->host))
        return error_set(error, STATUS_INVALID, "--base-url", "--base-url %s has no host",
                         base_url);
    memcpy(target->host, host, len);
    snprintf(target->path, sizeof(target->path), "%s%s", path && path[1] ? path : "", endpoint);
    target->api_key = api_key;

    char name[256], port[8] = "80";
    snprintf(name, sizeof(name), "%s", target->host);
    char *colon = strrchr(name, ':');
    if (colon && !strchr(colon, ']')) {
        snprintf(port, sizeof(port), "%s", colon + 1);
        *colon = 0;
    }
    if (name[0] == '[') { /* [::1] */
        memmove(name, name + 1, strlen(name));
        name[strcspn(name, "]")] = 0;
    }
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int code = getaddrinfo(name, port, &hints, &found);
    if (code)
        return error_set(error, STATUS_NOT_FOUND, "--base-url", "%s: %s", target->host,
                         gai_strerror(code));
    memcpy(&target->address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return STATUS_OK;
}
