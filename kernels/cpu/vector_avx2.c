/* vector_avx2.c - the row kernels on AVX2. Thread: any. */
#ifdef __x86_64__

#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/sample_kernel.h"

VECTOR_KERNELS(vector_avx2);

#endif
