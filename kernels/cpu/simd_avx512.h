/* simd_avx512.h - simd.h on AVX-512 F, BW, DQ and VL; see simd_portable.h for what the names mean.
 * Thread: any; pure. */
#ifndef KERNELS_CPU_SIMD_AVX512_H
#define KERNELS_CPU_SIMD_AVX512_H

#include <immintrin.h>

enum { VF = 16, SIMD_REGISTERS = 32 };

typedef __m512 vf;

INLINE vf vf_load(const void *p)
{
    return _mm512_loadu_ps(p);
}
INLINE void vf_store(void *p, vf x)
{
    _mm512_storeu_ps(p, x);
}
INLINE vf vf_set(float x)
{
    return _mm512_set1_ps(x);
}
INLINE void vf_store_high(void *p, vf x)
{
    __m512i high = _mm512_srli_epi32(_mm512_castps_si512(x), 16);
    _mm256_storeu_si256(p, _mm512_cvtepi32_epi16(high));
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
INLINE vf vf_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}

INLINE unsigned vf_at_least(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ);
}

INLINE float vf_sum(vf x)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
INLINE float vf_top(vf x)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 q = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_max_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_max_ss(q, _mm_shuffle_ps(q, q, 1)));
}

/* vreduceps and vscalefps take infinities as they should be: nothing to clamp. */
INLINE vf vf_exp2_clamp(vf x)
{
    return x;
}
INLINE vf vf_fraction(vf x)
{
    return _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vf vf_scale2(vf p, vf x)
{
    vf n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_scalef_ps(p, n);
}

/* One 16 x 16 transpose is a 4 x 4 one in each 128-bit quarter, then one of the quarters. */
INLINE void vf_transpose(const void *in, int stride, void *out, int out_stride, int columns)
{
    __mmask16 mask = columns < 16 ? (__mmask16)((1u << columns) - 1) : 0xffff;
    vf r[16], t[16];
    UNROLL for (int i = 0; i < 16; i++) r[i] =
        _mm512_maskz_loadu_ps(mask, (const float *)in + i * stride);
    UNROLL for (int i = 0; i < 16; i += 2)
    {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 16; i += 4)
    {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        vf a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        vf b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        vf c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        vf d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
        t[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        t[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
        t[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
    UNROLL for (int i = 0; i < 16; i++)
    {
        if (i < columns) vf_store((float *)out + i * out_stride, t[i]);
    }
}

#endif
