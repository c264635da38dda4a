/*
 * tokenizer_gguf_pre.h - what the names in tokenizer.ggml.pre stand for.
 *
 * Thread: any; constant tables.
 */
#ifndef SERVER_TEXT_TOKENIZER_GGUF_PRE_H
#define SERVER_TEXT_TOKENIZER_GGUF_PRE_H

#include <stdbool.h>
#include <stddef.h>

enum { GGUF_PRE_REGEX_MAX = 5 };

struct gguf_pre_kind {
    const char *regexes[GGUF_PRE_REGEX_MAX]; /* applied one after the other; NULL: no more */
    bool nfc; /* the published tokenizer normalises first; a GGUF file does not say so */
};

struct gguf_pre {
    const char *name;
    const struct gguf_pre_kind *kind;
    bool ignore_merges;
    bool add_bos; /* unless tokenizer.ggml.add_bos_token says otherwise */
};

/* NULL: not known. */
const struct gguf_pre *gguf_pre_find(const char *name, size_t len);

#endif
