/* tokenizer_sentencepiece.c - reads a tokenizer.model (sentencepiece_model.proto). */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_pieces.h"
#include "server/text/tokenizer_protobuf.h"

enum { MODEL_UNIGRAM = 1, MODEL_BPE = 2 };

struct model_file {
    struct piece_model model;
    size_t capacity;
    int model_type;
    const char *bos, *eos;
    size_t bos_len, eos_len;
};

static enum status broken(struct error *error, const char *key)
{
    return error_set(error, STATUS_CORRUPT, key,
                     "it is not a SentencePiece model: its %s cannot be read", key);
}

static enum status read_piece(struct tokenizer *tokenizer, struct model_file *file,
                              const char *data, size_t len, struct error *error)
{
    struct protobuf_reader reader = protobuf_open(data, len);
    const char *text = NULL;
    size_t text_len = 0, id = (size_t)tokenizer->vocab.size;
    float score = 0;
    uint64_t type = PIECE_NORMAL;
    while (protobuf_next(&reader)) {
        if (reader.field == 1 && reader.wire == 2) text = reader.data, text_len = reader.len;
        if (reader.field == 2 && reader.wire == 5) score = protobuf_float(&reader);
        if (reader.field == 3 && reader.wire == 0) type = reader.number;
    }
    if (reader.broken || !text || type < PIECE_NORMAL || type > PIECE_BYTE)
        return broken(error, "pieces");
    if (id == file->capacity) {
        file->capacity = file->capacity ? 2 * file->capacity : 4096;
        file->model.types = realloc(file->model.types, file->capacity);
        file->model.scores =
            realloc(file->model.scores, file->capacity * sizeof(*file->model.scores));
        CHECK(file->model.types && file->model.scores);
    }
    file->model.types[id] = (uint8_t)type;
    file->model.scores[id] = score;
    enum status status = vocab_add(&tokenizer->vocab, (int64_t)id, text, text_len, error);
    return status ? error_prefix(error, status, "pieces") : STATUS_OK;
}

static enum status read_trainer(struct model_file *file, const char *data, size_t len,
                                struct error *error)
{
    struct protobuf_reader reader = protobuf_open(data, len);
    while (protobuf_next(&reader)) {
        switch (reader.field) {
        case 3: file->model_type = (int)reader.number; break;
        case 24: file->model.whitespace_is_suffix = reader.number != 0; break;
        case 35: file->model.byte_fallback = reader.number != 0; break;
        case 44:
        case 46:
        case 47:
            if (reader.wire != 2) return broken(error, "trainer_spec");
            if (reader.field == 44)
                file->model.unknown_surface = reader.data,
                file->model.unknown_surface_len = reader.len;
            else if (reader.field == 46)
                file->bos = reader.data, file->bos_len = reader.len;
            else
                file->eos = reader.data, file->eos_len = reader.len;
            break;
        default: break;
        }
    }
    return reader.broken ? broken(error, "trainer_spec") : STATUS_OK;
}

static enum status read_normalizer(struct model_file *file, const char *data, size_t len,
                                   struct error *error)
{
    struct protobuf_reader reader = protobuf_open(data, len);
    while (protobuf_next(&reader)) {
        switch (reader.field) {
        case 2:
            if (reader.wire != 2) return broken(error, "normalizer_spec");
            file->model.charsmap = reader.data, file->model.charsmap_len = reader.len;
            break;
        case 3: file->model.add_dummy_prefix = reader.number != 0; break;
        case 4: file->model.remove_extra_whitespaces = reader.number != 0; break;
        case 5: file->model.escape_whitespaces = reader.number != 0; break;
        default: break;
        }
    }
    return reader.broken ? broken(error, "normalizer_spec") : STATUS_OK;
}

static enum status check_denormalizer(const char *data, size_t len, struct error *error)
{
    struct protobuf_reader reader = protobuf_open(data, len);
    while (protobuf_next(&reader))
        if (reader.field == 2 && reader.wire == 2 && reader.len)
            return error_set(error, STATUS_UNSUPPORTED, "denormalizer_spec",
                             "denormalizer_spec with a precompiled_charsmap is not supported");
    return reader.broken ? broken(error, "denormalizer_spec") : STATUS_OK;
}

static enum status read_message(struct tokenizer *tokenizer, struct model_file *file,
                                const char *data, size_t len, struct error *error)
{
    struct protobuf_reader reader = protobuf_open(data, len);
    enum status status = STATUS_OK;
    while (!status && protobuf_next(&reader)) {
        if (reader.wire != 2) continue;
        switch (reader.field) {
        case 1: status = read_piece(tokenizer, file, reader.data, reader.len, error); break;
        case 2: status = read_trainer(file, reader.data, reader.len, error); break;
        case 3: status = read_normalizer(file, reader.data, reader.len, error); break;
        case 5: status = check_denormalizer(reader.data, reader.len, error); break;
        default: break;
        }
    }
    if (!status && (reader.broken || !tokenizer->vocab.size)) return broken(error, "pieces");
    return status;
}

/* A token that the model names for the purpose, if it is a control piece of it. */
static bool names_control(const struct tokenizer *tokenizer, const char *text, size_t len)
{
    int32_t id = vocab_find(&tokenizer->vocab, text, len);
    return id >= 0 && tokenizer->flags[id] & TOKEN_CONTROL;
}

enum status tokenizer_read_sentencepiece(struct tokenizer *tokenizer, const char *data, size_t len,
                                         struct error *error)
{
    static const char unknown_surface[] = " \xE2\x81\x87 ";
    struct model_file file = {
        .model = {.add_dummy_prefix = true,
                  .remove_extra_whitespaces = true,
                  .escape_whitespaces = true,
                  .unknown_surface = unknown_surface,
                  .unknown_surface_len = sizeof(unknown_surface) - 1},
        .model_type = MODEL_UNIGRAM,
        .bos = "<s>",
        .bos_len = 3,
        .eos = "</s>",
        .eos_len = 4,
    };
    enum status status = read_message(tokenizer, &file, data, len, error);
    if (!status && file.model_type != MODEL_UNIGRAM && file.model_type != MODEL_BPE)
        status = error_set(error, STATUS_UNSUPPORTED, "trainer_spec.model_type",
                           "trainer_spec.model_type %d is not supported: only unigram and BPE are",
                           file.model_type);
    file.model.unigram = file.model_type == MODEL_UNIGRAM;
    if (!status) status = pieces_build(tokenizer, &file.model, error);
    if (!status && names_control(tokenizer, file.bos, file.bos_len))
        tokenizer_set_bos(tokenizer, file.bos, file.bos_len);
    if (!status && names_control(tokenizer, file.eos, file.eos_len))
        tokenizer_set_eos(tokenizer, file.eos, file.eos_len);
    free(file.model.types);
    free(file.model.scores);
    tokenizer->sentencepiece = true;
    return status;
}
