/*
 * linear_neon.c - kernels for any AArch64: float32 for the plain types, and int8 without the dot
 * product: two products per lane in int16, which 128 * 127 * 2 fits, then pairs widen to int32.
 */
#if defined(__aarch64__)

#include <arm_neon.h>

#define INLINE   static inline __attribute__((always_inline))
#define DOT_SUMS 2

INLINE void dot_add(int32x4_t sums[], const int8x16_t w[2], const int8x16_t x[2])
{
    int16x8_t low = vmull_s8(vget_low_s8(w[0]), vget_low_s8(x[0]));
    int16x8_t high = vmull_high_s8(w[0], x[0]);
    low = vmlal_s8(low, vget_low_s8(w[1]), vget_low_s8(x[1]));
    high = vmlal_high_s8(high, w[1], x[1]);
    sums[0] = vpadalq_s16(sums[0], low), sums[1] = vpadalq_s16(sums[1], high);
}

INLINE int32x4_t dot_total(const int32x4_t sums[])
{
    return vpaddq_s32(sums[0], sums[1]);
}

#include "kernels/cpu/linear_neon.h"

enum { ROWS_F32 = 3 };

/* amax / 127 per block of 32, nearest even; then the correction for the weights' offset. */
INLINE void pack_int8(const float *x, int64_t cols, int row, int rows, uint8_t *out, int offset)
{
    int32_t *to = (int32_t *)(void *)out + row;
    for (int64_t b = 0; b < cols / QUANT_BLOCK; b++, to += X8_STEP_WORDS * rows) {
        float32x4_t v[QUADS], top4 = vdupq_n_f32(0);
        int32x4_t sum4 = vdupq_n_s32(0);
        for (int j = 0; j < QUADS; j++) {
            v[j] = vld1q_f32(x + b * QUANT_BLOCK + j * 4);
            top4 = vmaxq_f32(top4, vabsq_f32(v[j]));
        }
        float top = vmaxvq_f32(top4), inverse = top > X8_TINY ? 127 / top : 0;
        for (int j = 0; j < QUADS; j++) {
            int32x4_t q = vcvtnq_s32_f32(vmulq_n_f32(v[j], inverse));
            int16x4_t halves = vmovn_s32(q);
            int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
            to[j * rows] = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
            sum4 = vaddq_s32(sum4, q);
        }
        to[QUADS * rows] = -offset * vaddvq_s32(sum4);
        ((float *)(void *)to)[(QUADS + 1) * rows] = top / 127;
    }
}

void linear_neon_pack_q8(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 0);
}

void linear_neon_pack_q4(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 8);
}

/* Four outputs of a step; of a BF16 pair, value `odd`. */
INLINE float32x4_t load_plain(const uint8_t *w, int i, const enum dtype dtype, const bool odd)
{
    if (dtype == DTYPE_F32) return vld1q_f32((const float *)(const void *)w + LANES * i);
    if (dtype == DTYPE_F16) return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(w + 2 * LANES * i)));
    uint32x4_t pairs = vld1q_u32((const uint32_t *)(const void *)w + LANES * i);
    if (odd) return vreinterpretq_f32_u32(vandq_u32(pairs, vdupq_n_u32(0xffff0000)));
    return vreinterpretq_f32_u32(vshlq_n_u32(pairs, 16));
}

INLINE void row_plain(const int R, const uint8_t *w, const float *x, const enum dtype dtype,
                      const bool odd, float32x4_t f[][PANEL_GROUPS])
{
    UNROLL for (int i = 0; i < PANEL_GROUPS; i++)
    {
        float32x4_t v = load_plain(w, i, dtype, odd);
        UNROLL for (int r = 0; r < R; r++) f[r][i] = vfmaq_f32(f[r][i], v, vld1q_dup_f32(x + r));
    }
}

INLINE void tile_plain(const int R, const struct linear_tile *t, const enum dtype dtype)
{
    const int step_cols = dtype == DTYPE_BF16 ? 2 : 1;
    const int step_bytes = dtype == DTYPE_F16 ? PANEL_WIDTH * 2 : PANEL_WIDTH * 4;
    const uint8_t *w = t->w;
    const float *x = (const float *)(const void *)t->x;
    float sums[ROWS_F32][PANEL_WIDTH];
    float32x4_t f[ROWS_F32][PANEL_GROUPS];
    sums_begin(R, t, sums);
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int i = 0; i < PANEL_GROUPS; i++) f[r][i] = vld1q_f32(sums[r] + LANES * i);
    }
    for (int64_t k = t->steps; k > 0; k--, w += step_bytes, x += step_cols * R) {
        row_plain(R, w, x, dtype, false, f);
        if (step_cols == 2) row_plain(R, w, x + R, dtype, true, f);
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int i = 0; i < PANEL_GROUPS; i++) vst1q_f32(sums[r] + LANES * i, f[r][i]);
    }
    sums_end(R, t, sums);
}

INLINE void tile_f32(const int R, const struct linear_tile *t)
{
    tile_plain(R, t, DTYPE_F32);
}

INLINE void tile_f16(const int R, const struct linear_tile *t)
{
    tile_plain(R, t, DTYPE_F16);
}

INLINE void tile_bf16(const int R, const struct linear_tile *t)
{
    tile_plain(R, t, DTYPE_BF16);
}

#define EACH_3(F, A) F(1, A) F(2, A) F(3, A)

EACH_4(TILE_DEFINE, tile_q8)
EACH_4(TILE_DEFINE, tile_q4)
EACH_3(TILE_DEFINE, tile_f32)
EACH_3(TILE_DEFINE, tile_f16)
EACH_3(TILE_DEFINE, tile_bf16)

const struct linear_format linear_neon[DTYPE_COUNT] = {
    [DTYPE_F32] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_3(TILE_NAME, tile_f32)}},
    [DTYPE_F16] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_3(TILE_NAME, tile_f16)}},
    [DTYPE_BF16] = {ROWS_F32, 2, 0, linear_pack_f32_pairs, {EACH_3(TILE_NAME, tile_bf16)}},
    [DTYPE_Q8_0] = {ROWS_INT8, X8_STEP_WORDS, 0, linear_neon_pack_q8, {EACH_4(TILE_NAME, tile_q8)}},
    [DTYPE_Q4_0] = {ROWS_INT8, X8_STEP_WORDS, 0, linear_neon_pack_q4, {EACH_4(TILE_NAME, tile_q4)}},
};

#endif
