/* tokenizer_bpe_build.c - the tables of a BPE model; see tokenizer_bpe.h. Load time only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_bpe_pairs.h"
#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_unicode.h"

void bpe_reserve(struct bpe *bpe, size_t count)
{
    size_t size = 64;
    while (size < count + count / 2) size *= 2;
    bpe->pairs = malloc(size * sizeof(*bpe->pairs));
    CHECK(bpe->pairs);
    memset(bpe->pairs, 0xFF, size * sizeof(*bpe->pairs));
    bpe->pair_mask = (uint32_t)(size - 1);
}

static void pairs_grow(struct bpe *bpe)
{
    struct bpe_pair *old = bpe->pairs;
    size_t old_size = (size_t)bpe->pair_mask + 1;
    bpe_reserve(bpe, old_size);
    bpe->pair_count = 0;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].left >= 0) bpe_add_merge(bpe, old[i].left, old[i].right, old[i].rank, old[i].id);
    free(old);
}

void bpe_add_merge(struct bpe *bpe, int32_t left, int32_t right, uint32_t rank, int32_t id)
{
    if ((size_t)bpe->pair_count * 8 >= ((size_t)bpe->pair_mask + 1) * 7) pairs_grow(bpe);
    uint32_t at = bpe_pair_slot(bpe, bpe_pair_hash(left, right));
    while (bpe->pairs[at].left >= 0 &&
           (bpe->pairs[at].left != left || bpe->pairs[at].right != right))
        at = (at + 1) & bpe->pair_mask;
    if (bpe->pairs[at].left < 0) bpe->pair_count++;
    bpe->pairs[at] = (struct bpe_pair){left, right, rank, id};
}

int32_t bpe_symbol_find(const struct bpe *bpe, const char *text, size_t len)
{
    int32_t id = vocab_find(bpe->vocab, text, len);
    if (id >= 0 || !bpe->extra.size) return id;
    id = vocab_find(&bpe->extra, text, len);
    return id < 0 ? id : bpe->vocab->size + id;
}

const char *bpe_symbol_text(const struct bpe *bpe, int32_t symbol, size_t *len)
{
    return symbol < bpe->vocab->size ? vocab_text(bpe->vocab, symbol, len)
                                     : vocab_text(&bpe->extra, symbol - bpe->vocab->size, len);
}

static void fill_char_ids(struct bpe *bpe)
{
    bpe->char_ids = malloc(65536 * sizeof(*bpe->char_ids));
    CHECK(bpe->char_ids);
    memset(bpe->char_ids, 0xFF, 65536 * sizeof(*bpe->char_ids));
    for (int32_t id = bpe->vocab->size + bpe->extra.size - 1; id >= 0; id--) {
        size_t len;
        if (id < bpe->vocab->size && !vocab_has(bpe->vocab, id)) continue;
        const char *text = bpe_symbol_text(bpe, id, &len);
        if (!len || len > 3 || len != utf8_char_len((unsigned char)text[0])) continue;
        /* as the look-up by string does: the same one of several */
        int32_t found = bpe_symbol_find(bpe, text, len);
        bpe->char_ids[utf8_next(&text)] = found;
    }
}

static uint32_t last_char(const char *text, size_t len)
{
    const char *at = text + len - 1;
    while (at > text && ((unsigned char)*at & 0xC0) == 0x80) at--;
    return utf8_next(&at);
}

static void fill_byte_crossings(struct bpe *bpe)
{
    bpe->crossings = calloc(256 * 4, sizeof(*bpe->crossings));
    CHECK(bpe->crossings);
    for (size_t i = 0; i <= bpe->pair_mask; i++) {
        const struct bpe_pair *pair = &bpe->pairs[i];
        if (pair->left < 0) continue;
        size_t left_len, right_len;
        const char *left = bpe_symbol_text(bpe, pair->left, &left_len);
        const char *right = bpe_symbol_text(bpe, pair->right, &right_len);
        int before = bytelevel_byte(last_char(left, left_len));
        int after = bytelevel_byte(utf8_next(&right));
        if (before < 0 || after < 0) continue; /* not made of bytes: never met */
        bpe->crossings[before * 4 + after / 64] |= (uint64_t)1 << after % 64;
    }
}

static void fill_char_crossings(struct bpe *bpe)
{
    bpe->crossings = calloc(BPE_CROSSING_BITS / 64, sizeof(*bpe->crossings));
    CHECK(bpe->crossings);
    for (size_t i = 0; i <= bpe->pair_mask; i++) {
        const struct bpe_pair *pair = &bpe->pairs[i];
        if (pair->left < 0) continue;
        size_t left_len, right_len;
        const char *left = bpe_symbol_text(bpe, pair->left, &left_len);
        const char *right = bpe_symbol_text(bpe, pair->right, &right_len);
        uint32_t bit = bpe_crossing_bit(last_char(left, left_len), utf8_next(&right));
        bpe->crossings[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

/* Whether a symbol that stands for an unknown character takes part in a merge. Then a text may not
 * be cut beside one. */
static bool unknown_symbols_merge(const struct bpe *bpe)
{
    uint8_t *unknown = calloc(1, (size_t)bpe->vocab->size + 1);
    bool found = false;
    CHECK(unknown);
    if (bpe->unknown_id >= 0) unknown[bpe->unknown_id] = 1;
    for (int b = 0; b < 256; b++)
        if (bpe->byte_ids[b] >= 0) unknown[bpe->byte_ids[b]] = 1;
    for (size_t i = 0; i <= bpe->pair_mask && !found; i++) {
        const struct bpe_pair *pair = &bpe->pairs[i];
        found = pair->left >= 0 && ((pair->left < bpe->vocab->size && unknown[pair->left]) ||
                                    (pair->right < bpe->vocab->size && unknown[pair->right]));
    }
    free(unknown);
    return found;
}

void bpe_fill_byte_ids(const struct vocab *vocab, bool byte_level, int32_t ids[256])
{
    for (int b = 0; b < 256; b++) {
        char text[8];
        size_t len = byte_level ? utf8_encode(bytelevel_char((unsigned char)b), text)
                                : (size_t)snprintf(text, sizeof(text), "<0x%02X>", (unsigned)b);
        ids[b] = vocab_find(vocab, text, len);
    }
}

/* With ignore_merges a word is looked up as a whole: by its bytes. */
static void fill_words(struct bpe *bpe)
{
    const struct vocab *vocab = bpe->vocab;
    struct buffer bytes = {0};
    vocab_reserve(&bpe->words, (size_t)vocab->count, vocab->text.len);
    for (int32_t id = 0; id < vocab->size; id++) {
        size_t len;
        if (!vocab_has(vocab, id) || (bpe->not_words && bpe->not_words[id])) continue;
        const char *text = vocab_text(vocab, id, &len);
        buffer_clear(&bytes);
        if (!len || !bytelevel_append_bytes(&bytes, text, len)) continue;
        /* shorter than the text it comes from, whose id was accepted: it cannot be refused */
        CHECK(vocab_add(&bpe->words, id, bytes.data, bytes.len, NULL) == STATUS_OK);
    }
    bpe->not_words = NULL;
    buffer_free(&bytes);
}

static void fill_filter(struct bpe *bpe)
{
    size_t bits = 64;
    while (bits < 4 * (size_t)bpe->pair_count) bits *= 2;
    bpe->filter = calloc(bits / 64, sizeof(*bpe->filter));
    CHECK(bpe->filter);
    bpe->filter_mask = (uint32_t)(bits - 1);
    for (size_t i = 0; i <= bpe->pair_mask; i++) {
        const struct bpe_pair *pair = &bpe->pairs[i];
        if (pair->left < 0) continue;
        uint32_t bit = (uint32_t)(bpe_pair_hash(pair->left, pair->right) >> 8) & bpe->filter_mask;
        bpe->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

void bpe_finish(struct bpe *bpe)
{
    if (!bpe->pairs) bpe_reserve(bpe, 0);
    fill_filter(bpe);
    bool bytes_complete = true;
    for (int b = 0; b < 256; b++) bytes_complete = bytes_complete && bpe->byte_ids[b] >= 0;
    if (bpe->symbols == BPE_BYTES) {
        bpe->cuts = bytes_complete;
        if (bpe->ignore_merges) fill_words(bpe);
        fill_byte_crossings(bpe);
        return;
    }
    fill_char_ids(bpe);
    /* unknown characters that vanish, or become bytes only in part, let merges reach over them */
    bool simple = bpe->byte_fallback ? bytes_complete : bpe->unknown_id >= 0;
    bpe->cuts = simple && !bpe->prefix && !bpe->suffix && !unknown_symbols_merge(bpe);
    if (bpe->cuts) fill_char_crossings(bpe);
}

void bpe_free(struct bpe *bpe)
{
    free(bpe->pairs);
    free(bpe->filter);
    free(bpe->char_ids);
    free(bpe->prefix);
    free(bpe->suffix);
    free(bpe->crossings);
    free(bpe->unused);
    vocab_free(&bpe->words);
    vocab_free(&bpe->extra);
    *bpe = (struct bpe){0};
}
