/*
 * generate.h - answers /v1/completions and /v1/chat/completions: body -> completion -> JSON or
 * events.
 *
 * Thread: the server thread; large bodies are parsed and tokenised on libuv's thread pool.
 */
#ifndef SERVER_GENERATE_H
#define SERVER_GENERATE_H

#include "server/server.h"

void generate_completion(struct server *server, struct http_request *request);
void generate_chat(struct server *server, struct http_request *request);

#endif
