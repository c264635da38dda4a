/*
 * linear_avx512.h - what the kernels of both AVX-512 files share: how a tile of sums, R rows times
 * the two registers of a panel, begins and ends.
 *
 * Thread: pure functions. Included by linear_avx512*.c only, which are compiled for the instruction
 * set. Loops over rows must be unrolled (R is a constant at each use), so that the sums stay in
 * registers; look for stack traffic in the disassembly after every change here.
 */
#ifndef KERNELS_CPU_LINEAR_AVX512_H
#define KERNELS_CPU_LINEAR_AVX512_H

#include <immintrin.h>

#include "kernels/cpu/linear.h"

#define INLINE static inline __attribute__((always_inline))

/* Instances for 1..6 or 1..12 rows, and their addresses in a table. */
#define EACH_6(F, A)    F(1, A) F(2, A) F(3, A) F(4, A) F(5, A) F(6, A)
#define EACH_12(F, A)   EACH_6(F, A) F(7, A) F(8, A) F(9, A) F(10, A) F(11, A) F(12, A)
#define TILE_NAME(R, A) A##_##R,
#define TILE_DEFINE(R, A)                                                                          \
    static void A##_##R(const struct linear_tile *t)                                               \
    {                                                                                              \
        A(R, t);                                                                                   \
    }

/* The next line of what comes next, into L2. */
#define PREFETCH() (_mm_prefetch(ahead, _MM_HINT_T1), ahead += t->ahead_step)

INLINE __mmask32 tile_mask(const struct linear_tile *t)
{
    return t->cols >= PANEL_WIDTH ? ~0u : (1u << t->cols) - 1;
}

INLINE void tile_begin(const int R, const struct linear_tile *t, __m512 f[][2])
{
    UNROLL for (int r = 0; r < R; r++) f[r][0] = f[r][1] = _mm512_setzero_ps();
    if (!t->resume) return;
    __mmask32 m = tile_mask(t);
    UNROLL for (int r = 0; r < R; r++)
    {
        const float *y = t->y + (size_t)r * t->y_stride;
        f[r][0] = _mm512_maskz_loadu_ps((__mmask16)m, y);
        f[r][1] = _mm512_maskz_loadu_ps((__mmask16)(m >> 16), y + 16);
    }
}

INLINE void tile_end(const int R, const struct linear_tile *t, __m512 f[][2])
{
    __mmask32 m = tile_mask(t);
    if (t->bias) {
        __m512 b0 = _mm512_loadu_ps(t->bias), b1 = _mm512_loadu_ps(t->bias + 16);
        UNROLL for (int r = 0; r < R; r++)
        {
            f[r][0] = _mm512_add_ps(f[r][0], b0);
            f[r][1] = _mm512_add_ps(f[r][1], b1);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        float *y = t->y + (size_t)r * t->y_stride;
        _mm512_mask_storeu_ps(y, (__mmask16)m, f[r][0]);
        _mm512_mask_storeu_ps(y + 16, (__mmask16)(m >> 16), f[r][1]);
    }
}

#endif
