/*
 * linear_avx512.c - kernels for AVX-512 with VNNI: int8 for the quantised types, float32 for the
 * others.
 *
 * Outer products: R rows times 32 outputs stay in registers while K goes by. vpdpbusd wants one
 * unsigned operand; that is the weight (Q8_0: q + 128, Q4_0: the nibble), so activations are
 * broadcast straight from memory and the correction, -128 or -8 times the sum of x, is one int32
 * per row and block that starts the sum: no instruction and no byte of weight is spent on it. Six
 * rows are the most that leaves no sum on the stack.
 */
#if defined(__x86_64__)

#include "kernels/cpu/linear_avx512.h"

enum { ROWS_INT8 = 6, ROWS_F32 = 12 };

/* amax / 127 per block of 32, nearest even; then the correction for the weights' offset. */
INLINE void pack_int8(const float *x, int64_t cols, int row, int rows, uint8_t *out, int offset)
{
    int32_t *to = (int32_t *)(void *)out + row;
    for (int64_t b = 0; b < cols / QUANT_BLOCK; b++, to += X8_STEP_WORDS * rows) {
        __m512 x0 = _mm512_loadu_ps(x + b * QUANT_BLOCK);
        __m512 x1 = _mm512_loadu_ps(x + b * QUANT_BLOCK + 16);
        float top = _mm512_reduce_max_ps(_mm512_max_ps(_mm512_abs_ps(x0), _mm512_abs_ps(x1)));
        __m512 inverse = _mm512_set1_ps(top > X8_TINY ? 127 / top : 0);
        __m512i q0 = _mm512_cvtps_epi32(_mm512_mul_ps(x0, inverse));
        __m512i q1 = _mm512_cvtps_epi32(_mm512_mul_ps(x1, inverse));
        int32_t quads[QUADS];
        _mm_storeu_si128((__m128i *)(void *)quads, _mm512_cvtepi32_epi8(q0));
        _mm_storeu_si128((__m128i *)(void *)(quads + 4), _mm512_cvtepi32_epi8(q1));
        for (int j = 0; j < QUADS; j++) to[j * rows] = quads[j];
        to[QUADS * rows] = -offset * _mm512_reduce_add_epi32(_mm512_add_epi32(q0, q1));
        ((float *)(void *)to)[(QUADS + 1) * rows] = top / 127;
    }
}

static void pack_q8(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 128);
}

static void pack_q4(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    pack_int8(x, cols, row, rows, out, 8);
}

/* Four values of K: weights of 32 outputs times R rows. */
INLINE void quad_int8(const int R, __m512i w0, __m512i w1, const int32_t *x, __m512i a[][2])
{
    UNROLL for (int r = 0; r < R; r++)
    {
        __m512i v = _mm512_set1_epi32(x[r]);
        a[r][0] = _mm512_dpbusd_epi32(a[r][0], w0, v);
        a[r][1] = _mm512_dpbusd_epi32(a[r][1], w1, v);
    }
}

/* The block's integer sums times weight scale times row scale, added to the tile. */
INLINE void add_scaled(const int R, const uint8_t *w, const float *scales, __m512i a[][2],
                       __m512 f[][2])
{
    __m512 s0 = _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)w));
    __m512 s1 = _mm512_cvtph_ps(_mm256_load_si256((const __m256i *)(const void *)w + 1));
    UNROLL for (int r = 0; r < R; r++)
    {
        __m512 v = _mm512_set1_ps(scales[r]);
        f[r][0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(a[r][0]), _mm512_mul_ps(s0, v), f[r][0]);
        f[r][1] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(a[r][1]), _mm512_mul_ps(s1, v), f[r][1]);
    }
}

INLINE void tile_q8(const int R, const struct linear_tile *t)
{
    const uint8_t *w = t->w;
    const int32_t *x = (const int32_t *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS_INT8][2];
    tile_begin(R, t, f);
    for (int64_t b = t->steps; b > 0; b--, w += Q8_STEP_BYTES, x += R * X8_STEP_WORDS) {
        __m512i a[ROWS_INT8][2];
        UNROLL for (int r = 0; r < R; r++) a[r][0] = a[r][1] = _mm512_set1_epi32(x[QUADS * R + r]);
        if (prefetch) { /* half of the block's 17 lines; a burst of all costs a third of the speed
                         */
            PREFETCH(), PREFETCH(), PREFETCH(), PREFETCH(), PREFETCH();
            PREFETCH(), PREFETCH(), PREFETCH(), PREFETCH();
        }
        UNROLL for (int j = 0; j < QUADS; j++)
        {
            const uint8_t *q = w + SCALE_BYTES + j * 128;
            quad_int8(R, _mm512_load_si512(q), _mm512_load_si512(q + 64), x + j * R, a);
        }
        add_scaled(R, w, (const float *)(const void *)x + (QUADS + 1) * R, a, f);
    }
    tile_end(R, t, f);
}

INLINE void tile_q4(const int R, const struct linear_tile *t)
{
    const __m512i mask = _mm512_set1_epi8(15);
    const uint8_t *w = t->w;
    const int32_t *x = (const int32_t *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS_INT8][2];
    tile_begin(R, t, f);
    for (int64_t b = t->steps; b > 0; b--, w += Q4_STEP_BYTES, x += R * X8_STEP_WORDS) {
        __m512i a[ROWS_INT8][2];
        UNROLL for (int r = 0; r < R; r++) a[r][0] = a[r][1] = _mm512_set1_epi32(x[QUADS * R + r]);
        if (prefetch) PREFETCH(), PREFETCH(), PREFETCH(), PREFETCH(), PREFETCH();
        UNROLL for (int j = 0; j < QUADS / 2; j++)
        {
            const uint8_t *q = w + SCALE_BYTES + j * 128;
            __m512i v0 = _mm512_load_si512(q), v1 = _mm512_load_si512(q + 64);
            quad_int8(R, _mm512_and_si512(v0, mask), _mm512_and_si512(v1, mask), x + j * R, a);
            v0 = _mm512_and_si512(_mm512_srli_epi16(v0, 4), mask);
            v1 = _mm512_and_si512(_mm512_srli_epi16(v1, 4), mask);
            quad_int8(R, v0, v1, x + (j + QUADS / 2) * R, a);
        }
        add_scaled(R, w, (const float *)(const void *)x + (QUADS + 1) * R, a, f);
    }
    tile_end(R, t, f);
}

INLINE void row_f32(const int R, __m512 w0, __m512 w1, const float *x, __m512 f[][2])
{
    UNROLL for (int r = 0; r < R; r++)
    {
        __m512 v = _mm512_set1_ps(x[r]);
        f[r][0] = _mm512_fmadd_ps(w0, v, f[r][0]);
        f[r][1] = _mm512_fmadd_ps(w1, v, f[r][1]);
    }
}

INLINE void tile_f32(const int R, const struct linear_tile *t)
{
    const float *w = (const float *)(const void *)t->w, *x = (const float *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS_F32][2];
    tile_begin(R, t, f);
    for (int64_t k = t->steps; k > 0; k--, w += PANEL_WIDTH, x += R) {
        if (prefetch) PREFETCH();
        row_f32(R, _mm512_load_ps(w), _mm512_load_ps(w + 16), x, f);
    }
    tile_end(R, t, f);
}

INLINE void tile_f16(const int R, const struct linear_tile *t)
{
    const __m256i *w = (const __m256i *)(const void *)t->w;
    const float *x = (const float *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS_F32][2];
    tile_begin(R, t, f);
    for (int64_t k = t->steps; k > 0; k--, w += 2, x += R) {
        if (prefetch && k % 2) PREFETCH();
        row_f32(R, _mm512_cvtph_ps(_mm256_load_si256(w)), _mm512_cvtph_ps(_mm256_load_si256(w + 1)),
                x, f);
    }
    tile_end(R, t, f);
}

/* Without bf16 arithmetic: a bf16 is the upper half of a float32, the even k of a pair in the lower
 * half of each word. */
INLINE void tile_bf16(const int R, const struct linear_tile *t)
{
    const __m512i high = _mm512_set1_epi32((int)0xffff0000);
    const uint8_t *w = t->w;
    const float *x = (const float *)(const void *)t->x;
    const char *ahead = t->ahead;
    const bool prefetch = t->ahead_step;
    __m512 f[ROWS_F32][2];
    tile_begin(R, t, f);
    for (int64_t k = t->steps; k > 0; k--, w += 128, x += 2 * R) {
        __m512i w0 = _mm512_load_si512(w), w1 = _mm512_load_si512(w + 64);
        if (prefetch) PREFETCH();
        row_f32(R, _mm512_castsi512_ps(_mm512_slli_epi32(w0, 16)),
                _mm512_castsi512_ps(_mm512_slli_epi32(w1, 16)), x, f);
        row_f32(R, _mm512_castsi512_ps(_mm512_and_si512(w0, high)),
                _mm512_castsi512_ps(_mm512_and_si512(w1, high)), x + R, f);
    }
    tile_end(R, t, f);
}

EACH_6(TILE_DEFINE, tile_q8)
EACH_6(TILE_DEFINE, tile_q4)
EACH_12(TILE_DEFINE, tile_f32)
EACH_12(TILE_DEFINE, tile_f16)
EACH_12(TILE_DEFINE, tile_bf16)

const struct linear_format linear_avx512[DTYPE_COUNT] = {
    [DTYPE_F32] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_12(TILE_NAME, tile_f32)}},
    [DTYPE_F16] = {ROWS_F32, 1, 0, linear_pack_f32, {EACH_12(TILE_NAME, tile_f16)}},
    [DTYPE_BF16] = {ROWS_F32, 2, 0, linear_pack_f32_pairs, {EACH_12(TILE_NAME, tile_bf16)}},
    [DTYPE_Q8_0] = {ROWS_INT8, X8_STEP_WORDS, 0x80, pack_q8, {EACH_6(TILE_NAME, tile_q8)}},
    [DTYPE_Q4_0] = {ROWS_INT8, X8_STEP_WORDS, 0, pack_q4, {EACH_6(TILE_NAME, tile_q4)}},
};

#endif
