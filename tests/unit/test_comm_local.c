/* test_comm_local.c - collectives of ranks that are threads; a stalled rank is named and ends the
 * group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "parallel/comm.h"
#include "runtime/base/clock.h"

enum { RANKS_MAX = 4, COUNT = 1003, ROUNDS = 50 };

struct run {
    struct comm *comm;
    float sum[COUNT], gathered[3 * RANKS_MAX * 5];
    int broadcast, failures, stall_after; /* collectives; -1: never */
    struct error error;
    int64_t ended_ns;
};

static const struct comm_ops *ops_of(struct comm *comm)
{
    return ((struct comm_base *)(void *)comm)->ops;
}

static void *rank_main(void *arg)
{
    struct run *run = arg;
    struct comm_base *base = (struct comm_base *)(void *)run->comm;
    float in[3 * 5];
    for (int round = 0; round < ROUNDS; round++) {
        if (round == run->stall_after) return NULL;
        base->ops->note(run->comm, round, "all_reduce o");
        for (int i = 0; i < COUNT; i++)
            run->sum[i] = 0.1f * (float)((base->rank + 1) * (i + round));
        for (int i = 0; i < 15; i++) in[i] = (float)(base->rank * 100 + i);
        run->broadcast = base->rank ? -1 : round;
        if (base->ops->all_reduce(run->comm, run->sum, COUNT, &run->error) ||
            base->ops->all_gather(run->comm, in, run->gathered, 3, 5, &run->error) ||
            base->ops->broadcast(run->comm, &run->broadcast, sizeof(int), &run->error)) {
            run->ended_ns = clock_ns();
            return NULL;
        }
        run->failures += run->broadcast != round;
    }
    return NULL;
}

static void run_ranks(int n, struct run *runs, int timeout_ms)
{
    struct comm *comms[RANKS_MAX];
    pthread_t threads[RANKS_MAX];
    assert_int_equal(comm_local_create(n, timeout_ms, comms, NULL), 0);
    for (int r = 0; r < n; r++) {
        runs[r].comm = comms[r];
        pthread_create(&threads[r], NULL, rank_main, &runs[r]);
    }
    for (int r = 0; r < n; r++) pthread_join(threads[r], NULL);
    for (int r = 0; r < n; r++) ops_of(comms[r])->leave(comms[r]);
}

static void test_collectives(void **state)
{
    for (int n = 1; n <= RANKS_MAX; n++) {
        struct run *runs = calloc(RANKS_MAX, sizeof(*runs));
        for (int r = 0; r < n; r++) runs[r].stall_after = -1;
        run_ranks(n, runs, 60000);
        for (int i = 0; i < COUNT; i++) {
            float sum = 0;
            for (int r = 0; r < n; r++) {
                float part = 0.1f * (float)((r + 1) * (i + ROUNDS - 1));
                sum = r ? sum + part : part;
            }
            for (int r = 0; r < n; r++) assert_memory_equal(&runs[r].sum[i], &sum, 4);
        }
        for (int r = 0; r < n; r++) {
            assert_int_equal(runs[r].failures, 0);
            for (int row = 0; row < 3; row++)
                for (int from = 0; from < n; from++)
                    for (int c = 0; c < 5; c++)
                        assert_true(runs[r].gathered[(row * n + from) * 5 + c] ==
                                    (float)(from * 100 + row * 5 + c));
        }
        free(runs);
    }
}

static void test_stalled_rank_is_named(void **state)
{
    struct run *runs = calloc(RANKS_MAX, sizeof(*runs));
    for (int r = 0; r < 3; r++) runs[r].stall_after = r == 1 ? 7 : -1;
    run_ranks(3, runs, 100);
    for (int r = 0; r < 3; r += 2) {
        assert_int_equal(runs[r].error.status, STATUS_DEVICE);
        assert_non_null(strstr(runs[r].error.message, "rank 1 stopped answering"));
        assert_non_null(strstr(runs[r].error.message, "op all_reduce o of step 7"));
    }
    free(runs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_stalled_rank_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
