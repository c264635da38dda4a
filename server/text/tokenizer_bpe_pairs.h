/*
 * tokenizer_bpe_pairs.h - the look-ups in a BPE model's tables that the merging loop lives on.
 *
 * Thread: any; the tables no longer change.
 */
#ifndef SERVER_TEXT_TOKENIZER_BPE_PAIRS_H
#define SERVER_TEXT_TOKENIZER_BPE_PAIRS_H

#include "server/text/tokenizer_bpe.h"

enum { BPE_CROSSING_BITS = 1 << 22 }; /* of the Bloom filter of character pairs: 512 KiB */

static inline uint64_t bpe_pair_hash(int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    key *= 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
    return key * 0xD6E8FEB86659FD93u;
}

static inline uint32_t bpe_pair_slot(const struct bpe *bpe, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & bpe->pair_mask;
}

static inline void bpe_prefetch_pair(const struct bpe *bpe, int32_t left, int32_t right)
{
    __builtin_prefetch(&bpe->pairs[bpe_pair_slot(bpe, bpe_pair_hash(left, right))]);
}

/* NULL if the two do not merge. Most do not, and the filter mostly says so: it fits into a core's
 * own cache, the table of a large vocabulary does not. */
static inline const struct bpe_pair *bpe_pair_find(const struct bpe *bpe, int32_t left,
                                                   int32_t right)
{
    uint64_t hash = bpe_pair_hash(left, right);
    uint32_t bit = (uint32_t)(hash >> 8) & bpe->filter_mask;
    if (!(bpe->filter[bit / 64] >> bit % 64 & 1)) return NULL;
    for (uint32_t at = bpe_pair_slot(bpe, hash);; at = (at + 1) & bpe->pair_mask) {
        const struct bpe_pair *pair = &bpe->pairs[at];
        if (pair->left == left && pair->right == right) return pair;
        if (pair->left < 0) return NULL;
    }
}

static inline bool bpe_crosses_bytes(const struct bpe *bpe, unsigned char left, unsigned char right)
{
    return bpe->crossings[left * 4 + right / 64] >> right % 64 & 1;
}

static inline uint32_t bpe_crossing_bit(uint32_t left, uint32_t right)
{
    uint64_t key = ((uint64_t)left << 21 | right) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(key >> 40) & (BPE_CROSSING_BITS - 1);
}

/* True also for a few pairs that no merge crosses: they are just not cut. */
static inline bool bpe_crosses_chars(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    uint32_t bit = bpe_crossing_bit(left, right);
    return bpe->crossings[bit / 64] >> bit % 64 & 1;
}

/* The symbol of a string: a token, or an extra character; -1: none. */
int32_t bpe_symbol_find(const struct bpe *bpe, const char *text, size_t len);

/* The string of a symbol. */
const char *bpe_symbol_text(const struct bpe *bpe, int32_t symbol, size_t *len);

#endif
