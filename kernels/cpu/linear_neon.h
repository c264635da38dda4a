/*
 * linear_neon.h - the quantised kernels of both NEON files, which differ only in how they multiply
 * int8: the file that includes this defines, before it, DOT_SUMS (registers per four outputs),
 *   dot_add(sums, w, x)  adds two quads w[2] of four outputs times two broadcast quads x[2] of a
 * row, dot_total(sums)      the four outputs.
 *
 * The float sums of a tile stay in the first-level cache; GROUPS times four outputs are taken at a
 * time. Thread: pure functions.
 */
#ifndef KERNELS_CPU_LINEAR_NEON_H
#define KERNELS_CPU_LINEAR_NEON_H

#include <arm_neon.h>
#include <string.h>

#include "kernels/cpu/linear.h"

#define EACH_4(F, A)    F(1, A) F(2, A) F(3, A) F(4, A)
#define TILE_NAME(R, A) A##_##R,
#define TILE_DEFINE(R, A)                                                                          \
    static void A##_##R(const struct linear_tile *t)                                               \
    {                                                                                              \
        A(R, t);                                                                                   \
    }

enum {
    ROWS_INT8 = 4,
    LANES = 4,
    GROUPS = DOT_SUMS == 1 ? 4 : 2,
    PANEL_GROUPS = PANEL_WIDTH / LANES
};

INLINE void sums_begin(const int R, const struct linear_tile *t, float (*f)[PANEL_WIDTH])
{
    memset(f, 0, sizeof(*f) * (size_t)R);
    for (int r = 0; r < R && t->resume; r++)
        memcpy(f[r], t->y + (size_t)r * t->y_stride, (size_t)t->cols * sizeof(float));
}

INLINE void sums_end(const int R, const struct linear_tile *t, float (*f)[PANEL_WIDTH])
{
    for (int r = 0; r < R; r++) {
        for (int o = 0; o < PANEL_WIDTH && t->bias; o++) f[r][o] += t->bias[o];
        memcpy(t->y + (size_t)r * t->y_stride, f[r], (size_t)t->cols * sizeof(float));
    }
}

/* Quads j and j + 1 of four outputs: Q8_0 as stored, Q4_0 from the nibbles. */
INLINE void load_quads(const uint8_t *w, int group, int j, const bool is_q8, int8x16_t out[2])
{
    const uint8_t *from = w + SCALE_BYTES + group * 16;
    for (int i = 0; i < 2; i++) {
        if (is_q8) {
            out[i] = vld1q_s8((const int8_t *)from + (j + i) * 128);
            continue;
        }
        uint8x16_t both = vld1q_u8(from + (j + i) % (QUADS / 2) * 128);
        uint8x16_t nibbles = j < QUADS / 2 ? vandq_u8(both, vdupq_n_u8(15)) : vshrq_n_u8(both, 4);
        out[i] = vreinterpretq_s8_u8(nibbles);
    }
}

/* GROUPS x four outputs of one block, scaled and added to the float sums. */
INLINE void block_int8(const int R, const uint8_t *w, int group, const int32_t *x, const bool is_q8,
                       float (*f)[PANEL_WIDTH])
{
    const float *scales = (const float *)(const void *)x + (QUADS + 1) * R;
    int32x4_t a[GROUPS][ROWS_INT8][DOT_SUMS];
    UNROLL for (int g = 0; g < GROUPS; g++)
    {
        UNROLL for (int r = 0; r < R; r++)
        {
            UNROLL for (int i = 0; i < DOT_SUMS; i++) a[g][r][i] = vdupq_n_s32(0);
        }
    }
    UNROLL for (int j = 0; j < QUADS; j += 2)
    {
        int8x16_t quads[GROUPS][2];
        UNROLL for (int g = 0; g < GROUPS; g++) load_quads(w, group + g, j, is_q8, quads[g]);
        UNROLL for (int r = 0; r < R; r++)
        {
            int8x16_t v[2] = {vreinterpretq_s8_s32(vld1q_dup_s32(x + j * R + r)),
                              vreinterpretq_s8_s32(vld1q_dup_s32(x + (j + 1) * R + r))};
            UNROLL for (int g = 0; g < GROUPS; g++) dot_add(a[g][r], quads[g], v);
        }
    }
    UNROLL for (int g = 0; g < GROUPS; g++)
    {
        float16x4_t halves = vreinterpret_f16_u8(vld1_u8(w + (group + g) * LANES * 2));
        float32x4_t s = vcvt_f32_f16(halves);
        UNROLL for (int r = 0; r < R; r++)
        {
            float *sum = f[r] + (group + g) * LANES;
            int32x4_t whole = vaddq_s32(dot_total(a[g][r]), vdupq_n_s32(x[QUADS * R + r]));
            float32x4_t scale = vmulq_n_f32(s, scales[r]);
            vst1q_f32(sum, vfmaq_f32(vld1q_f32(sum), vcvtq_f32_s32(whole), scale));
        }
    }
}

INLINE void tile_int8(const int R, const struct linear_tile *t, const bool is_q8)
{
    float f[ROWS_INT8][PANEL_WIDTH];
    const uint8_t *w = t->w;
    const int32_t *x = (const int32_t *)(const void *)t->x;
    sums_begin(R, t, f);
    for (int64_t b = t->steps; b > 0; b--, x += R * X8_STEP_WORDS) {
        for (int group = 0; group < PANEL_GROUPS; group += GROUPS)
            block_int8(R, w, group, x, is_q8, f);
        w += is_q8 ? Q8_STEP_BYTES : Q4_STEP_BYTES;
    }
    sums_end(R, t, f);
}

INLINE void tile_q8(const int R, const struct linear_tile *t)
{
    tile_int8(R, t, true);
}

INLINE void tile_q4(const int R, const struct linear_tile *t)
{
    tile_int8(R, t, false);
}

/* linear_neon.c */
void linear_neon_pack_q8(const float *x, int64_t cols, int row, int rows, uint8_t *out);
void linear_neon_pack_q4(const float *x, int64_t cols, int row, int rows, uint8_t *out);

#endif
