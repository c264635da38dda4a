/* test_dtype.c - conversions and quantisers, bit for bit: every f16, ties, NaN, infinities,
 * denormals; goldens of blocks made by the `gguf` package's quantisers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/dtype.h"
#include "kernels/ops.h"

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static void assert_hex(const void *data, const char *hex)
{
    char text[256];
    for (size_t i = 0; i < strlen(hex) / 2; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)data)[i]);
    assert_string_equal(text, hex);
}

static void test_names_and_sizes(void **state)
{
    static const struct {
        const char *name;
        int block;
        size_t bytes_of_64;
    } want[DTYPE_COUNT] = {
        {"f32", 1, 256}, {"f16", 1, 128}, {"bf16", 1, 128}, {"q8_0", 32, 68}, {"q4_0", 32, 36}};
    for (int i = 0; i < DTYPE_COUNT; i++) {
        assert_string_equal(dtype_name((enum dtype)i), want[i].name);
        assert_int_equal(dtype_block((enum dtype)i), want[i].block);
        assert_int_equal(dtype_row_bytes((enum dtype)i, 64), want[i].bytes_of_64);
    }
    for (int i = 0; i < OP_KIND_COUNT; i++) assert_true(strlen(op_kind_name((enum op_kind)i)) > 3);
}

/* The value of an f16 by definition, in double. */
static double f16_value(uint32_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    if (exponent == 31) magnitude = mantissa ? NAN : INFINITY;
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void test_every_f16(void **state)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        double want = f16_value(bits);
        float got = f16_to_f32((uint16_t)bits);
        if (isnan(want)) {
            assert_true(isnan(got));
            assert_int_equal(f32_to_f16(got), bits | 0x200); /* quiet, payload kept */
            continue;
        }
        assert_true((double)got == want && !signbit(got) == !(bits & 0x8000));
        assert_int_equal(f32_to_f16(got), bits);
    }
}

static void test_f16_rounds_to_nearest_even(void **state)
{
    for (uint32_t bits = 0; bits < 0x7c00; bits++) { /* between each f16 and the next */
        double low = f16_value(bits), high = bits == 0x7bff ? 65536 : f16_value(bits + 1);
        float middle = (float)((low + high) / 2); /* exact */
        assert_int_equal(f32_to_f16(middle), bits + (bits & 1));
        assert_int_equal(f32_to_f16(-middle), (bits + (bits & 1)) | 0x8000);
        assert_int_equal(f32_to_f16(nextafterf(middle, 0)), bits);
        assert_int_equal(f32_to_f16(nextafterf(middle, INFINITY)), bits + 1);
    }
    assert_int_equal(f32_to_f16(1e10f), 0x7c00);
    assert_int_equal(f32_to_f16(-INFINITY), 0xfc00);
    assert_int_equal(f32_to_f16(of_bits(1)), 0);
}

static void test_bf16(void **state)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = bf16_to_f32((uint16_t)bits);
        assert_int_equal(bits_of(value), bits << 16);
        if (!isnan(value)) assert_int_equal(f32_to_bf16(value), bits);
    }
    assert_int_equal(f32_to_bf16(of_bits(0x3f808000)), 0x3f80); /* ties to even */
    assert_int_equal(f32_to_bf16(of_bits(0x3f818000)), 0x3f82);
    assert_int_equal(f32_to_bf16(of_bits(0x3f808001)), 0x3f81);
    assert_int_equal(f32_to_bf16(of_bits(0x7f7fffff)), 0x7f80);
    assert_true(isnan(bf16_to_f32(f32_to_bf16(of_bits(0x7f800001))))); /* NaN in the low half */
    assert_int_equal(f32_to_bf16(of_bits(0x00000001)), 0);
    assert_int_equal(f32_to_bf16(of_bits(0x00018000)), 2); /* denormals round too */
}

static void test_plain_rows(void **state)
{
    float values[5] = {0, -1.5f, 3.25f, 65504, 1e-7f}, back[5];
    uint8_t row[5 * 4 + 1];
    static const enum dtype plain[] = {DTYPE_F32, DTYPE_F16, DTYPE_BF16};
    for (int i = 0; i < 3; i++) {
        dtype_from_f32(plain[i], values, 5, row + 1); /* unaligned */
        dtype_to_f32(plain[i], row + 1, 5, back);
        for (int j = 0; j < 5; j++) {
            float want = plain[i] == DTYPE_F16    ? f16_to_f32(f32_to_f16(values[j]))
                         : plain[i] == DTYPE_BF16 ? bf16_to_f32(f32_to_bf16(values[j]))
                                                  : values[j];
            assert_int_equal(bits_of(back[j]), bits_of(want));
        }
    }
}

static void test_quantised_goldens(void **state)
{
    float x[64], t[32] = {127, 0.5f, -0.5f, 1.5f, -1.5f, 2.5f, -2.5f, 126.5f};
    float u[32] = {8, -8, 0.5f, -0.5f, 1.5f, -1.5f, 7.5f, -7.5f};
    uint8_t out[68];
    for (int i = 0; i < 64; i++) x[i] = (float)((i * 37 + 11) % 101 - 50) / 16;
    x[5] = 0, x[40] = -7.25f;
    for (int i = 0; i < 24; i++) t[8 + i] = (float)(i - 12) / 4, u[8 + i] = (float)(i - 12) / 2;
    dtype_from_f32(DTYPE_Q8_0, x, 64, out);
    assert_hex(out, "4d269dfb59b61400d02e8be947a50361be1c7ad73593f14fac0a68c62481df3d9af8"
                    "4f2b25df0830ea13cdf581d70029e20b33ed16d0f821db032ce60e37f119d3fc24de");
    dtype_from_f32(DTYPE_Q4_0, x, 64, out);
    assert_hex(out, "4036f258be1379d8359bf147ac0268ce248a"
                    "403b9a5688ab6789b56790b578ab5689ab67");
    dtype_from_f32(DTYPE_Q8_0, t, 32, out); /* d is 1: halves go away from zero */
    assert_hex(out, "003c7f01ff02fe03fd7ffdfdfdfefefefeffffffff00000001010101020202020303");
    dtype_from_f32(DTYPE_Q4_0, t, 32, out);
    assert_hex(out, "f0cb80888888888888808888888888888888");
    dtype_from_f32(DTYPE_Q8_0, u, 32, out);
    assert_hex(out, "082c7f8108f818e87789a1a9b1b9c0c8d0d8e0e8f0f8000810182028303840474f57");
    dtype_from_f32(DTYPE_Q4_0, u, 32, out); /* the first of equal magnitudes is the largest */
    assert_hex(out, "00bca0af9899878a717f6e6e5d5d4c4c3b3b");
    u[0] = -8, u[1] = 8;
    dtype_from_f32(DTYPE_Q4_0, u, 32, out);
    assert_hex(out, "003c607f79888a979fa1a2b3b3c4c4d5d5e6");
}

static void test_quantised_values(void **state)
{
    uint8_t q8[34] = {0x00, 0x38}, q4[18] = {0x00, 0xb8}; /* d 0.5, -0.5 */
    float out[32];
    for (int i = 0; i < 32; i++) q8[2 + i] = (uint8_t)(i * 8 - 128);
    for (int i = 0; i < 16; i++) q4[2 + i] = (uint8_t)(i | (15 - i) << 4);
    dtype_to_f32(DTYPE_Q8_0, q8, 32, out);
    for (int i = 0; i < 32; i++) assert_true(out[i] == 0.5f * (float)(i * 8 - 128));
    dtype_to_f32(DTYPE_Q4_0, q4, 32, out);
    for (int i = 0; i < 16; i++) {
        assert_true(out[i] == -0.5f * (float)(i - 8));
        assert_true(out[16 + i] == -0.5f * (float)(7 - i));
    }
}

/* What has no sensible answer still has one, and the same everywhere. */
static void test_quantised_corners(void **state)
{
    float x[32] = {0};
    uint8_t out[34];
    dtype_from_f32(DTYPE_Q8_0, x, 32, out);
    for (int i = 0; i < 34; i++) assert_int_equal(out[i], 0);
    dtype_from_f32(DTYPE_Q4_0, x, 32, out); /* -0 scale, as 0 / -8 */
    assert_hex(out, "008088888888888888888888888888888888");
    x[3] = 1e-40f; /* scale vanishes, its inverse is infinite */
    dtype_from_f32(DTYPE_Q8_0, x, 32, out);
    for (int i = 0; i < 34; i++) assert_int_equal(out[i], 0);
    x[3] = INFINITY;
    dtype_from_f32(DTYPE_Q8_0, x, 32, out);
    assert_int_equal(out[0] | out[1] << 8, 0x7c00);
    for (int i = 2; i < 34; i++) assert_int_equal(out[i], 0);
    x[3] = NAN, x[4] = 127; /* the comparison drops the NaN, which becomes 0 */
    dtype_from_f32(DTYPE_Q8_0, x, 32, out);
    assert_int_equal(out[0] | out[1] << 8, 0x3c00);
    assert_int_equal(out[2 + 3], 0);
    assert_int_equal(out[2 + 4], 127);
    dtype_from_f32(DTYPE_Q4_0, x, 32, out);
    assert_int_equal(out[2 + 3] & 15, 0);
    assert_int_equal(out[2 + 4] & 15, 0); /* the largest is at -8 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_every_f16),
        cmocka_unit_test(test_f16_rounds_to_nearest_even),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_plain_rows),
        cmocka_unit_test(test_quantised_goldens),
        cmocka_unit_test(test_quantised_values),
        cmocka_unit_test(test_quantised_corners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
