/* router.c - see router.h. */
#include "server/router.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "server/api_error.h"
#include "server/api_info.h"
#include "server/api_text.h"
#include "server/generate.h"
#include "server/metrics.h"
#include "server/server.h"

struct route {
    const char *method, *path;
    void (*handle)(struct server *server, struct http_request *request);
    bool guarded; /* wants an API key, where the server has any */
    bool working; /* wants the model: 503 while loading or draining */
};

static const struct route routes[] = {
    {"GET", "/health", api_health, false, false},
    {"GET", "/ping", api_health, false, false},
    {"GET", "/ready", api_ready, false, false},
    {"GET", "/version", api_version, false, false},
    {"GET", "/metrics", api_metrics, false, false},
    {"GET", "/openapi.json", api_openapi, false, false},
    {"GET", "/v1/models", api_models, true, false},
    {"POST", "/v1/completions", generate_completion, true, true},
    {"POST", "/v1/chat/completions", generate_chat, true, true},
    {"POST", "/tokenize", api_tokenize, true, true},
    {"POST", "/detokenize", api_detokenize, true, true},
};
enum { ROUTE_COUNT = sizeof(routes) / sizeof(*routes) };

/* Routes of other servers that people will try: refused by name. */
static const struct {
    const char *path, *reason;
} absent[] = {
    {"/v1/embeddings", "embeddings are not supported yet"},
    {"/v1/responses", "the responses API is not supported yet; use /v1/chat/completions"},
    {"/v1/messages", "the messages API is not supported yet; use /v1/chat/completions"},
    {"/v1/rerank", "reranking is not supported"},
    {"/v1/score", "scoring is not supported"},
    {"/v1/audio/transcriptions", "only text goes in and out"},
    {"/v1/load_lora_adapter", "LoRA adapters are not supported"},
};

static void respond_status(struct http_request *request, int status, const char *message)
{
    struct buffer body = {0};
    api_format_error(status, message, NULL, &body);
    http_respond(request, status, "application/json", body.data, body.len);
    buffer_free(&body);
}

/* ---- API keys ---- */

static bool key_matches(const struct options *options, const char *given)
{
    size_t len = strlen(given);
    bool fits = false;
    /* All keys are compared in full, so that the time says nothing about which bytes were right. */
    for (int i = 0; i < options->api_keys.count; i++) {
        const char *key = options->api_keys.items[i];
        if (strlen(key) == len && !CRYPTO_memcmp(key, given, len)) fits = true;
    }
    return fits;
}

static bool authorized(const struct server *server, const struct http_request *request)
{
    if (!server->options->api_keys.count) return true;
    const char *header = http_header(request, "authorization");
    if (!header || strncasecmp(header, "Bearer ", 7)) return false;
    header += 7;
    while (*header == ' ') header++;
    return key_matches(server->options, header);
}

/* ---- CORS ---- */

static bool list_has(const struct option_list *list, const char *word)
{
    for (int i = 0; i < list->count; i++)
        if (!strcmp(list->items[i], "*") || !strcasecmp(list->items[i], word)) return true;
    return false;
}

static bool list_is_any(const struct option_list *list)
{
    return list->count == 1 && !strcmp(list->items[0], "*");
}

static void add_origin(const struct server *server, struct http_request *request,
                       const char *origin)
{
    const struct options *options = server->options;
    bool any = list_is_any(&options->allowed_origins) && !options->allow_credentials;
    http_add_header(request, "Access-Control-Allow-Origin", any ? "*" : origin);
    if (!any) http_add_header(request, "Vary", "Origin");
    if (options->allow_credentials)
        http_add_header(request, "Access-Control-Allow-Credentials", "true");
}

static void add_list(struct http_request *request, const char *name, const struct option_list *list,
                     const char *if_any)
{
    struct buffer value = {0};
    for (int i = 0; i < list->count; i++)
        buffer_printf(&value, "%s%s", i ? ", " : "", list->items[i]);
    http_add_header(request, name, list_is_any(list) || !value.len ? if_any : value.data);
    buffer_free(&value);
}

static void respond_preflight(const struct server *server, struct http_request *request,
                              bool origin_allowed)
{
    const struct options *options = server->options;
    const char *method = http_header(request, "access-control-request-method");
    const char *headers = http_header(request, "access-control-request-headers");
    if (!origin_allowed || !list_has(&options->allowed_methods, method)) {
        respond_status(request, 400,
                       origin_allowed ? "this method is not among --allowed-methods"
                                      : "this origin is not among --allowed-origins");
        return;
    }
    add_list(request, "Access-Control-Allow-Methods", &options->allowed_methods,
             "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
    add_list(request, "Access-Control-Allow-Headers", &options->allowed_headers,
             headers ? headers : "*");
    http_add_header(request, "Access-Control-Max-Age", "600");
    http_respond(request, 200, "text/plain", "OK", 2);
}

/* ---- routes ---- */

static const struct route *find_route(const char *method, const char *path, bool *path_known)
{
    *path_known = false;
    if (!strcmp(method, "HEAD")) method = "GET";
    for (int i = 0; i < ROUTE_COUNT; i++) {
        if (strcmp(routes[i].path, path)) continue;
        *path_known = true;
        if (!strcmp(routes[i].method, method)) return &routes[i];
    }
    static const struct route one_model = {"GET", "/v1/models/", api_model, true, false};
    if (strncmp(path, one_model.path, strlen(one_model.path))) return NULL;
    *path_known = true;
    return !strcmp(method, "GET") ? &one_model : NULL;
}

static void add_allow(struct http_request *request)
{
    char methods[64] = "OPTIONS";
    for (int i = 0; i < ROUTE_COUNT; i++)
        if (!strcmp(routes[i].path, request->path))
            snprintf(methods, sizeof(methods), "%s, OPTIONS",
                     strcmp(routes[i].method, "GET") ? routes[i].method : "GET, HEAD");
    http_add_header(request, "Allow", methods);
}

static void respond_unrouted(struct http_request *request, bool path_known)
{
    char message[256];
    if (!strcmp(request->method, "OPTIONS") && path_known) {
        add_allow(request);
        http_respond(request, 204, NULL, NULL, 0);
        return;
    }
    if (path_known) {
        add_allow(request);
        snprintf(message, sizeof(message), "%s does not take %s", request->path, request->method);
        respond_status(request, 405, message);
        return;
    }
    for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
        if (!strcmp(absent[i].path, request->path)) {
            respond_status(request, 404, absent[i].reason);
            return;
        }
    snprintf(message, sizeof(message), "there is no %.150s here; /openapi.json lists what there is",
             request->path);
    respond_status(request, 404, message);
}

void router_handle(void *arg, struct http_request *request)
{
    struct server *server = arg;
    const char *origin = http_header(request, "origin");
    const char *id = http_header(request, "x-request-id");
    bool origin_allowed = origin && list_has(&server->options->allowed_origins, origin);
    bool path_known;
    struct error error;
    if (id) http_add_header(request, "X-Request-Id", id);
    if (origin_allowed) add_origin(server, request, origin);
    if (origin && !strcmp(request->method, "OPTIONS") &&
        http_header(request, "access-control-request-method")) {
        respond_preflight(server, request, origin_allowed);
        return;
    }
    const struct route *route = find_route(request->method, request->path, &path_known);
    bool guarded = route ? route->guarded : !strncmp(request->path, "/v1", 3);
    if (guarded && strcmp(request->method, "OPTIONS") && !authorized(server, request)) {
        http_add_header(request, "WWW-Authenticate", "Bearer");
        respond_status(request, 401,
                       "this server wants an API key: send 'Authorization: Bearer KEY'");
    } else if (!route) {
        respond_unrouted(request, path_known);
    } else if (route->working && server_check_open(server, &error)) {
        server_respond_error(request, &error);
    } else {
        route->handle(server, request);
    }
}

void router_format_error(void *arg, int status, const char *message, struct buffer *out)
{
    api_format_error(status, message, NULL, out);
}

void router_finished(void *arg, const struct http_request *request, int status)
{
    struct server *server = arg;
    metrics_http_finished(server->metrics, status);
    if (!server->options->access_log) return;
    log_info("http", "%s %s %d %.1f ms", request->method, request->path, status,
             (double)(clock_ns() - request->received_ns) / 1e6);
}
