/*
 * model.h - a model as its files describe it: configuration, tensors, where its tokenizer lies.
 *
 * One struct for every format (HF directory with safetensors, GGUF, the embedded default) and every
 * family. Opening reads configuration and headers only and maps the weights; executor.h loads them.
 * Thread: immutable after model_open. Memory: owned by the model until model_close.
 */
#ifndef RUNTIME_MODEL_H
#define RUNTIME_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/dtype.h"
#include "kernels/ops.h"
#include "runtime/base/status.h"

struct family;
struct gguf;
struct model;

enum rope_scaling { ROPE_PLAIN, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN, ROPE_DYNAMIC };

struct rope_config {
    enum rope_scaling scaling;
    double theta;
    int rotary_dim;
    double factor;
    double low_freq_factor, high_freq_factor;      /* llama3 */
    double beta_fast, beta_slow, attention_factor; /* yarn; attention_factor 0: from factor */
    double mscale, mscale_all_dim;                 /* yarn, 0: absent */
    bool truncate;                                 /* yarn: round the correction range */
    int original_max_position;
    const float
        *factors; /* GGUF rope_freqs.weight [rotary_dim / 2], divides the frequencies; or NULL */
};

enum { MODEL_EOS_MAX = 16 };

struct model_config {
    const char *family; /* "llama", "mistral", "qwen2", "qwen3" */
    int hidden, layer_count, heads, kv_heads, head_dim, ffn, vocab;
    float norm_eps;
    struct rope_config rope;
    int sliding_window;       /* 0: none */
    int sliding_window_start; /* layers below it attend to everything (Qwen2's max_window_layers) */
    bool tied_embeddings, qkv_bias, o_bias, mlp_bias, qk_norm;
    enum activation activation;
    int max_position;
    enum dtype dtype; /* of most weights as stored */
};

struct generation_config { /* of generation_config.json; absent ones at OpenAI's defaults */
    float temperature, top_p, min_p, repetition_penalty;
    int top_k;
    int32_t eos[MODEL_EOS_MAX];
    int eos_count;
    int32_t bos; /* -1: none */
};

/* `path`: a directory, a .gguf file (any part of a split one), or NULL for the embedded default.
 * Refuses unknown architectures, dtypes and settings by name. */
enum status model_open(const char *path, struct model **out, struct error *error);
void model_close(struct model *model);

/* After loading, weights lie packed on the device and their files' pages are only in the way. */
void model_drop_pages(const struct model *model);

/* A weight as the files hold it. */
struct model_tensor {
    const char *name; /* as in the file */
    enum dtype dtype;
    int64_t rows, cols; /* rows 1: a vector */
    const void *data;   /* dense rows; aligned to bytes only */
    bool q6_k;          /* the data are Q6_K (q6_k.h); dtype says what they are loaded as */
};

/* Bytes of one row, and of `cols` values of a row, rounded down, as the file holds them. */
int64_t model_tensor_bytes(const struct model_tensor *tensor, int64_t cols);

/* False where the files hold no such tensor, or one of an element type that we do not have. */
bool model_find_tensor(const struct model *model, const char *name, struct model_tensor *out);

const struct family *model_family(const struct model *model);
const struct model_config *model_config(const struct model *model);
const struct generation_config *model_generation(const struct model *model);
const char *model_name(const struct model *model);        /* for people: last part of the path */
const char *model_path(const struct model *model);        /* NULL: embedded */
const struct gguf *model_gguf(const struct model *model); /* NULL: an HF directory */

/* The embedded default model's bytes (a GGUF file). */
const void *model_default_data(size_t *bytes);

#endif
