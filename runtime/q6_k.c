/* q6_k.c - see q6_k.h. */
#include "runtime/q6_k.h"

#include <string.h>

#include "kernels/dtype.h"

enum { HIGH = 128, SCALES = 192, SCALE = 208 }; /* offsets inside a block */

void q6_k_to_f32(const void *blocks, int64_t count, float *out)
{
    const uint8_t *block = blocks;
    for (int64_t at = 0; at < count; at += Q6_K_BLOCK, block += Q6_K_BYTES) {
        uint16_t bits;
        memcpy(&bits, block + SCALE, sizeof bits);
        float d = f16_to_f32(bits);
        /* A half of 128 values is four quarters of 32: quarters 0 and 1 are the low nibbles of two
         * runs of bytes, 2 and 3 the high nibbles of the same; all four share the high bits' run.
         */
        for (int i = 0; i < Q6_K_BLOCK; i++) {
            int half = i / 128, quarter = i % 128 / 32, j = i % 32;
            int low = block[half * 64 + quarter % 2 * 32 + j] >> (quarter / 2 * 4) & 15;
            int high = block[HIGH + half * 32 + j] >> (quarter * 2) & 3;
            int scale = (int8_t)block[SCALES + half * 8 + quarter * 2 + j / 16];
            out[at + i] = d * (float)scale * (float)((low | high << 4) - 32);
        }
    }
}
