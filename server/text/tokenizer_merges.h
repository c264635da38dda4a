/*
 * tokenizer_merges.h - fills a BPE model with merges given as strings, in the order of their rank.
 *
 * Thread: any; used at load time only. Look-ups are made in batches so that the memory accesses
 * overlap: a vocabulary has hundreds of thousands of merges.
 */
#ifndef SERVER_TEXT_TOKENIZER_MERGES_H
#define SERVER_TEXT_TOKENIZER_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"
#include "server/text/tokenizer_bpe.h"

enum { MERGES_AT_ONCE = 16 };

struct merge_strings {
    const char *left, *right; /* the caller's, until the batch is full */
    size_t left_len, right_len;
    size_t joined, joined_len; /* in the reader's buffer */
    uint32_t hashes[3];        /* left, right, joined */
};

struct merge_reader {
    struct bpe *bpe;   /* reserved, its vocabulary filled */
    const char *key;   /* where the merges come from, for errors */
    size_t prefix_len; /* of the right part, that joining drops */
    size_t rank;       /* of the first of the batch */
    int count;
    struct merge_strings batch[MERGES_AT_ONCE];
    struct buffer joined;
};

enum status merges_add(struct merge_reader *reader, const char *left, size_t left_len,
                       const char *right, size_t right_len, struct error *error);

/* "left right". */
enum status merges_add_line(struct merge_reader *reader, const char *line, size_t len,
                            struct error *error);

/* The rest; `status` is what adding ended with, and is returned if it is an error. */
enum status merges_finish(struct merge_reader *reader, enum status status, struct error *error);

#endif
