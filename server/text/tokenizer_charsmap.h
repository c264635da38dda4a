/*
 * tokenizer_charsmap.h - SentencePiece's precompiled character map: a double-array trie of source
 * strings, each with the string that replaces it.
 *
 * Thread: any; immutable once opened. Every index into the blob is checked, so a hostile one cannot
 * reach beyond it.
 */
#ifndef SERVER_TEXT_TOKENIZER_CHARSMAP_H
#define SERVER_TEXT_TOKENIZER_CHARSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

struct charsmap { /* all zero: maps nothing */
    uint32_t *units;
    uint32_t unit_count;
    char *replacements; /* zero-terminated strings */
    size_t replacements_len;
};

/* Copies what it needs of the blob: u32 trie bytes, the trie's units, the replacements. */
enum status charsmap_open(struct charsmap *map, const void *blob, size_t len, struct error *error);

/* The longest source string that text[0..len) begins with: its length, and the replacement; 0:
 * none. */
size_t charsmap_longest(const struct charsmap *map, const char *text, size_t len,
                        const char **replacement);

/* The shortest such string, which is what tokenizer.json's Precompiled takes for a whole grapheme
 * or character. */
size_t charsmap_shortest(const struct charsmap *map, const char *text, size_t len,
                         const char **replacement);

/* Appends the text as tokenizer.json's Precompiled normaliser maps it. */
void charsmap_append(const struct charsmap *map, const char *text, size_t len, struct buffer *out);

void charsmap_close(struct charsmap *map);

#endif
