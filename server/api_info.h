/*
 * api_info.h - what the server says about itself: health, readiness, models, version, metrics,
 * OpenAPI.
 *
 * Thread: the server thread.
 */
#ifndef SERVER_API_INFO_H
#define SERVER_API_INFO_H

#include "server/server.h"

void api_health(struct server *server, struct http_request *request);
void api_ready(struct server *server, struct http_request *request);
void api_version(struct server *server, struct http_request *request);
void api_metrics(struct server *server, struct http_request *request);
void api_openapi(struct server *server, struct http_request *request);
void api_models(struct server *server, struct http_request *request);
void api_model(struct server *server, struct http_request *request); /* /v1/models/NAME */

#endif
