/*
 * test_mpi.c - ranks as processes: mpirun's world serves the same tokens as one process, and a rank
 * that dies or stalls ends it in time, named. Skipped where there is no mpirun or no plug-in.
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

#include "tests/support/http_client.h"
#include "tests/support/server_process.h"

#define MPIRUN "mpirun --allow-run-as-root --oversubscribe -np 2"
#define FLAGS  "--max-model-len 512 --max-num-seqs 4 --threads 1 --dtype float32"

static const char body[] = "{\"prompt\":\"The old mill\",\"max_tokens\":24,\"temperature\":0,"
                           "\"return_token_ids\":true,\"ignore_eos\":true}";

static bool has_mpi(void)
{
    char plugin[1024];
    snprintf(plugin, sizeof(plugin), "%s", PENSTOCK_PROGRAM);
    char *slash = strrchr(plugin, '/');
    strcpy(slash ? slash + 1 : plugin, "penstock-mpi.so");
    return !access(plugin, R_OK) && !system("command -v mpirun >/dev/null");
}

static void need_mpi(void)
{
    if (has_mpi() && !access(SERVER_TEST_MODEL, R_OK)) return;
    print_message("skipped: mpirun, the MPI plug-in or " SERVER_TEST_MODEL " is not there\n");
    skip();
}

/* The token_ids of the answer, as text. */
static void ask(const struct server_process *server, char *out, size_t size)
{
    struct http_reply reply = {0};
    assert_true(http_call(server->port, "/v1/completions", body, &reply));
    assert_int_equal(reply.status, 200);
    const char *ids = strstr(reply.body.data, "\"token_ids\":[");
    assert_non_null(ids);
    snprintf(out, size, "%.*s", (int)strcspn(ids, "]"), ids);
    http_reply_free(&reply);
}

static void test_same_tokens_as_one_process(void **state)
{
    struct server_process one, world;
    char alone[1024], shared[1024];
    need_mpi();
    assert_true(server_start(&one, PENSTOCK_PROGRAM, SERVER_TEST_MODEL " " FLAGS));
    assert_true(server_wait_ready(&one));
    ask(&one, alone, sizeof(alone));
    server_kill(&one);
    assert_true(server_start_under(&world, MPIRUN, PENSTOCK_PROGRAM, SERVER_TEST_MODEL " " FLAGS));
    assert_true(server_wait_ready(&world));
    for (int i = 0; i < 2; i++) {
        ask(&world, shared, sizeof(shared));
        assert_string_equal(shared, alone);
    }
    server_signal(&world, SIGTERM);
    assert_true(server_wait_exit(&world, 20) >= 0);
}

/* Second of the day of the first log line with this text: 2026-01-02T03:04:05.678Z ... */
static double seconds_of(const char *log, const char *text)
{
    int hour, minute;
    double second;
    const char *line = strstr(log, text);
    assert_non_null(line);
    while (line > log && line[-1] != '\n') line--;
    assert_int_equal(sscanf(line, "%*[^T]T%d:%d:%lfZ", &hour, &minute, &second), 3);
    return hour * 3600 + minute * 60 + second;
}

static void check_fault(const char *fault, const char *expected)
{
    struct server_process world;
    struct http_reply reply = {0};
    char flags[256];
    const char *log = world.log;
    snprintf(flags, sizeof(flags),
             SERVER_TEST_MODEL " " FLAGS " --stall-timeout 2000 --inject-fault %s", fault);
    assert_true(server_start_under(&world, MPIRUN, PENSTOCK_PROGRAM, flags));
    assert_true(server_wait_ready(&world));
    http_call(world.port, "/v1/completions", body, &reply);
    assert_int_not_equal(reply.status, 200);
    assert_true(server_wait_exit(&world, 30) > 0);
    if (!strstr(log, expected) || !strstr(log, "in op ") || !strstr(log, "of step 6"))
        fail_msg("the log does not name rank, op and step: %s", log);
    double took = seconds_of(log, expected) - seconds_of(log, "injected fault");
    assert_true((took < 0 ? took + 86400 : took) < 5);
    http_reply_free(&reply);
}

static void test_dead_rank(void **state)
{
    need_mpi();
    check_fault("die:1:6", "rank 1 died");
}

static void test_stalled_rank(void **state)
{
    need_mpi();
    check_fault("stall:1:6", "rank 1 stopped answering");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_tokens_as_one_process),
        cmocka_unit_test(test_dead_rank),
        cmocka_unit_test(test_stalled_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
