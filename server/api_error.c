/* api_error.c - see api_error.h. */
#include "server/api_error.h"

#include "server/json.h"

int api_http_status(enum status status)
{
    switch (status) {
    case STATUS_OK: return 200;
    case STATUS_INVALID: return 400;
    case STATUS_UNAUTHORIZED: return 401;
    case STATUS_NOT_FOUND: return 404;
    case STATUS_TOO_LARGE: return 413;
    case STATUS_UNSUPPORTED: return 400;
    case STATUS_QUEUE_FULL: return 429;
    case STATUS_UNAVAILABLE: return 503;
    case STATUS_CANCELLED: return 499;
    case STATUS_NO_MEMORY: return 503;
    case STATUS_IO:
    case STATUS_CORRUPT:
    case STATUS_DEVICE: return 500;
    }
    return 500;
}

static const char *error_type(int http_status)
{
    switch (http_status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    case 503: return "unavailable_error";
    default: return http_status < 500 ? "invalid_request_error" : "server_error";
    }
}

void api_format_error(int http_status, const char *message, const char *param, struct buffer *out)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, root, "error");
    yyjson_mut_obj_add_strcpy(doc, error, "message", message);
    yyjson_mut_obj_add_str(doc, error, "type", error_type(http_status));
    if (param && *param)
        yyjson_mut_obj_add_strcpy(doc, error, "param", param);
    else
        yyjson_mut_obj_add_null(doc, error, "param");
    yyjson_mut_obj_add_int(doc, error, "code", http_status);
    json_write(doc, out);
}
