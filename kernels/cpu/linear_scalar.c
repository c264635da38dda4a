/*
 * linear_scalar.c - the reference kernels: plain C, any machine, the panels of linear.h and the
 * same roundings as the vector kernels but for their fused multiply-add.
 */
#include <math.h>
#include <string.h>

#include "kernels/cpu/linear.h"

enum { ROWS = 4 };

void linear_pack_f32(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    float *to = (float *)(void *)out + row;
    for (int64_t k = 0; k < cols; k++, to += rows) *to = x[k];
}

void linear_pack_f32_pairs(const float *x, int64_t cols, int row, int rows, uint8_t *out)
{
    linear_pack_f32(x, cols, row, rows, out);
    if (cols % 2) ((float *)(void *)out)[cols * rows + row] = 0;
}

/* amax / 127 per block, nearest even, as llama.cpp quantises activations; the scale stays float32.
 */
static void pack_int8(const float *x, int64_t cols, int row, int rows, uint8_t *out, int offset)
{
    int32_t *to = (int32_t *)(void *)out + row;
    for (int64_t b = 0; b < cols / QUANT_BLOCK; b++, to += X8_STEP_WORDS * rows) {
        int8_t q[QUANT_BLOCK];
        float top = 0, scale;
        int sum = 0;
        for (int i = 0; i < QUANT_BLOCK; i++) top = fmaxf(top, fabsf(x[b * QUANT_BLOCK + i]));
        float inverse = top > X8_TINY ? 127 / top : 0;
        for (int i = 0; i < QUANT_BLOCK; i++) {
            float value = x[b * QUANT_BLOCK + i] * inverse;
            q[i] = fabsf(value) < 128 ? (int8_t)lrintf(value) : 0;
            sum += q[i];
        }
        for (int j = 0; j < QUADS; j++) memcpy(to + j * rows, q + 4 * j, 4);
        to[QUADS * rows] = -offset * sum;
        scale = top / 127;
        memcpy(to + (QUADS + 1) * rows, &scale, 4);
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

static void load_sums(const struct linear_tile *t, float sums[ROWS][PANEL_WIDTH])
{
    memset(sums, 0, sizeof(float) * ROWS * PANEL_WIDTH);
    for (int r = 0; r < t->rows && t->resume; r++)
        memcpy(sums[r], t->y + (size_t)r * t->y_stride, (size_t)t->cols * sizeof(float));
}

static void store_sums(const struct linear_tile *t, float sums[ROWS][PANEL_WIDTH])
{
    for (int r = 0; r < t->rows; r++) {
        for (int o = 0; o < t->cols; o++)
            t->y[(size_t)r * t->y_stride + o] = t->bias ? sums[r][o] + t->bias[o] : sums[r][o];
    }
}

/* One step of a plain type: `step_cols` values of K. */
static void tile_plain(const struct linear_tile *t, enum dtype dtype)
{
    float sums[ROWS][PANEL_WIDTH], w;
    int step_cols = dtype == DTYPE_BF16 ? 2 : 1, size = dtype == DTYPE_F32 ? 4 : 2;
    const float *x = (const float *)(const void *)t->x;
    load_sums(t, sums);
    for (int64_t k = 0; k < t->steps * step_cols; k++, x += t->rows) {
        const uint8_t *from = t->w + k / step_cols * step_cols * PANEL_WIDTH * size;
        for (int o = 0; o < PANEL_WIDTH; o++) {
            dtype_to_f32(dtype, from + (o * step_cols + k % step_cols) * size, 1, &w);
            for (int r = 0; r < t->rows; r++) sums[r][o] += w * x[r];
        }
    }
    store_sums(t, sums);
}

static int block_dot(const uint8_t *q, const int8_t *x, int rows, bool is_q8)
{
    int sum = 0;
    for (int i = 0; i < QUANT_BLOCK; i++) {
        int at = is_q8 ? i : i % (QUANT_BLOCK / 2); /* high nibbles are the second half */
        uint8_t byte = q[at / 4 * PANEL_WIDTH * 4 + at % 4];
        int w = is_q8 ? (int8_t)byte : i < QUANT_BLOCK / 2 ? byte & 15 : byte >> 4;
        sum += w * x[i / 4 * rows * 4 + i % 4];
    }
    return sum;
}

static void tile_int8(const struct linear_tile *t, bool is_q8)
{
    float sums[ROWS][PANEL_WIDTH];
    const uint8_t *w = t->w, *x = t->x;
    int rows = t->rows;
    load_sums(t, sums);
    for (int64_t b = 0; b < t->steps; b++, x += X8_STEP_WORDS * rows * 4) {
        const int32_t *corrections = (const int32_t *)(const void *)x + QUADS * rows;
        const float *scales = (const float *)(const void *)x + (QUADS + 1) * rows;
        for (int o = 0; o < PANEL_WIDTH; o++) {
            uint16_t bits;
            memcpy(&bits, w + o * 2, 2);
            float scale = f16_to_f32(bits);
            for (int r = 0; r < rows; r++) {
                int dot =
                    block_dot(w + SCALE_BYTES + o * 4, (const int8_t *)x + r * 4, rows, is_q8);
                sums[r][o] += (float)(dot + corrections[r]) * (scale * scales[r]);
            }
        }
        w += is_q8 ? Q8_STEP_BYTES : Q4_STEP_BYTES;
    }
    store_sums(t, sums);
}

static void tile_f32(const struct linear_tile *t)
{
    tile_plain(t, DTYPE_F32);
}

static void tile_f16(const struct linear_tile *t)
{
    tile_plain(t, DTYPE_F16);
}

static void tile_bf16(const struct linear_tile *t)
{
    tile_plain(t, DTYPE_BF16);
}

static void tile_q8(const struct linear_tile *t)
{
    tile_int8(t, true);
}

static void tile_q4(const struct linear_tile *t)
{
    tile_int8(t, false);
}

#define FORMAT(WORDS, PACK, TILE)                                                                  \
    {                                                                                              \
        .rows_max = ROWS, .x_words = WORDS, .pack = PACK, .tiles = {TILE, TILE, TILE, TILE},       \
    }

const struct linear_format linear_scalar[DTYPE_COUNT] = {
    [DTYPE_F32] = FORMAT(1, linear_pack_f32, tile_f32),
    [DTYPE_F16] = FORMAT(1, linear_pack_f32, tile_f16),
    [DTYPE_BF16] = FORMAT(2, linear_pack_f32_pairs, tile_bf16),
    [DTYPE_Q8_0] = FORMAT(X8_STEP_WORDS, pack_q8, tile_q8),
    [DTYPE_Q4_0] = FORMAT(X8_STEP_WORDS, pack_q4, tile_q4),
};
