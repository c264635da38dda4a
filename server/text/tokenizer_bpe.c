/*
 * tokenizer_bpe.c - see tokenizer_bpe.h. Here: symbols, merging, the cache. The model's tables are
 * built in tokenizer_bpe_build.c.
 */
#include "server/text/tokenizer_bpe.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_bpe_pairs.h"
#include "server/text/tokenizer_unicode.h"

enum {
    UNKNOWN_SYMBOL = -2, /* BPE_SENTENCEPIECE: no token and no part of one */
    IN_PLACE_MAX = 100,  /* symbols that are merged without a heap */
    CACHE_SLOTS = 1 << 14,
    CACHED_BYTES_MAX = 31,
    CACHED_IDS_MAX = 7,
    SCRATCH_KEPT = 1 << 16, /* symbols; what a giant word needed is given back after it */
};

struct bpe_cached {
    union {
        char text[32]; /* zero-padded; the last byte is the length */
        uint64_t words[4];
    } key;
    int32_t count;
    int32_t ids[CACHED_IDS_MAX];
};

static void symbol_push(struct bpe_scratch *scratch, size_t *count, int32_t id, size_t start)
{
    if (*count == scratch->symbol_capacity) {
        size_t capacity = scratch->symbol_capacity ? 2 * scratch->symbol_capacity : 256;
        scratch->symbols = realloc(scratch->symbols, capacity * sizeof(*scratch->symbols));
        CHECK(scratch->symbols);
        scratch->symbol_capacity = capacity;
    }
    scratch->symbols[(*count)++] = (struct bpe_symbol){.id = id, .start = (uint32_t)start};
}

int32_t bpe_char_id(const struct bpe *bpe, const char *text, size_t len)
{
    const char *at = text;
    uint32_t c = utf8_next(&at);
    if (c < 0x10000) return bpe->char_ids[c];
    return bpe_symbol_find(bpe, text, len);
}

/* The id of character text[0..len) of a word with its affixes, or -1. */
static int32_t affixed_id(const struct bpe *bpe, const char *text, size_t len, bool first,
                          bool last)
{
    struct buffer whole = {0};
    if (!first && bpe->prefix) buffer_append_string(&whole, bpe->prefix);
    buffer_append(&whole, text, len);
    if (last && bpe->suffix) buffer_append_string(&whole, bpe->suffix);
    int32_t id = vocab_find(bpe->vocab, whole.data, whole.len);
    buffer_free(&whole);
    return id;
}

/* Adds an unknown symbol, or lengthens the one at the end if runs are fused. */
static void unknown_push(const struct bpe *bpe, struct bpe_scratch *scratch, size_t *count,
                         bool after_unknown, size_t start)
{
    if (bpe->unknown_id < 0 || (after_unknown && bpe->fuse_unknown)) return;
    symbol_push(scratch, count, bpe->unknown_id, start);
}

static size_t symbols_of_bytes(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word,
                               size_t len)
{
    size_t count = 0;
    bool after_unknown = false;
    for (size_t i = 0; i < len; i++) {
        int32_t id = bpe->byte_ids[(unsigned char)word[i]];
        if (id >= 0)
            symbol_push(scratch, &count, id, i);
        else
            unknown_push(bpe, scratch, &count, after_unknown, i);
        after_unknown = id < 0;
    }
    return count;
}

static bool bytes_have_ids(const struct bpe *bpe, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bpe->byte_ids[(unsigned char)text[i]] < 0) return false;
    return true;
}

static size_t symbols_of_chars(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word,
                               size_t len)
{
    size_t count = 0;
    bool after_unknown = false, affixes = bpe->prefix || bpe->suffix;
    for (size_t i = 0, n; i < len; i += n) {
        n = utf8_char_len((unsigned char)word[i]);
        int32_t id = affixes ? affixed_id(bpe, word + i, n, i == 0, i + n == len)
                             : bpe_char_id(bpe, word + i, n);
        if (id >= 0) {
            symbol_push(scratch, &count, id, i);
        } else if (bpe->byte_fallback && !affixes && bytes_have_ids(bpe, word + i, n)) {
            for (size_t b = 0; b < n; b++)
                symbol_push(scratch, &count, bpe->byte_ids[(unsigned char)word[i + b]], i + b);
        } else {
            unknown_push(bpe, scratch, &count, after_unknown, i);
            after_unknown = true;
            continue;
        }
        after_unknown = false;
    }
    return count;
}

static size_t symbols_of_sentencepiece(const struct bpe *bpe, struct bpe_scratch *scratch,
                                       const char *word, size_t len)
{
    size_t count = 0;
    for (size_t i = 0, n; i < len; i += n) {
        n = utf8_char_len((unsigned char)word[i]);
        int32_t id = bpe_char_id(bpe, word + i, n);
        symbol_push(scratch, &count, id >= 0 ? id : UNKNOWN_SYMBOL, i);
    }
    return count;
}

/* Merges up to IN_PLACE_MAX symbols by looking for the best pair again and again, until `enough`
 * are left or none merges. */
static size_t merge_in_place(const struct bpe *bpe, struct bpe_symbol *symbols, size_t count,
                             size_t enough)
{
    uint32_t ranks[IN_PLACE_MAX]; /* of symbol i with the next; UINT32_MAX: they do not merge */
    int32_t ids[IN_PLACE_MAX];    /* what they become */
    for (size_t i = 0; i + 1 < count; i++) {
        const struct bpe_pair *pair = bpe_pair_find(bpe, symbols[i].id, symbols[i + 1].id);
        ranks[i] = pair ? pair->rank : UINT32_MAX, ids[i] = pair ? pair->id : -1;
    }
    while (count > enough) {
        size_t best = 0, last = count - 1;
        for (size_t i = 1; i < last; i++) best = ranks[i] < ranks[best] ? i : best;
        if (ranks[best] == UINT32_MAX) break;
        symbols[best].id = ids[best];
        count--, last--;
        memmove(&symbols[best + 1], &symbols[best + 2], (last - best) * sizeof(*symbols));
        memmove(&ranks[best], &ranks[best + 1], (last - best) * sizeof(*ranks));
        memmove(&ids[best], &ids[best + 1], (last - best) * sizeof(*ids));
        for (size_t i = best ? best - 1 : 0; i <= best && i < last; i++) {
            const struct bpe_pair *pair = bpe_pair_find(bpe, symbols[i].id, symbols[i + 1].id);
            ranks[i] = pair ? pair->rank : UINT32_MAX, ids[i] = pair ? pair->id : -1;
        }
    }
    return count;
}

static bool comes_before(const struct bpe_candidate *a, const struct bpe_candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_sink(struct bpe_candidate *heap, size_t count, size_t at)
{
    struct bpe_candidate moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child])) child++;
        if (!comes_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void heap_append(struct bpe_scratch *scratch, const struct bpe_pair *pair, size_t at)
{
    if (scratch->heap_count == scratch->heap_capacity) {
        size_t capacity = scratch->heap_capacity ? 2 * scratch->heap_capacity : 256;
        scratch->heap = realloc(scratch->heap, capacity * sizeof(*scratch->heap));
        CHECK(scratch->heap);
        scratch->heap_capacity = capacity;
    }
    scratch->heap[scratch->heap_count++] =
        (struct bpe_candidate){pair->rank, (uint32_t)at, pair->left, pair->right, pair->id};
}

static void heap_push(const struct bpe *bpe, struct bpe_scratch *scratch, int32_t left,
                      int32_t right)
{
    if (left < 0 || right < 0) return;
    const struct bpe_pair *pair =
        bpe_pair_find(bpe, scratch->symbols[left].id, scratch->symbols[right].id);
    if (!pair) return;
    heap_append(scratch, pair, (size_t)left);
    struct bpe_candidate *heap = scratch->heap, added = heap[scratch->heap_count - 1];
    size_t at = scratch->heap_count - 1;
    for (size_t parent; at && comes_before(&added, &heap[parent = (at - 1) / 2]); at = parent)
        heap[at] = heap[parent];
    heap[at] = added;
}

/* The same for any number; the survivors are moved to the front. */
static size_t merge_over_heap(const struct bpe *bpe, struct bpe_scratch *scratch, size_t count)
{
    struct bpe_symbol *symbols = scratch->symbols;
    scratch->heap_count = 0;
    for (size_t i = 0; i < count; i++) {
        symbols[i].prev = (int32_t)i - 1;
        symbols[i].next = i + 1 < count ? (int32_t)i + 1 : -1;
        const struct bpe_pair *pair =
            i + 1 < count ? bpe_pair_find(bpe, symbols[i].id, symbols[i + 1].id) : NULL;
        if (pair) heap_append(scratch, pair, i);
    }
    for (size_t i = scratch->heap_count / 2; i-- > 0;)
        heap_sink(scratch->heap, scratch->heap_count, i);
    while (scratch->heap_count) {
        struct bpe_candidate top = scratch->heap[0];
        scratch->heap[0] = scratch->heap[--scratch->heap_count];
        if (scratch->heap_count) heap_sink(scratch->heap, scratch->heap_count, 0);
        struct bpe_symbol *left = &symbols[top.at];
        int32_t next = left->next;
        /* a symbol that was merged away has id -1; stale pairs name ids that are no more */
        if (left->id != top.left || next < 0 || symbols[next].id != top.right) continue;
        left->id = top.id;
        left->next = symbols[next].next;
        symbols[next].id = -1;
        if (left->next >= 0) symbols[left->next].prev = (int32_t)top.at;
        heap_push(bpe, scratch, left->prev, (int32_t)top.at);
        heap_push(bpe, scratch, (int32_t)top.at, left->next);
    }
    size_t kept = 0;
    for (int32_t i = 0; i >= 0;) {
        int32_t next = symbols[i].next;
        symbols[kept++] = symbols[i];
        i = next;
    }
    return kept;
}

static bool has_token(const struct bpe *bpe, int32_t symbol)
{
    return symbol >= 0 && symbol < bpe->vocab->size;
}

/* Appends a piece; an unused one as the two that it was merged from, and so on. */
static void emit_piece(const struct bpe *bpe, int32_t id, const char *text, size_t len,
                       struct token_list *out)
{
    struct bpe_symbol symbols[IN_PLACE_MAX];
    size_t count = 0;
    if (bpe->unused && bpe->unused[id])
        for (size_t i = 0; i < len; i += utf8_char_len((unsigned char)text[i])) {
            size_t n = utf8_char_len((unsigned char)text[i]);
            if (count == IN_PLACE_MAX) break;
            symbols[count++] =
                (struct bpe_symbol){bpe_char_id(bpe, text + i, n), (uint32_t)i, 0, 0};
        }
    if (count < 2 || count == IN_PLACE_MAX || merge_in_place(bpe, symbols, count, 2) != 2) {
        token_list_append(out, id);
        return;
    }
    for (int i = 0; i < 2; i++) {
        size_t end = i ? len : symbols[1].start;
        int32_t part = symbols[i].id < bpe->vocab->size ? symbols[i].id : bpe->unknown_id;
        emit_piece(bpe, part, text + symbols[i].start, end - symbols[i].start, out);
    }
}

static void emit_sentencepiece(const struct bpe *bpe, const struct bpe_symbol *symbols,
                               size_t count, const char *word, size_t len, struct token_list *out)
{
    bool after_unknown = false;
    for (size_t i = 0; i < count; i++) {
        size_t start = symbols[i].start, end = i + 1 < count ? symbols[i + 1].start : len;
        if (has_token(bpe, symbols[i].id)) {
            emit_piece(bpe, symbols[i].id, word + start, end - start, out);
            after_unknown = false;
            continue;
        }
        if (bpe->byte_fallback) {
            for (size_t b = start; b < end; b++)
                token_list_append(out, bpe->byte_ids[(unsigned char)word[b]]);
        } else if (!after_unknown && bpe->unknown_id >= 0) {
            token_list_append(out, bpe->unknown_id);
        }
        after_unknown = true;
    }
}

static void encode_uncached(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word,
                            size_t len, struct token_list *out)
{
    size_t count = bpe->symbols == BPE_BYTES   ? symbols_of_bytes(bpe, scratch, word, len)
                   : bpe->symbols == BPE_CHARS ? symbols_of_chars(bpe, scratch, word, len)
                                               : symbols_of_sentencepiece(bpe, scratch, word, len);
    if (count > IN_PLACE_MAX)
        count = merge_over_heap(bpe, scratch, count);
    else if (count > 1)
        count = merge_in_place(bpe, scratch->symbols, count, 1);
    if (bpe->symbols == BPE_SENTENCEPIECE)
        emit_sentencepiece(bpe, scratch->symbols, count, word, len, out);
    else
        for (size_t i = 0; i < count; i++) token_list_append(out, scratch->symbols[i].id);
    if (scratch->symbol_capacity > SCRATCH_KEPT || scratch->heap_capacity > SCRATCH_KEPT) {
        free(scratch->symbols), free(scratch->heap);
        scratch->symbols = NULL, scratch->heap = NULL;
        scratch->symbol_capacity = scratch->heap_capacity = 0;
    }
}

/* A piece that nothing merges into or out of. */
static void encode_piece(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word,
                         size_t len, struct token_list *out)
{
    if (len > CACHED_BYTES_MAX) {
        encode_uncached(bpe, scratch, word, len, out);
        return;
    }
    struct bpe_cached wanted = {0};
    memcpy(wanted.key.text, word, len);
    wanted.key.text[31] = (char)len;
    uint64_t *w = wanted.key.words;
    uint64_t hash = (w[0] ^ (w[1] << 23 | w[1] >> 41)) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ w[2] ^ (w[3] << 29 | w[3] >> 35)) * 0xD6E8FEB86659FD93u;
    struct bpe_cached *slot = &scratch->cache[hash >> 32 & (CACHE_SLOTS - 1)];
    if (!memcmp(&slot->key, &wanted.key, sizeof(slot->key))) {
        for (int i = 0; i < slot->count; i++) token_list_append(out, slot->ids[i]);
        return;
    }
    int before = out->count;
    encode_uncached(bpe, scratch, word, len, out);
    wanted.count = out->count - before;
    if (wanted.count > CACHED_IDS_MAX) return;
    for (int i = 0; i < wanted.count; i++) wanted.ids[i] = out->ids[before + i];
    *slot = wanted;
}

/* The end of the piece that starts at `from`: the next place that no merge crosses. */
static size_t next_cut(const struct bpe *bpe, const char *word, size_t len, size_t from)
{
    if (bpe->symbols == BPE_BYTES) {
        size_t at = from + 1;
        while (at < len &&
               bpe_crosses_bytes(bpe, (unsigned char)word[at - 1], (unsigned char)word[at]))
            at++;
        return at;
    }
    const char *at = word + from, *end = word + len;
    int32_t id = bpe_char_id(bpe, at, utf8_char_len((unsigned char)*at));
    uint32_t c = utf8_next(&at);
    while (at < end) {
        const char *after = at;
        int32_t next_id = bpe_char_id(bpe, at, utf8_char_len((unsigned char)*at));
        uint32_t next = utf8_next(&after);
        bool merges = id >= 0 && next_id >= 0 && bpe_crosses_chars(bpe, c, next);
        bool fuses = !has_token(bpe, id) && !has_token(bpe, next_id); /* into one unknown token */
        if (!merges && !fuses) break;
        at = after, c = next, id = next_id;
    }
    return (size_t)(at - word);
}

void bpe_encode(const struct bpe *bpe, struct bpe_scratch *scratch, const char *word, size_t len,
                struct token_list *out)
{
    if (!scratch->cache) {
        scratch->cache = calloc(CACHE_SLOTS, sizeof(*scratch->cache));
        CHECK(scratch->cache);
    }
    if (bpe->ignore_merges) {
        int32_t id = vocab_find(bpe->symbols == BPE_BYTES ? &bpe->words : bpe->vocab, word, len);
        if (id >= 0) {
            token_list_append(out, id);
            return;
        }
    }
    if (!bpe->cuts || (bpe->symbols == BPE_BYTES && len <= CACHED_BYTES_MAX)) {
        encode_piece(bpe, scratch, word, len, out);
        return;
    }
    for (size_t at = 0; at < len;) {
        size_t end = next_cut(bpe, word, len, at);
        encode_piece(bpe, scratch, word + at, end - at, out);
        at = end;
    }
}

void bpe_scratch_free(struct bpe_scratch *scratch)
{
    free(scratch->symbols);
    free(scratch->heap);
    free(scratch->cache);
    *scratch = (struct bpe_scratch){0};
}
