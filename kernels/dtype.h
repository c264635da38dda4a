/*
 * dtype.h - element types of weights, caches and activations.
 *
 * Thread: any; pure. Block types follow ggml's layout (GGUF): Q8_0 is 32 values in 34 bytes, an F16
 * scale d then 32 int8, value = d * q; Q4_0 is 32 values in 18 bytes, an F16 scale d then 16 bytes,
 * byte i holding value i in its low nibble and value i + 16 in its high one, value = d * (nibble -
 * 8).
 */
#ifndef KERNELS_DTYPE_H
#define KERNELS_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum dtype { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_Q8_0, DTYPE_Q4_0, DTYPE_COUNT };

enum { QUANT_BLOCK = 32 };

const char *dtype_name(enum dtype dtype); /* "f32", "f16", "bf16", "q8_0", "q4_0" */
int dtype_block(enum dtype dtype);        /* values in a block; 1 for plain types */

/* Bytes of `cols` consecutive values; cols must be a multiple of dtype_block. */
size_t dtype_row_bytes(enum dtype dtype, int64_t cols);

float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value); /* round to nearest even */
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value); /* round to nearest even; NaN stays NaN */

/* One row of `cols` values -> float32. */
void dtype_to_f32(enum dtype dtype, const void *row, int64_t cols, float *out);

/* float32 -> one row. Q8_0: d = amax / 127, q = round(x / d). Q4_0: d = (the value of largest
 * magnitude) / -8, q = min(15, trunc(x / d + 8.5)). Both as ggml's reference quantisers do, bit for
 * bit. */
void dtype_from_f32(enum dtype dtype, const float *values, int64_t cols, void *out);

#endif
