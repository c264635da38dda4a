/*
 * api_error.h - the one table from enum status to HTTP, and errors as OpenAI's clients read them.
 *
 * Thread: any; pure.
 */
#ifndef SERVER_API_ERROR_H
#define SERVER_API_ERROR_H

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

int api_http_status(enum status status);

/* {"error":{"message","type","param","code"}} for a status code of HTTP; `param` NULL or "": null.
 */
void api_format_error(int http_status, const char *message, const char *param, struct buffer *out);

#endif
