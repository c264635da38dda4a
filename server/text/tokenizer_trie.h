/*
 * tokenizer_trie.h - byte strings that are looked for in a text: added tokens, user-defined
 * symbols, the pieces of a unigram vocabulary.
 *
 * Thread: filled by the loader, read by any afterwards. An edge is one slot of a hash table, so a
 * step costs one probe whatever the fan-out.
 */
#ifndef SERVER_TEXT_TOKENIZER_TRIE_H
#define SERVER_TEXT_TOKENIZER_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trie_edge {
    uint32_t key;   /* node << 8 | byte */
    uint32_t child; /* 0: empty slot; the root is 1 */
};

struct trie {
    struct trie_edge *edges; /* [mask + 1] */
    uint32_t mask;
    uint32_t node_count; /* nodes are 1..node_count */
    uint32_t capacity;
    int32_t *values;          /* [capacity + 1] by node; -1: no string ends here */
    uint32_t root_edges[256]; /* the child of the root, 0: none */
};

enum { TRIE_ROOT = 1, TRIE_NONE = 0 };

/* An empty string is ignored; a string given twice keeps its last value. False: the trie is full
 * (16 million nodes). */
bool trie_insert(struct trie *trie, const char *text, size_t len, int32_t value);

static inline uint32_t trie_slot(const struct trie *trie, uint32_t key)
{
    return (key * 0x9E3779B1u) >> 7 & trie->mask;
}

/* The node after `byte`, or TRIE_NONE. The trie must not be empty. */
static inline uint32_t trie_step(const struct trie *trie, uint32_t node, unsigned char byte)
{
    if (node == TRIE_ROOT) return trie->root_edges[byte];
    uint32_t key = node << 8 | byte;
    for (uint32_t at = trie_slot(trie, key);; at = (at + 1) & trie->mask) {
        if (!trie->edges[at].child) return TRIE_NONE;
        if (trie->edges[at].key == key) return trie->edges[at].child;
    }
}

static inline bool trie_empty(const struct trie *trie)
{
    return trie->node_count <= 1;
}

/* The longest string of the trie that text[0..len) begins with: its length and value; 0 if none. */
size_t trie_match(const struct trie *trie, const char *text, size_t len, int32_t *value);

/* The first position at or after `from` where a string of the trie begins (the longest one there);
 * its length in `*match_len`. Returns `len` if there is none. */
size_t trie_search(const struct trie *trie, const char *text, size_t len, size_t from,
                   size_t *match_len, int32_t *value);

void trie_free(struct trie *trie);

#endif
