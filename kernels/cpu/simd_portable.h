/*
 * simd_portable.h - simd.h without any instruction set in particular: vectors of 4 that compilers
 * map to what every machine of an architecture has. The reference of what the names mean. Thread:
 * any; pure.
 */
#ifndef KERNELS_CPU_SIMD_PORTABLE_H
#define KERNELS_CPU_SIMD_PORTABLE_H

enum { VF = 4, SIMD_REGISTERS = 16 };

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vf_bits __attribute__((vector_size(16)));

INLINE vf vf_load(const void *p) /* any alignment */
{
    vf x;
    memcpy(&x, p, sizeof(x));
    return x;
}
INLINE void vf_store(void *p, vf x)
{
    memcpy(p, &x, sizeof(x));
}
INLINE vf vf_set(float x)
{
    return (vf){x, x, x, x};
}

/* The upper halves of the lanes' bits, side by side. */
INLINE void vf_store_high(void *p, vf x)
{
    for (int i = 0; i < VF; i++) {
        uint32_t bits;
        float lane = x[i];
        memcpy(&bits, &lane, 4);
        bits >>= 16;
        memcpy((char *)p + 2 * i, &(uint16_t){(uint16_t)bits}, 2);
    }
}

/* a * b + c; rounded once, or twice where there is no such instruction. */
INLINE vf vf_fma(vf a, vf b, vf c)
{
    return a * b + c;
}

/* `b` where either is NaN. */
INLINE vf vf_max(vf a, vf b)
{
    vf_bits m = a > b;
    return (vf)((m & (vf_bits)a) | (~m & (vf_bits)b));
}
INLINE vf vf_min(vf a, vf b)
{
    vf_bits m = a < b;
    return (vf)((m & (vf_bits)a) | (~m & (vf_bits)b));
}

/* Bit i: a[i] >= b[i]; never with NaN. */
INLINE unsigned vf_at_least(vf a, vf b)
{
    vf_bits m = a >= b;
    return (m[0] & 1u) | (m[1] & 2u) | (m[2] & 4u) | (m[3] & 8u);
}

INLINE float vf_sum(vf x)
{
    return (x[0] + x[2]) + (x[1] + x[3]);
}
INLINE float vf_top(vf x) /* of numbers, none NaN */
{
    float a = x[0] > x[2] ? x[0] : x[2], b = x[1] > x[3] ? x[1] : x[3];
    return a > b ? a : b;
}

/* The parts of 2^x: x in the range where they are good; x - round(x); p * 2^round(x). */
INLINE vf vf_exp2_clamp(vf x)
{
    return vf_min(vf_set(128), vf_max(vf_set(-127), x));
}
INLINE vf vf_round(vf x) /* |x| < 2^22 */
{
    vf magic = vf_set(12582912.f);
    return (x + magic) - magic;
}
INLINE vf vf_fraction(vf x)
{
    return x - vf_round(x);
}
INLINE vf vf_scale2(vf p, vf x) /* an exponent of -127 makes 0, one of 128 infinity */
{
    vf_bits n = (vf_bits)(x + vf_set(12582912.f));
    return p * (vf)((n - 0x4b400000 + 127) << 23);
}

/* VF rows of `stride` floats -> `columns` <= VF rows of `out_stride` floats, transposed. Moves bits
 * only. */
INLINE void vf_transpose(const void *in, int stride, void *out, int out_stride, int columns)
{
    for (int c = 0; c < columns; c++) {
        for (int r = 0; r < VF; r++)
            memcpy((char *)out + (c * out_stride + r) * 4, (const char *)in + (r * stride + c) * 4,
                   4);
    }
}

#endif
