/* test_pool.c - the compute threads: each runs each job once, barriers hold, sleepers wake, and the
 * machine's instruction sets and memory are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/pool.h"

enum { THREADS_TRIED = 5, ROUNDS = 50 };

struct shared {
    struct cpu_pool *pool;
    _Atomic int runs[THREADS_TRIED];
    _Atomic int arrived[ROUNDS];
    _Atomic int early; /* passed a barrier before all had come */
};

static void count_job(void *arg, int thread)
{
    struct shared *shared = arg;
    shared->runs[thread]++;
}

static void barrier_job(void *arg, int thread)
{
    struct shared *shared = arg;
    for (int i = 0; i < ROUNDS; i++) {
        shared->arrived[i]++;
        cpu_pool_barrier(shared->pool);
        if (shared->arrived[i] != cpu_pool_threads(shared->pool)) shared->early++;
    }
}

static void sleep_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    nanosleep(&t, NULL);
}

static void late_job(void *arg, int thread) /* the others spin out and sleep at the barrier */
{
    struct shared *shared = arg;
    if (thread == cpu_pool_threads(shared->pool) - 1) sleep_ms(3);
    cpu_pool_barrier(shared->pool);
    shared->runs[thread]++;
}

static void test_jobs_and_barriers(void **state)
{
    for (int threads = 1; threads <= THREADS_TRIED; threads++) {
        struct shared shared = {0};
        assert_int_equal(cpu_pool_create(threads, -1, &shared.pool, NULL), STATUS_OK);
        assert_int_equal(cpu_pool_threads(shared.pool), threads);
        for (int i = 0; i < 300; i++) cpu_pool_run(shared.pool, count_job, &shared);
        for (int i = 0; i < threads; i++) assert_int_equal(shared.runs[i], 300);
        cpu_pool_run(shared.pool, barrier_job, &shared);
        assert_int_equal(shared.early, 0);
        cpu_pool_destroy(shared.pool);
    }
}

static void test_sleepers_wake(void **state)
{
    struct shared shared = {0};
    assert_int_equal(cpu_pool_create(2, -1, &shared.pool, NULL), STATUS_OK);
    for (int i = 0; i < 10; i++) {
        sleep_ms(2); /* long past the spinning */
        cpu_pool_run(shared.pool, count_job, &shared);
        cpu_pool_run(shared.pool, late_job, &shared);
    }
    assert_int_equal(shared.runs[0], 20);
    assert_int_equal(shared.runs[1], 20);
    cpu_pool_destroy(shared.pool);
    cpu_pool_destroy(NULL);
}

static void test_refusals(void **state)
{
    struct cpu_pool *pool = NULL;
    struct error error = {0};
    assert_int_equal(cpu_pool_create(0, -1, &pool, &error), STATUS_INVALID);
    assert_string_equal(error.param, "threads");
    assert_int_equal(cpu_pool_create(2, 100000, &pool, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "CPU 100000"));
    assert_null(pool);
}

static void test_isa_names(void **state)
{
    enum cpu_isa isa;
    assert_true(cpu_isa_available(CPU_SCALAR) && cpu_isa_available(cpu_isa_best()));
    for (int i = CPU_SCALAR; i <= CPU_NEON; i++) {
        assert_true(cpu_isa_parse(cpu_isa_name((enum cpu_isa)i), &isa));
        assert_int_equal(isa, i);
    }
    assert_false(cpu_isa_parse("sse9", &isa));
}

static void test_memory(void **state)
{
    static const size_t sizes[] = {0, 1, 100, ((size_t)2 << 20) - 1, (size_t)2 << 20, 5000001};
    for (int i = 0; i < 6; i++) {
        uint8_t *p = cpu_alloc(sizes[i]);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (size_t j = 0; j < sizes[i]; j += 997) assert_int_equal(p[j], 0);
        memset(p, 1, sizes[i]);
        cpu_free(p, sizes[i]);
    }
    assert_null(cpu_alloc(SIZE_MAX - 4096));
    cpu_free(NULL, 10);
    size_t available = cpu_memory_available();
    assert_true(available > (size_t)1 << 20);
}

static void test_ceilings(void **state)
{
    struct cpu_pool *pool = NULL;
    assert_int_equal(cpu_pool_create(2, -1, &pool, NULL), STATUS_OK);
    double read = cpu_measure_read_gbs(pool);
    assert_true(read > 0.05 && read < 5000);
    for (int isa = CPU_SCALAR; isa <= CPU_NEON; isa++) {
        for (int peak = CPU_PEAK_F32; peak <= CPU_PEAK_INT8; peak++) {
            double gops = cpu_measure_peak(pool, (enum cpu_isa)isa, (enum cpu_peak)peak);
            bool is_measured = (isa == CPU_AVX2 && peak != CPU_PEAK_BF16) ||
                               (isa == CPU_AVX512 && peak != CPU_PEAK_BF16) ||
                               isa == CPU_AVX512_BF16;
            if (is_measured && cpu_isa_available((enum cpu_isa)isa))
                assert_true(gops > 0.5 && gops < 1e6);
            else
                assert_true(gops == 0);
        }
    }
    cpu_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_and_barriers),
        cmocka_unit_test(test_sleepers_wake),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_isa_names),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
