/*
 * program.h - a model's forward pass as ops for one rank, and its weights on that rank's device.
 *
 * The family's table (family.c) gives weight names, roles and shard rules: column-parallel qkv and
 * gate/up (rows of W split by rank), row-parallel o and down (columns split, all-reduce after),
 * vocabulary-parallel embedding and head. KV heads are replicated when the ranks are a multiple of
 * them.
 *
 * Thread: one thread builds a rank's program; program_load may use helper threads inside. The
 * program is immutable afterwards and lives until program_destroy; its weights belong to the
 * device.
 */
#ifndef RUNTIME_PROGRAM_H
#define RUNTIME_PROGRAM_H

#include <stdint.h>

#include "kernels/device.h"
#include "runtime/base/status.h"
#include "runtime/model.h"

struct program_options {
    int rank, rank_count;
    int dtype; /* enum dtype or -1: as stored. Matrices are converted to it, those of a quantised
                  GGUF too: that is what asking for it means */
    int quantization; /* DTYPE_Q8_0, DTYPE_Q4_0, or -1: none. Quantises floating-point matrices, the
                         embedding and the head too; refused where they are quantised otherwise.
                         Rows that are no whole blocks stay as they are, with one warning */
    int max_model_len; /* the served length: fixes dynamic RoPE scaling */
};

/* STATUS_INVALID where heads, ffn or vocabulary do not divide by the ranks, naming which. A
 * vocabulary that does not divide is padded in the last shard. */
enum status program_check(const struct model_config *config, int rank_count, struct error *error);

/* Creates the weights (empty) on the device and the ops; asks the device whether it supports each.
 */
enum status program_create(const struct model *model, const struct program_options *options,
                           const struct device_ops *ops, struct device *device,
                           struct program **out, struct error *error);

/* Fills the weights from the model's files: converts, quantises, permutes, shards; reads only this
 * rank's share. Uses up to `threads` threads. `progress` (may be NULL) gets the bytes read since
 * its last call. */
enum status program_load(struct program *program, const struct model *model,
                         const struct device_ops *ops, struct device *device, int threads,
                         void (*progress)(void *arg, int64_t bytes), void *progress_arg,
                         struct error *error);

/* Bytes of the weights as they lie on the device. */
size_t program_weight_bytes(const struct program *program, const struct device_ops *ops);

int64_t program_load_bytes(const struct program *program); /* what program_load will read */
void program_destroy(struct program *program);

#endif
