/*
 * linear_avx512bf16.c - BF16 weights times activations rounded to bf16, two values of K per
 * instruction. vdpbf16ps flushes denormals and rounds once per pair.
 */
#if defined(__x86_64__)

#include "kernels/cpu/linear_avx512.h"

enum { ROWS = 12 };

static void pack_bf16(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    uint32_t *to = (uint32_t *)(void *)out + row, pairs[16];
    for (int64_t k = 0; k < cols; k += 32, to += 16 * rows) {
        int64_t left = cols - k;
        __mmask32 m = left >= 32 ? ~0u : (1u << left) - 1;
        __m512 low = _mm512_maskz_loadu_ps((__mmask16)m, x + k);
        __m512 high = _mm512_maskz_loadu_ps((__mmask16)(m >> 16), x + k + 16);
        _mm512_storeu_si512(pairs, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        int count = left >= 32 ? 16 : (int)(left + 1) / 2;
        for (int j = 0; j < count; j++) to[j * rows] = pairs[j];
    }
}

INLINE void tile_bf16(const int R, const struct linear_tile *t)
{
    const uint8_t *w = t->w;
    const int32_t *x = (const int32_t *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS][2];
    tile_begin(R, t, f);
    for (int64_t k = t->steps; k > 0; k--, w += 128, x += R) {
        __m512bh w0 = (__m512bh)_mm512_load_si512(w), w1 = (__m512bh)_mm512_load_si512(w + 64);
        if (prefetch) PREFETCH();
        UNROLL for (int r = 0; r < R; r++)
        {
            __m512bh v = (__m512bh)_mm512_set1_epi32(x[r]);
            f[r][0] = _mm512_dpbf16_ps(f[r][0], w0, v);
            f[r][1] = _mm512_dpbf16_ps(f[r][1], w1, v);
        }
    }
    tile_end(R, t, f);
}

EACH_12(TILE_DEFINE, tile_bf16)

const struct linear_format linear_avx512bf16 = {
    ROWS, 1, 0, pack_bf16, {EACH_12(TILE_NAME, tile_bf16)}};

#endif
