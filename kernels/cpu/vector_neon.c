/* vector_neon.c - the row kernels on AArch64. Thread: any. */
#ifdef __aarch64__

#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/sample_kernel.h"

VECTOR_KERNELS(vector_neon);

#endif
