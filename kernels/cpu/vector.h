/*
 * vector.h - the row kernels of the element-wise ops, of rotation and KV writing and of the
 * sampler, as a table that each instruction set fills (vector_ISA.c).
 *
 * Thread: any; pure but for what is written through their arguments. Lanes never mix but in sums
 * and maxima, whose order is fixed: how an op is cut into calls does not show in its result, as
 * long as a row that is summed is one call.
 */
#ifndef KERNELS_CPU_VECTOR_H
#define KERNELS_CPU_VECTOR_H

#include "kernels/cpu/attention.h"

enum {
    SAMPLE_CHUNK = 1024, /* values summed in float before they are added in double */
    SAMPLE_BLOCK = 64,   /* values whose maximum block_tops takes */
};

struct sample_top {
    float max; /* -INFINITY where there is no number */
    int64_t nan_count;
};

struct cpu_vector {
    /* residual += in (unless NULL); out = residual / rms(residual) * weight */
    void (*norm)(const float *in, float *residual, const float *weight, float *out, int n,
                 float eps);
    void (*act)(enum activation activation, const float *gate, const float *up, float *out, int n);

    /* One head in place: rmsnorm by `norm` (or NULL), then rotation by the table's row: cos then
     * sin of [rotary_dim / 2]. */
    void (*rotate)(float *x, const float *norm, float eps, const float *table, int head_dim,
                   int rotary_dim, bool interleaved);
    /* `count` tokens of one block of 16, from token `at` of it on: rows of `stride` floats -> K's
     * and V's places in the page. 16 at once go through registers, transposed. */
    void (*write_kv)(const struct attention_pages *pages, char *k_block, const float *k,
                     const float *v, int stride, int head_dim, int at, int count);

    struct sample_top (*top)(const float *x, int n);
    /* The lowest index of the value `max`, which top found; 0 where there is no number. */
    int (*index_of)(const float *x, int n, float max);
    /* out[i] = x[i], -INFINITY for NaN. */
    void (*clean)(const float *x, float *out, int n);
    /* e = exp((x - max) * factor), 0 for NaN and where e < least. Sums of chunks of SAMPLE_CHUNK to
     * sums[(n + SAMPLE_CHUNK - 1) / SAMPLE_CHUNK]; their sum is returned. `out` may be NULL. */
    double (*exp_sums)(const float *x, int n, float max, float factor, float least, double *sums,
                       float *out);
    void (*block_tops)(const float *x, int n, float *out); /* [n / SAMPLE_BLOCK, rounded up] */
    /* Indices of values >= least in ascending order to out[n]; how many. */
    int (*gather)(const float *x, int n, float least, int32_t *out);
    /* How many values are above `value`, and how many of the first `before` are equal to it. */
    int (*rank)(const float *x, int n, float value, int before);
};

extern const struct cpu_vector vector_scalar, vector_avx2, vector_avx512, vector_neon;

const struct cpu_vector *cpu_vector_of(enum cpu_isa isa); /* elementwise.c */

/* Runs the job on the pool, or all its parts on this thread where waking the others costs more than
 * `work` floats. */
void cpu_vector_run(struct device *device, size_t work, void (*job)(void *arg, int thread),
                    void *arg);

/* What thread `thread` of `threads` does of `count`. */
struct vector_span {
    int64_t begin, end;
};
static inline struct vector_span vector_span(int64_t count, int thread, int threads)
{
    return (struct vector_span){count * thread / threads, count * (thread + 1) / threads};
}

#endif
