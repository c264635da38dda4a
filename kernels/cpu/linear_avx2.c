/*
 * linear_avx2.c - kernels for AVX2 with FMA and F16C: the panels of linear.h as four registers of
 * eight outputs.
 *
 * Sixteen registers do not hold a useful tile of both integer and float sums, so the quantised
 * kernels keep the float sums of a tile in the first-level cache and take each block in two halves
 * of 16 outputs. Integer sums are exact and scaled as in the AVX-512 kernels, so the results are
 * the same, bit for bit. vpmaddubsw adds two products in int16: Q4_0's nibbles cannot overflow it
 * even summed over a block (15 * 127 * 16); Q8_0 goes through |w| and x with w's sign (128 * 127 *
 * 2).
 */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/linear.h"

#define INLINE static inline __attribute__((always_inline))

enum { ROWS_INT8 = 4, ROWS_F32 = 3, REGISTERS = 4 };

/* amax / 127 per block of 32, nearest even; then the correction for the weights' offset. */
INLINE void pack_int8(const float *x, int64_t cols, int row, int rows, uint8_t *out, int offset)
{
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    int32_t *to = (int32_t *)(void *)out + row;
    for (int64_t b = 0; b < cols / QUANT_BLOCK; b++, to += X8_STEP_WORDS * rows) {
        __m256 v[4], top8 = _mm256_setzero_ps();
        __m256i q[4];
        UNROLL for (int i = 0; i < 4; i++)
        {
            v[i] = _mm256_loadu_ps(x + b * QUANT_BLOCK + i * 8);
            top8 = _mm256_max_ps(top8, _mm256_and_ps(v[i], magnitude));
        }
        __m128 top4 = _mm_max_ps(_mm256_castps256_ps128(top8), _mm256_extractf128_ps(top8, 1));
        top4 = _mm_max_ps(top4, _mm_movehl_ps(top4, top4));
        float top = _mm_cvtss_f32(_mm_max_ss(top4, _mm_movehdup_ps(top4)));
        __m256 inverse = _mm256_set1_ps(top > X8_TINY ? 127 / top : 0);
        UNROLL for (int i = 0; i < 4; i++) q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], inverse));
        __m256i sum8 = _mm256_add_epi32(_mm256_add_epi32(q[0], q[1]), _mm256_add_epi32(q[2], q[3]));
        __m128i sum4 =
            _mm_add_epi32(_mm256_castsi256_si128(sum8), _mm256_extracti128_si256(sum8, 1));
        sum4 = _mm_add_epi32(sum4, _mm_shuffle_epi32(sum4, 0x4e));
        sum4 = _mm_add_epi32(sum4, _mm_shuffle_epi32(sum4, 0xb1));
        __m256i packed =
            _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
        int32_t quads[QUADS];
        _mm256_storeu_si256((__m256i *)(void *)quads, _mm256_permutevar8x32_epi32(packed, order));
        for (int j = 0; j < QUADS; j++) to[j * rows] = quads[j];
        to[QUADS * rows] = -offset * _mm_cvtsi128_si32(sum4);
        ((float *)(void *)to)[(QUADS + 1) * rows] = top / 127;
    }
}

static void pack_q8(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 0);
}

static void pack_q4(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 8);
}

/* Lanes of register i of the panel that exist. */
INLINE __m256i lane_mask(const struct linear_tile *t, int i)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(t->cols - 8 * i), lanes);
}

INLINE __m256 sum_begin(const struct linear_tile *t, int r, int i)
{
    if (!t->resume) return _mm256_setzero_ps();
    return _mm256_maskload_ps(t->y + (size_t)r * t->y_stride + 8 * i, lane_mask(t, i));
}

INLINE void sum_end(const struct linear_tile *t, int r, int i, __m256 sum)
{
    if (t->bias) sum = _mm256_add_ps(sum, _mm256_loadu_ps(t->bias + 8 * i));
    _mm256_maskstore_ps(t->y + (size_t)r * t->y_stride + 8 * i, lane_mask(t, i), sum);
}

/* Adds two registers of integer sums, outputs 16 h and up, scaled, to the tile's float sums. */
INLINE void add_scaled(const int R, const uint8_t *w, int h, const float *scales, __m256i a[][2],
                       float (*f)[PANEL_WIDTH])
{
    UNROLL for (int i = 0; i < 2; i++)
    {
        const __m128i *halves = (const __m128i *)(const void *)w + 2 * h + i;
        __m256 s = _mm256_cvtph_ps(_mm_load_si128(halves));
        UNROLL for (int r = 0; r < R; r++)
        {
            float *sum = f[r] + 16 * h + 8 * i;
            __m256 scale = _mm256_mul_ps(s, _mm256_set1_ps(scales[r]));
            _mm256_store_ps(
                sum, _mm256_fmadd_ps(_mm256_cvtepi32_ps(a[r][i]), scale, _mm256_load_ps(sum)));
        }
    }
}

INLINE void block_q8(const int R, const uint8_t *w, int h, const int32_t *x,
                     float (*f)[PANEL_WIDTH])
{
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i a[ROWS_INT8][2];
    UNROLL for (int r = 0; r < R; r++) a[r][0] = a[r][1] = _mm256_setzero_si256();
    UNROLL for (int j = 0; j < QUADS; j++)
    {
        UNROLL for (int i = 0; i < 2; i++)
        {
            const uint8_t *from = w + SCALE_BYTES + j * 128 + h * 64 + i * 32;
            __m256i q = _mm256_load_si256((const __m256i *)(const void *)from),
                    size = _mm256_abs_epi8(q);
            UNROLL for (int r = 0; r < R; r++)
            {
                __m256i v = _mm256_sign_epi8(_mm256_set1_epi32(x[j * R + r]), q);
                __m256i dot = _mm256_madd_epi16(_mm256_maddubs_epi16(size, v), ones);
                a[r][i] = _mm256_add_epi32(a[r][i], dot);
            }
        }
    }
    add_scaled(R, w, h, (const float *)(const void *)x + (QUADS + 1) * R, a, f);
}

INLINE void block_q4(const int R, const uint8_t *w, int h, const int32_t *x,
                     float (*f)[PANEL_WIDTH])
{
    const __m256i ones = _mm256_set1_epi16(1), mask = _mm256_set1_epi8(15);
    __m256i a[ROWS_INT8][2];
    UNROLL for (int r = 0; r < R; r++) a[r][0] = a[r][1] = _mm256_setzero_si256();
    UNROLL for (int j = 0; j < QUADS / 2; j++)
    {
        UNROLL for (int i = 0; i < 2; i++)
        {
            const uint8_t *from = w + SCALE_BYTES + j * 128 + h * 64 + i * 32;
            __m256i q = _mm256_load_si256((const __m256i *)(const void *)from);
            __m256i low = _mm256_and_si256(q, mask);
            __m256i high = _mm256_and_si256(_mm256_srli_epi16(q, 4), mask);
            UNROLL for (int r = 0; r < R; r++)
            {
                __m256i v = _mm256_set1_epi32(x[j * R + r]);
                __m256i v2 = _mm256_set1_epi32(x[(j + QUADS / 2) * R + r]);
                a[r][i] = _mm256_add_epi16(a[r][i], _mm256_maddubs_epi16(low, v));
                a[r][i] = _mm256_add_epi16(a[r][i], _mm256_maddubs_epi16(high, v2));
            }
        }
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        __m256i correction = _mm256_set1_epi32(x[QUADS * R + r]);
        a[r][0] = _mm256_add_epi32(_mm256_madd_epi16(a[r][0], ones), correction);
        a[r][1] = _mm256_add_epi32(_mm256_madd_epi16(a[r][1], ones), correction);
    }
    add_scaled(R, w, h, (const float *)(const void *)x + (QUADS + 1) * R, a, f);
}

INLINE void prefetch_lines(const struct linear_tile *t, const char **ahead, int count)
{
    for (int i = 0; i < count && t->ahead_step; i++, *ahead += t->ahead_step)
        _mm_prefetch(*ahead, _MM_HINT_T1);
}

INLINE void tile_int8(const int R, const struct linear_tile *t, const bool is_q8)
{
    _Alignas(32) float f[ROWS_INT8][PANEL_WIDTH];
    const uint8_t *w = t->w;
    const int32_t *x = (const int32_t *)(const void *)t->x;
    const char *ahead = t->ahead;
    for (int r = 0; r < R; r++) {
        for (int i = 0; i < REGISTERS; i++) _mm256_store_ps(f[r] + 8 * i, sum_begin(t, r, i));
    }
    for (int64_t b = t->steps; b > 0; b--, x += R * X8_STEP_WORDS) {
        prefetch_lines(t, &ahead, is_q8 ? 9 : 5);
        for (int h = 0; h < 2; h++) {
            if (is_q8)
                block_q8(R, w, h, x, f);
            else
                block_q4(R, w, h, x, f);
        }
        w += is_q8 ? Q8_STEP_BYTES : Q4_STEP_BYTES;
    }
    for (int r = 0; r < R; r++) {
        for (int i = 0; i < REGISTERS; i++) sum_end(t, r, i, _mm256_load_ps(f[r] + 8 * i));
    }
}

INLINE void tile_q8(const int R, const struct linear_tile *t)
{
    tile_int8(R, t, true);
}

INLINE void tile_q4(const int R, const struct linear_tile *t)
{
    tile_int8(R, t, false);
}

/* Eight outputs of a step; of a BF16 pair, value `odd`. */
INLINE __m256 load_plain(const uint8_t *w, int i, const enum dtype dtype, const bool odd)
{
    if (dtype == DTYPE_F32) return _mm256_load_ps((const float *)(const void *)w + 8 * i);
    if (dtype == DTYPE_F16)
        return _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(const void *)w + i));
    __m256i pairs = _mm256_load_si256((const __m256i *)(const void *)w + i);
    if (odd) return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_srli_epi32(pairs, 16), 16));
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
}

INLINE void row_plain(const int R, const uint8_t *w, const float *x, const enum dtype dtype,
                      const bool odd, __m256 f[][REGISTERS])
{
    UNROLL for (int i = 0; i < REGISTERS; i++)
    {
        __m256 v = load_plain(w, i, dtype, odd);
        UNROLL for (int r = 0; r < R; r++) f[r][i] =
            _mm256_fmadd_ps(v, _mm256_broadcast_ss(x + r), f[r][i]);
    }
}

INLINE void tile_plain(const int R, const struct linear_tile *t, const enum dtype dtype)
{
    const int step_cols = dtype == DTYPE_BF16 ? 2 : 1;
    const int step_bytes = dtype == DTYPE_F16 ? PANEL_WIDTH * 2 : PANEL_WIDTH * 4;
    const uint8_t *w = t->w;
    const float *x = (const float *)(const void *)t->x;
    const char *ahead = t->ahead;
    __m256 f[ROWS_F32][REGISTERS];
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int i = 0; i < REGISTERS; i++) f[r][i] = sum_begin(t, r, i);
    }
    for (int64_t k = t->steps; k > 0; k--, w += step_bytes, x += step_cols * R) {
        if (dtype != DTYPE_F16 || k % 2) prefetch_lines(t, &ahead, 1);
        row_plain(R, w, x, dtype, false, f);
        if (step_cols == 2) {
            /* Load the pairs again: kept from above, they push sums out of the registers. */
            __asm__ volatile("" : : : "memory");
            row_plain(R, w, x + R, dtype, true, f);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
    {
        UNROLL for (int i = 0; i < REGISTERS; i++) sum_end(t, r, i, f[r][i]);
    }
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

#define EACH_3(F, A)    F(1, A) F(2, A) F(3, A)
#define EACH_4(F, A)    EACH_3(F, A) F(4, A)
#define TILE_NAME(R, A) A##_##R,
#define TILE_DEFINE(R, A)                                                                          \
    static void A##_##R(const struct linear_tile *t)                                               \
    {                                                                                              \
        A(R, t);                                                                                   \
    }

EACH_4(TILE_DEFINE, tile_q8)
EACH_4(TILE_DEFINE, tile_q4)
EACH_3(TILE_DEFINE, tile_f32)
EACH_3(TILE_DEFINE, tile_f16)
EACH_3(TILE_DEFINE, tile_bf16)

const struct linear_format linear_avx2[DTYPE_COUNT] = {
    [DTYPE_F32] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_3(TILE_NAME, tile_f32)}},
    [DTYPE_F16] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_3(TILE_NAME, tile_f16)}},
    [DTYPE_BF16] = {ROWS_F32, 2, 0, linear_pack_f32_pairs, {EACH_3(TILE_NAME, tile_bf16)}},
    [DTYPE_Q8_0] = {ROWS_INT8, X8_STEP_WORDS, 0, pack_q8, {EACH_4(TILE_NAME, tile_q8)}},
    [DTYPE_Q4_0] = {ROWS_INT8, X8_STEP_WORDS, 0, pack_q4, {EACH_4(TILE_NAME, tile_q4)}},
};

#endif
