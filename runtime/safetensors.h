/*
 * safetensors.h - reader of safetensors weights, one file or sharded, mapped read-only.
 *
 * Headers are checked when the model is opened: lengths, shapes, types, offsets that leave holes,
 * overlap or reach beyond the file, names that occur twice, index entries that no file holds. What
 * lies is refused with the tensor or file at fault. Thread: immutable after open. Memory: all
 * pointers are valid until safetensors_close.
 */
#ifndef RUNTIME_SAFETENSORS_H
#define RUNTIME_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct safetensors;

enum { SAFETENSORS_DIMS_MAX = 8 };

struct safetensor {
    const char *name;  /* may hold any byte but zero */
    const char *dtype; /* as the format spells it: "F32", "BF16", "F8_E4M3", ... */
    int dim_count;
    int64_t dims[SAFETENSORS_DIMS_MAX]; /* the last is the contiguous one */
    const void *data;                   /* aligned to bytes only */
    uint64_t bytes;
};

/* `directory` with model.safetensors, or with model.safetensors.index.json and what it names. */
enum status safetensors_open(const char *directory, struct safetensors **out, struct error *error);
/* One file, from memory that outlives the handle. */
enum status safetensors_open_memory(const void *data, size_t bytes, struct safetensors **out,
                                    struct error *error);
void safetensors_close(struct safetensors *tensors);            /* NULL is fine */
void safetensors_drop_pages(const struct safetensors *tensors); /* see mapping_drop */

int64_t safetensors_count(const struct safetensors *tensors);
const struct safetensor *safetensors_at(const struct safetensors *tensors,
                                        int64_t index); /* by name */
const struct safetensor *safetensors_find(const struct safetensors *tensors,
                                          const char *name); /* or NULL */

#endif
