/*
 * api_text.h - /tokenize and /detokenize.
 *
 * Thread: the server thread.
 */
#ifndef SERVER_API_TEXT_H
#define SERVER_API_TEXT_H

#include "server/server.h"

/* {prompt | messages, add_special_tokens, return_token_strs} -> {count, max_model_len, tokens} */
void api_tokenize(struct server *server, struct http_request *request);
/* {tokens} -> {prompt} */
void api_detokenize(struct server *server, struct http_request *request);

#endif
