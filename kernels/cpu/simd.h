/*
 * simd.h - vectors of VF floats, the same names on every instruction set, for the kernels that are
 * written once (attention_kernel.h, rope_kernel.h, ...) and compiled once per ISA.
 *
 * Included only by NAME_ISA.c files, whose compile flags choose the ISA; SIMD_PORTABLE asks for the
 * vectors that every machine has. Plain arithmetic is written with operators; nothing is contracted
 * into a fused multiply-add unless vf_fma says so. Lanes are independent but in vf_sum and vf_top,
 * which reduce in one fixed order. Thread: any; pure.
 */
#ifndef KERNELS_CPU_SIMD_H
#define KERNELS_CPU_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* Each of these defines VF, SIMD_REGISTERS, vf and the functions listed in simd_portable.h. */
#if defined(SIMD_PORTABLE)
#include "kernels/cpu/simd_portable.h"
#elif defined(__AVX512F__)
#include "kernels/cpu/simd_avx512.h"
#elif defined(__AVX2__)
#include "kernels/cpu/simd_avx2.h"
#elif defined(__aarch64__)
#include "kernels/cpu/simd_neon.h"
#else
#include "kernels/cpu/simd_portable.h"
#endif

typedef int32_t vi __attribute__((vector_size(4 * VF)));
typedef uint32_t vu __attribute__((vector_size(4 * VF)));

#define LOG2E 1.44269504f

INLINE vf vf_zero(void)
{
    return vf_set(0);
}

/* All bits of lane i where i is in [from, to). */
INLINE vi vi_range(int from, int to)
{
    vi at, zero = {0};
    UNROLL for (int i = 0; i < VF; i++) at[i] = i;
    return (at >= zero + from) & (at < zero + to);
}

INLINE vf vf_select(vi mask, vf yes, vf no)
{
    return (vf)((mask & (vi)yes) | (~mask & (vi)no));
}

/* The lanes [from, to) of x, -infinity in the others. */
INLINE vf vf_keep(vf x, int from, int to)
{
    return vf_select(vi_range(from, to), x, vf_set(-INFINITY));
}

/* The first `count` floats, 0 beyond; and back. Nothing beyond is touched. */
INLINE vf vf_load_part(const float *p, int count)
{
    float lanes[VF] = {0};
    if (count >= VF) return vf_load(p);
    memcpy(lanes, p, (size_t)count * sizeof(float));
    return vf_load(lanes);
}

INLINE void vf_store_part(float *p, vf x, int count)
{
    float lanes[VF];
    if (count >= VF) {
        vf_store(p, x);
        return;
    }
    vf_store(lanes, x);
    memcpy(p, lanes, (size_t)count * sizeof(float));
}

/* 2^f for f in [-1/2, 1/2]: relative error 2e-9 before rounding; exactly 1 at 0. */
INLINE vf vf_exp2_part(vf f)
{
    vf p = vf_fma(f, vf_set(1.5353362e-4f), vf_set(1.3398874e-3f));
    p = vf_fma(p, f, vf_set(9.618437e-3f));
    p = vf_fma(p, f, vf_set(5.5503324e-2f));
    p = vf_fma(p, f, vf_set(2.4022648e-1f));
    p = vf_fma(p, f, vf_set(6.9314718e-1f));
    return vf_fma(p, f, vf_set(1));
}

/* 2^x: relative error 1.5e-7 where the result is a normal number; exactly 1 at 0; 0 at -infinity,
 * infinity from 128; NaN stays. Smaller than normal may be 0. */
INLINE vf vf_exp2(vf x)
{
    x = vf_exp2_clamp(x);
    return vf_scale2(vf_exp2_part(vf_fraction(x)), x);
}

/* e^x with the same promises, infinity from 89. What x * log2(e) loses when it is rounded is
 * carried along: |x| units in the last place of the result otherwise (and so without a true fma).
 */
INLINE vf vf_exp(vf x)
{
    x = vf_min(vf_set(89), vf_max(vf_set(-104), x));
    vf product = x * vf_set(LOG2E), y = vf_exp2_clamp(product);
    vf rest = vf_fma(x, vf_set(1.92596299e-8f), vf_fma(x, vf_set(LOG2E), -product));
    return vf_scale2(vf_exp2_part(vf_fraction(y) + rest), y);
}

/* Floats -> bf16 in the upper halves of the lanes. Round to nearest even; NaN stays NaN but for
 * payloads that arithmetic does not make. */
INLINE vu vu_bf16(vf x)
{
    vu bits = (vu)x;
    return (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
}

/* bf16 pairs, `even` in the low half of each lane. */
INLINE vu vu_bf16_pairs(vf even, vf odd)
{
    return vu_bf16(even) >> 16 | vu_bf16(odd);
}

/* The even (low) or odd (high) members of VF bf16 pairs, as floats. */
INLINE vf vf_bf16_even(const void *pairs)
{
    return (vf)((vu)vf_load(pairs) << 16);
}
INLINE vf vf_bf16_odd(const void *pairs)
{
    return (vf)((vu)vf_load(pairs) & 0xffff0000u);
}

#endif
