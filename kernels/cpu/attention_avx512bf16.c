/* attention_avx512bf16.c - the attention kernels on AVX-512 with BF16 products. Thread: any. */
#ifdef __x86_64__

#include "kernels/cpu/attention_tile.h"

ATTENTION_KERNELS(attention_bf16_avx512bf16, MODE_PAIRS);

#endif
