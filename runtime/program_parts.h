/*
 * program_parts.h - the inside of the program builder: what program.c, program_weights.c,
 * program_ops.c and program_load.c share.
 *
 * Thread: the thread that builds a rank's program; program_load's helpers read it.
 */
#ifndef RUNTIME_PROGRAM_PARTS_H
#define RUNTIME_PROGRAM_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/family.h"
#include "runtime/program.h"

enum { SOURCES_MAX = 3 }; /* q, k and v */

/* A part of a tensor in the files that becomes rows of a weight (of a vector: elements). */
struct weight_source {
    struct model_tensor tensor;
    int64_t row, rows; /* of the tensor */
    int64_t col, cols;
    int interleaved; /* head size whose rows (of a vector: elements) come in pairs, or 0 */
};

/* A weight on the device, and what it is made of, one source after another; rows that no source
 * gives are zero. */
struct weight_plan {
    struct weight *weight;
    enum weight_kind kind;
    enum dtype dtype;
    int64_t rows, cols;
    struct weight_source sources[SOURCES_MAX];
    int source_count;
};

/* This rank's shares. */
struct shard {
    int rank, rank_count;
    int heads, head_first;
    int kv_heads, kv_first;
    int ffn;
    int vocab; /* rows of the embedding and the head, padding included */
};

struct layer_weights {
    struct weight *attention_norm, *qkv, *qkv_bias, *q_norm, *k_norm, *o, *o_bias;
    struct weight *mlp_norm, *gate_up, *gate_up_bias, *down, *down_bias;
};

struct program_parts {
    struct program program; /* first: what the world sees */
    struct arena arena;
    struct program_options options;
    struct shard shard;
    struct weight_plan *plans;
    int plan_count, plan_max;
    struct weight *embed, *head, *final_norm;
    struct layer_weights *layers;
    int64_t load_bytes;
    const char *unblocked; /* a matrix whose rows are no whole blocks, where there is one */
};

struct builder { /* what is at hand while a program is built */
    struct program_parts *parts;
    const struct model *model;
    const struct model_config *config;
    const struct device_ops *ops;
    struct device *device;
    struct error *error;
};

/* program_weights.c: creates the weights and plans what fills them. */
enum status program_weights_create(struct builder *builder);

/* program_ops.c: emits buffers, KV layers and ops, and asks the device about each op. */
enum status program_ops_create(struct builder *builder);

#endif
