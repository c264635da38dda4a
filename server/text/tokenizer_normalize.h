/*
 * tokenizer_normalize.h - normalisers: what is done to a text before it is split.
 *
 * Thread: a normalizer is filled by the loader and read by any; the scratch belongs to one call at
 * a time.
 */
#ifndef SERVER_TEXT_TOKENIZER_NORMALIZE_H
#define SERVER_TEXT_TOKENIZER_NORMALIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"
#include "server/text/tokenizer_charsmap.h"
#include "server/text/tokenizer_regex.h"
#include "server/text/tokenizer_trie.h"

enum normalize_kind {
    NORMALIZE_NFC,
    NORMALIZE_NFD,
    NORMALIZE_NFKC,
    NORMALIZE_NFKD,
    NORMALIZE_LOWERCASE,
    NORMALIZE_STRIP,         /* white space, at `left` and `right` */
    NORMALIZE_STRIP_ACCENTS, /* marks */
    NORMALIZE_NMT,           /* control characters away, odd spaces to ' ' */
    NORMALIZE_PREPEND,       /* `string` before a text that is not empty */
    NORMALIZE_REPLACE,       /* `string` or the matches of `regex` with `content` */
    NORMALIZE_CHARSMAP,      /* tokenizer.json's Precompiled */
    NORMALIZE_SENTENCEPIECE, /* all that a tokenizer.model's normalizer_spec says */
};

struct normalize_step {
    enum normalize_kind kind;
    bool left, right;
    struct tokenizer_regex *regex;
    char *string, *content;
    size_t string_len, content_len;
    struct charsmap charsmap;
    /* NORMALIZE_SENTENCEPIECE */
    bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, whitespace_is_suffix;
    struct trie user_defined; /* symbols that are left as they are */
};

enum { NORMALIZE_STEP_MAX = 16 };

struct normalizer {
    struct normalize_step *steps; /* [count] */
    int count;
};

struct normalize_scratch { /* all zero: ready */
    struct buffer text[2], twins;
    int32_t *points;
    size_t point_capacity;
    struct tokenizer_matcher *matcher;
};

/* Normalises text[0..len), well-formed UTF-8. The result is `text` itself or belongs to the scratch
 * until the next call. */
enum status normalizer_run(const struct normalizer *normalizer, struct normalize_scratch *scratch,
                           const char *text, size_t len, const char **out, size_t *out_len,
                           struct error *error);

/* A new step at the end, all zero but for its kind; NULL if there are too many. */
struct normalize_step *normalizer_add(struct normalizer *normalizer, enum normalize_kind kind);

void normalizer_free(struct normalizer *normalizer);
void normalize_scratch_free(struct normalize_scratch *scratch);

#endif
