/*
 * tokenizer_vocab.h - the strings of a vocabulary and their ids, both ways.
 *
 * Thread: filled by the loader, read by any afterwards. All strings lie in one block; nothing is
 * allocated per token.
 */
#ifndef SERVER_TEXT_TOKENIZER_VOCAB_H
#define SERVER_TEXT_TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

enum {
    VOCAB_ID_MAX = (1 << 22) - 1, /* larger ids in a file are refused */
    VOCAB_TEXT_MAX = 1 << 28,     /* so is more text than this in all */
    VOCAB_NO_TOKEN = -1,
    VOCAB_WAITING_MAX = 16,
};

struct vocab_span {
    uint32_t offset, len; /* into text; offset UINT32_MAX: the id has no token */
};

struct vocab_slot {
    uint32_t hash;
    int32_t id; /* -1: empty */
};

struct vocab {
    struct buffer text;
    struct vocab_span *spans; /* [size] by id */
    int32_t size, capacity;   /* size: one more than the largest id */
    int32_t count;            /* tokens */
    struct vocab_slot *slots; /* [mask + 1], linear probing */
    uint32_t mask;
    struct vocab_slot waiting[VOCAB_WAITING_MAX]; /* not in slots yet: vocab_add_later */
    int waiting_count;
};

/* Room for `count` tokens of `bytes` in all: a hint. */
void vocab_reserve(struct vocab *vocab, size_t count, size_t bytes);

/* The id must be new; the string may repeat an earlier one, and then the earlier one is found. */
enum status vocab_add(struct vocab *vocab, int64_t id, const char *text, size_t len,
                      struct error *error);

/* The id of the string, or -1. */
int32_t vocab_find(const struct vocab *vocab, const char *text, size_t len);

/* vocab_add with the look-up table left for later: until vocab_settle the string may not be found.
 * For loading many, with the memory accesses overlapping. */
enum status vocab_add_later(struct vocab *vocab, int64_t id, const char *text, size_t len,
                            struct error *error);
void vocab_settle(struct vocab *vocab);

/* The same in two steps, so that a caller can hide the memory's latency between them. */
uint32_t vocab_hash(const char *text, size_t len);
void vocab_prefetch(const struct vocab *vocab, uint32_t hash);
/* Stage 1: of where its token's text is; 2: of the text. After vocab_prefetch has had its time. */
void vocab_prefetch_token(const struct vocab *vocab, uint32_t hash, int stage);
int32_t vocab_find_hashed(const struct vocab *vocab, uint32_t hash, const char *text, size_t len);

bool vocab_has(const struct vocab *vocab, int64_t id);

/* The string of an id that vocab_has; not zero-terminated by contract, but a zero byte follows. */
const char *vocab_text(const struct vocab *vocab, int32_t id, size_t *len);

void vocab_free(struct vocab *vocab);

#endif
