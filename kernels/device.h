/*
 * device.h - what a backend is: memory, packed weights, and running one op of a program on a batch.
 *
 * Life: open -> weight_create/weight_write... -> prepare (everything the steps need is allocated
 * and touched here) -> begin, run each op, end; again and again -> close. After prepare nothing
 * allocates.
 *
 * Thread: one worker thread owns a device and makes every call, except weight_write, which the
 * loader may call from several threads at once for different rows, and `abort`, which may come from
 * any thread. Errors: what the operator can mend (memory, an unsupported machine) is a status;
 * faults of the device while running are fatal for the process and reported through `end`.
 */
#ifndef KERNELS_DEVICE_H
#define KERNELS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/batch.h"
#include "kernels/dtype.h"
#include "kernels/ops.h"
#include "runtime/base/status.h"

struct device; /* each backend's own */

enum weight_kind {
    WEIGHT_MATRIX, /* [rows][cols]: linear layers, LM head and embedding tables */
    WEIGHT_VECTOR, /* [cols] float32: norms, biases; rows is 1 */
};

struct weight_desc {
    const char *name; /* for messages; not kept */
    enum weight_kind kind;
    enum dtype dtype; /* as it stays in the device's memory */
    int64_t rows, cols;
};

struct device_options {
    int index;       /* which device of its kind; for the CPU the rank */
    int threads;     /* CPU: compute threads of this rank, the worker's own included */
    int first_cpu;   /* CPU: pin thread i to cpu first_cpu + i; -1: do not pin */
    const char *isa; /* CPU, for tests: "scalar", "avx2", "avx512", "avx512bf16"; NULL: the best */
};

struct device_shape { /* all that steps can ask for */
    const struct program *program;
    struct batch_limits limits;
    int page_tokens;    /* a multiple of 16 */
    int64_t page_count; /* KV pages, page 0 (scrap) included */
    enum dtype kv_dtype;
    int max_model_len; /* history per slot */
};

struct device_ops {
    const char *name; /* "cpu", "cuda" */

    enum status (*open)(const struct device_options *options, struct device **out,
                        struct error *error);
    void (*close)(struct device *device); /* frees weights too; NULL is fine */

    /* Whether `op` can be run; its weights are already created. Says why not. */
    enum status (*supports)(struct device *device, const struct op *op, struct error *error);

    enum status (*weight_create)(struct device *device, const struct weight_desc *desc,
                                 struct weight **out, struct error *error);
    /* Rows [row, row + count) from dense rows of the weight's dtype (WEIGHT_VECTOR: float32). */
    void (*weight_write)(struct device *device, struct weight *weight, int64_t row, int64_t count,
                         const void *data);
    size_t (*weight_bytes)(const struct weight *weight); /* resident size */

    /* Bytes of one KV page over all layers, and of everything else prepare would allocate. */
    size_t (*page_bytes)(struct device *device, const struct device_shape *shape);
    size_t (*workspace_bytes)(struct device *device, const struct device_shape *shape);
    size_t (*memory_free)(struct device *device); /* what could still be allocated */
    enum status (*prepare)(struct device *device, const struct device_shape *shape,
                           struct error *error);

    void (*begin)(struct device *device, const struct batch *batch);
    void (*run)(struct device *device, const struct op *op); /* not for collectives */
    /* Rows of results: out->logits has room for limits.logits_max. */
    enum status (*end)(struct device *device, struct batch_result *out, struct error *error);

    /* For collectives: where a buffer lies, row-major float32 on the CPU. */
    void *(*buffer)(struct device *device, int id);

    /* Capture of everything run in between for a batch-size bucket; NULL where a backend has no
     * graphs. */
    enum status (*record_begin)(struct device *device, int bucket, struct error *error);
    enum status (*record_end)(struct device *device, int bucket, struct error *error);
    void (*replay)(struct device *device, int bucket);
};

extern const struct device_ops device_cpu; /* kernels/cpu */

#endif
