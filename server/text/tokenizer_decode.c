/*
 * tokenizer_decode.c - see tokenizer_decode.h.
 *
 * Each step is fed the text of tokens in chunks, each chunk whole characters, and is told where a
 * token ends; it feeds the next one likewise, and the last feeds the output.
 */
#include "server/text/tokenizer_decode.h"

#include <stdlib.h>
#include <string.h>

#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_unicode.h"

#define SPACE_SYMBOL "\xE2\x96\x81" /* U+2581 */

static void feed(struct decode_stream *stream, int at, int32_t id, const char *text, size_t len,
                 bool ends, struct buffer *out);

static void feed_next(struct decode_stream *stream, int at, const char *text, size_t len, bool ends,
                      struct buffer *out)
{
    feed(stream, at + 1, -1, text, len, ends, out);
}

/* What of state->run is certain: whole characters, and U+FFFD for what can be none any more. At the
 * end of a run (`all`) what is left is ill-formed. `single`: a U+FFFD for each byte of it, not for
 * each cut-off character. */
static void feed_run(struct decode_stream *stream, int at, bool all, bool single,
                     struct buffer *out)
{
    struct buffer *run = &stream->states[at].run;
    size_t done = 0;
    while (done < run->len) {
        bool ok, cut;
        size_t n = utf8_check_char(run->data + done, run->len - done, &ok, &cut);
        if (cut && !all) break;
        if (ok)
            feed_next(stream, at, run->data + done, n, false, out);
        else
            feed_next(stream, at, UTF8_REPLACEMENT, 3, false, out);
        done += ok || !single ? n : 1;
    }
    if (!done) return;
    memmove(run->data, run->data + done, run->len - done + 1);
    run->len -= done;
}

static void feed_byte_level(struct decode_stream *stream, int at, int32_t id, const char *text,
                            size_t len, struct buffer *out)
{
    struct decode_state *state = &stream->states[at];
    const struct tokenizer *t = stream->tokenizer;
    if (id >= 0) {
        buffer_append(&state->run, t->bytes_text.data + t->bytes[id].offset, t->bytes[id].len);
    } else if (!bytelevel_append_bytes(&state->run, text, len)) {
        buffer_append(&state->run, text, len);
    }
    /* mostly whole characters: one call for all of them */
    size_t whole = utf8_valid_len(state->run.data ? state->run.data : "", state->run.len);
    if (whole == state->run.len) {
        if (whole) feed_next(stream, at, state->run.data, whole, false, out);
        buffer_clear(&state->run);
    } else {
        feed_run(stream, at, false, false, out);
    }
}

/* The byte of a token "<0xXX>", or -1. The `tokenizers` library's parser of numbers takes a sign:
 * "<0x+A>" is a byte to it, too. */
static int byte_of_token(const char *text, size_t len)
{
    char with_zero[6];
    if (len != 6 || text[3] != '+') return bytelevel_hex_token(text, len);
    memcpy(with_zero, text, 6);
    with_zero[3] = '0';
    return bytelevel_hex_token(with_zero, 6);
}

static void end_byte_run(struct decode_stream *stream, int at, struct buffer *out)
{
    struct buffer *run = &stream->states[at].run;
    if (!run->len) return;
    if (utf8_valid_len(run->data, run->len) == run->len)
        feed_next(stream, at, run->data, run->len, true, out);
    else
        for (size_t i = 0; i < run->len; i++) feed_next(stream, at, UTF8_REPLACEMENT, 3, true, out);
    buffer_clear(run);
}

static void feed_byte_fallback(struct decode_stream *stream, int at, const char *text, size_t len,
                               struct buffer *out)
{
    int byte = byte_of_token(text, len);
    if (byte >= 0) {
        buffer_append_char(&stream->states[at].run, (char)byte);
        return;
    }
    end_byte_run(stream, at, out);
    feed_next(stream, at, text, len, true, out);
}

static void feed_replace(struct decode_stream *stream, int at, const char *text, size_t len,
                         struct buffer *out)
{
    const struct decode_step *step = &stream->tokenizer->decoder.steps[at];
    const char *end = text + len;
    size_t start, stop;
    if (step->regex && !stream->matcher) stream->matcher = tokenizer_matcher_create();
    while (text < end) {
        size_t left = (size_t)(end - text);
        if (step->regex) {
            if (tokenizer_regex_match(step->regex, stream->matcher, text, left, 0, &start, &stop) !=
                1)
                break;
            if (start == stop) break; /* an empty match: refused at load as far as can be told */
        } else {
            const char *found =
                step->string_len ? memmem(text, left, step->string, step->string_len) : NULL;
            if (!found) break;
            start = (size_t)(found - text), stop = start + step->string_len;
        }
        feed_next(stream, at, text, start, false, out);
        feed_next(stream, at, step->content, step->content_len, false, out);
        text += stop;
    }
    feed_next(stream, at, text, (size_t)(end - text), true, out);
}

static void feed_strip(struct decode_stream *stream, int at, const char *text, size_t len,
                       bool ends, struct buffer *out)
{
    const struct decode_step *step = &stream->tokenizer->decoder.steps[at];
    struct decode_state *state = &stream->states[at];
    while (state->stripped < step->start && len >= step->string_len &&
           !memcmp(text, step->string, step->string_len)) {
        text += step->string_len, len -= step->string_len;
        state->stripped++;
    }
    if (len) state->stripped = step->start;
    for (int i = 0; i < step->stop && len >= step->string_len;
         i++) { /* then the chunk is a token */
        if (memcmp(text + len - step->string_len, step->string, step->string_len)) break;
        len -= step->string_len;
    }
    feed_next(stream, at, text, len, ends, out);
    if (ends) state->stripped = 0;
}

static void feed_metaspace(struct decode_stream *stream, int at, const char *text, size_t len,
                           bool ends, struct buffer *out)
{
    const struct decode_step *step = &stream->tokenizer->decoder.steps[at];
    const char *end = text + len;
    bool drop = step->drop_first && stream->states[at].index == 0;
    for (const char *found;
         (found = memmem(text, (size_t)(end - text), step->string, step->string_len));) {
        feed_next(stream, at, text, (size_t)(found - text), false, out);
        if (!drop) feed_next(stream, at, " ", 1, false, out);
        text = found + step->string_len;
    }
    feed_next(stream, at, text, (size_t)(end - text), ends, out);
}

/* A tokenizer.model's decoder: what it drops at the start of a text depends on what came before. */
static void feed_sentencepiece(struct decode_stream *stream, int at, int32_t id, const char *text,
                               size_t len, struct buffer *out)
{
    const struct decode_step *step = &stream->tokenizer->decoder.steps[at];
    struct decode_state *state = &stream->states[at];
    uint8_t flags = stream->tokenizer->flags[id];
    if (flags & TOKEN_BYTE) {
        buffer_append_char(&state->run, (char)byte_of_token(text, len));
        state->not_empty = true;
        feed_run(stream, at, false, true, out);
        return;
    }
    feed_run(stream, at, true, true, out);
    if (state->space_seen || state->not_empty) state->at_start_done = true;
    state->space_seen = false;
    if (flags & TOKEN_CONTROL) {
        if (stream->skip_special) return;
    } else if (flags & TOKEN_UNKNOWN) {
        text = step->content, len = step->content_len;
    } else if (!state->at_start_done && step->drop_first && len >= 3 &&
               !memcmp(text, SPACE_SYMBOL, 3)) {
        text += 3, len -= 3;
        state->space_seen = !step->drop_leading_spaces;
    }
    const char *end = text + len;
    if (len) state->not_empty = true;
    for (const char *found; (found = memmem(text, (size_t)(end - text), SPACE_SYMBOL, 3));) {
        feed_next(stream, at, text, (size_t)(found - text), false, out);
        feed_next(stream, at, " ", 1, false, out);
        text = found + 3;
    }
    feed_next(stream, at, text, (size_t)(end - text), false, out);
}

/* Whether the step must see a token whole. */
static bool needs_whole(const struct decode_step *step)
{
    return step->kind == DECODE_BYTE_LEVEL || step->kind == DECODE_BYTE_FALLBACK ||
           step->kind == DECODE_REPLACE || (step->kind == DECODE_STRIP && step->stop > 0);
}

/* `id` is the token's while it is as the vocabulary has it, -1 after the first step. */
static void feed(struct decode_stream *stream, int at, int32_t id, const char *text, size_t len,
                 bool ends, struct buffer *out)
{
    const struct decoder *decoder = &stream->tokenizer->decoder;
    if (at == decoder->count) {
        buffer_append(out, text, len);
        return;
    }
    const struct decode_step *step = &decoder->steps[at];
    struct decode_state *state = &stream->states[at];
    bool held = false;
    if (needs_whole(step) && (!ends || state->held.len)) {
        buffer_append(&state->held, text, len);
        if (!ends) return;
        text = state->held.data, len = state->held.len, held = true;
    }
    switch (step->kind) {
    case DECODE_BYTE_LEVEL: feed_byte_level(stream, at, id, text, len, out); break;
    case DECODE_BYTE_FALLBACK: feed_byte_fallback(stream, at, text, len, out); break;
    case DECODE_FUSE: feed_next(stream, at, text, len, false, out); break;
    case DECODE_REPLACE: feed_replace(stream, at, text, len, out); break;
    case DECODE_STRIP: feed_strip(stream, at, text, len, ends, out); break;
    case DECODE_METASPACE: feed_metaspace(stream, at, text, len, ends, out); break;
    case DECODE_JOIN:
        if (state->index && !state->stripped) feed_next(stream, at, " ", 1, false, out);
        state->stripped = !ends; /* one space per token, however many chunks it has */
        feed_next(stream, at, text, len, ends, out);
        break;
    case DECODE_SENTENCEPIECE: feed_sentencepiece(stream, at, id, text, len, out); break;
    }
    if (held) buffer_clear(&state->held);
    if (ends) state->index++;
}

void decode_push(struct decode_stream *stream, int32_t id, struct buffer *out)
{
    const struct tokenizer *tokenizer = stream->tokenizer;
    size_t len;
    if (!tokenizer_has(tokenizer, id)) return;
    /* a tokenizer.model's decoder has its own way: what it skips still ends a run of bytes */
    bool decides =
        tokenizer->decoder.count && tokenizer->decoder.steps[0].kind == DECODE_SENTENCEPIECE;
    if (stream->skip_special && !decides && tokenizer->flags[id] & TOKEN_SPECIAL) return;
    const char *text = tokenizer_text(tokenizer, id, &len);
    feed(stream, 0, id, text, len, true, out);
}

void decode_finish(struct decode_stream *stream, struct buffer *out)
{
    const struct decoder *decoder = &stream->tokenizer->decoder;
    for (int i = 0; i < decoder->count; i++) {
        switch (decoder->steps[i].kind) {
        case DECODE_BYTE_FALLBACK: end_byte_run(stream, i, out); break;
        case DECODE_BYTE_LEVEL: feed_run(stream, i, true, false, out); break;
        case DECODE_SENTENCEPIECE: feed_run(stream, i, true, true, out); break;
        default: break;
        }
        if (decoder->steps[i].kind <= DECODE_FUSE && decoder->steps[i].kind != DECODE_BYTE_FALLBACK)
            feed_next(stream, i, "", 0, true, out); /* the one token that they made ends here */
    }
}

void decode_stream_free(struct decode_stream *stream)
{
    for (int i = 0; i < DECODE_STEP_MAX; i++) {
        buffer_free(&stream->states[i].held);
        buffer_free(&stream->states[i].run);
    }
    tokenizer_matcher_destroy(stream->matcher);
}

struct decode_step *decoder_add(struct decoder *decoder, enum decode_kind kind)
{
    if (decoder->count == DECODE_STEP_MAX) return NULL;
    struct decode_step *step = &decoder->steps[decoder->count++];
    *step = (struct decode_step){.kind = kind};
    return step;
}

void decoder_free(struct decoder *decoder)
{
    for (int i = 0; i < decoder->count; i++) {
        tokenizer_regex_destroy(decoder->steps[i].regex);
        free(decoder->steps[i].string);
        free(decoder->steps[i].content);
    }
    decoder->count = 0;
}
