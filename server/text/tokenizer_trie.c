/* tokenizer_trie.c - see tokenizer_trie.h. */
#include "server/text/tokenizer_trie.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

enum { NODE_MAX = (1 << 24) - 1 }; /* so that node << 8 | byte fits; vocabularies are smaller */

static void edge_insert(struct trie *trie, uint32_t key, uint32_t child)
{
    uint32_t at = trie_slot(trie, key);
    while (trie->edges[at].child) at = (at + 1) & trie->mask;
    trie->edges[at] = (struct trie_edge){key, child};
}

static void grow(struct trie *trie)
{
    uint32_t capacity = trie->capacity ? 2 * trie->capacity : 64;
    trie->values = realloc(trie->values, (capacity + 1) * sizeof(*trie->values));
    CHECK(trie->values);
    struct trie_edge *old = trie->edges;
    uint32_t old_size = old ? trie->mask + 1 : 0;
    trie->edges = calloc(2 * (size_t)capacity, sizeof(*trie->edges));
    CHECK(trie->edges);
    trie->mask = 2 * capacity - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].child) edge_insert(trie, old[i].key, old[i].child);
    free(old);
    trie->capacity = capacity;
}

static uint32_t add_node(struct trie *trie)
{
    if (trie->node_count == trie->capacity) grow(trie);
    trie->values[++trie->node_count] = -1;
    return trie->node_count;
}

bool trie_insert(struct trie *trie, const char *text, size_t len, int32_t value)
{
    if (!len) return true;
    if (len > NODE_MAX - 1 - trie->node_count) return false;
    if (!trie->node_count) add_node(trie);
    uint32_t node = TRIE_ROOT;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        uint32_t next = trie_step(trie, node, byte);
        if (next == TRIE_NONE) {
            next = add_node(trie);
            if (node == TRIE_ROOT)
                trie->root_edges[byte] = next;
            else
                edge_insert(trie, node << 8 | byte, next);
        }
        node = next;
    }
    trie->values[node] = value;
    return true;
}

size_t trie_match(const struct trie *trie, const char *text, size_t len, int32_t *value)
{
    size_t best = 0;
    if (trie_empty(trie)) return 0;
    uint32_t node = TRIE_ROOT;
    for (size_t i = 0; i < len; i++) {
        node = trie_step(trie, node, (unsigned char)text[i]);
        if (node == TRIE_NONE) break;
        if (trie->values[node] >= 0) best = i + 1, *value = trie->values[node];
    }
    return best;
}

size_t trie_search(const struct trie *trie, const char *text, size_t len, size_t from,
                   size_t *match_len, int32_t *value)
{
    *match_len = 0;
    if (trie_empty(trie)) return len;
    for (size_t at = from; at < len; at++) {
        if (!trie->root_edges[(unsigned char)text[at]]) continue;
        *match_len = trie_match(trie, text + at, len - at, value);
        if (*match_len) return at;
    }
    return len;
}

void trie_free(struct trie *trie)
{
    free(trie->edges);
    free(trie->values);
    *trie = (struct trie){0};
}
