/* tokenizer_unigram.c - see tokenizer_unigram.h. */
#include "server/text/tokenizer_unigram.h"

#include <stdlib.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_unicode.h"

enum {
    NOT_REACHED = -1,
    NODES_KEPT = 1 << 18, /* what a giant text needed beyond this is given back after it */
};

static const double UNKNOWN_PENALTY = 10.0; /* below the worst piece */

struct unigram_node {
    double score;
    int32_t id;
    int32_t start; /* where the piece that ends here starts */
};

/* The sum as the published library rounds it: SentencePiece keeps single precision. */
static double rounded(const struct unigram *unigram, double score)
{
    return unigram->sentencepiece ? (double)(float)score : score;
}

static void offer(const struct unigram *unigram, struct unigram_node *node, double score,
                  int32_t id, size_t start)
{
    score = rounded(unigram, score);
    if (node->start != NOT_REACHED && !(score > node->score)) return;
    *node = (struct unigram_node){score, id, (int32_t)start};
}

/* Offers every piece that starts at `at`; true if one of them is the single character there. */
static bool offer_pieces(const struct unigram *unigram, struct unigram_node *nodes,
                         const char *text, size_t len, size_t at)
{
    bool single = false;
    size_t char_len = utf8_char_len((unsigned char)text[at]);
    double so_far = nodes[at].score;
    uint32_t node = TRIE_ROOT;
    for (size_t end = at; end < len;) {
        node = trie_step(&unigram->trie, node, (unsigned char)text[end++]);
        if (node == TRIE_NONE) break;
        int32_t id = unigram->trie.values[node];
        if (id < 0) continue;
        double score = unigram->scores[id];
        if (unigram->user_defined && unigram->user_defined[id])
            score = (double)((float)(end - at) * (float)unigram->max_score) - 0.1;
        offer(unigram, &nodes[end], score + so_far, id, at);
        single = single || end - at == char_len;
    }
    return single;
}

static bool emit_bytes(const struct unigram *unigram, const char *text, size_t len,
                       struct token_list *out)
{
    for (size_t i = 0; i < len; i++)
        if (unigram->byte_ids[(unsigned char)text[i]] < 0) return false;
    for (size_t i = 0; i < len; i++)
        token_list_append(out, unigram->byte_ids[(unsigned char)text[i]]);
    return true;
}

/* A run of unknown characters text[0..len): its bytes, or one unknown token. */
static void emit_unknown(const struct unigram *unigram, const char *text, size_t len,
                         struct token_list *out)
{
    int32_t id = unigram->sentencepiece ? -1 : vocab_find(unigram->vocab, text, len);
    if (id >= 0)
        token_list_append(out, id); /* the library looks the run up as a whole */
    else if (!unigram->byte_fallback || !emit_bytes(unigram, text, len, out))
        token_list_append(out, unigram->unknown_id);
}

/* Turns the chain of nodes that ends at `len` into ids. The chain is first reversed in place: the
 * node at a piece's start then tells where it ends. */
static void emit(const struct unigram *unigram, struct unigram_node *nodes, const char *text,
                 size_t len, struct token_list *out)
{
    size_t at = len, end = len;
    int32_t id = -1;
    while (at > 0) {
        struct unigram_node node = nodes[at];
        nodes[at].id = id, nodes[at].start = (int32_t)end;
        end = at, at = (size_t)node.start, id = node.id;
    }
    nodes[0].id = id, nodes[0].start = (int32_t)end;
    for (at = 0; at < len; at = end) {
        id = nodes[at].id, end = (size_t)nodes[at].start;
        if (id != unigram->unknown_id) {
            token_list_append(out, id);
            continue;
        }
        while (end < len && nodes[end].id == id) end = (size_t)nodes[end].start;
        emit_unknown(unigram, text + at, end - at, out);
    }
}

enum status unigram_encode(const struct unigram *unigram, struct unigram_scratch *scratch,
                           const char *text, size_t len, struct token_list *out,
                           struct error *error)
{
    if (!len) return STATUS_OK;
    if (len + 1 > scratch->capacity) {
        free(scratch->nodes);
        scratch->capacity = 2 * len + 256;
        scratch->nodes = malloc(scratch->capacity * sizeof(*scratch->nodes));
        CHECK(scratch->nodes);
    }
    struct unigram_node *nodes = scratch->nodes;
    for (size_t i = 0; i <= len; i++) nodes[i] = (struct unigram_node){0, -1, NOT_REACHED};
    double unknown_score = rounded(unigram, unigram->min_score - UNKNOWN_PENALTY);
    for (size_t at = 0; at < len; at += utf8_char_len((unsigned char)text[at])) {
        bool single = !trie_empty(&unigram->trie) && offer_pieces(unigram, nodes, text, len, at);
        if (single) continue;
        if (unigram->unknown_id < 0)
            return error_set(error, STATUS_INVALID, "unk_id",
                             "the text has a character that this tokenizer does not know, and the "
                             "tokenizer has no unknown token");
        offer(unigram, &nodes[at + utf8_char_len((unsigned char)text[at])],
              unknown_score + nodes[at].score, unigram->unknown_id, at);
    }
    emit(unigram, nodes, text, len, out);
    if (scratch->capacity > NODES_KEPT) unigram_scratch_free(scratch);
    return STATUS_OK;
}

void unigram_free(struct unigram *unigram)
{
    trie_free(&unigram->trie);
    free(unigram->scores);
    free(unigram->user_defined);
    *unigram = (struct unigram){0};
}

void unigram_scratch_free(struct unigram_scratch *scratch)
{
    free(scratch->nodes);
    *scratch = (struct unigram_scratch){0};
}
