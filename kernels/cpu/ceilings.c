/* ceilings.c - see ceilings.h. */
#include "kernels/cpu/ceilings.h"

#include "runtime/base/clock.h"

enum {
    READ_BYTES = 256 << 20,
    READ_REPEATS = 12,
    PEAK_REPEATS = 40,
    PEAK_COUNT = 200000, /* of loops of 12: about a millisecond */
    CHAINS = 12,
};

typedef uint64_t vec8 __attribute__((vector_size(64)));

struct read {
    struct cpu_pool *pool;
    const vec8 *data;
    size_t count; /* of vectors */
    _Atomic uint64_t sink;
};

static void read_job(void *arg, int thread)
{
    struct read *read = arg;
    size_t part = read->count / (size_t)cpu_pool_threads(read->pool) / 4 * 4;
    const vec8 *data = read->data + part * (size_t)thread;
    vec8 a = {0}, b = {0};
    for (size_t i = 0; i < part; i += 4) {
        a ^= data[i] ^ data[i + 1];
        b ^= data[i + 2] ^ data[i + 3];
    }
    a ^= b;
    read->sink += a[0] ^ a[7];
}

double cpu_measure_read_gbs(struct cpu_pool *pool)
{
    struct read read = {.pool = pool, .count = READ_BYTES / sizeof(vec8)};
    void *data = cpu_alloc(READ_BYTES);
    int64_t best = INT64_MAX;
    if (!data) return 0;
    read.data = data;
    for (int i = 0; i < READ_REPEATS; i++) {
        int64_t start = clock_ns();
        cpu_pool_run(pool, read_job, &read);
        int64_t took = clock_ns() - start;
        best = took < best ? took : best;
    }
    cpu_free(data, READ_BYTES);
    return (double)READ_BYTES / (double)best;
}

struct peak_loop {
    void (*run)(long count);
    int ops; /* of one instruction */
};

static struct peak_loop loop_of(enum cpu_isa isa, enum cpu_peak peak)
{
#if defined(__x86_64__)
    bool is_512 = isa == CPU_AVX512 || isa == CPU_AVX512_BF16;
    if (is_512 && peak == CPU_PEAK_F32) return (struct peak_loop){cpu_peak_avx512_f32, 32};
    if (is_512 && peak == CPU_PEAK_INT8) return (struct peak_loop){cpu_peak_avx512_int8, 128};
    if (isa == CPU_AVX512_BF16) return (struct peak_loop){cpu_peak_avx512bf16_bf16, 64};
    if (isa == CPU_AVX2 && peak == CPU_PEAK_F32) return (struct peak_loop){cpu_peak_avx2_f32, 16};
    if (isa == CPU_AVX2 && peak == CPU_PEAK_INT8) return (struct peak_loop){cpu_peak_avx2_int8, 64};
#endif
    return (struct peak_loop){0};
}

static void peak_job(void *arg, int thread)
{
    ((struct peak_loop *)arg)->run(PEAK_COUNT);
}

double cpu_measure_peak(struct cpu_pool *pool, enum cpu_isa isa, enum cpu_peak peak)
{
    struct peak_loop loop = loop_of(isa, peak);
    int64_t best = INT64_MAX;
    if (!loop.run || !cpu_isa_available(isa)) return 0;
    for (int i = 0; i < PEAK_REPEATS; i++) {
        int64_t start = clock_ns();
        cpu_pool_run(pool, peak_job, &loop);
        int64_t took = clock_ns() - start;
        best = took < best ? took : best;
    }
    return (double)cpu_pool_threads(pool) * PEAK_COUNT * CHAINS * loop.ops / (double)best;
}
