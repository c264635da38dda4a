/* linear_neondot.c - the quantised kernels with NEON's dot product, where the machine has it. */
#if defined(__aarch64__)

#include <arm_neon.h>

#define INLINE   static inline __attribute__((always_inline))
#define DOT_SUMS 1

INLINE void dot_add(int32x4_t sums[], const int8x16_t w[2], const int8x16_t x[2])
{
    sums[0] = vdotq_s32(vdotq_s32(sums[0], w[0], x[0]), w[1], x[1]);
}

INLINE int32x4_t dot_total(const int32x4_t sums[])
{
    return sums[0];
}

#include "kernels/cpu/linear_neon.h"

EACH_4(TILE_DEFINE, tile_q8)
EACH_4(TILE_DEFINE, tile_q4)

const struct linear_format linear_neondot[2] = {
    {ROWS_INT8, X8_STEP_WORDS, 0, linear_neon_pack_q8, {EACH_4(TILE_NAME, tile_q8)}},
    {ROWS_INT8, X8_STEP_WORDS, 0, linear_neon_pack_q4, {EACH_4(TILE_NAME, tile_q4)}},
};

#endif
