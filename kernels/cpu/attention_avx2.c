/* attention_avx2.c - the attention kernels on AVX2. Thread: any. */
#ifdef __x86_64__

#include "kernels/cpu/attention_tile.h"

ATTENTION_KERNELS(attention_f32_avx2, MODE_F32);
ATTENTION_KERNELS(attention_bf16_avx2, MODE_WIDEN);

#endif
