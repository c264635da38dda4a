/* api_info.c - see api_info.h. */
#include "server/api_info.h"

#include <stdio.h>
#include <string.h>

#include "server/json.h"
#include "server/metrics.h"
#include "server/openapi.h"

static void respond_text_status(struct http_request *request, const char *text)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_strcpy(doc, root, "status", text);
    server_respond_json(request, doc);
}

void api_health(struct server *server, struct http_request *request)
{
    respond_text_status(request, "ok");
}

void api_ready(struct server *server, struct http_request *request)
{
    struct error error;
    if (server_check_ready(server, &error))
        server_respond_error(request, &error);
    else
        respond_text_status(request, "ready");
}

void api_version(struct server *server, struct http_request *request)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "version", PENSTOCK_VERSION);
    server_respond_json(request, doc);
}

void api_metrics(struct server *server, struct http_request *request)
{
    struct buffer body = {0};
    metrics_write(server->metrics, server->service, &body);
    http_respond(request, 200, "text/plain; version=0.0.4; charset=utf-8", body.data, body.len);
    buffer_free(&body);
}

void api_openapi(struct server *server, struct http_request *request)
{
    http_respond(request, 200, "application/json", openapi_json, openapi_json_len);
}

static void add_model(const struct server *server, yyjson_mut_doc *doc, yyjson_mut_val *object,
                      const char *name)
{
    const char *path = server->options->model;
    yyjson_mut_obj_add_strcpy(doc, object, "id", name);
    yyjson_mut_obj_add_str(doc, object, "object", "model");
    yyjson_mut_obj_add_int(doc, object, "created", server->started_unix_s);
    yyjson_mut_obj_add_str(doc, object, "owned_by", "penstock");
    yyjson_mut_obj_add_str(doc, object, "root", path ? path : "default");
    yyjson_mut_obj_add_null(doc, object, "parent");
    if (server->service)
        yyjson_mut_obj_add_int(doc, object, "max_model_len", server->service->max_model_len);
    else
        yyjson_mut_obj_add_null(doc, object, "max_model_len");
}

void api_models(struct server *server, struct http_request *request)
{
    const struct option_list *names = &server->options->served_model_names;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "object", "list");
    yyjson_mut_val *data = yyjson_mut_obj_add_arr(doc, root, "data");
    for (int i = 0; i < (names->count ? names->count : 1); i++)
        add_model(server, doc, yyjson_mut_arr_add_obj(doc, data),
                  names->count ? names->items[i] : service_model_name(server->options));
    server_respond_json(request, doc);
}

/* Undoes %2F and the like, which clients put into names with slashes. */
static void percent_decode(const char *text, char *out, size_t size)
{
    size_t len = 0;
    for (; *text && len + 1 < size; text++) {
        unsigned code;
        bool coded = *text == '%' && sscanf(text + 1, "%2x", &code) == 1 && text[1] && text[2];
        out[len++] = coded ? (char)code : *text;
        if (coded) text += 2;
    }
    out[len] = 0;
}

void api_model(struct server *server, struct http_request *request)
{
    char name[512];
    percent_decode(request->path + strlen("/v1/models/"), name, sizeof(name));
    if (!service_serves(server->options, name)) {
        struct error error;
        error_set(&error, STATUS_NOT_FOUND, "model", "The model `%.200s` does not exist", name);
        server_respond_error(request, &error);
        return;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    add_model(server, doc, root, name);
    server_respond_json(request, doc);
}
