/*
 * test_hub.c - pulling from a Hub that misbehaves: a server on the loopback that cuts off, ignores
 * ranges, sends wrong bytes, too many, errors, and names that point outside the cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/hub.h"

enum fault { FINE, CUT, NO_RANGE, WRONG, TOO_LONG, BUSY, FORBIDDEN, MISSING, NO_JSON };
enum { BIG_BYTES = 300000 };

static char big[BIG_BYTES];
static const char config[] = "{\"model_type\":\"llama\"}";

struct hub {
    int socket, port;
    pthread_t thread;
    enum fault faults[8]; /* of the requests for the big file, in order; then FINE */
    enum fault always;    /* of every request for it */
    enum fault listing;
    _Atomic int big_requests, ranged_requests, requests;
    char last_authorization[200];
};

static void hex_hash(const EVP_MD *kind, const char *prefix, size_t prefix_len, const void *data,
                     size_t len, char *out)
{
    unsigned char digest[64];
    unsigned count;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    EVP_DigestInit_ex(hash, kind, NULL);
    EVP_DigestUpdate(hash, prefix, prefix_len);
    EVP_DigestUpdate(hash, data, len);
    EVP_DigestFinal_ex(hash, digest, &count);
    EVP_MD_CTX_free(hash);
    for (unsigned i = 0; i < count; i++) sprintf(out + 2 * i, "%02x", digest[i]);
}

static void send_all(int to, const char *data, size_t len)
{
    for (ssize_t n; len > 0 && (n = send(to, data, len, MSG_NOSIGNAL)) > 0; data += n)
        len -= (size_t)n;
}

static void answer(int to, const char *status, const char *headers, const char *body, size_t listed,
                   size_t len)
{
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n", status,
                     listed, headers);
    send_all(to, head, (size_t)n);
    send_all(to, body, len);
}

static void answer_listing(struct hub *hub, int to)
{
    char sha256[65], sha1[41], header[32], json[2000];
    hex_hash(EVP_sha256(), "", 0, big, sizeof(big), sha256);
    int n = snprintf(header, sizeof(header), "blob %zu", strlen(config));
    hex_hash(EVP_sha1(), header, (size_t)n + 1, config, strlen(config), sha1);
    n = snprintf(
        json, sizeof(json),
        "{\"sha\":\"0123456789abcdef0123456789abcdef01234567\",\"siblings\":["
        "{\"rfilename\":\"config.json\",\"size\":%zu,\"blobId\":\"%s\"},"
        "{\"rfilename\":\"README.md\",\"size\":5,\"blobId\":\"%s\"},"
        "{\"rfilename\":\"model-../../../../escaped.safetensors\",\"size\":5,\"blobId\":\"%s\"},"
        "{\"rfilename\":\"tiny-Q8_0.gguf\",\"size\":1,\"blobId\":\"%s\","
        "\"lfs\":{\"sha256\":\"%s\",\"size\":%d}},"
        "{\"rfilename\":\"model.safetensors\",\"size\":1,\"blobId\":\"%s\","
        "\"lfs\":{\"sha256\":\"%s\",\"size\":%d}}]}",
        strlen(config), sha1, sha1, sha1, sha1, sha256, BIG_BYTES, sha1, sha256, BIG_BYTES);
    if (hub->listing == FORBIDDEN)
        answer(to, "401 Unauthorized", "", "", 0, 0);
    else if (hub->listing == MISSING)
        answer(to, "404 Not Found", "", "", 0, 0);
    else if (hub->listing == NO_JSON)
        answer(to, "200 OK", "", "<html>", 6, 6);
    else
        answer(to, "200 OK", "", json, (size_t)n, (size_t)n);
}

static void answer_big(struct hub *hub, int to, size_t from)
{
    int index = atomic_fetch_add(&hub->big_requests, 1);
    enum fault fault = hub->always ? hub->always : index < 8 ? hub->faults[index] : FINE;
    char range[64] = "", *wrong;
    if (from > 0) atomic_fetch_add(&hub->ranged_requests, 1);
    if (fault == NO_RANGE) from = 0;
    if (from > 0)
        snprintf(range, sizeof(range), "Content-Range: bytes %zu-%d/%d\r\n", from, BIG_BYTES - 1,
                 BIG_BYTES);
    const char *status = from > 0 ? "206 Partial Content" : "200 OK";
    size_t left = sizeof(big) - from;
    switch (fault) {
    case BUSY: answer(to, "503 Service Unavailable", "", "", 0, 0); return;
    case FORBIDDEN: answer(to, "403 Forbidden", "", "", 0, 0); return;
    case CUT: answer(to, status, range, big + from, left, left / 3); return;
    case TOO_LONG:
        wrong = calloc(1, left + 10);
        memcpy(wrong, big + from, left);
        answer(to, status, range, wrong, left + 10, left + 10);
        free(wrong);
        return;
    case WRONG:
        wrong = malloc(left);
        memcpy(wrong, big + from, left);
        wrong[left / 2] ^= 1;
        answer(to, status, range, wrong, left, left);
        free(wrong);
        return;
    default: answer(to, status, range, big + from, left, left);
    }
}

static void *serve(void *arg)
{
    struct hub *hub = arg;
    for (int to; (to = accept(hub->socket, NULL, NULL)) >= 0; close(to)) {
        char request[4096];
        size_t len = 0;
        for (ssize_t n; len < sizeof(request) - 1; len += (size_t)n) {
            n = recv(to, request + len, sizeof(request) - 1 - len, 0);
            if (n <= 0) break;
            request[len + (size_t)n] = 0;
            if (strstr(request, "\r\n\r\n")) break;
        }
        if (!strncmp(request, "STOP", 4)) return close(to), NULL;
        atomic_fetch_add(&hub->requests, 1);
        const char *range = strstr(request, "Range: bytes="),
                   *key = strstr(request, "Authorization: ");
        if (key) sscanf(key, "Authorization: %199[^\r]", hub->last_authorization);
        if (strstr(request, "/api/models/"))
            answer_listing(hub, to);
        else if (strstr(request, "config.json"))
            answer(to, "200 OK", "", config, strlen(config), strlen(config));
        else
            answer_big(hub, to, range ? strtoull(range + 13, NULL, 10) : 0);
    }
    return NULL;
}

static void hub_start(struct hub *hub)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    hub->socket = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(hub->socket, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(hub->socket, 8), 0);
    getsockname(hub->socket, (struct sockaddr *)&at, &len);
    hub->port = ntohs(at.sin_port);
    pthread_create(&hub->thread, NULL, serve, hub);
}

static void hub_stop(struct hub *hub)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)hub->port)};
    int s = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s, (struct sockaddr *)&at, sizeof(at)), 0);
    send_all(s, "STOP\r\n\r\n", 8);
    pthread_join(hub->thread, NULL);
    close(s), close(hub->socket);
}

static void check_file(const char *path, const char *expected, size_t len)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *data = malloc(len + 1);
    assert_int_equal(fread(data, 1, len + 1, file), len);
    assert_memory_equal(data, expected, len);
    free(data);
    fclose(file);
}

static void remove_cache(const char *cache)
{
    char command[200];
    snprintf(command, sizeof(command), "rm -rf '%s'", cache);
    assert_int_equal(system(command), 0);
}

/* One pull in a fresh cache (or the given one) with these faults. */
static enum status pull(struct hub *hub, const char *name, const char *cache, struct buffer *path,
                        struct error *error)
{
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", hub->port);
    struct hub_options options = {
        .endpoint = url, .cache = cache, .retries = 3, .retry_ms = 1, .token = "secret"};
    return hub_pull(name, &options, path, error);
}

static void test_pull_and_find(void **state)
{
    struct hub hub = {0};
    struct buffer path = {0}, found = {0};
    struct error error = {0};
    char cache[] = "/tmp/penstock-hub-XXXXXX", file[400];
    assert_non_null(mkdtemp(cache));
    hub_start(&hub);
    struct hub_options offline = {.cache = cache};
    assert_int_equal(hub_find("org/repo", &offline, &found, &error), STATUS_NOT_FOUND);
    assert_int_equal(pull(&hub, "org/repo", cache, &path, &error), STATUS_OK);
    snprintf(file, sizeof(file), "%s/model.safetensors", path.data);
    check_file(file, big, sizeof(big));
    snprintf(file, sizeof(file), "%s/config.json", path.data);
    check_file(file, config, strlen(config));
    snprintf(file, sizeof(file), "%s/README.md", path.data);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_string_equal(hub.last_authorization, "Bearer secret");
    assert_int_equal(hub_find("org/repo", &offline, &found, &error), STATUS_OK);
    assert_string_equal(found.data, path.data);

    int before = atomic_load(&hub.big_requests); /* again: nothing to fetch */
    buffer_clear(&path);
    assert_int_equal(pull(&hub, "org/repo", cache, &path, &error), STATUS_OK);
    assert_int_equal(atomic_load(&hub.big_requests), before);
    buffer_clear(&path);
    assert_int_equal(pull(&hub, "org/repo:q8_0", cache, &path, &error), STATUS_OK);
    assert_non_null(strstr(path.data, "/tiny-Q8_0.gguf"));
    check_file(path.data, big, sizeof(big));
    assert_int_equal(pull(&hub, "org/repo:Q4_K_M", cache, &path, &error), STATUS_NOT_FOUND);
    assert_non_null(strstr(error.message, "Q4_K_M"));
    hub_stop(&hub);
    remove_cache(cache);
    buffer_free(&path), buffer_free(&found);
}

static void test_faults_are_survived(void **state)
{
    static const enum fault plans[][4] = {
        {CUT, CUT, FINE}, {CUT, NO_RANGE, FINE}, {BUSY, CUT, BUSY, FINE}, {WRONG, FINE},
        {TOO_LONG, FINE}, {CUT, WRONG, FINE},    {CUT, TOO_LONG, FINE},
    };
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct hub hub = {0};
        struct buffer path = {0};
        struct error error = {0};
        char cache[] = "/tmp/penstock-hub-XXXXXX", file[400];
        memcpy(hub.faults, plans[i], sizeof(plans[i]));
        assert_non_null(mkdtemp(cache));
        hub_start(&hub);
        assert_int_equal(pull(&hub, "org/repo", cache, &path, &error), STATUS_OK);
        snprintf(file, sizeof(file), "%s/model.safetensors", path.data);
        check_file(file, big, sizeof(big));
        if (plans[i][0] == CUT) assert_true(atomic_load(&hub.ranged_requests) > 0);
        hub_stop(&hub);
        remove_cache(cache);
        buffer_free(&path);
    }
}

static void test_what_cannot_be_survived_is_named(void **state)
{
    static const struct {
        enum fault always, listing;
        enum status status;
        const char *text;
    } cases[] = {
        {WRONG, FINE, STATUS_CORRUPT, "checksum"},
        {TOO_LONG, FINE, STATUS_CORRUPT, "300000"},
        {FORBIDDEN, FINE, STATUS_IO, "HTTP 403"},
        {BUSY, FINE, STATUS_IO, "HTTP 503"},
        {FINE, FORBIDDEN, STATUS_UNAUTHORIZED, "HF_TOKEN"},
        {FINE, MISSING, STATUS_NOT_FOUND, "there is no org/repo"},
        {FINE, NO_JSON, STATUS_CORRUPT, "names no commit"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct hub hub = {.always = cases[i].always, .listing = cases[i].listing};
        struct buffer path = {0};
        struct error error = {0};
        char cache[] = "/tmp/penstock-hub-XXXXXX";
        assert_non_null(mkdtemp(cache));
        hub_start(&hub);
        assert_int_equal(pull(&hub, "org/repo", cache, &path, &error), cases[i].status);
        assert_non_null(strstr(error.message, cases[i].text));
        assert_int_equal(path.len, 0);
        hub_stop(&hub);
        remove_cache(cache);
    }
}

static void test_names(void **state)
{
    assert_true(hub_is_name("Qwen/Qwen3-0.6B"));
    assert_true(hub_is_name("org/repo:Q8_0"));
    assert_false(hub_is_name("./folder"));
    assert_false(hub_is_name("/absolute/path"));
    assert_false(hub_is_name("a/b/c"));
    assert_false(hub_is_name("model.gguf"));
    assert_false(hub_is_name("tests/unit")); /* exists */
    assert_false(hub_is_name("org/repo name"));
}

int main(void)
{
    for (size_t i = 0; i < sizeof(big); i++) big[i] = (char)(i * 2654435761u >> 13);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pull_and_find),
        cmocka_unit_test(test_faults_are_survived),
        cmocka_unit_test(test_what_cannot_be_survived_is_named),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
