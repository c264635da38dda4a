/*
 * stream.h - server-sent events, as OpenAI's clients read them.
 *
 * Thread: the server thread. Events are collected in a buffer first, so that what belongs to one
 * step leaves in one write.
 */
#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include "runtime/base/buffer.h"
#include "server/http.h"

void stream_begin(struct http_request *request);

/* Around the JSON of one event: stream_open, append the JSON, stream_close. */
void stream_open(struct buffer *events);
void stream_close(struct buffer *events);

void stream_done(struct buffer *events); /* data: [DONE] */

#endif
