/* attention_neon.c - the attention kernels on AArch64. Thread: any. */
#ifdef __aarch64__

#include "kernels/cpu/attention_tile.h"

ATTENTION_KERNELS(attention_f32_neon, MODE_F32);
ATTENTION_KERNELS(attention_bf16_neon, MODE_WIDEN);

#endif
