/*
 * pool.c - see pool.h. Two words that waiters watch: `epoch`, which opens jobs, and `phase`, which
 * closes barriers; each on a cache line of its own, because a line that several threads write is
 * what a step's many short jobs would wait for.
 *
 * A waiter spins, then sleeps on the word. It counts itself in `sleepers` before its last look at
 * the word, and a waker changes the word before its look at `sleepers` (both sequentially
 * consistent), so that one of the two sees the other and no wake-up is lost.
 */
#include "kernels/cpu/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum {
    LINE = 128, /* two cache lines: the hardware prefetches pairs */
    SPIN_NS = 60 * 1000,
    SPINS_PER_LOOK = 64, /* at the clock */
    THREADS_MAX = 1024,
};

struct wait_word {
    _Alignas(LINE) _Atomic unsigned value;
    _Alignas(LINE) _Atomic unsigned sleepers;
};

struct pool_thread {
    pthread_t thread;
    struct cpu_pool *pool;
    int index;
};

struct cpu_pool {
    struct wait_word epoch, phase;
    _Alignas(LINE) _Atomic unsigned arrived;
    _Alignas(LINE) void (*job)(void *arg, int thread);
    void *arg;
    bool stopping;
    int threads, started;
    int64_t spin_ns; /* 0 where there are fewer processors than threads */
    struct pool_thread *workers;
};

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void word_wait(struct wait_word *word, unsigned old, int64_t spin_ns)
{
    int64_t end = 0;
    while (spin_ns) {
        for (int i = 0; i < SPINS_PER_LOOK; i++) {
            if (atomic_load_explicit(&word->value, memory_order_acquire) != old) return;
            pause_cpu();
        }
        int64_t now = clock_ns();
        if (!end) end = now + spin_ns;
        if (now >= end) break;
    }
    atomic_fetch_add(&word->sleepers, 1);
    while (atomic_load(&word->value) == old)
        syscall(SYS_futex, &word->value, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_fetch_sub(&word->sleepers, 1);
}

static void word_advance(struct wait_word *word)
{
    atomic_fetch_add(&word->value, 1);
    if (atomic_load(&word->sleepers))
        syscall(SYS_futex, &word->value, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void cpu_pool_barrier(struct cpu_pool *pool)
{
    if (pool->threads == 1) return;
    unsigned phase = atomic_load_explicit(&pool->phase.value, memory_order_relaxed);
    if (atomic_fetch_add(&pool->arrived, 1) == (unsigned)pool->threads - 1) {
        atomic_store_explicit(&pool->arrived, 0, memory_order_relaxed);
        word_advance(&pool->phase);
        return;
    }
    word_wait(&pool->phase, phase, pool->spin_ns);
}

void cpu_pool_run(struct cpu_pool *pool, void (*job)(void *arg, int thread), void *arg)
{
    if (pool->threads == 1) {
        job(arg, 0);
        return;
    }
    pool->job = job, pool->arg = arg;
    word_advance(&pool->epoch);
    job(arg, 0);
    cpu_pool_barrier(pool);
}

static void *worker_main(void *arg)
{
    struct pool_thread *self = arg;
    struct cpu_pool *pool = self->pool;
    for (unsigned epoch = 0;; epoch++) {
        word_wait(&pool->epoch, epoch, pool->spin_ns);
        if (pool->stopping) return NULL;
        pool->job(pool->arg, self->index);
        cpu_pool_barrier(pool);
    }
}

static enum status pin(pthread_t thread, int cpu, struct error *error)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
    int reason = pthread_setaffinity_np(thread, sizeof(set), &set);
    if (!reason) return STATUS_OK;
    return error_set(error, STATUS_INVALID, NULL, "cannot pin a compute thread to CPU %d: %s", cpu,
                     strerror(reason));
}

static int usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set)) return (int)sysconf(_SC_NPROCESSORS_ONLN);
    return CPU_COUNT(&set);
}

enum status cpu_pool_create(int threads, int first_cpu, struct cpu_pool **out, struct error *error)
{
    enum status status = STATUS_OK;
    if (threads < 1 || threads > THREADS_MAX)
        return error_set(error, STATUS_INVALID, "threads",
                         "%d compute threads; 1 to %d are possible", threads, THREADS_MAX);
    struct cpu_pool *pool = aligned_alloc(LINE, sizeof(*pool));
    CHECK(pool);
    memset(pool, 0, sizeof(*pool));
    pool->threads = threads;
    pool->spin_ns = threads <= usable_cpus() ? SPIN_NS : 0;
    pool->workers = calloc((size_t)threads, sizeof(*pool->workers));
    CHECK(pool->workers);
    pool->started = 1; /* the caller */
    if (first_cpu >= 0) status = pin(pthread_self(), first_cpu, error);
    while (!status && pool->started < threads) {
        struct pool_thread *worker = &pool->workers[pool->started];
        worker->pool = pool, worker->index = pool->started;
        int reason = pthread_create(&worker->thread, NULL, worker_main, worker);
        if (reason) {
            status =
                error_set(error, STATUS_NO_MEMORY, "threads", "cannot start compute thread %d: %s",
                          worker->index, strerror(reason));
            break;
        }
        if (first_cpu >= 0) status = pin(worker->thread, first_cpu + worker->index, error);
        pool->started++;
    }
    if (status)
        cpu_pool_destroy(pool);
    else
        *out = pool;
    return status;
}

void cpu_pool_destroy(struct cpu_pool *pool)
{
    if (!pool) return;
    pool->stopping = true;
    word_advance(&pool->epoch);
    for (int i = 1; i < pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    free(pool->workers);
    free(pool);
}

int cpu_pool_threads(const struct cpu_pool *pool)
{
    return pool->threads;
}
