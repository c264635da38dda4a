/*
 * weight.c - weights of the CPU device: packed into panels (linear.h) as they are written, and rows
 * taken out again for embeddings, so that a table tied to the LM head is stored once.
 *
 * Thread: cpu_weight_write may run on several threads for different rows: two rows of a panel share
 * cache lines but no byte.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/linear.h"
#include "runtime/base/check.h"

enum { LINE = 64 };

/* Weights share mappings, of which only what is used is touched. A matrix of a megabyte with memory
 * of its own would be on small pages, where the hardware prefetcher stops at each: half the speed
 * of reading. */
#define BLOCK_BYTES_MIN ((size_t)256 << 20)

struct weight_block {
    struct weight_block *next;
    uint8_t *data;
    size_t bytes, used;
};

/* Zeroed memory that lives as long as the device; NULL when there is none. */
static void *block_alloc(struct device *device, size_t bytes)
{
    struct weight_block *block = device->weight_blocks;
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (!block || bytes > block->bytes - block->used) {
        size_t size = bytes > BLOCK_BYTES_MIN ? bytes : BLOCK_BYTES_MIN;
        struct weight_block fresh = {block, cpu_map(size), size, 0};
        if (!fresh.data) return NULL;
        block = malloc(sizeof(*block));
        CHECK(block);
        *block = fresh;
        device->weight_blocks = block;
    }
    void *memory = block->data + block->used;
    block->used += bytes;
    cpu_touch(memory, bytes);
    return memory;
}

void cpu_weights_close(struct device *device)
{
    for (struct weight *weight = device->weights, *next; weight; weight = next) {
        next = weight->next;
        free(weight);
    }
    for (struct weight_block *block = device->weight_blocks, *next; block; block = next) {
        next = block->next;
        cpu_unmap(block->data, block->bytes);
        free(block);
    }
    device->weights = NULL, device->weight_blocks = NULL;
}

static const struct linear_format *format_of(enum cpu_isa isa, enum dtype dtype)
{
#if defined(__x86_64__)
    if (isa == CPU_AVX512_BF16 && dtype == DTYPE_BF16) return &linear_avx512bf16;
    if (isa == CPU_AVX512_BF16 || isa == CPU_AVX512) return &linear_avx512[dtype];
    if (isa == CPU_AVX2) return &linear_avx2[dtype];
#elif defined(__aarch64__)
    bool quantised = dtype == DTYPE_Q8_0 || dtype == DTYPE_Q4_0;
    if (isa == CPU_NEON && quantised && cpu_has_neon_dot())
        return &linear_neondot[dtype - DTYPE_Q8_0];
    if (isa == CPU_NEON) return &linear_neon[dtype];
#endif
    return &linear_scalar[dtype];
}

static void set_layout(struct weight *weight)
{
    static const struct {
        int cols;
        size_t bytes;
    } step[DTYPE_COUNT] = {
        [DTYPE_F32] = {1, PANEL_WIDTH * 4},          [DTYPE_F16] = {1, PANEL_WIDTH * 2},
        [DTYPE_BF16] = {2, PANEL_WIDTH * 4},         [DTYPE_Q8_0] = {QUANT_BLOCK, Q8_STEP_BYTES},
        [DTYPE_Q4_0] = {QUANT_BLOCK, Q4_STEP_BYTES},
    };
    int step_cols = step[weight->dtype].cols;
    weight->steps = (weight->cols + step_cols - 1) / step_cols;
    weight->step_bytes = step[weight->dtype].bytes;
    weight->panel_bytes = weight->step_bytes * (size_t)weight->steps;
    weight->panel_count = (weight->rows + PANEL_WIDTH - 1) / PANEL_WIDTH;
    weight->bytes = weight->panel_bytes * (size_t)weight->panel_count;
}

enum status cpu_weight_create(struct device *device, const struct weight_desc *desc,
                              struct weight **out, struct error *error)
{
    if ((unsigned)desc->dtype >= DTYPE_COUNT || desc->rows < 1 || desc->cols < 1 ||
        desc->rows > INT32_MAX || desc->cols > INT32_MAX)
        return error_set(error, STATUS_INVALID, desc->name, "%s has an impossible type or shape",
                         desc->name);
    if (desc->cols % dtype_block(desc->dtype))
        return error_set(error, STATUS_UNSUPPORTED, desc->name,
                         "%s has rows of %lld values; %s needs a multiple of %d", desc->name,
                         (long long)desc->cols, dtype_name(desc->dtype), dtype_block(desc->dtype));
    struct weight *weight = calloc(1, sizeof(*weight));
    CHECK(weight);
    weight->kind = desc->kind, weight->dtype = desc->dtype;
    weight->rows = desc->rows, weight->cols = desc->cols;
    if (desc->kind == WEIGHT_MATRIX) {
        weight->format = format_of(device->isa, desc->dtype);
        set_layout(weight);
    } else { /* padded, because kernels load biases of whole panels */
        CHECK(desc->rows == 1);
        weight->bytes = (size_t)(desc->cols + PANEL_WIDTH) * sizeof(float);
    }
    weight->data = block_alloc(device, weight->bytes);
    if (!weight->data) {
        size_t bytes = weight->bytes;
        free(weight);
        return error_set(error, STATUS_NO_MEMORY, desc->name, "no memory for %s, %zu MiB",
                         desc->name, bytes >> 20);
    }
    weight->next = device->weights, device->weights = weight;
    *out = weight;
    return STATUS_OK;
}

static void pack_plain(uint8_t *panel, const uint8_t *from, int lane, int64_t cols, size_t size)
{
    uint8_t *to = panel + (size_t)lane * size;
    for (int64_t k = 0; k < cols; k++, to += PANEL_WIDTH * size, from += size) {
        if (size == 2)
            memcpy(to, from, 2);
        else
            memcpy(to, from, 4);
    }
}

static void pack_pairs(uint8_t *panel, const uint8_t *from, int lane, int64_t cols)
{
    pack_plain(panel, from, lane, cols / 2, 4);
    if (cols % 2) /* its partner stays 0 */
        memcpy(panel + (size_t)(cols / 2) * PANEL_WIDTH * 4 + lane * 4, from + 2 * (cols - 1), 2);
}

static void pack_blocks(uint8_t *panel, const uint8_t *from, int lane, int64_t blocks, int size,
                        uint8_t flip)
{
    uint32_t flips = flip * 0x01010101u, quad;
    for (int64_t b = 0; b < blocks;
         b++, from += 2 + size, panel += SCALE_BYTES + PANEL_WIDTH * size) {
        uint8_t *to = panel + SCALE_BYTES + lane * 4;
        memcpy(panel + lane * 2, from, 2);
        for (int i = 0; i < size; i += 4, to += PANEL_WIDTH * 4) {
            memcpy(&quad, from + 2 + i, 4);
            quad ^= flips;
            memcpy(to, &quad, 4);
        }
    }
}

void cpu_weight_write(struct weight *weight, int64_t row, int64_t count, const void *data)
{
    const uint8_t *from = data;
    CHECK(row >= 0 && count >= 0 && count <= weight->rows - row);
    if (weight->kind == WEIGHT_VECTOR) {
        memcpy(weight->data, data, count ? (size_t)weight->cols * sizeof(float) : 0);
        return;
    }
    size_t row_bytes = dtype_row_bytes(weight->dtype, weight->cols);
    for (; count > 0; count--, row++, from += row_bytes) {
        uint8_t *panel = weight->data + weight->panel_bytes * (size_t)(row / PANEL_WIDTH);
        int lane = (int)(row % PANEL_WIDTH);
        switch (weight->dtype) {
        case DTYPE_F32: pack_plain(panel, from, lane, weight->cols, 4); break;
        case DTYPE_F16: pack_plain(panel, from, lane, weight->cols, 2); break;
        case DTYPE_BF16: pack_pairs(panel, from, lane, weight->cols); break;
        case DTYPE_Q8_0:
            pack_blocks(panel, from, lane, weight->steps, QUANT_BLOCK, weight->format->flip);
            break;
        default: pack_blocks(panel, from, lane, weight->steps, QUANT_BLOCK / 2, 0);
        }
    }
}

static uint16_t load_u16(const uint8_t *from)
{
    uint16_t bits;
    memcpy(&bits, from, 2);
    return bits;
}

static void unpack_blocks(const struct weight *weight, const uint8_t *panel, int lane, float scale,
                          float *out)
{
    bool is_q8 = weight->dtype == DTYPE_Q8_0;
    uint8_t flip = weight->format->flip;
    for (int64_t b = 0; b < weight->steps; b++, panel += weight->step_bytes, out += QUANT_BLOCK) {
        float d = f16_to_f32(load_u16(panel + lane * 2));
        const uint8_t *from = panel + SCALE_BYTES + lane * 4;
        for (int i = 0; i < (is_q8 ? QUANT_BLOCK : QUANT_BLOCK / 2); i++) {
            uint8_t q = from[i / 4 * PANEL_WIDTH * 4 + i % 4];
            if (is_q8) {
                out[i] = d * (float)(int8_t)(q ^ flip) * scale;
            } else {
                out[i] = d * (float)((q & 15) - 8) * scale;
                out[i + QUANT_BLOCK / 2] = d * (float)((q >> 4) - 8) * scale;
            }
        }
    }
}

void cpu_weight_row(const struct weight *weight, int64_t row, float scale, float *out)
{
    CHECK(weight->kind == WEIGHT_MATRIX && row >= 0 && row < weight->rows);
    const uint8_t *panel = weight->data + weight->panel_bytes * (size_t)(row / PANEL_WIDTH);
    int lane = (int)(row % PANEL_WIDTH);
    if (weight->dtype == DTYPE_Q8_0 || weight->dtype == DTYPE_Q4_0) {
        unpack_blocks(weight, panel, lane, scale, out);
    } else if (weight->dtype == DTYPE_F32) {
        for (int64_t k = 0; k < weight->cols; k++) {
            float value;
            memcpy(&value, panel + (k * PANEL_WIDTH + lane) * 4, 4);
            out[k] = value * scale;
        }
    } else if (weight->dtype == DTYPE_F16) {
        for (int64_t k = 0; k < weight->cols; k++)
            out[k] = f16_to_f32(load_u16(panel + (k * PANEL_WIDTH + lane) * 2)) * scale;
    } else {
        for (int64_t k = 0; k < weight->cols; k++) {
            const uint8_t *pair = panel + (k / 2 * PANEL_WIDTH + lane) * 4;
            out[k] = bf16_to_f32(load_u16(pair + k % 2 * 2)) * scale;
        }
    }
}

size_t cpu_weight_packed_bytes(const struct weight *weight, int64_t rows)
{
    return (size_t)rows * (size_t)weight->steps * (size_t)weight->format->x_words * 4;
}

const float *cpu_weight_vector(const struct weight *weight)
{
    CHECK(weight->kind == WEIGHT_VECTOR);
    return (const float *)(const void *)weight->data;
}
