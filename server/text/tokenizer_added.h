/*
 * tokenizer_added.h - added tokens: strings that become their ids wherever they stand in a text,
 * before the model sees it.
 *
 * Thread: filled by the loader, read by any.
 */
#ifndef SERVER_TEXT_TOKENIZER_ADDED_H
#define SERVER_TEXT_TOKENIZER_ADDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "server/text/tokenizer_trie.h"

struct added_token {
    int32_t id;
    int order; /* of adding; filled by added_add */
    const char *content;
    size_t content_len;
    const char *normal; /* as the normaliser leaves it, if `normalized` is set; else the content */
    size_t normal_len;
    bool special;
    bool normalized;     /* looked for in the normalised text */
    bool single_word;    /* only where no word character touches it */
    bool lstrip, rstrip; /* takes the white space on that side with it */
};

struct added_tokens {
    struct added_token *items; /* [count], ascending by id after added_finish */
    int count, capacity;
    struct trie raw, normalized; /* values: index into items */
};

struct added_span {
    size_t start, len;
    int32_t id; /* -1: ordinary text */
};

/* Copies the strings into the arena. */
void added_add(struct added_tokens *added, struct arena *arena, const struct added_token *token);

/* Sorts, drops all but the last token of an id, builds the tries. */
enum status added_finish(struct added_tokens *added, struct error *error);

/* The token of an id, or NULL. */
const struct added_token *added_find_id(const struct added_tokens *added, int32_t id);
const struct added_token *added_find(const struct added_tokens *added, const char *text,
                                     size_t len);

/* The same before added_finish. */
bool added_has_id(const struct added_tokens *added, int32_t id);

/* The next span of text[0..len) from `*from` on, which moves past it; false at the end. `done` is
 * where the last span ended. Special tokens are ordinary text if `parse_special` is false. */
struct added_search {
    const struct added_tokens *added;
    const struct trie *trie;
    bool parse_special;
    const char *text;
    size_t len;
    size_t from;             /* where to look for the next match */
    size_t done;             /* spans up to here were returned */
    struct added_span token; /* found, and to be returned after the text before it */
    bool has_token;
};

bool added_next(struct added_search *search, struct added_span *span);

void added_free(struct added_tokens *added);

#endif
