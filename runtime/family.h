/*
 * family.h - the one table of model families: what their weights are called, what role each plays,
 * how it is split over ranks, and what sets the families apart.
 *
 * Thread: any; constant data.
 */
#ifndef RUNTIME_FAMILY_H
#define RUNTIME_FAMILY_H

#include <stdbool.h>

#include "runtime/model.h"

enum weight_role {
    ROLE_EMBED,
    ROLE_HEAD,
    ROLE_FINAL_NORM,
    ROLE_ATTENTION_NORM,
    ROLE_Q,
    ROLE_K,
    ROLE_V,
    ROLE_O,
    ROLE_Q_BIAS,
    ROLE_K_BIAS,
    ROLE_V_BIAS,
    ROLE_O_BIAS,
    ROLE_Q_NORM,
    ROLE_K_NORM,
    ROLE_MLP_NORM,
    ROLE_GATE,
    ROLE_UP,
    ROLE_DOWN,
    ROLE_GATE_BIAS,
    ROLE_UP_BIAS,
    ROLE_DOWN_BIAS,
    ROLE_COUNT
};

enum shard_rule {
    SHARD_NONE,    /* every rank holds it whole */
    SHARD_VOCAB,   /* rows by token id, padded to equal shares */
    SHARD_HEADS,   /* rows by query head */
    SHARD_KV,      /* rows by KV head; repeated where the ranks are a multiple of the heads */
    SHARD_FFN,     /* rows by intermediate unit */
    SHARD_HEADS_K, /* columns by query head; partial sums are reduced */
    SHARD_FFN_K,   /* columns by intermediate unit; partial sums are reduced */
    SHARD_FIRST,   /* rank 0 adds it, before the reduction */
};

/* One side of a weight's shape. */
enum weight_size { SIZE_ONE, SIZE_HIDDEN, SIZE_VOCAB, SIZE_Q, SIZE_KV, SIZE_HEAD, SIZE_FFN };

enum weight_need {
    NEED_ALWAYS,
    NEED_UNTIED,
    NEED_QKV_BIAS,
    NEED_O_BIAS,
    NEED_MLP_BIAS,
    NEED_QK_NORM,
};

struct family_weight {
    const char *hf, *gguf; /* names; "%d" is the layer */
    enum shard_rule shard;
    enum weight_need need;
    enum weight_size rows, cols; /* rows SIZE_ONE: a vector */
};

enum family_window {
    WINDOW_NONE,
    WINDOW_ALL,        /* every layer, unless the configuration says null */
    WINDOW_LATE_LAYERS /* use_sliding_window, from max_window_layers on */
};

struct family {
    const char *name;
    const char *hf_architecture, *hf_model_type;
    const char *gguf_architecture; /* NULL: its GGUF files call themselves another family */
    bool qkv_bias;                 /* always, whatever the configuration says */
    bool attention_bias;           /* the configuration may ask for biases of q, k, v and o */
    bool mlp_bias;                 /* the configuration may ask for biases of the MLP */
    bool qk_norm;
    bool gguf_interleaved; /* the GGUF converter reorders rows of q and k for rotation of pairs */
    enum family_window window;
    int head_dim;                        /* where the configuration has none; 0: hidden / heads */
    int kv_heads;                        /* where the configuration has none; 0: as many as heads */
    int max_position;                    /* where the configuration has none */
    const struct family_weight *weights; /* [ROLE_COUNT] */
};

/* NULL where none is called so. */
const struct family *family_by_hf(const char *architecture, const char *model_type);
const struct family *family_by_gguf(const char *architecture);
const char *family_list(void); /* for messages: "LlamaForCausalLM, ..." */

/* Whether a model of this configuration has the weight at all. */
bool family_has(const struct family *family, const struct model_config *config,
                enum weight_role role);
bool family_in_layers(const struct family *family,
                      enum weight_role role); /* one per layer, or one */
int family_size(const struct model_config *config, enum weight_size size);

enum { FAMILY_NAME_MAX = 96 };
/* The weight's name in the files; `layer` is ignored where there is one for all. */
const char *family_weight_name(const struct family *family, enum weight_role role, bool gguf,
                               int layer, char out[FAMILY_NAME_MAX]);

#endif
