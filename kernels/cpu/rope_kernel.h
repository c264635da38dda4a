/*
 * rope_kernel.h - a head's norm and rotation, and K and V on their way into pages, written once for
 * every ISA (simd.h). Thread: any; pure but for what they write.
 */
#ifndef KERNELS_CPU_ROPE_KERNEL_H
#define KERNELS_CPU_ROPE_KERNEL_H

#include "kernels/cpu/elementwise_kernel.h"

INLINE void rotate_halves(float *x, const float *table, int half)
{
    for (int i = 0; i < half; i += VF) {
        int part = part_of(half - i);
        vf a = vf_load_part(x + i, part), b = vf_load_part(x + half + i, part);
        vf cos = vf_load_part(table + i, part), sin = vf_load_part(table + half + i, part);
        vf_store_part(x + i, a * cos - b * sin, part);
        vf_store_part(x + half + i, b * cos + a * sin, part);
    }
}

INLINE void rotate_pairs(float *x, const float *table, int half)
{
    for (int i = 0; i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        x[2 * i] = a * table[i] - b * table[half + i];
        x[2 * i + 1] = b * table[i] + a * table[half + i];
    }
}

static void vector_rotate(float *x, const float *norm, float eps, const float *table, int head_dim,
                          int rotary_dim, bool interleaved)
{
    if (norm) vector_norm(NULL, x, norm, x, head_dim, eps);
    if (interleaved)
        rotate_pairs(x, table, rotary_dim / 2);
    else
        rotate_halves(x, table, rotary_dim / 2);
}

/* head_dim floats -> words of a row: floats, or bf16 pairs; zeros up to `width` values. */
INLINE void row_words(const bool f32, const float *x, uint32_t *out, int head_dim, int width)
{
    for (int i = 0; i < width; i += VF) {
        vf v = vf_load_part(x + i, head_dim > i ? part_of(head_dim - i) : 0);
        if (f32)
            vf_store(out + i, v);
        else
            vf_store_high(out + i / 2, (vf)vu_bf16(v));
    }
}

/* V of two tokens, or of the even one alone: its partner, not written yet, is 0 and will be
 * multiplied by 0. */
INLINE void write_v_pair(const float *even, const float *odd, uint32_t *out, int head_dim,
                         int width)
{
    for (int i = 0; i < width; i += VF) {
        int part = head_dim - i < VF ? (head_dim > i ? head_dim - i : 0) : VF;
        vf a = vf_load_part(even + i, part), b = odd ? vf_load_part(odd + i, part) : vf_zero();
        vu words = vu_bf16_pairs(a, b);
        memcpy(out + i, &words, sizeof(words));
    }
}

/* V of an odd token, beside its partner that is there already. */
INLINE void write_v_odd(const float *odd, uint32_t *out, int head_dim, int width)
{
    for (int i = 0; i < width; i += VF) {
        int part = head_dim - i < VF ? (head_dim > i ? head_dim - i : 0) : VF;
        vu words = vu_bf16_pairs(vf_zero(), vf_load_part(odd + i, part)), old;
        memcpy(&old, out + i, sizeof(old));
        words |= old & 0xffffu;
        memcpy(out + i, &words, sizeof(words));
    }
}

INLINE void write_k(const bool f32, uint32_t *block, const float *k, int stride, int head_dim,
                    int width, int at, int count)
{
    uint32_t rows[ATTENTION_BLOCK * (ATTENTION_HEAD_MAX + 8)];
    int words = f32 ? width : width / 2, row = words + 8; /* no power of two between rows */
    for (int t = 0; t < count; t++) row_words(f32, k + t * stride, rows + t * row, head_dim, width);
    if (count < ATTENTION_BLOCK) {
        for (int t = 0; t < count; t++) {
            for (int i = 0; i < words; i++) block[i * ATTENTION_BLOCK + at + t] = rows[t * row + i];
        }
        return;
    }
    for (int i = 0; i < words; i += VF) {
        for (int t = 0; t < ATTENTION_BLOCK; t += VF)
            vf_transpose(rows + t * row + i, row, block + i * ATTENTION_BLOCK + t, ATTENTION_BLOCK,
                         part_of(words - i));
    }
}

static void vector_write_kv(const struct attention_pages *pages, char *k_block, const float *k,
                            const float *v, int stride, int head_dim, int at, int count)
{
    uint32_t *k_words = (uint32_t *)(void *)k_block;
    uint32_t *v_words = (uint32_t *)(void *)(k_block + pages->v_offset);
    int width = pages->width;
    if (pages->f32) {
        write_k(true, k_words, k, stride, head_dim, width, at, count);
        for (int t = 0; t < count; t++)
            row_words(true, v + t * stride, v_words + (at + t) * width, head_dim, width);
        return;
    }
    write_k(false, k_words, k, stride, head_dim, width, at, count);
    for (int t = 0; t < count;) {
        uint32_t *to = v_words + (at + t) / 2 * width;
        const float *row = v + t * stride;
        if ((at + t) % 2) {
            write_v_odd(row, to, head_dim, width);
            t++;
        } else {
            write_v_pair(row, t + 1 < count ? row + stride : NULL, to, head_dim, width);
            t += 2;
        }
    }
}

#endif
