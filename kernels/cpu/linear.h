/*
 * linear.h - packed weights and the kernels that multiply by them: what weight.c, linear.c and the
 * files per instruction set share.
 *
 * A matrix [rows][cols] is stored once, as panels of PANEL_WIDTH rows (outputs), each one linear
 * stream of steps along K, 64-byte aligned, ragged ends zero:
 *   F32, F16  a step is one k:  [32 outputs]
 *   BF16      two:              [32][2]
 *   Q8_0      a block of 32 k:  f16 scales [32], then [8][32][4] bytes
 *   Q4_0      a block of 32 k:  f16 scales [32], then [4][32][4] bytes, low nibbles k = 4 j + i,
 *                               high nibbles k = 16 + 4 j + i
 * Scales and values are in one stream because two streams per panel cost a third of the bandwidth
 * of reading. Rows of activations are packed into tiles of R rows, [steps][...][R], one stream too.
 *
 * Thread: pure functions; see linear.c for who calls them.
 */
#ifndef KERNELS_CPU_LINEAR_H
#define KERNELS_CPU_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/cpu.h"

/* Before a loop of constant count over registers: both compilers must unroll it, and early, or the
 * array it goes over stays in memory and the kernel at a third of its speed. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

enum {
    PANEL_WIDTH = 32,
    TILE_ROWS_MAX = 12,
    SCALE_BYTES = PANEL_WIDTH * 2, /* of a quantised block, before its values */
    QUADS = QUANT_BLOCK / 4,       /* groups of four k in a block */
    Q8_STEP_BYTES = SCALE_BYTES + PANEL_WIDTH * QUANT_BLOCK,
    Q4_STEP_BYTES = SCALE_BYTES + PANEL_WIDTH * QUANT_BLOCK / 2,
    X8_STEP_WORDS = QUADS + 2, /* per row: quads of int8, int32 correction, float scale */
};

/* A block of activations no larger than this counts as zero: the inverse of its scale would
 * overflow. */
#define X8_TINY 1e-36f

/* One call of a kernel: y[rows][cols] (+)= x W^T over `steps` steps of one panel. */
struct linear_tile {
    const uint8_t *w; /* the panel at the first step */
    const uint8_t *x; /* the packed rows at the first step */
    int64_t steps;
    float *y;
    size_t y_stride;   /* in floats */
    const float *bias; /* [PANEL_WIDTH] or NULL; added after the last step */
    int rows;
    int cols;    /* outputs of the panel that exist */
    bool resume; /* sums go on from y instead of 0 */
    /* Where several tiles share a panel, each also prefetches its part of what comes next. */
    const char *ahead;
    size_t ahead_step; /* bytes to go on per 128 bytes used; 0: leave it to the hardware */
};

/* How one dtype is computed on one instruction set. */
struct linear_format {
    int rows_max; /* of a tile */
    int x_words;  /* 32-bit words of a packed row per step */
    uint8_t flip; /* Q8_0: values are stored xor this; 0x80 makes them unsigned */
    /* One row of [cols] -> row `row` of a tile of `rows` rows. */
    void (*pack)(const float *x, int64_t cols, int row, int rows, uint8_t *out);
    void (*tiles[TILE_ROWS_MAX])(const struct linear_tile *tile); /* by rows - 1 */
};

extern const struct linear_format linear_scalar[DTYPE_COUNT];
extern const struct linear_format linear_avx2[DTYPE_COUNT];
extern const struct linear_format linear_avx512[DTYPE_COUNT];
extern const struct linear_format linear_avx512bf16; /* of DTYPE_BF16 */
extern const struct linear_format linear_neon[DTYPE_COUNT];
extern const struct linear_format linear_neondot[2]; /* of DTYPE_Q8_0, DTYPE_Q4_0 */

/* Packs float32 as [cols][rows]: for kernels without a type of their own for activations. The
 * second adds a zero to an odd count, for steps of two. */
void linear_pack_f32(const float *x, int64_t cols, int row, int rows, uint8_t *out);
void linear_pack_f32_pairs(const float *x, int64_t cols, int row, int rows, uint8_t *out);

struct weight {
    struct weight *next; /* of the device's list */
    enum weight_kind kind;
    enum dtype dtype;
    int64_t rows, cols;
    const struct linear_format *format; /* NULL: a vector */
    int64_t panel_count, steps;         /* per panel */
    size_t step_bytes, panel_bytes;     /* of a panel */
    size_t bytes;                       /* resident */
    uint8_t *data;
};

enum status cpu_weight_create(struct device *device, const struct weight_desc *desc,
                              struct weight **out, struct error *error);
void cpu_weight_write(struct weight *weight, int64_t row, int64_t count, const void *data);
void cpu_weights_close(struct device *device); /* all of them */

/* Row `row` of a matrix as float32 [cols], out of the panels, times `scale`. */
void cpu_weight_row(const struct weight *weight, int64_t row, float scale, float *out);

/* Bytes of `rows` packed rows for this weight. */
size_t cpu_weight_packed_bytes(const struct weight *weight, int64_t rows);

#endif
