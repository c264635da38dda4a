/*
 * attention_tile.h - the body of an attention_ISA.c: ATTENTION_KERNELS(name, MODE) defines a
 * struct attention_kernels of that name. Thread: any; touches its scratch and its part only.
 */
#ifndef KERNELS_CPU_ATTENTION_TILE_H
#define KERNELS_CPU_ATTENTION_TILE_H

#include "kernels/cpu/attention_softmax.h"

typedef void (*qk_function)(QK_ARGS);
typedef void (*pv_function)(PV_ARGS);

/* Register tiles by number of rows: for PV wide ones, and single registers where D is no multiple.
 */
struct tile_table {
    qk_function qk[ROWS + 1];
    pv_function pv[ROWS + 1], pv1[ROWS + 1];
};

#define TILE_DEFINE(R, MODE)                                                                       \
    static void MODE##_qk_##R(QK_ARGS)                                                             \
    {                                                                                              \
        tile_qk(MODE, R, QK_COLUMNS(R), k, next, q, s, width);                                     \
    }                                                                                              \
    static void MODE##_pv_##R(PV_ARGS)                                                             \
    {                                                                                              \
        tile_pv(MODE, R, PV_COLUMNS(R), v, column, p, j0, j1, o, width, a, b);                     \
    }                                                                                              \
    static void MODE##_pv1_##R(PV_ARGS)                                                            \
    {                                                                                              \
        tile_pv(MODE, R, 1, v, column, p, j0, j1, o, width, a, b);                                 \
    }
#define TILE_ROW(R, MODE) .qk[R] = MODE##_qk_##R, .pv[R] = MODE##_pv_##R, .pv1[R] = MODE##_pv1_##R,

/* Register tile `i` of `count` of an item's rows. */
INLINE void row_tile(const int mode, const struct tile_table *table,
                     struct attention_scratch *scratch, const struct attention_tile *t, int i,
                     int count)
{
    const int per_word = mode == MODE_F32 ? 1 : 2;
    int first = t->rows * i / count, R = t->rows * (i + 1) / count - first;
    int step = QK_COLUMNS(R) * VF / 16; /* blocks */
    int last = t->position + (first + R - 1) / t->group - t->start;
    int old = t->window ? t->position + first / t->group - t->window + 1 - t->start : 0;
    int b0 = clamp(old, 0, ATTENTION_TILE) / ATTENTION_BLOCK;
    int b1 = clamp(last + ATTENTION_BLOCK, 0, ATTENTION_TILE) / ATTENTION_BLOCK;
    float a[16], b[16], top[16], sum[16], *o = scratch->o;
    if (last < 0 || b0 >= ATTENTION_BLOCKS) b0 = b1 = 0; /* nothing is seen */
    if (b0 == b1 && !t->part) return;
    b0 = b0 / step * step, b1 = (b1 + step - 1) / step * step;
    int n = i * (ATTENTION_BLOCKS / step); /* each step fetches a block of the next tile */
    for (int c = b0; c < b1; c += step, n++)
        table->qk[R](
            t->blocks + c, n < 2 * ATTENTION_BLOCKS ? t->blocks[2 * ATTENTION_BLOCKS + n] : NULL,
            scratch->q + first * Q_WORDS(mode), scratch->s + c * ATTENTION_BLOCK, t->width);
    for (int r = 0; r < R; r++) {
        int to = t->position + (first + r) / t->group + 1 - t->start;
        int from = t->window ? to - t->window : 0;
        float *s = scratch->s + r * ATTENTION_S_STRIDE;
        uint32_t *p = scratch->p + r * P_WORDS(mode);
        if (from > b0 * ATTENTION_BLOCK || to < b1 * ATTENTION_BLOCK)
            softmax_row(mode, 1, s, p, b0, b1, from, to, t->softcap, top + r, sum + r);
        else
            softmax_row(mode, 0, s, p, b0, b1, from, to, t->softcap, top + r, sum + r);
    }
    if (t->part) {
        memcpy(t->part + first, top, (size_t)R * sizeof(float));
        memcpy(t->part + t->rows + first, sum, (size_t)R * sizeof(float));
        o = t->part + attention_part_head(t->rows);
    } else {
        fold(mode, scratch->max + first, scratch->sum + first, top, sum, a, b, R);
    }
    /* V from the window of the first row to the last token of the last one: all of it written */
    int j0 = clamp(old, 0, ATTENTION_TILE) / per_word;
    int j1 = clamp(last / per_word + 1, 0, b1 * ATTENTION_BLOCK / per_word);
    for (int c = 0, wide = PV_COLUMNS(R); c < t->width / VF; c += wide) {
        if (c + wide > t->width / VF) wide = 1;
        pv_function pv = wide == 1 ? table->pv1[R] : table->pv[R];
        pv(t->blocks + ATTENTION_BLOCKS, c, scratch->p, j0, j1, o + first * t->width, t->width,
           t->part ? NULL : a, b);
    }
}

#define ATTENTION_KERNELS(NAME, MODE)                                                              \
    EACH_ROWS(TILE_DEFINE, MODE)                                                                   \
    static void MODE##_begin_row(struct attention_scratch *scratch, int row, const float *q,       \
                                 int head_dim, int width, float scale)                             \
    {                                                                                              \
        begin_row(MODE, scratch, row, q, head_dim, width, scale);                                  \
    }                                                                                              \
    static void MODE##_tile(struct attention_scratch *scratch, const struct attention_tile *tile)  \
    {                                                                                              \
        static const struct tile_table table = {EACH_ROWS(TILE_ROW, MODE)};                        \
        int count = (tile->rows + ROWS - 1) / ROWS;                                                \
        for (int i = 0; i < count; i++) row_tile(MODE, &table, scratch, tile, i, count);           \
    }                                                                                              \
    static void MODE##_take_part(struct attention_scratch *scratch, const float *part, int rows,   \
                                 int width)                                                        \
    {                                                                                              \
        take_part(MODE, scratch, part, rows, width);                                               \
    }                                                                                              \
    const struct attention_kernels NAME = {MODE##_begin_row, MODE##_tile, MODE##_take_part, end_row}

#endif
