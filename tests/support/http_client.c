/* http_client.c - see http_client.h. */
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool connect_to(struct http_client *client, const struct sockaddr *address, socklen_t len)
{
    *client = (struct http_client){.fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (client->fd >= 0 && !connect(client->fd, address, len)) return true;
    http_client_close(client);
    return false;
}

bool http_client_connect(struct http_client *client, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return connect_to(client, (struct sockaddr *)&address, sizeof(address));
}

bool http_client_connect_unix(struct http_client *client, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    return connect_to(client, (struct sockaddr *)&address, sizeof(address));
}

void http_client_close(struct http_client *client)
{
    if (client->fd >= 0) close(client->fd);
    client->fd = -1;
    buffer_free(&client->in);
}

bool http_client_send(struct http_client *client, const void *data, size_t len)
{
    const char *at = data;
    while (len) {
        ssize_t n = send(client->fd, at, len, MSG_NOSIGNAL);
        if (n <= 0) return false;
        at += n, len -= (size_t)n;
    }
    return true;
}

bool http_client_send_string(struct http_client *client, const char *text)
{
    return http_client_send(client, text, strlen(text));
}

bool http_client_request(struct http_client *client, const char *method, const char *path,
                         const char *headers, const char *body)
{
    struct buffer text = {0};
    buffer_printf(&text, "%s %s HTTP/1.1\r\nHost: test\r\n%s", method, path, headers);
    if (body)
        buffer_printf(&text, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      strlen(body));
    buffer_printf(&text, "\r\n%s", body ? body : "");
    bool sent = http_client_send(client, text.data, text.len);
    buffer_free(&text);
    return sent;
}

/* One more piece from the socket; false at the end, on an error or when it takes too long. */
static bool receive(struct http_client *client)
{
    struct pollfd wait = {.fd = client->fd, .events = POLLIN};
    int timeout = client->timeout_ms ? client->timeout_ms : HTTP_CLIENT_TIMEOUT_MS;
    if (poll(&wait, 1, timeout) != 1) return false;
    char piece[16384];
    ssize_t n = recv(client->fd, piece, sizeof(piece), 0);
    if (n <= 0) return false;
    buffer_append(&client->in, piece, (size_t)n);
    return true;
}

static void use(struct http_client *client, size_t len)
{
    memmove(client->in.data, client->in.data + len, client->in.len - len);
    client->in.len -= len;
    client->in.data[client->in.len] = 0;
}

/* Takes what comes before `mark` into `out`, and drops the mark. */
static bool take_until(struct http_client *client, const char *mark, struct buffer *out)
{
    for (;;) {
        char *found =
            client->in.len ? memmem(client->in.data, client->in.len, mark, strlen(mark)) : NULL;
        if (found) {
            size_t len = (size_t)(found - client->in.data);
            buffer_append(out, client->in.data, len);
            use(client, len + strlen(mark));
            return true;
        }
        if (!receive(client)) return false;
    }
}

static bool take_count(struct http_client *client, size_t len, struct buffer *out)
{
    while (client->in.len < len)
        if (!receive(client)) return false;
    if (len) {
        buffer_append(out, client->in.data, len);
        use(client, len);
    }
    return true;
}

bool http_client_read_head(struct http_client *client, struct http_reply *reply)
{
    reply->status = 0;
    buffer_clear(&reply->head);
    buffer_clear(&reply->body);
    if (!take_until(client, "\r\n\r\n", &reply->head)) return false;
    buffer_append_string(&reply->head, "\r\n");
    return sscanf(reply->head.data, "HTTP/1.1 %d", &reply->status) == 1;
}

bool http_client_read_chunk(struct http_client *client, struct http_reply *reply)
{
    struct buffer line = {0};
    buffer_clear(&reply->body);
    bool more = take_until(client, "\r\n", &line);
    size_t len = more ? strtoul(line.data, NULL, 16) : 0;
    buffer_free(&line);
    struct buffer end = {0};
    more = more && take_count(client, len, &reply->body) && take_count(client, 2, &end) && len > 0;
    buffer_free(&end);
    return more;
}

bool http_client_read(struct http_client *client, struct http_reply *reply)
{
    char value[64];
    if (!http_client_read_head(client, reply)) return false;
    if (reply->status == 100 || reply->status == 204) return true;
    if (http_reply_header(reply, "content-length", value, sizeof(value)))
        return take_count(client, strtoul(value, NULL, 10), &reply->body);
    if (!http_reply_header(reply, "transfer-encoding", value, sizeof(value))) {
        while (receive(client)) {
        }
        return take_count(client, client->in.len, &reply->body);
    }
    struct buffer whole = {0};
    while (http_client_read_chunk(client, reply))
        buffer_append(&whole, reply->body.data, reply->body.len);
    buffer_free(&reply->body);
    reply->body = whole;
    return true;
}

bool http_client_at_end(struct http_client *client)
{
    return !client->in.len && !receive(client);
}

bool http_call(int port, const char *path, const char *body, struct http_reply *reply)
{
    struct http_client client;
    reply->status = 0;
    if (!http_client_connect(&client, port)) return false;
    bool fine = http_client_request(&client, body ? "POST" : "GET", path, "", body) &&
                http_client_read(&client, reply);
    http_client_close(&client);
    return fine;
}

void http_reply_free(struct http_reply *reply)
{
    buffer_free(&reply->head);
    buffer_free(&reply->body);
    reply->status = 0;
}

bool http_reply_header(const struct http_reply *reply, const char *name, char *out, size_t size)
{
    size_t len = strlen(name);
    for (const char *line = reply->head.data; line; line = strstr(line, "\r\n")) {
        if (!strncmp(line, "\r\n", 2)) line += 2;
        if (strncasecmp(line, name, len) || line[len] != ':') continue;
        const char *value = line + len + 1;
        while (*value == ' ') value++;
        snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
        return true;
    }
    return false;
}
