/* vector_scalar.c - the row kernels with what every machine has. Thread: any. */
#define SIMD_PORTABLE
#include "kernels/cpu/rope_kernel.h"
#include "kernels/cpu/sample_kernel.h"

VECTOR_KERNELS(vector_scalar);
