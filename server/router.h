/*
 * router.h - paths to handlers, API keys, CORS, the access log.
 *
 * Thread: the server thread.
 */
#ifndef SERVER_ROUTER_H
#define SERVER_ROUTER_H

#include "server/http.h"

/* Callbacks of struct http_config; `arg` is the struct server. */
void router_handle(void *arg, struct http_request *request);
void router_format_error(void *arg, int status, const char *message, struct buffer *out);
void router_finished(void *arg, const struct http_request *request, int status);

#endif
