/* tokenizer_gguf.c - the tokenizer.ggml.* keys of a GGUF file. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/gguf.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_gguf_pre.h"
#include "server/text/tokenizer_merges.h"
#include "server/text/tokenizer_pieces.h"
#include "server/text/tokenizer_unicode.h"

#define KEY(name) "tokenizer.ggml." name

static enum status refuse(struct error *error, const char *key, const char *what)
{
    return error_set(error, STATUS_INVALID, key, "%s %s", key, what);
}

static enum status read_tokens(struct tokenizer *tokenizer, const struct gguf *gguf,
                               struct error *error)
{
    struct gguf_array tokens;
    struct gguf_string text;
    size_t offset = 0;
    int64_t id = 0;
    if (!gguf_get_array(gguf, KEY("tokens"), &tokens) || tokens.type != GGUF_STRING)
        return refuse(error, KEY("tokens"), "is missing or not an array of strings");
    if (!tokens.count || tokens.count > VOCAB_ID_MAX)
        return refuse(error, KEY("tokens"), "has no or too many tokens");
    vocab_reserve(&tokenizer->vocab, tokens.count, tokens.bytes);
    while (gguf_array_next_string(&tokens, &offset, &text)) {
        if (utf8_valid_len(text.data, text.len) < text.len)
            return refuse(error, KEY("tokens"), "holds a token that is not UTF-8");
        enum status status = vocab_add_later(&tokenizer->vocab, id++, text.data, text.len, error);
        if (status) return error_prefix(error, status, KEY("tokens"));
    }
    vocab_settle(&tokenizer->vocab);
    return STATUS_OK;
}

/* The types of all tokens: NORMAL where the file has none. */
static enum status read_types(const struct gguf *gguf, int32_t count, uint8_t *types,
                              struct error *error)
{
    struct gguf_array array;
    memset(types, PIECE_NORMAL, (size_t)count);
    if (!gguf_get_array(gguf, KEY("token_type"), &array)) return STATUS_OK;
    if ((array.type != GGUF_I32 && array.type != GGUF_U32) || array.count != (uint64_t)count)
        return refuse(error, KEY("token_type"), "is not a number for each token");
    for (int32_t i = 0; i < count; i++) {
        uint32_t type;
        memcpy(&type, array.data + 4 * (size_t)i, 4);
        if (type < PIECE_NORMAL || type > PIECE_BYTE)
            return refuse(error, KEY("token_type"), "holds a type that is not known");
        types[i] = (uint8_t)type;
    }
    return STATUS_OK;
}

static enum status read_scores(const struct gguf *gguf, int32_t count, float *scores,
                               struct error *error)
{
    struct gguf_array array;
    if (!gguf_get_array(gguf, KEY("scores"), &array) || array.type != GGUF_F32 ||
        array.count != (uint64_t)count)
        return refuse(error, KEY("scores"), "is not a number for each token");
    memcpy(scores, array.data, 4 * (size_t)count);
    return STATUS_OK;
}

/* The id under `key`, or -1 if there is none; files write -1 as 4294967295. */
static int32_t read_id(const struct tokenizer *tokenizer, const struct gguf *gguf, const char *key)
{
    int64_t id;
    return gguf_get_int(gguf, key, &id) && vocab_has(&tokenizer->vocab, id) ? (int32_t)id : -1;
}

static enum status read_sentencepiece(struct tokenizer *tokenizer, const struct gguf *gguf,
                                      uint8_t *types, bool unigram, struct error *error)
{
    struct gguf_array charsmap;
    int32_t count = tokenizer->vocab.size;
    struct piece_model model = {
        .types = types,
        .unigram = unigram,
        .add_dummy_prefix = true,
        .remove_extra_whitespaces = unigram,
        .escape_whitespaces = true,
        .unknown_surface = " \xE2\x81\x87 ",
        .unknown_surface_len = 5,
    };
    int32_t unknown = read_id(tokenizer, gguf, KEY("unknown_token_id"));
    if (unknown >= 0) types[unknown] = PIECE_UNKNOWN;
    int bytes = 0;
    for (int32_t id = 0; id < count; id++) bytes += types[id] == PIECE_BYTE;
    model.byte_fallback = bytes >= 256;
    gguf_get_bool(gguf, KEY("add_space_prefix"), &model.add_dummy_prefix);
    gguf_get_bool(gguf, KEY("remove_extra_whitespaces"), &model.remove_extra_whitespaces);
    if (gguf_get_array(gguf, KEY("precompiled_charsmap"), &charsmap)) {
        if (charsmap.type != GGUF_U8 && charsmap.type != GGUF_I8)
            return refuse(error, KEY("precompiled_charsmap"), "is not an array of bytes");
        model.charsmap = (const char *)charsmap.data, model.charsmap_len = charsmap.count;
    }
    model.scores = malloc(((size_t)count + 1) * sizeof(*model.scores));
    CHECK(model.scores);
    enum status status = read_scores(gguf, count, model.scores, error);
    if (!status) status = pieces_build(tokenizer, &model, error);
    free(model.scores);
    return status;
}

static enum status read_merges(struct tokenizer *tokenizer, const struct gguf *gguf,
                               struct error *error)
{
    struct merge_reader reader = {.bpe = &tokenizer->bpe, .key = KEY("merges")};
    struct gguf_array merges;
    struct gguf_string line;
    size_t offset = 0;
    enum status status = STATUS_OK;
    if (!gguf_get_array(gguf, KEY("merges"), &merges) || merges.type != GGUF_STRING)
        return refuse(error, KEY("merges"), "is missing or not an array of strings");
    bpe_reserve(&tokenizer->bpe, merges.count);
    while (!status && gguf_array_next_string(&merges, &offset, &line))
        status = merges_add_line(&reader, line.data, line.len, error);
    return merges_finish(&reader, status, error);
}

static enum status add_pre_steps(struct tokenizer *tokenizer, const struct gguf_pre_kind *kind,
                                 struct error *error)
{
    if (kind->nfc) CHECK(normalizer_add(&tokenizer->normalizer, NORMALIZE_NFC));
    for (int i = 0; i < GGUF_PRE_REGEX_MAX && kind->regexes[i]; i++) {
        struct split_step *step = &tokenizer->splitter.steps[tokenizer->splitter.count++];
        *step = (struct split_step){.kind = SPLIT_REGEX, .behavior = SPLIT_ISOLATED};
        enum status status = tokenizer_regex_compile(kind->regexes[i], strlen(kind->regexes[i]),
                                                     &step->regex, error);
        if (status) return status;
    }
    return STATUS_OK;
}

/* Control and user-defined tokens are cut out of a text before the model sees it. */
static void add_cut_tokens(struct tokenizer *tokenizer, const uint8_t *types)
{
    for (int32_t id = 0; id < tokenizer->vocab.size; id++) {
        struct added_token token = {.id = id, .special = types[id] == PIECE_CONTROL};
        if (types[id] != PIECE_CONTROL && types[id] != PIECE_USER_DEFINED) continue;
        token.content = vocab_text(&tokenizer->vocab, id, &token.content_len);
        if (token.content_len) added_add(&tokenizer->added, &tokenizer->arena, &token);
    }
}

static enum status read_byte_level(struct tokenizer *tokenizer, const struct gguf *gguf,
                                   uint8_t *types, bool *add_bos, struct error *error)
{
    struct bpe *bpe = &tokenizer->bpe;
    struct gguf_string name = {.data = "default", .len = 7};
    enum status status;
    gguf_get_string(gguf, KEY("pre"), &name);
    const struct gguf_pre *pre = gguf_pre_find(name.data, name.len);
    if (!pre)
        return error_set(error, STATUS_UNSUPPORTED, KEY("pre"),
                         KEY("pre") " '%.*s' is not supported",
                         (int)(name.len < 60 ? name.len : 60), name.data);
    tokenizer->byte_level = true;
    tokenizer->model = TOKENIZER_BPE;
    bpe->symbols = BPE_BYTES;
    bpe->vocab = &tokenizer->vocab;
    bpe->ignore_merges = pre->ignore_merges;
    *add_bos = pre->add_bos;
    add_cut_tokens(tokenizer, types);
    for (int32_t id = 0; id < tokenizer->vocab.size; id++) types[id] = types[id] != PIECE_NORMAL;
    bpe->not_words = types;
    bpe_fill_byte_ids(&tokenizer->vocab, true, bpe->byte_ids);
    bpe->unknown_id = read_id(tokenizer, gguf, KEY("unknown_token_id"));
    if ((status = add_pre_steps(tokenizer, pre->kind, error)) ||
        (status = read_merges(tokenizer, gguf, error)))
        return status;
    bpe_finish(bpe);
    CHECK(decoder_add(&tokenizer->decoder, DECODE_BYTE_LEVEL));
    return STATUS_OK;
}

static void read_templates(struct tokenizer *tokenizer, const struct gguf *gguf)
{
    struct gguf_string source, name;
    struct gguf_array list;
    size_t offset = 0;
    if (gguf_get_string(gguf, "tokenizer.chat_template", &source))
        tokenizer_add_template(tokenizer, "default", source.data, source.len);
    if (!gguf_get_array(gguf, "tokenizer.chat_templates", &list) || list.type != GGUF_STRING)
        return;
    while (gguf_array_next_string(&list, &offset, &name)) {
        struct buffer key = {0};
        buffer_append_string(&key, "tokenizer.chat_template.");
        buffer_append(&key, name.data, name.len);
        if (gguf_get_string(gguf, key.data, &source))
            tokenizer_add_template(tokenizer, key.data + strlen("tokenizer.chat_template."),
                                   source.data, source.len);
        buffer_free(&key);
    }
}

/* BOS, EOS and what goes around a text. */
static void read_around(struct tokenizer *tokenizer, const struct gguf *gguf, bool add_bos,
                        bool add_eos)
{
    size_t len;
    int32_t bos = read_id(tokenizer, gguf, KEY("bos_token_id"));
    int32_t eos = read_id(tokenizer, gguf, KEY("eos_token_id"));
    gguf_get_bool(gguf, KEY("add_bos_token"), &add_bos);
    gguf_get_bool(gguf, KEY("add_eos_token"), &add_eos);
    tokenizer->bos = bos, tokenizer->eos = eos;
    if (bos >= 0) {
        const char *text = vocab_text(&tokenizer->vocab, bos, &len);
        tokenizer_set_bos(tokenizer, text, len);
        if (add_bos) token_list_append(&tokenizer->before, bos);
    }
    if (eos >= 0) {
        const char *text = vocab_text(&tokenizer->vocab, eos, &len);
        tokenizer_set_eos(tokenizer, text, len);
        if (add_eos) token_list_append(&tokenizer->after, eos);
    }
}

static enum status read_all(struct tokenizer *tokenizer, const struct gguf *gguf, uint8_t **types,
                            struct error *error)
{
    struct gguf_string model;
    bool add_bos = true, add_eos = false;
    enum status status;
    if (!gguf_get_string(gguf, KEY("model"), &model))
        return refuse(error, KEY("model"), "is missing: the file has no tokenizer");
    if ((status = read_tokens(tokenizer, gguf, error))) return status;
    *types = malloc((size_t)tokenizer->vocab.size);
    CHECK(*types);
    if ((status = read_types(gguf, tokenizer->vocab.size, *types, error))) return status;
    if (model.len == 5 && !memcmp(model.data, "llama", 5)) {
        status = read_sentencepiece(tokenizer, gguf, *types, false, error);
    } else if (model.len == 2 && !memcmp(model.data, "t5", 2)) {
        add_bos = false, add_eos = true;
        status = read_sentencepiece(tokenizer, gguf, *types, true, error);
    } else if (model.len == 4 && !memcmp(model.data, "gpt2", 4)) {
        tokenizer->parses_special = true;
        status = read_byte_level(tokenizer, gguf, *types, &add_bos, error);
    } else {
        status = error_set(error, STATUS_UNSUPPORTED, KEY("model"),
                           KEY("model") " '%.*s' is not supported",
                           (int)(model.len < 60 ? model.len : 60), model.data);
    }
    if (status) return status;
    read_around(tokenizer, gguf, add_bos, add_eos);
    read_templates(tokenizer, gguf);
    return tokenizer_finish(tokenizer, error);
}

enum status tokenizer_load_gguf(const struct gguf *gguf, struct tokenizer **out,
                                struct error *error)
{
    struct tokenizer *tokenizer = tokenizer_create();
    uint8_t *types = NULL;
    enum status status = read_all(tokenizer, gguf, &types, error);
    free(types);
    if (status)
        tokenizer_destroy(tokenizer);
    else
        *out = tokenizer;
    return status;
}
