/* attention_avx512.c - the attention kernels on AVX-512 without BF16 products; F32 also with them.
 * Thread: any. */
#ifdef __x86_64__

#include "kernels/cpu/attention_tile.h"

ATTENTION_KERNELS(attention_f32_avx512, MODE_F32);
ATTENTION_KERNELS(attention_bf16_avx512, MODE_WIDEN);

#endif
