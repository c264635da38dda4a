/* tokenizer_json_model.c - the model and post_processor of a tokenizer.json. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_json.h"
#include "server/text/tokenizer_merges.h"

enum { AFFIX_BYTES_MAX = 64 };

static enum status read_vocab(struct tokenizer *tokenizer, yyjson_val *vocab, struct error *error)
{
    size_t i, count;
    yyjson_val *key, *value;
    if (!yyjson_is_obj(vocab))
        return json_refuse(error, "model", "vocab", vocab ? "must be an object" : "is missing");
    vocab_reserve(&tokenizer->vocab, yyjson_obj_size(vocab), yyjson_obj_size(vocab) * 10);
    yyjson_obj_foreach(vocab, i, count, key, value)
    {
        if (!yyjson_is_uint(value) || yyjson_get_uint(value) > VOCAB_ID_MAX)
            return json_refuse(error, "model", "vocab", "must map strings to token ids");
        enum status status = vocab_add(&tokenizer->vocab, (int64_t)yyjson_get_uint(value),
                                       yyjson_get_str(key), yyjson_get_len(key), error);
        if (status) return error_prefix(error, status, "model.vocab");
    }
    vocab_settle(&tokenizer->vocab);
    return STATUS_OK;
}

static enum status read_merges(struct tokenizer *tokenizer, yyjson_val *list, size_t prefix_len,
                               struct error *error)
{
    struct merge_reader reader = {
        .bpe = &tokenizer->bpe, .key = "model.merges", .prefix_len = prefix_len};
    size_t i, count;
    yyjson_val *item;
    enum status status = STATUS_OK;
    bpe_reserve(&tokenizer->bpe, yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, count, item)
    {
        yyjson_val *left = yyjson_arr_get(item, 0), *right = yyjson_arr_get(item, 1);
        if (yyjson_is_str(item)) {
            if (!strncmp(yyjson_get_str(item), "#version", 8)) continue;
            status = merges_add_line(&reader, yyjson_get_str(item), yyjson_get_len(item), error);
        } else if (yyjson_arr_size(item) == 2 && yyjson_is_str(left) && yyjson_is_str(right)) {
            status = merges_add(&reader, yyjson_get_str(left), yyjson_get_len(left),
                                yyjson_get_str(right), yyjson_get_len(right), error);
        } else {
            status = json_refuse(error, "model", "merges", "must be pairs of strings");
        }
        if (status) break;
    }
    return merges_finish(&reader, status, error);
}

static enum status read_affix(yyjson_val *model, const char *key, char **out, struct error *error)
{
    const char *text = NULL;
    size_t len = 0;
    enum status status = json_get_string(model, "model", key, &text, &len, error);
    if (status || !len) return status;
    if (len > AFFIX_BYTES_MAX || strlen(text) != len)
        return json_refuse(error, "model", key, "is too long");
    *out = strdup(text);
    CHECK(*out);
    return STATUS_OK;
}

static enum status read_bpe_options(struct tokenizer *tokenizer, yyjson_val *model,
                                    struct error *error)
{
    struct bpe *bpe = &tokenizer->bpe;
    const char *unknown = NULL;
    size_t unknown_len = 0;
    enum status status;
    yyjson_val *dropout = yyjson_obj_get(model, "dropout");
    if (dropout && !yyjson_is_null(dropout) && yyjson_get_num(dropout) != 0)
        return error_set(error, STATUS_UNSUPPORTED, "model.dropout",
                         "model.dropout is not supported: it makes encoding random");
    if ((status = json_get_bool(model, "model", "fuse_unk", &bpe->fuse_unknown, error)) ||
        (status = json_get_bool(model, "model", "byte_fallback", &bpe->byte_fallback, error)) ||
        (status = json_get_bool(model, "model", "ignore_merges", &bpe->ignore_merges, error)) ||
        (status = json_get_string(model, "model", "unk_token", &unknown, &unknown_len, error)) ||
        (status = read_affix(model, "continuing_subword_prefix", &bpe->prefix, error)) ||
        (status = read_affix(model, "end_of_word_suffix", &bpe->suffix, error)))
        return status;
    if (tokenizer->byte_level && (bpe->prefix || bpe->suffix))
        return error_set(error, STATUS_UNSUPPORTED, "model.end_of_word_suffix",
                         "a model.%s with a ByteLevel pre_tokenizer is not supported",
                         bpe->prefix ? "continuing_subword_prefix" : "end_of_word_suffix");
    bpe->unknown_id = unknown ? vocab_find(&tokenizer->vocab, unknown, unknown_len) : -1;
    bpe_fill_byte_ids(&tokenizer->vocab, tokenizer->byte_level, bpe->byte_ids);
    bool complete = tokenizer->byte_level || bpe->byte_fallback;
    for (int b = 0; b < 256 && complete; b++) complete = bpe->byte_ids[b] >= 0;
    if (unknown && bpe->unknown_id < 0 && !complete)
        return json_refuse(error, "model", "unk_token", "is not in model.vocab");
    return STATUS_OK;
}

static enum status read_bpe(struct tokenizer *tokenizer, yyjson_val *model, struct error *error)
{
    struct bpe *bpe = &tokenizer->bpe;
    yyjson_val *merges = json_need_array(model, "model", "merges", error);
    enum status status;
    if (!merges) return STATUS_INVALID;
    tokenizer->model = TOKENIZER_BPE;
    bpe->vocab = &tokenizer->vocab;
    bpe->symbols = tokenizer->byte_level ? BPE_BYTES : BPE_CHARS;
    if ((status = read_vocab(tokenizer, yyjson_obj_get(model, "vocab"), error)) ||
        (status = read_bpe_options(tokenizer, model, error)) ||
        (status = read_merges(tokenizer, merges, bpe->prefix ? strlen(bpe->prefix) : 0, error)))
        return status;
    bpe_finish(bpe);
    return STATUS_OK;
}

static enum status read_unigram_piece(struct tokenizer *tokenizer, yyjson_val *item, size_t id,
                                      struct error *error)
{
    struct unigram *unigram = &tokenizer->unigram;
    yyjson_val *text = yyjson_arr_get(item, 0), *score = yyjson_arr_get(item, 1);
    if (yyjson_arr_size(item) != 2 || !yyjson_is_str(text) || !yyjson_is_num(score))
        return json_refuse(error, "model", "vocab", "must be pairs of a string and a score");
    enum status status = vocab_add(&tokenizer->vocab, (int64_t)id, yyjson_get_str(text),
                                   yyjson_get_len(text), error);
    if (status) return error_prefix(error, status, "model.vocab");
    unigram->scores[id] = yyjson_get_num(score);
    if (unigram->scores[id] < unigram->min_score) unigram->min_score = unigram->scores[id];
    if (!trie_insert(&unigram->trie, yyjson_get_str(text), yyjson_get_len(text), (int32_t)id))
        return json_refuse(error, "model", "vocab", "takes too much room");
    return STATUS_OK;
}

static enum status read_unigram(struct tokenizer *tokenizer, yyjson_val *model, struct error *error)
{
    struct unigram *unigram = &tokenizer->unigram;
    yyjson_val *vocab = json_need_array(model, "model", "vocab", error), *item;
    size_t i, count;
    if (!vocab) return STATUS_INVALID;
    count = yyjson_arr_size(vocab);
    if (!count || count > VOCAB_ID_MAX)
        return json_refuse(error, "model", "vocab", count ? "is too large" : "is empty");
    if (tokenizer->byte_level)
        return error_set(error, STATUS_UNSUPPORTED, "pre_tokenizer",
                         "a ByteLevel pre_tokenizer with a Unigram model is not supported");
    tokenizer->model = TOKENIZER_UNIGRAM;
    unigram->vocab = &tokenizer->vocab;
    unigram->unknown_id = -1;
    unigram->min_score = 1e300;
    unigram->scores = calloc(count, sizeof(*unigram->scores));
    CHECK(unigram->scores);
    vocab_reserve(&tokenizer->vocab, count, count * 10);
    yyjson_arr_foreach(vocab, i, count, item)
    {
        enum status status = read_unigram_piece(tokenizer, item, i, error);
        if (status) return status;
    }
    yyjson_val *unknown = yyjson_obj_get(model, "unk_id");
    if (unknown && !yyjson_is_null(unknown)) {
        if (!yyjson_is_uint(unknown) || yyjson_get_uint(unknown) >= count)
            return json_refuse(error, "model", "unk_id", "is not a token id");
        unigram->unknown_id = (int32_t)yyjson_get_uint(unknown);
    }
    bpe_fill_byte_ids(&tokenizer->vocab, false, unigram->byte_ids);
    return json_get_bool(model, "model", "byte_fallback", &unigram->byte_fallback, error);
}

enum status json_read_model(struct tokenizer *tokenizer, yyjson_val *model, struct error *error)
{
    const char *type = NULL;
    enum status status = json_get_string(model, "model", "type", &type, NULL, error);
    if (status) return status;
    /* files of early versions do not name it */
    if (!type) type = yyjson_obj_get(model, "merges") ? "BPE" : "Unigram";
    if (!strcmp(type, "BPE")) return read_bpe(tokenizer, model, error);
    if (!strcmp(type, "Unigram")) return read_unigram(tokenizer, model, error);
    return json_refuse_type(error, "model", type);
}

static enum status append_id(struct tokenizer *tokenizer, yyjson_val *id, struct token_list *to,
                             struct error *error)
{
    if (!yyjson_is_uint(id) || yyjson_get_uint(id) > VOCAB_ID_MAX)
        return json_refuse(error, "post_processor", "special_tokens", "must hold token ids");
    token_list_append(to, (int32_t)yyjson_get_uint(id));
    return STATUS_OK;
}

/* TemplateProcessing: [special tokens] text [special tokens]. What it puts around goes around what
 * an earlier processor put. */
static enum status read_template(struct tokenizer *tokenizer, yyjson_val *value,
                                 struct error *error)
{
    struct token_list sides[2] = {{0}, {0}};
    yyjson_val *single = json_need_array(value, "post_processor", "single", error), *item, *id;
    yyjson_val *known = yyjson_obj_get(value, "special_tokens");
    size_t i, count, j, id_count;
    bool seen_text = false;
    enum status status = single ? STATUS_OK : STATUS_INVALID;
    yyjson_arr_foreach(single, i, count, item)
    {
        yyjson_val *name = yyjson_obj_get(yyjson_obj_get(item, "SpecialToken"), "id");
        yyjson_val *text = yyjson_obj_get(yyjson_obj_get(item, "Sequence"), "id");
        yyjson_val *token =
            yyjson_is_str(name) ? yyjson_obj_get(known, yyjson_get_str(name)) : NULL;
        yyjson_val *ids = yyjson_obj_get(token, "ids");
        if (text && !seen_text && yyjson_equals_str(text, "A")) {
            seen_text = true;
        } else if (!text && yyjson_is_arr(ids)) {
            yyjson_arr_foreach(ids, j, id_count, id)
            {
                if (!status) status = append_id(tokenizer, id, &sides[seen_text], error);
            }
        } else if (!status) {
            status = json_refuse(error, "post_processor", "single",
                                 "must be one text A among tokens of special_tokens");
        }
    }
    if (!status && !seen_text)
        status = json_refuse(error, "post_processor", "single", "has no text");
    for (int k = 0; k < tokenizer->before.count; k++)
        token_list_append(&sides[0], tokenizer->before.ids[k]);
    token_list_free(&tokenizer->before);
    tokenizer->before = sides[0];
    for (int k = 0; k < sides[1].count; k++) token_list_append(&tokenizer->after, sides[1].ids[k]);
    token_list_free(&sides[1]);
    return status;
}

/* RobertaProcessing, BertProcessing: "cls" text "sep", each a pair of a string and an id. */
static enum status read_cls_sep(struct tokenizer *tokenizer, yyjson_val *value, struct error *error)
{
    yyjson_val *cls = json_need_array(value, "post_processor", "cls", error);
    yyjson_val *sep = cls ? json_need_array(value, "post_processor", "sep", error) : NULL;
    enum status status = STATUS_INVALID;
    if (!sep || tokenizer->before.count)
        return sep ? json_refuse_type(error, "post_processor", "Sequence") : status;
    status = append_id(tokenizer, yyjson_arr_get(cls, 1), &tokenizer->before, error);
    return status ? status : append_id(tokenizer, yyjson_arr_get(sep, 1), &tokenizer->after, error);
}

enum status json_read_post_processor(struct tokenizer *tokenizer, yyjson_val *value, int depth,
                                     struct error *error)
{
    if (!value || yyjson_is_null(value)) return STATUS_OK;
    size_t len, i, count;
    const char *type = json_need_string(value, "post_processor", "type", &len, error);
    if (!type) return STATUS_INVALID;
    if (!strcmp(type, "ByteLevel")) return STATUS_OK; /* it trims offsets, which we do not give */
    if (!strcmp(type, "TemplateProcessing")) return read_template(tokenizer, value, error);
    if (!strcmp(type, "RobertaProcessing") || !strcmp(type, "BertProcessing"))
        return read_cls_sep(tokenizer, value, error);
    if (strcmp(type, "Sequence") != 0) return json_refuse_type(error, "post_processor", type);
    yyjson_val *list = json_need_array(value, "post_processor", "processors", error), *item;
    if (!list) return STATUS_INVALID;
    if (depth == JSON_DEPTH_MAX)
        return json_refuse(error, "post_processor", "processors", "is nested too deep");
    yyjson_arr_foreach(list, i, count, item)
    {
        enum status status = json_read_post_processor(tokenizer, item, depth + 1, error);
        if (status) return status;
    }
    return STATUS_OK;
}
