/* vector_avx512.c - the row kernels on AVX-512. Thread: any. */
#ifdef __x86_64__

#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/sample_kernel.h"

VECTOR_KERNELS(vector_avx512);

#endif
