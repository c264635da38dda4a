/*
 * tokenizer_pieces.h - builds a tokenizer from SentencePiece's pieces, whichever file they came in
 * (tokenizer.model, GGUF).
 *
 * Thread: any; used at load time only.
 */
#ifndef SERVER_TEXT_TOKENIZER_PIECES_H
#define SERVER_TEXT_TOKENIZER_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct tokenizer;

enum piece_type { /* the numbers of sentencepiece_model.proto and of tokenizer.ggml.token_type */
                  PIECE_NORMAL = 1,
                  PIECE_UNKNOWN = 2,
                  PIECE_CONTROL = 3,
                  PIECE_USER_DEFINED = 4,
                  PIECE_UNUSED = 5,
                  PIECE_BYTE = 6,
};

struct piece_model {
    uint8_t *types; /* [vocab.size] enum piece_type */
    float *scores;  /* [vocab.size] */
    bool unigram;   /* else BPE */
    bool byte_fallback;
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, whitespace_is_suffix;
    const char *charsmap; /* may be NULL */
    size_t charsmap_len;
    const char *unknown_surface; /* what an unknown token decodes to */
    size_t unknown_surface_len;
};

/* The vocabulary is filled already; makes the rest of the tokenizer but for what tokenizer_finish
 * does. */
enum status pieces_build(struct tokenizer *tokenizer, const struct piece_model *model,
                         struct error *error);

#endif
