/* ceilings_avx512.c - the loops of ceilings.h for AVX-512; the last needs BF16 and runs only there.
 */
#if defined(__x86_64__)

#include "kernels/cpu/ceilings.h"

#define CHAIN(OP, N) OP " %%zmm30, %%zmm31, %%zmm" #N "\n\t"
#define CHAINS(OP)                                                                                 \
    CHAIN(OP, 1)                                                                                   \
    CHAIN(OP, 2) CHAIN(OP, 3) CHAIN(OP, 4) CHAIN(OP, 5) CHAIN(OP, 6) CHAIN(OP, 7) CHAIN(OP, 8)     \
        CHAIN(OP, 9) CHAIN(OP, 10) CHAIN(OP, 11) CHAIN(OP, 12)
#define LOOP(OP)                                                                                   \
    __asm__ volatile("vpxorq %%zmm30, %%zmm30, %%zmm30\n\t"                                        \
                     "vmovdqa64 %%zmm30, %%zmm31\n\t"                                              \
                     "1:\n\t" CHAINS(OP) "dec %0\n\t"                                              \
                                         "jnz 1b"                                                  \
                     : "+r"(count)                                                                 \
                     :                                                                             \
                     : "cc", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8",       \
                       "zmm9", "zmm10", "zmm11", "zmm12", "zmm30", "zmm31")

void cpu_peak_avx512_f32(long count)
{
    LOOP("vfmadd231ps");
}

void cpu_peak_avx512_int8(long count)
{
    LOOP("vpdpbusd");
}

void cpu_peak_avx512bf16_bf16(long count)
{
    LOOP("vdpbf16ps");
}

#endif
