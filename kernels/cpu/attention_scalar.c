/* attention_scalar.c - the attention kernels with what every machine has. Thread: any. */
#define SIMD_PORTABLE
#include "kernels/cpu/attention_tile.h"

ATTENTION_KERNELS(attention_f32_scalar, MODE_F32);
ATTENTION_KERNELS(attention_bf16_scalar, MODE_WIDEN);
