/*
 * cpu.h - the inside of the CPU device: what its op files share.
 *
 * Thread: the worker thread that owns the device, and inside jobs the pool's threads. Every result
 * is the same bit for bit whatever the batch, the chunking and the number of threads: one order of
 * accumulation per output, fixed by the op and the ISA alone.
 */
#ifndef KERNELS_CPU_CPU_H
#define KERNELS_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/pool.h"
#include "kernels/device.h"

/* Ordered: each includes what is before it on its architecture. */
enum cpu_isa {
    CPU_SCALAR,
    CPU_AVX2,   /* AVX2, FMA, F16C */
    CPU_AVX512, /* F, BW, DQ, VL and VNNI */
    CPU_AVX512_BF16,
    CPU_NEON, /* AArch64: with dot product where there is one */
};

enum cpu_isa cpu_isa_best(void); /* what this machine has */
bool cpu_isa_parse(const char *name,
                   enum cpu_isa *out); /* "scalar", "avx2", "avx512", "avx512bf16", "neon" */
const char *cpu_isa_name(enum cpu_isa isa);
bool cpu_isa_available(enum cpu_isa isa); /* this machine can run code for it */
bool cpu_has_neon_dot(void);              /* CPU_NEON: the dot product instructions too */

struct cpu_attention; /* attention.c: KV pages, scratch, split state */
struct cpu_linear;    /* linear.c: packed activations, panel counters */
struct weight_block;  /* weight.c */
struct cpu_sampler;   /* sample.c: slots' last token and history, scratch */

struct device {
    enum cpu_isa isa;
    struct cpu_pool *pool;
    struct device_shape shape;
    const struct batch *batch;   /* of the step being run */
    int32_t *tokens;             /* [tokens_max] the batch's, TOKEN_FROM_SLOT replaced */
    float *buffers[BUFFERS_MAX]; /* [tokens_max or logits_max][cols] */
    struct cpu_linear *linear;
    struct cpu_attention *attention;
    struct cpu_sampler *sampler;
    struct weight *weights;             /* all of them, for close */
    struct weight_block *weight_blocks; /* their memory, the latest first */
};

/* Zeroed, touched memory in huge pages where it is large and the system gives them; counted by
 * nobody. NULL when there is none. Freed with cpu_free(p, bytes). */
void *cpu_alloc(size_t bytes);
void cpu_free(void *memory, size_t bytes);
void *cpu_map(size_t bytes); /* as large blocks of cpu_alloc, but not touched: costs nothing yet */
void cpu_unmap(void *memory, size_t bytes);
void cpu_touch(void *memory, size_t bytes); /* zero pages of a fresh mapping become memory */
size_t cpu_memory_available(void);          /* of the machine or its container, whichever is less */

/* linear.c, weight.c */
enum status cpu_linear_prepare(struct device *device, struct error *error);
size_t cpu_linear_workspace(const struct device_shape *shape, int threads);
void cpu_linear_close(struct device *device);
void cpu_op_embed(struct device *device, const struct op *op);
void cpu_op_linear(struct device *device, const struct op *op);
void cpu_op_logits(struct device *device, const struct op *op);
const float *cpu_weight_vector(const struct weight *weight); /* of WEIGHT_VECTOR: float32 [cols] */

/* attention.c, rope.c */
enum status cpu_attention_supports(const struct op *op, struct error *error); /* and OP_ROPE_KV */
enum status cpu_attention_prepare(struct device *device, struct error *error);
size_t cpu_attention_page_bytes(const struct device *device, const struct device_shape *shape);
size_t cpu_attention_workspace(const struct device *device, const struct device_shape *shape);
void cpu_attention_close(struct device *device);
void cpu_op_rope_table(struct device *device, const struct op *op);
void cpu_op_rope_kv(struct device *device, const struct op *op);
void cpu_op_attention(struct device *device, const struct op *op);

/* elementwise.c */
void cpu_op_norm(struct device *device, const struct op *op);
void cpu_op_mlp_act(struct device *device, const struct op *op);

/* sample.c */
enum status cpu_sampler_prepare(struct device *device, struct error *error);
size_t cpu_sampler_workspace(const struct device_shape *shape, int threads);
void cpu_sampler_close(struct device *device);
void cpu_sampler_begin(struct device *device); /* new slots' histories; fills device->tokens */
void cpu_op_sample(struct device *device, const struct op *op);
void cpu_sampler_results(struct device *device, struct batch_result *out);

#endif
