/*
 * q6_k.h - GGUF's Q6_K blocks, read only.
 *
 * No kernel computes on them: llama-quantize stores the head of a Q4_0 model so, and we load such a
 * tensor as Q8_0. A block is 256 values in 210 bytes: low nibbles [128], high pairs of bits [64],
 * signed scales of 16 values each [16], an F16 scale of all. Thread: any; pure.
 */
#ifndef RUNTIME_Q6_K_H
#define RUNTIME_Q6_K_H

#include <stdint.h>

enum { Q6_K_BLOCK = 256, Q6_K_BYTES = 210 };

/* `count` values, a multiple of Q6_K_BLOCK. */
void q6_k_to_f32(const void *blocks, int64_t count, float *out);

#endif
