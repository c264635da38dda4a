/*
 * tokenizer_decode.h - decoders: tokens in, one after the other, text out as soon as it is certain.
 *
 * Thread: a decoder is filled by the loader and read by any; a stream belongs to its caller. The
 * whole decode is the stream pushed to its end, so the two cannot differ.
 */
#ifndef SERVER_TEXT_TOKENIZER_DECODE_H
#define SERVER_TEXT_TOKENIZER_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"
#include "server/text/tokenizer_regex.h"

struct tokenizer;

enum decode_kind {
    DECODE_BYTE_LEVEL,    /* characters stand for bytes; all tokens become one text */
    DECODE_BYTE_FALLBACK, /* runs of <0xXX> become text, or U+FFFD each if they are none */
    DECODE_FUSE,          /* all tokens become one */
    DECODE_REPLACE,       /* `string` or matches of `regex`, in each token, with `content` */
    DECODE_STRIP,         /* up to `start` and `stop` times `string` (a character) off each token */
    DECODE_METASPACE,     /* `string` becomes ' ', or nothing in the first token if `drop_first` */
    DECODE_JOIN,          /* a space between tokens: what no decoder means */
    DECODE_SENTENCEPIECE, /* a tokenizer.model's own */
};

struct decode_step {
    enum decode_kind kind;
    struct tokenizer_regex *regex;
    char *string, *content;
    size_t string_len, content_len;
    int start, stop;
    bool drop_first;
    bool drop_leading_spaces; /* DECODE_SENTENCEPIECE: remove_extra_whitespaces */
};

enum { DECODE_STEP_MAX = 8 };

struct decoder {
    struct decode_step steps[DECODE_STEP_MAX];
    int count;
};

struct decode_state {
    struct buffer held; /* of the token that has not ended */
    struct buffer run;  /* bytes that may become a character */
    int64_t index;      /* tokens ended */
    int stripped;
    bool not_empty, space_seen, at_start_done; /* DECODE_SENTENCEPIECE */
};

struct decode_stream { /* all zero but for the tokenizer: ready */
    const struct tokenizer *tokenizer;
    bool skip_special;
    struct decode_state states[DECODE_STEP_MAX];
    struct tokenizer_matcher *matcher;
};

void decode_push(struct decode_stream *stream, int32_t id, struct buffer *out);
void decode_finish(struct decode_stream *stream, struct buffer *out);
void decode_stream_free(struct decode_stream *stream);

/* A new step at the end, all zero but for its kind; NULL if there are too many. */
struct decode_step *decoder_add(struct decoder *decoder, enum decode_kind kind);
void decoder_free(struct decoder *decoder);

#endif
