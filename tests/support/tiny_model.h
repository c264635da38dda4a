/*
 * tiny_model.h - models of every family with weights by formula, as an HF directory or a GGUF file.
 *
 * Thread: its owner's. The weights follow from the family's own table, so a model is always
 * complete for its configuration; tiny_value says what any element is.
 */
#ifndef TESTS_SUPPORT_TINY_MODEL_H
#define TESTS_SUPPORT_TINY_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "runtime/base/buffer.h"
#include "runtime/family.h"

struct tiny_model {
    const char *family; /* "llama", ... */
    int hidden, layers, heads, kv_heads, head_dim, ffn, vocab;
    bool tied, attention_bias, mlp_bias;
    enum dtype dtype;  /* of matrices; vectors are F32 */
    const char *extra; /* more of config.json: "\"rope_theta\": 1e6," or NULL */
    const char *skip;  /* a weight to leave out, or NULL */
};

/* Element (row, col) of a weight in HF's order; exact in every float type. */
float tiny_value(enum weight_role role, int layer, int64_t row, int64_t col);

struct buffer tiny_config(const struct tiny_model *tiny);      /* config.json */
struct buffer tiny_safetensors(const struct tiny_model *tiny); /* float types only */
struct buffer tiny_gguf(const struct tiny_model *tiny);

/* Makes a folder in /tmp with both files of an HF model; its path. tiny_remove deletes it. */
const char *tiny_directory(const struct tiny_model *tiny, char path[64]);
void tiny_remove(const char *path);

void tiny_write_file(const char *path, const void *data, size_t bytes);

#endif
