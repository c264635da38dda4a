/*
 * attention_softmax.h - the softmax of a tile's scores and the state that takes tiles in, written
 * once for every ISA; scores are in units of log2, their scale is in Q. Thread: any; pure.
 */
#ifndef KERNELS_CPU_ATTENTION_SOFTMAX_H
#define KERNELS_CPU_ATTENTION_SOFTMAX_H

#include "kernels/cpu/attention_kernel.h"

INLINE int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

#define LOW -1e20f /* the maximum of no score at all */

/* Relative error 3e-6 is far below that of a P rounded to bf16; exactly 1 at 0, 0 at -infinity. */
INLINE vf softmax_exp2(const int mode, vf x)
{
#ifdef __AVX512BF16__
    if (mode == MODE_PAIRS) {
        vf f = _mm512_reduce_ps(x, 9), p; /* x - floor(x) */
        p = vf_fma(f, vf_set(.0134266855f), vf_set(.0522424722f));
        p = vf_fma(p, f, vf_set(.241280206f));
        p = vf_fma(p, f, vf_set(.693044845f));
        return _mm512_scalef_ps(vf_fma(p, f, vf_set(1)), x);
    }
#endif
    return vf_exp2(x);
}

INLINE vf capped(const int mode, vf x, float cap) /* x is 2 log2(e) / cap times the score */
{
    vf one = vf_set(1);
    return vf_set(cap * LOG2E) * (one - vf_set(2) / (softmax_exp2(mode, x) + one));
}

/* P of block b (and b + 1 in pairs) and what it adds to the sums, as rounded. */
INLINE void softmax_block(const int mode, const float *s, uint32_t *p, int b, vf top, vf *sums)
{
#ifdef __AVX512BF16__
    if (mode == MODE_PAIRS) {
        vf e0 = softmax_exp2(mode, vf_load(s + b * 16) - top);
        vf e1 = softmax_exp2(mode, vf_load(s + b * 16 + 16) - top);
        vf pairs = (vf)_mm512_cvtne2ps_pbh(e1, e0);
        vf_store(p + b * 8, pairs);
        sums[0] = pairs_dot(sums[0], pairs, (vf)_mm512_set1_epi32(0x3f803f80)); /* times 1 */
        return;
    }
#endif
    UNROLL for (int i = 0; i < 16 / VF; i++)
    {
        vf e = softmax_exp2(mode, vf_load(s + b * 16 + i * VF) - top);
        vf_store(p + b * 16 + i * VF, e);
        sums[i] += e;
    }
}

/* One row of scores against the blocks [b0, b1) of a tile, of which it sees the tokens [from, to).
 * Masking comes last, so a score may be anything where K was never written. */
INLINE void softmax_row(const int mode, const int masked, float *s, uint32_t *p, int b0, int b1,
                        int from, int to, float cap, float *max, float *sum)
{
    vf tops[16 / VF], sums[16 / VF];
    UNROLL for (int i = 0; i < 16 / VF; i++) tops[i] = vf_set(LOW), sums[i] = vf_zero();
    for (int b = b0; b < b1; b++) {
        UNROLL for (int i = 0; i < 16 / VF; i++)
        {
            int at = b * 16 + i * VF;
            vf x = vf_load(s + at);
            if (cap != 0) x = capped(mode, x, cap);
            if (masked) x = vf_keep(x, from - at, to - at);
            if (masked || cap != 0) vf_store(s + at, x);
            tops[i] = vf_max(x, tops[i]);
        }
    }
    UNROLL for (int i = 1; i < 16 / VF; i++) tops[0] = vf_max(tops[i], tops[0]);
    *max = vf_top(tops[0]);
    for (int b = b0; b < b1; b += mode == MODE_PAIRS ? 2 : 1)
        softmax_block(mode, s, p, b, vf_set(*max), sums);
    UNROLL for (int i = 1; i < 16 / VF; i++) sums[0] += sums[i];
    *sum = vf_sum(sums[0]);
}

/* The states of up to 16 rows take in one tile: its maxima and sums, and the factors of
 * O = O * a + O_tile * b. */
INLINE void fold(const int mode, float *max, float *sum, const float *tile_max,
                 const float *tile_sum, float *a, float *b, int rows)
{
    float m[4][16] = {{0}};
    size_t bytes = (size_t)rows * sizeof(float);
    memcpy(m[0], max, bytes), memcpy(m[1], sum, bytes);
    memcpy(m[2], tile_max, bytes), memcpy(m[3], tile_sum, bytes);
    for (int i = 0; i < 16; i += VF) {
        vf old = vf_load(m[0] + i), new = vf_load(m[2] + i), top = vf_max(old, new);
        vf va = softmax_exp2(mode, old - top), vb = softmax_exp2(mode, new - top);
        vf_store(m[0] + i, top);
        vf_store(m[1] + i, vf_fma(vf_load(m[3] + i), vb, vf_load(m[1] + i) * va));
        vf_store(a + i, va), vf_store(b + i, vb);
    }
    memcpy(max, m[0], bytes), memcpy(sum, m[1], bytes);
}

INLINE void begin_row(const int mode, struct attention_scratch *scratch, int row, const float *q,
                      int head_dim, int width, float scale)
{
    uint32_t *to = scratch->q + row * Q_WORDS(mode);
    for (int i = 0; i < width; i += VF) {
        vf x = vf_load_part(q + i, clamp(head_dim - i, 0, VF)) * vf_set(scale);
#ifdef __AVX512BF16__
        if (mode == MODE_PAIRS) {
            _mm256_storeu_si256((__m256i *)(to + i / 2), (__m256i)_mm512_cvtneps_pbh(x));
            continue;
        }
#endif
        vf_store(to + i, x);
    }
    scratch->max[row] = LOW, scratch->sum[row] = 0;
    memset(scratch->o + row * width, 0, (size_t)width * sizeof(float));
}

INLINE void take_part(const int mode, struct attention_scratch *scratch, const float *part,
                      int rows, int width)
{
    for (int first = 0; first < rows; first += 16) {
        float a[16], b[16];
        int count = rows - first < 16 ? rows - first : 16;
        fold(mode, scratch->max + first, scratch->sum + first, part + first, part + rows + first, a,
             b, count);
        for (int r = 0; r < count; r++) {
            float *o = scratch->o + (first + r) * width;
            const float *in = part + attention_part_head(rows) + (first + r) * width;
            for (int i = 0; i < width; i += VF)
                vf_store(o + i,
                         vf_fma(vf_load(in + i), vf_set(b[r]), vf_load(o + i) * vf_set(a[r])));
        }
    }
}

static void end_row(const struct attention_scratch *scratch, int row, float *out, int head_dim,
                    int width)
{
    vf factor = vf_set(1 / scratch->sum[row]);
    for (int i = 0; i < head_dim; i += VF) {
        vf x = vf_load(scratch->o + row * width + i) * factor;
        vf_store_part(out + i, x + vf_zero(), head_dim - i); /* -0 + 0 = 0: they are the same */
    }
}

#endif
