/* sample_kernel.h - the sampler's passes over a row of logits, written once for every ISA (simd.h).
 * Thread: any; pure but for what they write. */
#ifndef KERNELS_CPU_SAMPLE_KERNEL_H
#define KERNELS_CPU_SAMPLE_KERNEL_H

#include "kernels/cpu/elementwise_kernel.h"

/* The first of `count` values, -infinity beyond them. */
INLINE vf load_logits(const float *x, int count)
{
    vf v = vf_load_part(x, part_of(count));
    return count < VF ? vf_keep(v, 0, count) : v;
}

static struct sample_top vector_top(const float *x, int n)
{
    vf max[SUMS];
    vi numbers[SUMS];
    UNROLL for (int j = 0; j < SUMS; j++) max[j] = vf_set(-INFINITY), numbers[j] = (vi){0};
    int i = 0;
    for (; i + SUMS * VF <= n; i += SUMS * VF) {
        UNROLL for (int j = 0; j < SUMS; j++)
        {
            vf v = vf_load(x + i + j * VF);
            max[j] = vf_max(v, max[j]);
            numbers[j] += v == v; /* -1 where true */
        }
    }
    for (; i < n; i += VF) {
        vf v = load_logits(x + i, n - i);
        max[0] = vf_max(v, max[0]);
        numbers[0] += v == v;
    }
    vi all = (numbers[0] + numbers[1]) + (numbers[2] + numbers[3]);
    struct sample_top top = {.nan_count = (n + VF - 1) / VF * VF};
    top.max = vf_top(vf_max(vf_max(max[0], max[1]), vf_max(max[2], max[3])));
    for (int j = 0; j < VF; j++) top.nan_count += all[j];
    return top;
}

static int vector_index_of(const float *x, int n, float max)
{
    for (int i = 0; i < n; i += VF) {
        unsigned bits = vf_at_least(load_logits(x + i, n - i), vf_set(max));
        int at = bits ? i + __builtin_ctz(bits) : n;
        if (at < n) return at; /* padding is -infinity, and so may `max` be */
    }
    return 0;
}

static void vector_clean(const float *x, float *out, int n)
{
    for (int i = 0; i < n; i += VF) {
        vf v = load_logits(x + i, n - i);
        vf_store_part(out + i, vf_select(v == v, v, vf_set(-INFINITY)), part_of(n - i));
    }
}

static double vector_exp_sums(const float *x, int n, float max, float factor, float least,
                              double *sums, float *out)
{
    double total = 0;
    for (int begin = 0; begin < n; begin += SAMPLE_CHUNK) {
        int end = begin + SAMPLE_CHUNK < n ? begin + SAMPLE_CHUNK : n;
        vf sum[2] = {vf_zero(), vf_zero()};
        for (int i = begin; i < end; i += VF) {
            vf v = load_logits(x + i, end - i);
            v = vf_exp((v - vf_set(max)) * vf_set(factor));
            v = (vf)((vi)v & (v >= vf_set(least))); /* false for NaN */
            if (out) vf_store_part(out + i, v, part_of(end - i));
            sum[i / VF % 2] += v;
        }
        double s = vf_sum(sum[0] + sum[1]);
        if (sums) sums[begin / SAMPLE_CHUNK] = s;
        total += s;
    }
    return total;
}

static void vector_block_tops(const float *x, int n, float *out)
{
    for (int begin = 0; begin < n; begin += SAMPLE_BLOCK) {
        vf top = vf_set(-INFINITY);
        for (int i = begin; i < n && i < begin + SAMPLE_BLOCK; i += VF)
            top = vf_max(load_logits(x + i, n - i), top);
        out[begin / SAMPLE_BLOCK] = vf_top(top);
    }
}

static int vector_gather(const float *x, int n, float least, int32_t *out)
{
    int count = 0;
    for (int i = 0; i < n; i += VF) {
        unsigned bits = vf_at_least(load_logits(x + i, n - i), vf_set(least));
        for (; bits; bits &= bits - 1) {
            int at = i + __builtin_ctz(bits);
            if (at < n) out[count++] = at; /* padding is -infinity, and so may `least` be */
        }
    }
    return count;
}

static int vector_rank(const float *x, int n, float value, int before)
{
    int count = 0;
    vf above = vf_set(nextafterf(value, INFINITY));
    for (int i = 0; i < n; i += VF)
        count += __builtin_popcount(vf_at_least(load_logits(x + i, n - i), above));
    for (int i = 0; i < before; i++) count += x[i] == value;
    return count;
}

#define VECTOR_KERNELS(NAME)                                                                       \
    const struct cpu_vector NAME = {.norm = vector_norm,                                           \
                                    .act = vector_act,                                             \
                                    .rotate = vector_rotate,                                       \
                                    .write_kv = vector_write_kv,                                   \
                                    .top = vector_top,                                             \
                                    .index_of = vector_index_of,                                   \
                                    .clean = vector_clean,                                         \
                                    .exp_sums = vector_exp_sums,                                   \
                                    .gather = vector_gather,                                       \
                                    .rank = vector_rank,                                           \
                                    .block_tops = vector_block_tops}

#endif
