/*
 * tokenizer_unigram.h - the unigram model: the segmentation of the highest total score.
 *
 * Thread: the model is filled by the loader and read by any; the scratch belongs to one call at a
 * time. Time is linear in the text times the length of the longest piece.
 */
#ifndef SERVER_TEXT_TOKENIZER_UNIGRAM_H
#define SERVER_TEXT_TOKENIZER_UNIGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "server/text/tokenizer.h"
#include "server/text/tokenizer_trie.h"
#include "server/text/tokenizer_vocab.h"

struct unigram {
    bool sentencepiece; /* sums in single precision, as that library does; else in double */
    const struct vocab *vocab;
    struct trie trie;      /* of the pieces that a text can be made of; values: ids */
    double *scores;        /* [vocab->size] */
    uint8_t *user_defined; /* [vocab->size] or NULL: 1: always preferred */
    double min_score, max_score;
    int32_t unknown_id;    /* -1: none */
    bool byte_fallback;    /* an unknown character becomes its bytes, if all have ids */
    int32_t byte_ids[256]; /* of "<0xXX>"; -1: none */
};

struct unigram_node; /* the best way to end at a place */

struct unigram_scratch { /* all zero: ready */
    struct unigram_node *nodes;
    size_t capacity;
};

/* Appends the ids of one pre-token, well-formed UTF-8. STATUS_INVALID if it needs an unknown token
 * and the model has none. */
enum status unigram_encode(const struct unigram *unigram, struct unigram_scratch *scratch,
                           const char *text, size_t len, struct token_list *out,
                           struct error *error);

void unigram_free(struct unigram *unigram);
void unigram_scratch_free(struct unigram_scratch *scratch);

#endif
