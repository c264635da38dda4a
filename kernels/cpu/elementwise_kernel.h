/* elementwise_kernel.h - norm and activation of a row, written once for every ISA (simd.h). Thread:
 * any; pure but for what they write. */
#ifndef KERNELS_CPU_ELEMENTWISE_KERNEL_H
#define KERNELS_CPU_ELEMENTWISE_KERNEL_H

#include "kernels/cpu/simd.h"
#include "kernels/cpu/vector.h"

enum { SUMS = 4 }; /* independent chains of a sum of squares */

INLINE int part_of(int left)
{
    return left < VF ? left : VF;
}

/* 1 / sqrt(mean of squares + eps). */
INLINE float rms_factor(const float *x, int n, float eps)
{
    vf sums[SUMS];
    int i = 0;
    UNROLL for (int j = 0; j < SUMS; j++) sums[j] = vf_zero();
    for (; i + SUMS * VF <= n; i += SUMS * VF) {
        UNROLL for (int j = 0; j < SUMS; j++)
        {
            vf v = vf_load(x + i + j * VF);
            sums[j] = vf_fma(v, v, sums[j]);
        }
    }
    for (; i < n; i += VF) {
        vf v = vf_load_part(x + i, part_of(n - i));
        sums[0] = vf_fma(v, v, sums[0]);
    }
    return 1 / sqrtf(vf_sum((sums[0] + sums[1]) + (sums[2] + sums[3])) / (float)n + eps);
}

static void vector_norm(const float *in, float *residual, const float *weight, float *out, int n,
                        float eps)
{
    for (int i = 0; in && i < n; i += VF) {
        int part = part_of(n - i);
        vf_store_part(residual + i, vf_load_part(residual + i, part) + vf_load_part(in + i, part),
                      part);
    }
    vf factor = vf_set(rms_factor(residual, n, eps));
    for (int i = 0; i < n; i += VF) {
        int part = part_of(n - i);
        vf x = vf_load_part(residual + i, part) * factor * vf_load_part(weight + i, part);
        vf_store_part(out + i, x, part);
    }
}

/* SiLU is x sigmoid(x); GELU by tanh is x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3). */
static void vector_act(enum activation activation, const float *gate, const float *up, float *out,
                       int n)
{
    vf one = vf_set(1);
    for (int i = 0; i < n; i += VF) {
        int part = part_of(n - i);
        vf x = vf_load_part(gate + i, part), u = x;
        if (activation == ACTIVATION_GELU_TANH)
            u = vf_set(1.59576912f) * vf_fma(x * x * x, vf_set(0.044715f), x);
        x = x / (one + vf_exp(vf_zero() - u));
        vf_store_part(out + i, x * vf_load_part(up + i, part), part);
    }
}

#endif
