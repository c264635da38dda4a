/*
 * ops.h - the coarse, already fused operations that a model's program is made of.
 *
 * A program is built once at load (runtime/program.h) and is the only forward pass of a family:
 * every backend runs the same array of ops. Activations live in numbered buffers that the device
 * allocates from the program's buffer table: [tokens][cols] for BUFFER_PER_TOKEN, [logits
 * rows][cols] for BUFFER_PER_LOGITS, in the device's activation type (float32 on the CPU).
 *
 * T tokens in the batch, L rows of logits, H query heads, G KV heads, d head size - all of this
 * rank's shard. Thread: programs are immutable after building.
 *
 * Families still to come extend this list and change none of it: OP_MOE (router, grouped linear,
 * weighted sum), OP_MLA_*, OP_GATED_DELTA_NET; FP8, GPTQ, AWQ and further GGUF blocks are weight
 * dtypes.
 */
#ifndef KERNELS_OPS_H
#define KERNELS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/dtype.h"

struct weight; /* device-owned; created by device_ops.weight_create */

enum { BUFFER_NONE = -1, BUFFERS_MAX = 16 };
enum buffer_extent { BUFFER_PER_TOKEN, BUFFER_PER_LOGITS };

struct program_buffer {
    const char *name; /* static */
    enum buffer_extent extent;
    int cols;
};

enum op_kind {
    OP_EMBED,      /* out[T][cols] = table[token] * scale; 0 for ids outside this rank's shard */
    OP_ROPE_TABLE, /* out[T][rotary_dim] = cos | sin halves of position * inv_freq, by `scale` */
    OP_NORM,       /* residual += in (if in is given); out = rmsnorm(residual) * weight */
    OP_LINEAR,     /* out[T][n] = in[T][k] W^T + bias */
    OP_ROPE_KV,    /* in[T][(H + 2G) d]: rmsnorm of q and k heads, rotation, k and v to pages */
    OP_ATTENTION,  /* out[T][H d] = causal attention of in's q heads over the KV pages */
    OP_MLP_ACT,    /* out[T][n] = act(in[T][0..n)) * in[T][n..2n) */
    OP_ALL_REDUCE, /* buffer `out`, sum over ranks, in rank order */
    OP_LOGITS,     /* out[L][vocab shard] = in[rows that want logits] W^T, then softcap if not 0 */
    OP_ALL_GATHER, /* out[L][vocab] = in[L][vocab shard] of all ranks, by rank */
    OP_SAMPLE,     /* logits `in`[L][cols] -> results, the slots' last token and history */
    OP_KIND_COUNT
};

enum activation { ACTIVATION_SILU, ACTIVATION_GELU_TANH };

struct op {
    enum op_kind kind;
    int layer;        /* for traces; -1 outside the layers */
    const char *name; /* static, for traces: "qkv", "down", ... */
    int8_t in, out;   /* buffer numbers; BUFFER_NONE */
    union {
        struct {
            struct weight *table;
            float scale;
            int32_t vocab_start; /* id of the table's row 0 */
        } embed;
        struct {
            const float *inv_freq; /* [rotary_dim / 2], owned by the program */
            int rotary_dim;
            float scale; /* YaRN's attention factor; 1 else */
        } rope_table;
        struct {
            struct weight *weight; /* [cols] */
            int8_t residual;
            float eps;
            int cols;
        } norm;
        struct {
            struct weight *weight; /* [n][k] */
            struct weight *bias;   /* [n] or NULL */
        } linear;
        struct {
            struct weight *q_norm, *k_norm; /* [d] or NULL */
            float eps;
            int8_t table;     /* buffer of OP_ROPE_TABLE */
            bool interleaved; /* pairs (2i, 2i + 1) instead of (i, i + rotary_dim / 2) */
            int heads, kv_heads, head_dim, rotary_dim;
            int kv_layer;
        } rope_kv;
        struct {
            int heads, kv_heads, head_dim;
            int kv_layer;
            int window;  /* 0: all; else a query sees its last `window` positions, its own included
                          */
            float scale; /* of q.k, usually 1 / sqrt(head_dim) */
            float softcap; /* 0: none */
        } attention;
        struct {
            enum activation activation;
            int n;
        } mlp_act;
        struct {
            int cols;
        } reduce;
        struct {
            struct weight *weight;
            float softcap;
            float scale;
        } logits;
        struct {
            int cols; /* per rank */
        } gather;
        struct {
            int vocab; /* ids in [0, vocab); in's rows may be longer, padded by the shards */
        } sample;
    };
};

struct kv_layer_shape {
    int kv_heads, head_dim; /* this rank's */
};

struct program {
    struct op *ops;
    int op_count;
    struct program_buffer buffers[BUFFERS_MAX];
    int buffer_count;
    struct kv_layer_shape *kv_layers;
    int kv_layer_count;
    int vocab;
};

const char *op_kind_name(enum op_kind kind); /* "embed", "norm", ... */

#endif
