/*
 * tokenizer_bpe.h - byte pair encoding: a word in, ids out, by merging the pair of lowest rank
 * first (the leftmost among equals).
 *
 * Thread: the model is filled by the loader and read by any; the scratch belongs to one call at a
 * time. Time is O(n log n) in the length of a word, whatever it is: words are cut where no merge
 * can cross, short pieces come from a cache or are merged in place, long ones over a heap.
 *
 * Three kinds of symbols, one merging loop: bytes (byte-level BPE), characters with a byte fallback
 * before the merges (tokenizer.json), and characters with the fallback after them (SentencePiece).
 */
#ifndef SERVER_TEXT_TOKENIZER_BPE_H
#define SERVER_TEXT_TOKENIZER_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/text/tokenizer.h"
#include "server/text/tokenizer_vocab.h"

enum bpe_symbols { BPE_BYTES, BPE_CHARS, BPE_SENTENCEPIECE };

struct bpe_pair {
    int32_t left, right; /* left -1: empty slot */
    uint32_t rank;       /* lower merges first */
    int32_t id;          /* what they become */
};

struct bpe {
    enum bpe_symbols symbols;
    struct bpe_pair *pairs; /* [pair_mask + 1], linear probing */
    uint32_t pair_mask, pair_count;
    uint64_t *filter; /* [filter_mask + 1 bits]: a bit for each pair's hash */
    uint32_t filter_mask;
    const struct vocab *vocab;
    int32_t byte_ids[256];    /* BPE_BYTES: of the byte; else of "<0xXX>"; -1: none */
    int32_t *char_ids;        /* [65536], not for BPE_BYTES; -1: not in the vocabulary */
    bool byte_fallback;       /* an unknown character becomes its bytes, if all have ids */
    int32_t unknown_id;       /* -1: unknown characters vanish */
    bool fuse_unknown;        /* a run of them is one token */
    bool ignore_merges;       /* a word that is a token is that token */
    struct vocab words;       /* BPE_BYTES with ignore_merges: tokens by their bytes */
    const uint8_t *not_words; /* [vocab->size] or NULL, until bpe_finish: 1: none of them */
    char *prefix, *suffix;    /* continuing_subword_prefix, end_of_word_suffix; NULL: none */
    bool cuts;                /* a word may be cut where no merge crosses */
    uint64_t *crossings; /* BPE_BYTES: a bit per byte pair; else a Bloom filter of characters */
    struct vocab extra;  /* BPE_SENTENCEPIECE: characters with no token that pieces contain;
                          * extra id i is symbol vocab->size + i */
    uint8_t *unused;     /* [vocab->size] or NULL: 1: the piece falls back into its parts */
};

struct bpe_symbol {
    int32_t id;
    uint32_t start;     /* offset in the word */
    int32_t prev, next; /* -1: none; only over the heap */
};

struct bpe_candidate {
    uint32_t rank, at;
    int32_t left, right, id;
};

struct bpe_cached; /* a word and its ids: one cache line */

struct bpe_scratch { /* all zero: ready */
    struct bpe_symbol *symbols;
    size_t symbol_capacity;
    struct bpe_candidate *heap;
    size_t heap_count, heap_capacity;
    struct bpe_cached *cache;
};

/* Room for `count` merges; call once before bpe_add_merge. */
void bpe_reserve(struct bpe *bpe, size_t count);

/* A pair given again takes its last rank. Ids are symbols as above. */
void bpe_add_merge(struct bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id);

/* After all merges and flags: builds what makes encoding fast. */
void bpe_finish(struct bpe *bpe);

/* Appends the ids of one pre-token, well-formed UTF-8. */
void bpe_encode(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word, size_t len,
                struct token_list *out);

/* The ids that stand for single bytes: of the byte's character (`byte_level`), or of "<0xXX>". */
void bpe_fill_byte_ids(const struct vocab *vocab, bool byte_level, int32_t ids[256]);

/* The id of one character, or -1. Not for BPE_BYTES. */
int32_t bpe_char_id(const struct bpe *bpe, const char *text, size_t len);

void bpe_free(struct bpe *bpe);
void bpe_scratch_free(struct bpe_scratch *scratch);

#endif
