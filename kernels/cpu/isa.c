/*
 * isa.c - which instruction sets this machine has and its operating system saves. Thread: any.
 */
#include <string.h>

#include "kernels/cpu/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

static const char *const isa_names[] = {
    [CPU_SCALAR] = "scalar",          [CPU_AVX2] = "avx2", [CPU_AVX512] = "avx512",
    [CPU_AVX512_BF16] = "avx512bf16", [CPU_NEON] = "neon",
};

#if defined(__x86_64__)

/* CPUID bits, by leaf and register. */
enum {
    L1_ECX_FMA = 1 << 12,
    L1_ECX_OSXSAVE = 1 << 27,
    L1_ECX_F16C = 1 << 29,
    L7_EBX_AVX2 = 1 << 5,
    L7_EBX_AVX512F = 1 << 16,
    L7_EBX_AVX512DQ = 1 << 17,
    L7_EBX_AVX512BW = 1 << 30,
    L7_ECX_VNNI = 1 << 11,
    L7_1_EAX_BF16 = 1 << 5,
    XCR0_AVX = 1 << 1 | 1 << 2,                        /* xmm, upper halves of ymm */
    XCR0_AVX512 = XCR0_AVX | 1 << 5 | 1 << 6 | 1 << 7, /* masks, upper zmm, zmm 16 to 31 */
};
static const unsigned L7_EBX_AVX512VL = 1u << 31;

/* The register states the operating system saves at a context switch; an instruction set without
 * them faults or, worse, loses registers. */
static unsigned os_saved_state(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_all(unsigned word, unsigned bits)
{
    return (word & bits) == bits;
}

enum cpu_isa cpu_isa_best(void)
{
    unsigned a, b, c, d, ecx1;
    if (!__get_cpuid(1, &a, &b, &ecx1, &d)) return CPU_SCALAR;
    if (!has_all(ecx1, L1_ECX_OSXSAVE | L1_ECX_FMA | L1_ECX_F16C)) return CPU_SCALAR;
    unsigned state = os_saved_state();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return CPU_SCALAR;
    if (!has_all(state, XCR0_AVX) || !has_all(b, L7_EBX_AVX2)) return CPU_SCALAR;
    unsigned avx512 = L7_EBX_AVX512F | L7_EBX_AVX512DQ | L7_EBX_AVX512BW | L7_EBX_AVX512VL;
    if (!has_all(state, XCR0_AVX512) || !has_all(b, avx512) || !has_all(c, L7_ECX_VNNI))
        return CPU_AVX2;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return CPU_AVX512;
    return has_all(a, L7_1_EAX_BF16) ? CPU_AVX512_BF16 : CPU_AVX512;
}

bool cpu_isa_available(enum cpu_isa isa)
{
    return isa != CPU_NEON && isa <= cpu_isa_best();
}

bool cpu_has_neon_dot(void)
{
    return false;
}

#elif defined(__aarch64__)

enum { HWCAP_DOT_PRODUCT = 1 << 20 }; /* HWCAP_ASIMDDP, which older headers lack */

enum cpu_isa cpu_isa_best(void)
{
    return CPU_NEON; /* part of every AArch64 */
}

bool cpu_isa_available(enum cpu_isa isa)
{
    return isa == CPU_NEON || isa == CPU_SCALAR;
}

bool cpu_has_neon_dot(void)
{
    return getauxval(AT_HWCAP) & HWCAP_DOT_PRODUCT;
}

#else

enum cpu_isa cpu_isa_best(void)
{
    return CPU_SCALAR;
}

bool cpu_isa_available(enum cpu_isa isa)
{
    return isa == CPU_SCALAR;
}

bool cpu_has_neon_dot(void)
{
    return false;
}

#endif

const char *cpu_isa_name(enum cpu_isa isa)
{
    return isa_names[isa];
}

bool cpu_isa_parse(const char *name, enum cpu_isa *out)
{
    for (size_t i = 0; i < sizeof(isa_names) / sizeof(*isa_names); i++) {
        if (!strcmp(name, isa_names[i])) {
            *out = (enum cpu_isa)i;
            return true;
        }
    }
    return false;
}
