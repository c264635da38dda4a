/* simd_avx2.h - simd.h on AVX2 with FMA; see simd_portable.h for what the names mean. Thread: any;
 * pure. */
#ifndef KERNELS_CPU_SIMD_AVX2_H
#define KERNELS_CPU_SIMD_AVX2_H

#include <immintrin.h>

enum { VF = 8, SIMD_REGISTERS = 16 };

typedef __m256 vf;

INLINE vf vf_load(const void *p)
{
    return _mm256_loadu_ps(p);
}
INLINE void vf_store(void *p, vf x)
{
    _mm256_storeu_ps(p, x);
}
INLINE vf vf_set(float x)
{
    return _mm256_set1_ps(x);
}
INLINE void vf_store_high(void *p, vf x)
{
    __m256i high = _mm256_srli_epi32(_mm256_castps_si256(x), 16);
    __m256i narrow = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
    _mm_storeu_si128(p, _mm256_castsi256_si128(narrow));
}

INLINE vf vf_fma(vf a, vf b, vf c)
{
    return _mm256_fmadd_ps(a, b, c);
}
INLINE vf vf_max(vf a, vf b)
{
    return _mm256_max_ps(a, b);
}
INLINE vf vf_min(vf a, vf b)
{
    return _mm256_min_ps(a, b);
}

INLINE unsigned vf_at_least(vf a, vf b)
{
    return (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GE_OQ));
}

INLINE float vf_sum(vf x)
{
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}
INLINE float vf_top(vf x)
{
    __m128 h = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    h = _mm_max_ps(h, _mm_movehl_ps(h, h));
    return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}

INLINE vf vf_exp2_clamp(vf x)
{
    return _mm256_min_ps(vf_set(128), _mm256_max_ps(vf_set(-127), x));
}
INLINE vf vf_fraction(vf x)
{
    return x - _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
INLINE vf vf_scale2(vf p, vf x)
{
    __m256i n = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(127));
    return p * _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}

INLINE void vf_transpose(const void *in, int stride, void *out, int out_stride, int columns)
{
    vf r[8], t[8];
    UNROLL for (int i = 0; i < 8; i++) r[i] = vf_load((const float *)in + i * stride);
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4)
    {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    UNROLL for (int i = 0; i < 8; i++)
    {
        if (i < columns) vf_store((float *)out + i * out_stride, t[i]);
    }
}

#endif
