/*
 * attention_kernel.h - the two products of a tile, Q K^T and P V, written once for every ISA
 * (simd.h) and for three ways to read K and V: MODE_F32    words are floats MODE_WIDEN  words are
 * bf16 pairs, widened to floats; P and Q are floats MODE_PAIRS  words are bf16 pairs, as are P and
 * Q: vdpbf16ps Each is R rows x C registers of accumulators, one chain per output and always in the
 * order of the reduction, so neither R nor C shows in a result. Few rows (decode) prefetch what
 * comes next in the order of use, many rows a piece of the next tile with every step; always into
 * L2: it costs nothing there and decode reaches the plain read's bandwidth only with it. Thread:
 * any; pure.
 */
#ifndef KERNELS_CPU_ATTENTION_KERNEL_H
#define KERNELS_CPU_ATTENTION_KERNEL_H

#include "kernels/cpu/attention.h"
#include "kernels/cpu/simd.h"

enum { MODE_F32, MODE_WIDEN, MODE_PAIRS };
enum { ROWS = VF == 16 ? 12 : SIMD_REGISTERS == 32 || VF == 8 ? 6 : 3, COLUMNS_MAX = 8 };
enum { AHEAD = 4, LINE = 64 }; /* blocks to prefetch ahead; bytes of a word row of K */

/* Registers of an accumulator row: as many as leave room for the operands. Of K, whole blocks. */
#if defined(__AVX512F__) && !defined(SIMD_PORTABLE)
#define QK_COLUMNS(R)   ((R) <= 6 ? 4 : 2)
#define PV_COLUMNS(R)   ((R) <= 3 ? 8 : (R) <= 6 ? 4 : 2)
#define EACH_ROWS(F, A) EACH_6(F, A) F(7, A) F(8, A) F(9, A) F(10, A) F(11, A) F(12, A)
#elif defined(__AVX2__) && !defined(SIMD_PORTABLE)
#define QK_COLUMNS(R)   ((R) == 1 ? 8 : (R) == 2 ? 4 : 2)
#define PV_COLUMNS(R)   QK_COLUMNS(R)
#define EACH_ROWS(F, A) EACH_6(F, A)
#elif defined(__aarch64__) && !defined(SIMD_PORTABLE)
#define QK_COLUMNS(R)   ((R) <= 3 ? 8 : 4)
#define PV_COLUMNS(R)   QK_COLUMNS(R)
#define EACH_ROWS(F, A) EACH_6(F, A)
#else
#define QK_COLUMNS(R)   4
#define PV_COLUMNS(R)   4
#define EACH_ROWS(F, A) F(1, A) F(2, A) F(3, A)
#endif
#define EACH_6(F, A) F(1, A) F(2, A) F(3, A) F(4, A) F(5, A) F(6, A)

#define PREFETCH(P) __builtin_prefetch(P, 0, 2) /* into L2 */

/* Strides of Q and P in words: pairs take half of the room. */
#define Q_WORDS(MODE) ((MODE) == MODE_PAIRS ? ATTENTION_Q_STRIDE / 2 : ATTENTION_Q_STRIDE)
#define P_WORDS(MODE) ((MODE) == MODE_PAIRS ? ATTENTION_P_STRIDE / 2 : ATTENTION_P_STRIDE)

INLINE vf pairs_dot(vf sum, vf a, vf b) /* sum[i] + a[2i] b[2i] + a[2i + 1] b[2i + 1] */
{
#ifdef __AVX512BF16__
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
#else
    return sum; /* never called */
#endif
}

/* f[r][c] += v[c] * x[r * stride], all of whose lanes are the same. */
INLINE void outer_product(const int mode, const int R, const int C, vf (*f)[COLUMNS_MAX],
                          const vf *v, const uint32_t *x, const int stride)
{
    UNROLL for (int r = 0; r < R; r++)
    {
        float word;
        memcpy(&word, x + r * stride, sizeof(word));
        vf all = vf_set(word);
        UNROLL for (int c = 0; c < C; c++) f[r][c] =
            mode == MODE_PAIRS ? pairs_dot(f[r][c], v[c], all) : vf_fma(v[c], all, f[r][c]);
    }
}

/* S[R][C registers of tokens] = Q K^T; k: the blocks, `next`: to be prefetched, or NULL. */
#define QK_ARGS const char *const *k, const char *next, const uint32_t *q, float *s, int width
INLINE void tile_qk(const int mode, const int R, const int C, QK_ARGS)
{
    vf f[ROWS][COLUMNS_MAX], v[COLUMNS_MAX];
    int steps = mode == MODE_F32 ? width : width / 2;
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int c = 0; c < C; c++) f[r][c] = vf_zero();
    }
    for (int i = 0; i < steps; i++) {
        if (R * 2 <= ROWS) {
            UNROLL for (int c = 0; c < C; c++)
            {
                if (c * VF % 16 == 0) PREFETCH(k[c * VF / 16 + AHEAD] + i * LINE);
            }
        } else if (next) {
            PREFETCH(next + i * LINE);
        }
#define WORDS(c) (k[(c)*VF / 16] + i * LINE + (c)*VF % 16 * 4)
        UNROLL for (int c = 0; c < C; c++) v[c] =
            mode == MODE_WIDEN ? vf_bf16_even(WORDS(c)) : vf_load(WORDS(c));
        outer_product(mode, R, C, f, v, q + (mode == MODE_WIDEN ? 2 * i : i), Q_WORDS(mode));
        if (mode != MODE_WIDEN) continue;
        UNROLL for (int c = 0; c < C; c++) v[c] = vf_bf16_odd(WORDS(c));
        outer_product(mode, R, C, f, v, q + 2 * i + 1, Q_WORDS(mode));
#undef WORDS
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int c = 0; c < C; c++) vf_store(s + r * ATTENTION_S_STRIDE + c * VF, f[r][c]);
    }
}

/* O[R][C registers from `column` on] = O * a + P V * b over the word rows [j0, j1) of the tile's V;
 * without a: O = P V. */
#define PV_ARGS                                                                                    \
    const char *const *v, int column, const uint32_t *p, int j0, int j1, float *o, int width,      \
        const float *a, const float *b
INLINE void tile_pv(const int mode, const int R, const int C, PV_ARGS)
{
    enum { V = VF * 4 }; /* bytes of a register */
    vf f[ROWS][COLUMNS_MAX], w[COLUMNS_MAX];
    const int per_block = mode == MODE_F32 ? 16 : 8;
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int c = 0; c < C; c++) f[r][c] = vf_zero();
    }
    for (int j = j0; j < j1; j++) {
        size_t at = ((size_t)(j % per_block) * (size_t)width + (size_t)(column * VF)) * 4;
        const char *words = v[j / per_block] + at;
        if (R * 2 <= ROWS) {
            UNROLL for (int c = 0; c < C; c++)
            {
                if (c * V % LINE == 0) PREFETCH(v[j / per_block + AHEAD] + at + c * V);
            }
        }
        UNROLL for (int c = 0; c < C; c++) w[c] =
            mode == MODE_WIDEN ? vf_bf16_even(words + c * V) : vf_load(words + c * V);
        outer_product(mode, R, C, f, w, p + (mode == MODE_WIDEN ? 2 * j : j), P_WORDS(mode));
        if (mode != MODE_WIDEN) continue;
        UNROLL for (int c = 0; c < C; c++) w[c] = vf_bf16_odd(words + c * V);
        outer_product(mode, R, C, f, w, p + 2 * j + 1, P_WORDS(mode));
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int c = 0; c < C; c++)
        {
            float *to = o + r * width + (column + c) * VF;
            if (a) f[r][c] = vf_fma(f[r][c], vf_set(b[r]), vf_load(to) * vf_set(a[r]));
            vf_store(to, f[r][c]);
        }
    }
}

#endif
