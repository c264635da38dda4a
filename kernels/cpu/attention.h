/*
 * attention.h - paged attention inside the CPU device: the layout of a KV page, the scratch of a
 * thread, and the table of kernels that each instruction set fills.
 *
 * A page holds, per KV head, one contiguous piece: all its K, then all its V, in words of 4 bytes
 * that are pairs of bf16 or one float32. With D the head size rounded up to 16 (zeros fill the
 * gap): bf16: K [page_tokens / 16][D / 2][16 tokens] words, V [page_tokens / 2][D] words (two
 * tokens) f32:  K [page_tokens / 16][D][16 tokens],           V [page_tokens][D] so a block of 16
 * tokens of K or V is one linear stream whatever the page size, and every word row is the operand
 * of a product as it lies: nothing is repacked when it is read.
 *
 * Queries are taken as rows (query, head of the group), heads innermost; an item of work is a KV
 * head, up to ATTENTION_ITEM_ROWS rows and a range of KV tiles. A tile is 256 tokens at absolute
 * positions; its result depends on the row and the tile alone, and the softmax state takes the
 * tiles in in order, whoever computed them: so a row is the same bit for bit alone, in any batch,
 * however chunked and split. Thread: see cpu.h.
 */
#ifndef KERNELS_CPU_ATTENTION_H
#define KERNELS_CPU_ATTENTION_H

#include <stdatomic.h>

#include "kernels/cpu/cpu.h"

enum {
    ATTENTION_BLOCK = 16, /* tokens */
    ATTENTION_TILE = 256, /* tokens of KV per step of the softmax */
    ATTENTION_BLOCKS = ATTENTION_TILE / ATTENTION_BLOCK,
    ATTENTION_LIST = 4 * ATTENTION_BLOCKS, /* K and V of a tile, K and V of the next one */
    ATTENTION_ITEM_ROWS = 96,              /* one pass over KV serves so many */
    ATTENTION_TILE_ROWS = 12,              /* the largest register tile of any ISA */
    ATTENTION_HEAD_MAX = 256,
    /* Strides in words; no power of two, or rows would meet in the same cache sets. */
    ATTENTION_Q_STRIDE = ATTENTION_HEAD_MAX + 8,
    ATTENTION_P_STRIDE = ATTENTION_TILE + 8,
    ATTENTION_S_STRIDE = ATTENTION_TILE + 16,
};

/* What one thread works in. Q and P are bf16 pairs or floats, as the kernels like. */
struct attention_scratch {
    _Alignas(64) uint32_t q[ATTENTION_ITEM_ROWS * ATTENTION_Q_STRIDE];
    _Alignas(64) uint32_t p[ATTENTION_TILE_ROWS * ATTENTION_P_STRIDE];
    _Alignas(64) float s[ATTENTION_TILE_ROWS * ATTENTION_S_STRIDE];
    _Alignas(64) float o[ATTENTION_ITEM_ROWS * ATTENTION_HEAD_MAX]; /* [row][D] */
    _Alignas(64) float max[ATTENTION_ITEM_ROWS + 16], sum[ATTENTION_ITEM_ROWS + 16];
};

/* An item's rows against one tile. */
struct attention_tile {
    const char *const *blocks; /* [ATTENTION_LIST] in the order of use, for the prefetches */
    int start;                 /* position of the tile's first token */
    int rows, group;           /* the group's rows of one position follow each other */
    int position;              /* of the first row */
    int width;                 /* D */
    int window;
    float softcap;
    float *part; /* NULL: fold into the scratch's state; else [rows] maxima, [rows] sums, [rows][D]
                  */
};

struct attention_kernels {
    /* q[head_dim] * scale -> row `row` of the scratch, and its state is that of no token yet. */
    void (*begin_row)(struct attention_scratch *scratch, int row, const float *q, int head_dim,
                      int width, float scale);
    void (*tile)(struct attention_scratch *scratch, const struct attention_tile *tile);
    /* The scratch's state takes in a tile that was stored as a part. */
    void (*take_part)(struct attention_scratch *scratch, const float *part, int rows, int width);
    void (*end_row)(const struct attention_scratch *scratch, int row, float *out, int head_dim,
                    int width);
};

extern const struct attention_kernels attention_bf16_scalar, attention_f32_scalar;
extern const struct attention_kernels attention_bf16_avx2, attention_f32_avx2;
extern const struct attention_kernels attention_bf16_avx512, attention_f32_avx512;
extern const struct attention_kernels attention_bf16_avx512bf16; /* f32: as avx512 */
extern const struct attention_kernels attention_bf16_neon, attention_f32_neon;

const struct attention_kernels *cpu_attention_kernels(enum cpu_isa isa, bool f32);

struct attention_split; /* attention.c */
struct attention_item;

/* Tokens of one row of the batch that fall into one block of 16, for writing to pages. */
struct attention_run {
    int32_t row, token, position, count;
};

struct cpu_attention {
    const struct attention_kernels *kernels;
    char **layers; /* [kv_layer_count] pages of one layer, [page_count][kv_heads] pieces */
    size_t *layer_bytes;
    struct attention_scratch *scratch; /* [threads] */
    struct attention_item *items;
    struct attention_split *splits;
    float *parts; /* storage of all parts of an op */
    struct attention_run *runs;
    int items_max, runs_max, layer_count, threads;
    size_t part_floats;
    int target; /* items wanted where there would be fewer; tests set it, results never change */
    _Alignas(64) _Atomic int next;
};

/* Where a block of 16 tokens lies. */
struct attention_pages {
    char *base;
    size_t page_bytes, piece_bytes, v_offset; /* of K and V of one head; of V in it */
    size_t block_bytes;                       /* of 16 tokens of K or of V */
    int page_tokens;
    int width; /* D */
    bool f32;
};

struct attention_pages attention_pages_of(const struct device *device, int kv_layer);

/* K of block `block` (position / 16) of a row whose page table is `pages`; V: + v_offset. */
static inline char *attention_block(const struct attention_pages *in, const int32_t *pages,
                                    int head, int block)
{
    int per_page = in->page_tokens / ATTENTION_BLOCK;
    return in->base + (size_t)pages[block / per_page] * in->page_bytes +
           (size_t)head * in->piece_bytes + (size_t)(block % per_page) * in->block_bytes;
}

static inline int attention_width(int head_dim)
{
    return (head_dim + 15) / 16 * 16;
}

/* Floats of a part's head: maxima and sums, padded so that its rows of O are aligned. */
static inline int attention_part_head(int rows)
{
    return (2 * rows + 15) / 16 * 16;
}

#endif
