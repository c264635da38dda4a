/* tokenizer.c - see tokenizer.h: encoding and what can be asked of a tokenizer. */
#include "server/text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_unicode.h"

enum { TEXT_BYTES_MAX = 1 << 28 }; /* of one call; offsets are 32 bits wide and texts may grow */

void token_list_append(struct token_list *list, int32_t id)
{
    if (list->count == list->capacity) {
        CHECK(list->capacity < INT32_MAX / 2);
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->ids = realloc(list->ids, (size_t)list->capacity * sizeof(*list->ids));
        CHECK(list->ids);
    }
    list->ids[list->count++] = id;
}

void token_list_free(struct token_list *list)
{
    free(list->ids);
    *list = (struct token_list){0};
}

static struct tokenizer_scratch *scratch_take(const struct tokenizer *tokenizer)
{
    /* the one thing that changes after loading, under its lock */
    struct tokenizer *owner = (struct tokenizer *)(uintptr_t)tokenizer;
    pthread_mutex_lock(&owner->lock);
    struct tokenizer_scratch *scratch = owner->idle;
    if (scratch) owner->idle = scratch->next;
    pthread_mutex_unlock(&owner->lock);
    if (scratch) return scratch;
    scratch = calloc(1, sizeof(*scratch));
    CHECK(scratch);
    return scratch;
}

static void scratch_give(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch)
{
    struct tokenizer *owner = (struct tokenizer *)(uintptr_t)tokenizer;
    pthread_mutex_lock(&owner->lock);
    scratch->next = owner->idle;
    owner->idle = scratch;
    pthread_mutex_unlock(&owner->lock);
}

static void scratch_destroy(struct tokenizer_scratch *scratch)
{
    normalize_scratch_free(&scratch->normalize);
    split_scratch_free(&scratch->split);
    bpe_scratch_free(&scratch->bpe);
    unigram_scratch_free(&scratch->unigram);
    buffer_free(&scratch->lossy);
    free(scratch);
}

static enum status encode_piece(const struct tokenizer *tokenizer,
                                struct tokenizer_scratch *scratch, const char *text, size_t len,
                                struct token_list *out, struct error *error)
{
    if (tokenizer->model == TOKENIZER_UNIGRAM)
        return unigram_encode(&tokenizer->unigram, &scratch->unigram, text, len, out, error);
    if (trie_empty(&tokenizer->user_defined)) {
        bpe_encode(&tokenizer->bpe, &scratch->bpe, text, len, out);
        return STATUS_OK;
    }
    for (size_t at = 0; at < len;) {
        size_t match_len;
        int32_t id = -1;
        size_t start = trie_search(&tokenizer->user_defined, text, len, at, &match_len, &id);
        if (start > at) bpe_encode(&tokenizer->bpe, &scratch->bpe, text + at, start - at, out);
        if (match_len) token_list_append(out, id);
        at = start + match_len;
    }
    return STATUS_OK;
}

/* A stretch of normalised text without added tokens. */
static enum status encode_plain(const struct tokenizer *tokenizer,
                                struct tokenizer_scratch *scratch, const char *text, size_t len,
                                bool at_start, struct token_list *out, struct error *error)
{
    const struct piece_list *pieces;
    const char *pieces_text;
    enum status status = splitter_run(&tokenizer->splitter, &scratch->split, text, len, at_start,
                                      &pieces_text, &pieces, error);
    for (size_t i = 0; !status && i < pieces->count; i++)
        status = encode_piece(tokenizer, scratch, pieces_text + pieces->items[i].start,
                              pieces->items[i].len, out, error);
    return status;
}

/* A stretch of the text as it was given, without the added tokens that are looked for there. */
static enum status encode_raw(const struct tokenizer *tokenizer, struct tokenizer_scratch *scratch,
                              const char *text, size_t len, bool at_start, bool parse_special,
                              struct token_list *out, struct error *error)
{
    enum status status =
        normalizer_run(&tokenizer->normalizer, &scratch->normalize, text, len, &text, &len, error);
    struct added_search search = {&tokenizer->added,
                                  &tokenizer->added.normalized,
                                  parse_special,
                                  text,
                                  len,
                                  0,
                                  0,
                                  {0},
                                  false};
    struct added_span span;
    while (!status && added_next(&search, &span)) {
        if (span.id >= 0)
            token_list_append(out, span.id);
        else
            status = encode_plain(tokenizer, scratch, text + span.start, span.len,
                                  at_start && span.start == 0, out, error);
    }
    return status;
}

static void append_all(struct token_list *out, const struct token_list *ids)
{
    for (int i = 0; i < ids->count; i++) token_list_append(out, ids->ids[i]);
}

enum status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t len,
                             bool add_special, bool parse_special, struct token_list *out,
                             struct error *error)
{
    if (len > TEXT_BYTES_MAX)
        return error_set(error, STATUS_TOO_LARGE, NULL, "the text is longer than %d bytes",
                         TEXT_BYTES_MAX);
    struct tokenizer_scratch *scratch = scratch_take(tokenizer);
    if (utf8_valid_len(text, len) < len) {
        buffer_clear(&scratch->lossy);
        utf8_append_lossy(&scratch->lossy, text, len);
        text = scratch->lossy.data, len = scratch->lossy.len;
    }
    if (add_special) append_all(out, &tokenizer->before);
    enum status status = STATUS_OK;
    struct added_search search = {
        &tokenizer->added, &tokenizer->added.raw, parse_special, text, len, 0, 0, {0}, false};
    struct added_span span;
    while (!status && added_next(&search, &span)) {
        if (span.id >= 0)
            token_list_append(out, span.id);
        else
            status = encode_raw(tokenizer, scratch, text + span.start, span.len, span.start == 0,
                                parse_special, out, error);
    }
    if (add_special) append_all(out, &tokenizer->after);
    scratch_give(tokenizer, scratch);
    return status;
}

enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, int count,
                             bool skip_special, struct buffer *out, struct error *error)
{
    for (int i = 0; i < count; i++)
        if (!tokenizer_has(tokenizer, ids[i]))
            return error_set(error, STATUS_INVALID, NULL, "token id %d is not in the vocabulary",
                             ids[i]);
    struct decode_stream stream = {.tokenizer = tokenizer, .skip_special = skip_special};
    for (int i = 0; i < count; i++) decode_push(&stream, ids[i], out);
    decode_finish(&stream, out);
    decode_stream_free(&stream);
    return STATUS_OK;
}

struct detokenizer {
    struct decode_stream stream;
};

struct detokenizer *detokenizer_create(const struct tokenizer *tokenizer, bool skip_special)
{
    struct detokenizer *detokenizer = calloc(1, sizeof(*detokenizer));
    CHECK(detokenizer);
    detokenizer->stream.tokenizer = tokenizer;
    detokenizer->stream.skip_special = skip_special;
    return detokenizer;
}

void detokenizer_push(struct detokenizer *detokenizer, int32_t id, struct buffer *out)
{
    decode_push(&detokenizer->stream, id, out);
}

void detokenizer_finish(struct detokenizer *detokenizer, struct buffer *out)
{
    decode_finish(&detokenizer->stream, out);
}

void detokenizer_destroy(struct detokenizer *detokenizer)
{
    if (!detokenizer) return;
    decode_stream_free(&detokenizer->stream);
    free(detokenizer);
}

int tokenizer_vocab_size(const struct tokenizer *tokenizer)
{
    return tokenizer->size;
}

int32_t tokenizer_bos(const struct tokenizer *tokenizer)
{
    return tokenizer->bos;
}

int32_t tokenizer_eos(const struct tokenizer *tokenizer)
{
    return tokenizer->eos;
}

const char *tokenizer_bos_text(const struct tokenizer *tokenizer)
{
    return tokenizer->bos_text;
}

const char *tokenizer_eos_text(const struct tokenizer *tokenizer)
{
    return tokenizer->eos_text;
}

bool tokenizer_parses_special(const struct tokenizer *tokenizer)
{
    return tokenizer->parses_special;
}

bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id)
{
    return id >= 0 && id < tokenizer->size && tokenizer->flags[id] & TOKEN_SPECIAL;
}

int32_t tokenizer_find(const struct tokenizer *tokenizer, const char *token)
{
    size_t len = strlen(token);
    const struct added_token *added = added_find(&tokenizer->added, token, len);
    return added ? added->id : vocab_find(&tokenizer->vocab, token, len);
}

bool tokenizer_has(const struct tokenizer *tokenizer, int64_t id)
{
    return id >= 0 && id < tokenizer->size &&
           (tokenizer->flags[id] & TOKEN_ADDED || vocab_has(&tokenizer->vocab, id));
}

const char *tokenizer_text(const struct tokenizer *tokenizer, int32_t id, size_t *len)
{
    if (!(tokenizer->flags[id] & TOKEN_ADDED)) return vocab_text(&tokenizer->vocab, id, len);
    const struct added_token *added = added_find_id(&tokenizer->added, id);
    *len = added->normal_len;
    return added->normal;
}

const char *tokenizer_token_bytes(const struct tokenizer *tokenizer, int32_t id, size_t *len)
{
    if (!tokenizer_has(tokenizer, id)) return NULL;
    *len = tokenizer->bytes[id].len;
    return tokenizer->bytes_text.data + tokenizer->bytes[id].offset;
}

const char *tokenizer_chat_template(const struct tokenizer *tokenizer, const char *name)
{
    for (const struct template_source *t = tokenizer->templates; t; t = t->next)
        if (!strcmp(t->name, name ? name : "default")) return t->source;
    return NULL;
}

void tokenizer_destroy(struct tokenizer *tokenizer)
{
    if (!tokenizer) return;
    for (struct tokenizer_scratch *next; tokenizer->idle; tokenizer->idle = next) {
        next = tokenizer->idle->next;
        scratch_destroy(tokenizer->idle);
    }
    vocab_free(&tokenizer->vocab);
    added_free(&tokenizer->added);
    free(tokenizer->flags);
    normalizer_free(&tokenizer->normalizer);
    splitter_free(&tokenizer->splitter);
    bpe_free(&tokenizer->bpe);
    unigram_free(&tokenizer->unigram);
    trie_free(&tokenizer->user_defined);
    token_list_free(&tokenizer->before);
    token_list_free(&tokenizer->after);
    decoder_free(&tokenizer->decoder);
    free(tokenizer->bytes);
    buffer_free(&tokenizer->bytes_text);
    arena_free(&tokenizer->arena);
    pthread_mutex_destroy(&tokenizer->lock);
    free(tokenizer);
}
