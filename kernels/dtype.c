/*
 * dtype.c - see dtype.h. Portable and bit-exact; what steps execute has its own vector code in the
 * backends.
 */
#include "kernels/dtype.h"

#include <math.h>
#include <string.h>

#include "runtime/base/check.h"

enum { Q8_0_BYTES = 34, Q4_0_BYTES = 18 };

const char *dtype_name(enum dtype dtype)
{
    static const char *const names[DTYPE_COUNT] = {"f32", "f16", "bf16", "q8_0", "q4_0"};
    CHECK((unsigned)dtype < DTYPE_COUNT);
    return names[dtype];
}

int dtype_block(enum dtype dtype)
{
    return dtype == DTYPE_Q8_0 || dtype == DTYPE_Q4_0 ? QUANT_BLOCK : 1;
}

size_t dtype_row_bytes(enum dtype dtype, int64_t cols)
{
    static const size_t block_bytes[DTYPE_COUNT] = {4, 2, 2, Q8_0_BYTES, Q4_0_BYTES};
    CHECK((unsigned)dtype < DTYPE_COUNT && cols >= 0 && cols % dtype_block(dtype) == 0);
    return (size_t)(cols / dtype_block(dtype)) * block_bytes[dtype];
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

float f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x400) return float_of_bits(sign | ((rest << 13) + ((127 - 15) << 23)));
    float magnitude = (float)rest * 0x1p-24f; /* denormal or zero: exact */
    return float_of_bits(sign | bits_of_float(magnitude));
}

uint16_t f32_to_f16(float value)
{
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff)); /* quiet NaN */
    if (rest >= 0x47800000) return (uint16_t)(sign | 0x7c00);                       /* >= 65536 */
    if (rest < 0x38800000) { /* below 2^-14: adding 1/2 leaves the rounded units of 2^-24 */
        float shifted = float_of_bits(rest) + 0.5f;
        return (uint16_t)(sign | (bits_of_float(shifted) - bits_of_float(0.5f)));
    }
    rest += 0xfff + (rest >> 13 & 1); /* half of the last place, less one where it is even */
    return (uint16_t)(sign | (rest - ((127 - 15) << 23)) >> 13);
}

float bf16_to_f32(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

uint16_t f32_to_bf16(float value)
{
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t load_u16(const uint8_t *from)
{
    uint16_t bits;
    memcpy(&bits, from, 2);
    return bits;
}

void dtype_to_f32(enum dtype dtype, const void *row, int64_t cols, float *out)
{
    const uint8_t *from = row;
    CHECK((unsigned)dtype < DTYPE_COUNT && cols % dtype_block(dtype) == 0);
    if (dtype == DTYPE_F32) {
        memcpy(out, row, (size_t)cols * 4);
    } else if (dtype == DTYPE_F16) {
        for (int64_t i = 0; i < cols; i++) out[i] = f16_to_f32(load_u16(from + 2 * i));
    } else if (dtype == DTYPE_BF16) {
        for (int64_t i = 0; i < cols; i++) out[i] = bf16_to_f32(load_u16(from + 2 * i));
    } else if (dtype == DTYPE_Q8_0) {
        for (; cols > 0; cols -= QUANT_BLOCK, from += Q8_0_BYTES, out += QUANT_BLOCK) {
            float d = f16_to_f32(load_u16(from));
            for (int i = 0; i < QUANT_BLOCK; i++) out[i] = d * (float)(int8_t)from[2 + i];
        }
    } else {
        for (; cols > 0; cols -= QUANT_BLOCK, from += Q4_0_BYTES, out += QUANT_BLOCK) {
            float d = f16_to_f32(load_u16(from));
            for (int i = 0; i < QUANT_BLOCK / 2; i++) {
                out[i] = d * (float)((from[2 + i] & 15) - 8);
                out[i + QUANT_BLOCK / 2] = d * (float)((from[2 + i] >> 4) - 8);
            }
        }
    }
}

/* The low byte of a float's integer part, as an x86 conversion gives it: 0 for what has none (NaN,
 * infinities, out of range), which only blocks with such values or a vanishing scale contain. */
static int to_int(float value)
{
    return fabsf(value) < 32768.0f ? (int)value : 0;
}

static int round_away(float value) /* roundf, without a call: halves away from zero */
{
    int whole = to_int(value);
    float rest = value - (float)whole; /* exact */
    return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

static void quantise_q8_0(const float *values, uint8_t *out)
{
    float amax = 0;
    for (int i = 0; i < QUANT_BLOCK; i++) {
        float magnitude = fabsf(values[i]);
        amax = amax > magnitude ? amax : magnitude; /* the order matters with NaN */
    }
    float d = amax / 127, inverse = d != 0 ? 1 / d : 0;
    uint16_t scale = f32_to_f16(d);
    memcpy(out, &scale, 2);
    for (int i = 0; i < QUANT_BLOCK; i++) {
        float value = values[i] * inverse;
        out[2 + i] = (uint8_t)(fabsf(value) < 32768.0f ? round_away(value) : 0);
    }
}

static void quantise_q4_0(const float *values, uint8_t *out)
{
    float amax = 0, largest = 0;
    for (int i = 0; i < QUANT_BLOCK; i++) {
        if (amax < fabsf(values[i])) amax = fabsf(values[i]), largest = values[i];
    }
    float d = largest / -8, inverse = d != 0 ? 1 / d : 0;
    uint16_t scale = f32_to_f16(d);
    memcpy(out, &scale, 2);
    for (int i = 0; i < QUANT_BLOCK / 2; i++) {
        int low = (int8_t)to_int(values[i] * inverse + 8.5f);
        int high = (int8_t)to_int(values[i + QUANT_BLOCK / 2] * inverse + 8.5f);
        low = low < 15 ? low : 15, high = high < 15 ? high : 15;
        out[2 + i] = (uint8_t)(low | high << 4);
    }
}

void dtype_from_f32(enum dtype dtype, const float *values, int64_t cols, void *out)
{
    uint8_t *to = out;
    CHECK((unsigned)dtype < DTYPE_COUNT && cols % dtype_block(dtype) == 0);
    if (dtype == DTYPE_F32) {
        memcpy(out, values, (size_t)cols * 4);
    } else if (dtype == DTYPE_F16 || dtype == DTYPE_BF16) {
        for (int64_t i = 0; i < cols; i++) {
            uint16_t bits = dtype == DTYPE_F16 ? f32_to_f16(values[i]) : f32_to_bf16(values[i]);
            memcpy(to + 2 * i, &bits, 2);
        }
    } else {
        size_t block_bytes = dtype == DTYPE_Q8_0 ? Q8_0_BYTES : Q4_0_BYTES;
        for (; cols > 0; cols -= QUANT_BLOCK, values += QUANT_BLOCK, to += block_bytes)
            (dtype == DTYPE_Q8_0 ? quantise_q8_0 : quantise_q4_0)(values, to);
    }
}
