/*
 * test_scheduler_simulation.c - thousands of random lives of the real scheduler and cache.
 *
 * Usage: test_scheduler_simulation [LIVES [FIRST_SEED]]
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/simulation.h"

#if defined(__SANITIZE_THREAD__)
enum { LIVES = 2000 }; /* one thread: nothing to find, and slow */
#elif defined(__SANITIZE_ADDRESS__)
enum { LIVES = 10000 };
#else
enum { LIVES = 20000 };
#endif

static uint64_t lives = LIVES, first_seed = 1, seed_now;

/* A breach aborts; the seed that repeats it must still be told. */
static void tell_seed(int signal_number)
{
    char line[96];
    int len = snprintf(line, sizeof(line), "simulation: seed %llu\n", (unsigned long long)seed_now);
    ssize_t written = write(STDERR_FILENO, line, (size_t)len);
    (void)written;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void test_random_lives(void **state)
{
    struct simulation_totals t = {0};
    signal(SIGABRT, tell_seed);
    for (uint64_t i = 0; i < lives; i++) {
        seed_now = first_seed + i;
        simulation_run(seed_now, &t);
    }
    printf("%llu lives: %llu requests (%llu refused, %llu cancelled), %llu steps, %llu tokens, "
           "%llu preemptions, %llu prompt tokens from the cache, %llu prompt logprobs, %llu stops, "
           "%llu late rows, %llu failures\n",
           (unsigned long long)t.lives, (unsigned long long)t.requests,
           (unsigned long long)t.refused, (unsigned long long)t.cancelled,
           (unsigned long long)t.steps, (unsigned long long)t.tokens,
           (unsigned long long)t.preemptions, (unsigned long long)t.prefix_hits,
           (unsigned long long)t.prompt_logprobs, (unsigned long long)t.stopped,
           (unsigned long long)t.late_rows, (unsigned long long)t.failed);
    if (lives < 1000) return;
    assert_true(t.refused && t.cancelled && t.preemptions > t.lives / 4 && t.prefix_hits);
    assert_true(t.prompt_logprobs && t.stopped && t.late_rows && t.failed);
}

int main(int argc, char **argv)
{
    if (argc > 1) lives = strtoull(argv[1], NULL, 10);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
