/* tokenizer_pieces.c - see tokenizer_pieces.h. */
#include "server/text/tokenizer_pieces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_bpe_pairs.h"
#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_unicode.h"

enum { PIECE_BYTES_MAX = 1024 }; /* every way to cut a piece in two is looked up */

struct ranked {
    float score;
    int32_t id;
};

/* Whether a text can become the piece. */
static bool is_ordinary(uint8_t type)
{
    return type == PIECE_NORMAL || type == PIECE_USER_DEFINED || type == PIECE_UNUSED;
}

static bool is_one_char(const char *text, size_t len)
{
    return len == utf8_char_len((unsigned char)text[0]);
}

static int compare_scores(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The symbol for a part of a piece: a piece itself, or a character with none; -1: no merge makes
 * it. */
static int32_t part_symbol(struct bpe *bpe, const uint8_t *types, const char *text, size_t len)
{
    int32_t id = vocab_find(bpe->vocab, text, len);
    if (id >= 0 && is_ordinary(types[id])) return id;
    if (!is_one_char(text, len)) return -1;
    id = vocab_find(&bpe->extra, text, len);
    if (id >= 0) return bpe->vocab->size + id;
    id = bpe->extra.size;
    return vocab_add(&bpe->extra, id, text, len, NULL) ? -1 : bpe->vocab->size + id;
}

static void add_piece_merges(struct bpe *bpe, const uint8_t *types, int32_t id, uint32_t rank)
{
    size_t len;
    const char *text = vocab_text(bpe->vocab, id, &len);
    for (size_t cut = 0; cut < len;) {
        cut += utf8_char_len((unsigned char)text[cut]);
        if (cut >= len) break;
        int32_t left = part_symbol(bpe, types, text, cut);
        if (left < 0) continue;
        int32_t right = part_symbol(bpe, types, text + cut, len - cut);
        if (right >= 0) bpe_add_merge(bpe, left, right, rank, id);
    }
}

/* SentencePiece joins the neighbours whose string has the highest score: merges by rank of score,
 * equal scores sharing a rank. */
static void build_bpe(struct tokenizer *tokenizer, const struct piece_model *model)
{
    struct bpe *bpe = &tokenizer->bpe;
    int32_t size = tokenizer->vocab.size, count = 0;
    struct ranked *order = malloc(((size_t)size + 1) * sizeof(*order));
    CHECK(order);
    for (int32_t id = 0; id < size; id++)
        if (is_ordinary(model->types[id])) order[count++] = (struct ranked){model->scores[id], id};
    qsort(order, (size_t)count, sizeof(*order), compare_scores);
    bpe_reserve(bpe, 3 * (size_t)count);
    uint32_t rank = 0;
    for (int32_t i = 0; i < count; i++) {
        if (i && order[i].score != order[i - 1].score) rank++;
        add_piece_merges(bpe, model->types, order[i].id, rank);
        if (model->types[order[i].id] != PIECE_UNUSED) continue;
        if (!bpe->unused) bpe->unused = calloc(1, (size_t)size);
        CHECK(bpe->unused);
        bpe->unused[order[i].id] = 1;
    }
    free(order);
    bpe_finish(bpe);
}

static enum status build_unigram(struct tokenizer *tokenizer, const struct piece_model *model,
                                 struct error *error)
{
    struct unigram *unigram = &tokenizer->unigram;
    int32_t size = tokenizer->vocab.size;
    float min = INFINITY, max = 0x1p-126F; /* the library starts its maximum there */
    unigram->sentencepiece = true;
    unigram->scores = calloc((size_t)size + 1, sizeof(*unigram->scores));
    unigram->user_defined = calloc(1, (size_t)size + 1);
    CHECK(unigram->scores && unigram->user_defined);
    for (int32_t id = 0; id < size; id++) {
        unigram->scores[id] = model->scores[id];
        unigram->user_defined[id] = model->types[id] == PIECE_USER_DEFINED;
        if (model->types[id] == PIECE_NORMAL) {
            if (model->scores[id] < min) min = model->scores[id];
            if (model->scores[id] > max) max = model->scores[id];
        }
        size_t len;
        const char *text = vocab_text(&tokenizer->vocab, id, &len);
        if ((model->types[id] == PIECE_NORMAL || model->types[id] == PIECE_USER_DEFINED) &&
            !trie_insert(&unigram->trie, text, len, id))
            return error_set(error, STATUS_TOO_LARGE, "pieces", "pieces take too much room");
    }
    unigram->min_score = min, unigram->max_score = max;
    return STATUS_OK;
}

/* Flags, byte pieces, user-defined pieces, control pieces as special tokens. */
static enum status classify(struct tokenizer *tokenizer, const struct piece_model *model,
                            int32_t byte_ids[256], int32_t *unknown, struct trie *user_defined,
                            struct error *error)
{
    memset(byte_ids, 0xFF, 256 * sizeof(*byte_ids));
    *unknown = -1;
    tokenizer->flags = calloc(1, (size_t)tokenizer->vocab.size + 1);
    CHECK(tokenizer->flags);
    for (int32_t id = 0; id < tokenizer->vocab.size; id++) {
        size_t len;
        int byte;
        const char *text = vocab_text(&tokenizer->vocab, id, &len);
        if (isnan(model->scores[id]) || !len || len > PIECE_BYTES_MAX ||
            utf8_valid_len(text, len) < len)
            return error_set(error, STATUS_INVALID, "pieces", "piece %d is %s", id,
                             len ? "ill-formed" : "empty");
        switch (model->types[id]) {
        case PIECE_UNKNOWN:
            tokenizer->flags[id] = TOKEN_UNKNOWN;
            *unknown = id;
            break;
        case PIECE_CONTROL: {
            struct added_token token = {
                .id = id, .content = text, .content_len = len, .special = true};
            tokenizer->flags[id] = TOKEN_CONTROL | TOKEN_SPECIAL;
            added_add(&tokenizer->added, &tokenizer->arena, &token);
            break;
        }
        case PIECE_BYTE:
            if ((byte = bytelevel_hex_token(text, len)) < 0)
                return error_set(error, STATUS_INVALID, "pieces",
                                 "piece %d is of type BYTE and not <0xXX>", id);
            tokenizer->flags[id] = TOKEN_BYTE;
            byte_ids[byte] = id;
            break;
        case PIECE_USER_DEFINED:
            if (!trie_insert(user_defined, text, len, id))
                return error_set(error, STATUS_TOO_LARGE, "pieces", "pieces take too much room");
            break;
        default: break;
        }
    }
    return STATUS_OK;
}

static enum status add_steps(struct tokenizer *tokenizer, const struct piece_model *model,
                             const struct trie *user_defined, struct error *error)
{
    struct normalize_step *step = normalizer_add(&tokenizer->normalizer, NORMALIZE_SENTENCEPIECE);
    struct decode_step *decode = decoder_add(&tokenizer->decoder, DECODE_SENTENCEPIECE);
    CHECK(step && decode);
    step->user_defined = *user_defined;
    step->add_dummy_prefix = model->add_dummy_prefix;
    step->remove_extra_whitespaces = model->remove_extra_whitespaces;
    step->escape_whitespaces = model->escape_whitespaces;
    step->whitespace_is_suffix = model->whitespace_is_suffix;
    decode->content = malloc(model->unknown_surface_len + 1);
    CHECK(decode->content);
    memcpy(decode->content, model->unknown_surface, model->unknown_surface_len);
    decode->content_len = model->unknown_surface_len;
    decode->drop_first = model->add_dummy_prefix || model->remove_extra_whitespaces;
    decode->drop_leading_spaces = model->remove_extra_whitespaces;
    if (!model->charsmap) return STATUS_OK;
    return charsmap_open(&step->charsmap, model->charsmap, model->charsmap_len, error);
}

/* A second trie of the same strings: one belongs to the normaliser, one to the model. */
static void insert_user_defined(struct tokenizer *tokenizer, const struct piece_model *model)
{
    for (int32_t id = 0; id < tokenizer->vocab.size; id++) {
        size_t len;
        const char *text = vocab_text(&tokenizer->vocab, id, &len);
        if (model->types[id] == PIECE_USER_DEFINED)
            CHECK(trie_insert(&tokenizer->user_defined, text, len, id)); /* it did the first time */
    }
}

enum status pieces_build(struct tokenizer *tokenizer, const struct piece_model *model,
                         struct error *error)
{
    struct trie user_defined = {0};
    int32_t byte_ids[256], unknown;
    enum status status = classify(tokenizer, model, byte_ids, &unknown, &user_defined, error);
    if (!status && utf8_valid_len(model->unknown_surface, model->unknown_surface_len) <
                       model->unknown_surface_len)
        status = error_set(error, STATUS_CORRUPT, "unk_surface", "unk_surface is not UTF-8");
    if (!status && unknown < 0)
        status = error_set(error, STATUS_INVALID, "pieces", "no piece is of type UNKNOWN");
    for (int b = 0; b < 256 && !status && model->byte_fallback; b++)
        if (byte_ids[b] < 0)
            status = error_set(error, STATUS_INVALID, "byte_fallback",
                               "byte_fallback is set and there is no piece <0x%02X>", (unsigned)b);
    if (status) {
        trie_free(&user_defined);
        return status;
    }
    if ((status = add_steps(tokenizer, model, &user_defined, error))) return status;
    if (model->unigram) {
        struct unigram *unigram = &tokenizer->unigram;
        tokenizer->model = TOKENIZER_UNIGRAM;
        unigram->vocab = &tokenizer->vocab;
        unigram->unknown_id = unknown;
        unigram->byte_fallback = model->byte_fallback;
        memcpy(unigram->byte_ids, byte_ids, sizeof(byte_ids));
        return build_unigram(tokenizer, model, error);
    }
    struct bpe *bpe = &tokenizer->bpe;
    tokenizer->model = TOKENIZER_BPE;
    bpe->symbols = BPE_SENTENCEPIECE;
    bpe->vocab = &tokenizer->vocab;
    bpe->unknown_id = unknown;
    bpe->fuse_unknown = true;
    bpe->byte_fallback = model->byte_fallback;
    memcpy(bpe->byte_ids, byte_ids, sizeof(byte_ids));
    insert_user_defined(tokenizer, model);
    build_bpe(tokenizer, model);
    return STATUS_OK;
}
