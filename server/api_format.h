/*
 * api_format.h - completions as OpenAI's JSON, whole or in pieces.
 *
 * A whole answer is the piece from the beginning to the end, so both shapes say the same, byte for
 * byte. Thread: the server thread. It reads completions and never changes them.
 */
#ifndef SERVER_API_FORMAT_H
#define SERVER_API_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "server/api_request.h"
#include "server/completion.h"

enum { API_ID_MAX = 96 };

struct api_reply { /* what all pieces of one answer share */
    const struct api_request *request;
    const struct completion *completion;
    struct tokenizer *tokenizer;
    char id[API_ID_MAX];
    int64_t created;
    const char *reasoning_parser; /* --reasoning-parser, or NULL */
};

struct api_cursor { /* how far a choice was told; zero: nothing */
    size_t text;    /* bytes */
    int tokens;
    size_t offset_chars; /* of text_offset */
    bool begun, finished;
};

/* The whole answer. */
void api_format_whole(const struct api_reply *reply, struct buffer *out);

/* What choice `index` has beyond the cursor as JSON of one chunk; false if there is nothing to
 * tell. The cursor moves on. */
bool api_format_chunk(const struct api_reply *reply, int index, struct api_cursor *cursor,
                      struct buffer *out);

/* The chunk of stream_options.include_usage: no choices, the usage of all. */
void api_format_usage_chunk(const struct api_reply *reply, struct buffer *out);

#endif
