/* simd_neon.h - simd.h on AArch64; see simd_portable.h for what the names mean. Thread: any; pure.
 */
#ifndef KERNELS_CPU_SIMD_NEON_H
#define KERNELS_CPU_SIMD_NEON_H

#include <arm_neon.h>

enum { VF = 4, SIMD_REGISTERS = 32 };

typedef float32x4_t vf;

INLINE vf vf_load(const void *p)
{
    return vld1q_f32(p);
}
INLINE void vf_store(void *p, vf x)
{
    vst1q_f32(p, x);
}
INLINE vf vf_set(float x)
{
    return vdupq_n_f32(x);
}
INLINE void vf_store_high(void *p, vf x)
{
    vst1_u16(p, vshrn_n_u32(vreinterpretq_u32_f32(x), 16));
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return vfmaq_f32(c, a, b);
}
INLINE vf vf_max(vf a, vf b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return vbslq_f32(vcltq_f32(a, b), a, b);
}

INLINE unsigned vf_at_least(vf a, vf b)
{
    return vaddvq_u32(vandq_u32(vcgeq_f32(a, b), (uint32x4_t){1, 2, 4, 8}));
}

INLINE float vf_sum(vf x)
{
    return vaddvq_f32(x);
}
INLINE float vf_top(vf x)
{
    return vmaxvq_f32(x);
}

INLINE vf vf_exp2_clamp(vf x)
{
    return vf_min(vf_set(128), vf_max(vf_set(-127), x));
}
INLINE vf vf_fraction(vf x)
{
    return x - vrndnq_f32(x);
}
INLINE vf vf_scale2(vf p, vf x)
{
    int32x4_t n = vaddq_s32(vcvtnq_s32_f32(x), vdupq_n_s32(127));
    return p * vreinterpretq_f32_s32(vshlq_n_s32(n, 23));
}

INLINE void vf_transpose(const void *in, int stride, void *out, int out_stride, int columns)
{
    const float *p = in;
    float32x4x2_t a = vzipq_f32(vf_load(p), vf_load(p + 2 * stride));
    float32x4x2_t b = vzipq_f32(vf_load(p + stride), vf_load(p + 3 * stride));
    float32x4x2_t c = vzipq_f32(a.val[0], b.val[0]), d = vzipq_f32(a.val[1], b.val[1]);
    vf t[4] = {c.val[0], c.val[1], d.val[0], d.val[1]};
    UNROLL for (int i = 0; i < 4; i++)
    {
        if (i < columns) vf_store((float *)out + i * out_stride, t[i]);
    }
}

#endif
