/* stream.c - see stream.h. */
#include "server/stream.h"

void stream_begin(struct http_request *request)
{
    http_add_header(request, "Cache-Control", "no-cache");
    http_add_header(request, "X-Accel-Buffering", "no"); /* nginx would collect the events */
    http_begin(request, 200, "text/event-stream; charset=utf-8");
}

void stream_open(struct buffer *events)
{
    buffer_append(events, "data: ", 6);
}

void stream_close(struct buffer *events)
{
    buffer_append(events, "\n\n", 2);
}

void stream_done(struct buffer *events)
{
    buffer_append_string(events, "data: [DONE]\n\n");
}
