/*
 * ceilings_avx2.c - the loops of ceilings.h for AVX2. Its int8 has no instruction of its own: two
 * multiply-adds widen to int32 and an addition sums.
 */
#if defined(__x86_64__)

#include "kernels/cpu/ceilings.h"

#define CHAIN_F32(N) "vfmadd231ps %%ymm0, %%ymm0, %%ymm" #N "\n\t"
#define CHAIN_INT8(N)                                                                              \
    "vpmaddubsw %%ymm0, %%ymm0, %%ymm13\n\t"                                                       \
    "vpmaddwd %%ymm13, %%ymm0, %%ymm13\n\t"                                                        \
    "vpaddd %%ymm13, %%ymm" #N ", %%ymm" #N "\n\t"
#define CHAINS(F) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12)
#define LOOP(F)                                                                                    \
    __asm__ volatile("vpxor %%ymm0, %%ymm0, %%ymm0\n\t"                                            \
                     "1:\n\t" CHAINS(F) "dec %0\n\t"                                               \
                                        "jnz 1b"                                                   \
                     : "+r"(count)                                                                 \
                     :                                                                             \
                     : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7",       \
                       "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13")

void cpu_peak_avx2_f32(long count)
{
    LOOP(CHAIN_F32);
}

void cpu_peak_avx2_int8(long count)
{
    LOOP(CHAIN_INT8);
}

#endif
