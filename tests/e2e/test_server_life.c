/*
 * test_server_life.c - the real program from exec to exit: listens before it loads, drains, bounds
 * its queue, notices clients that vanish, idles for nothing, speaks over Unix sockets and TLS.
 * Skips without
 * ../shared.
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

#include "runtime/base/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/server_process.h"

#define SMALL SERVER_TEST_MODEL " --max-model-len 4096 --kv-cache-memory-bytes 64M --threads 1 "
#define ENDLESS                                                                                    \
    "{\"prompt\":\"a\",\"max_tokens\":4000,\"ignore_eos\":true,\"stream\":true,\"stop\":[\"@@@@"   \
    "\"]}"
#define SHORT    "{\"prompt\":\"a\",\"max_tokens\":300,\"ignore_eos\":true,\"stream\":true}"
#define LONG     "{\"prompt\":\"a\",\"max_tokens\":1500,\"ignore_eos\":true,\"stream\":true}"
#define COMPLETE "/v1/completions"

static struct server_process server;
static struct http_client client = {.fd = -1};
static struct http_reply reply;

static void start(const char *flags)
{
    if (access(SERVER_TEST_MODEL "/config.json", R_OK)) skip();
    assert_true(server_start(&server, PENSTOCK_PROGRAM, flags));
}

static int stop(void **state)
{
    server_kill(&server);
    http_client_close(&client);
    http_reply_free(&reply);
    return 0;
}

static bool wait_metric(const char *name, double value)
{
    for (int i = 0; i < 3000; i++) {
        if (server_metric(&server, name) == value) return true;
        usleep(10000);
    }
    return false;
}

static void test_listens_before_it_loads(void **state)
{
    int64_t begin = clock_ns();
    start(SMALL);
    int64_t listening_ms = (clock_ns() - begin) / 1000000;
    assert_true(http_call(server.port, "/health", NULL, &reply));
    assert_int_equal(reply.status, 200);
    print_message("exec -> listening in %d ms\n", (int)listening_ms);
    assert_true(listening_ms < 1000);
    assert_true(http_call(server.port, "/ready", NULL, &reply));
    assert_true(reply.status == 503 || reply.status == 200);
    if (reply.status == 503) {
        char value[16];
        assert_true(http_reply_header(&reply, "retry-after", value, sizeof(value)));
    }
    assert_true(server_wait_ready(&server));
}

static void test_idle_costs_nothing(void **state)
{
    start(SMALL);
    assert_true(server_wait_ready(&server));
    assert_true(http_client_connect(&client, server.port)); /* one open connection */
    usleep(300000);
    double before = server_cpu_seconds(&server);
    usleep(3000000);
    assert_true(server_cpu_seconds(&server) - before <= 0.03);
}

static void test_vanished_client_frees_its_pages(void **state)
{
    start(SMALL);
    assert_true(server_wait_ready(&server));
    for (int stream = 0; stream < 2; stream++) {
        assert_true(http_client_connect(&client, server.port));
        assert_true(http_client_request(
            &client, "POST", COMPLETE, "",
            stream ? ENDLESS : "{\"prompt\":\"a\",\"max_tokens\":4000,\"ignore_eos\":true}"));
        if (stream) assert_true(http_client_read_head(&client, &reply));
        assert_true(wait_metric("vllm:num_requests_running", 1));
        http_client_close(&client);
        assert_true(wait_metric("penstock:kv_pages_used", 0));
        assert_true(wait_metric("vllm:num_requests_running", 0));
    }
    assert_true(server_metric(&server, "vllm:generation_tokens_total") < 4000);
}

static void test_full_queue_is_429(void **state)
{
    struct http_client clients[12];
    int refused = 0;
    start(SMALL "--max-num-seqs 1 --max-num-queued-reqs 2");
    assert_true(server_wait_ready(&server));
    for (int i = 0; i < 12; i++) {
        assert_true(http_client_connect(&clients[i], server.port));
        assert_true(http_client_request(&clients[i], "POST", COMPLETE, "", ENDLESS));
        if (!i) assert_true(wait_metric("vllm:num_requests_running", 1));
    }
    for (int i = 3; i < 12; i++) {
        char value[16];
        assert_true(http_client_read(&clients[i], &reply));
        refused += reply.status == 429;
        assert_true(http_reply_header(&reply, "retry-after", value, sizeof(value)));
        assert_non_null(strstr(reply.body.data, "rate_limit_error"));
    }
    assert_int_equal(refused, 9);
    for (int i = 0; i < 12; i++) http_client_close(&clients[i]);
    assert_true(wait_metric("vllm:num_requests_waiting", 0));
}

static void test_sigterm_drains(void **state)
{
    start(SMALL "--shutdown-timeout 300");
    assert_true(server_wait_ready(&server));
    assert_true(http_client_connect(&client, server.port));
    assert_true(http_client_request(&client, "POST", COMPLETE, "", LONG));
    assert_true(http_client_read_head(&client, &reply));
    assert_int_equal(reply.status, 200);
    server_signal(&server, SIGTERM);
    struct http_reply other = {0};
    for (int i = 0; i < 100 && other.status != 503; i++) {
        if (!http_call(server.port, "/ready", NULL, &other)) break;
        usleep(1000);
    }
    assert_int_equal(other.status, 503);
    if (http_call(server.port, COMPLETE, SHORT, &other)) assert_int_equal(other.status, 503);
    http_reply_free(&other);
    struct buffer all = {0};
    while (http_client_read_chunk(&client, &reply))
        buffer_append(&all, reply.body.data, reply.body.len);
    assert_non_null(strstr(all.data, "\"finish_reason\":\"length\""));
    assert_non_null(strstr(all.data, "data: [DONE]"));
    buffer_free(&all);
    assert_int_equal(server_wait_exit(&server, 60), 0);
}

static void test_shutdown_timeout_and_second_signal(void **state)
{
    for (int second = 0; second < 2; second++) {
        start(second ? SMALL : SMALL "--shutdown-timeout 0.2");
        assert_true(server_wait_ready(&server));
        assert_true(http_client_connect(&client, server.port));
        assert_true(http_client_request(&client, "POST", COMPLETE, "", ENDLESS));
        assert_true(http_client_read_head(&client, &reply));
        server_signal(&server, SIGINT);
        if (second) {
            usleep(100000);
            server_signal(&server, SIGINT);
        }
        assert_int_equal(server_wait_exit(&server, 10), 0);
        http_client_close(&client);
    }
}

/* A rank that dies ends the process within 5 s, and its clients are told. */
static void test_dead_rank_ends_the_process(void **state)
{
    start(SMALL "-tp 2 --threads 2 --inject-fault die:1:20");
    assert_true(server_wait_ready(&server));
    struct http_client whole;
    assert_true(http_client_connect(&client, server.port));
    assert_true(http_client_connect(&whole, server.port));
    assert_true(http_client_request(&client, "POST", COMPLETE, "", ENDLESS));
    assert_true(http_client_request(&whole, "POST", COMPLETE, "",
                                    "{\"prompt\":\"a\",\"max_tokens\":900,\"ignore_eos\":true}"));
    int64_t begin = clock_ns();
    assert_true(http_client_read(&client, &reply));
    assert_non_null(strstr(reply.body.data, "data: {\"error\":"));
    assert_non_null(strstr(reply.body.data, "rank 1"));
    assert_non_null(strstr(reply.body.data, "data: [DONE]"));
    assert_true(http_client_read(&whole, &reply));
    assert_int_equal(reply.status, 500);
    assert_non_null(strstr(reply.body.data, "server_error"));
    http_client_close(&whole);
    assert_int_equal(server_wait_exit(&server, 10), 1);
    print_message("first request -> end of the process in %d ms\n",
                  (int)((clock_ns() - begin) / 1000000));
    assert_true(clock_ns() - begin < 8000000000ll); /* 20 steps of a busy machine included */
}

static void test_unix_socket(void **state)
{
    char path[64], flags[256];
    snprintf(path, sizeof(path), "/tmp/penstock-e2e-%d.sock", (int)getpid());
    snprintf(flags, sizeof(flags), SMALL "--uds %s", path);
    start(flags);
    assert_true(http_client_connect_unix(&client, path));
    for (int i = 0; i < 3000; i++) {
        assert_true(http_client_request(&client, "GET", "/ready", "", NULL));
        assert_true(http_client_read(&client, &reply));
        if (reply.status == 200) break;
        usleep(20000);
    }
    assert_true(
        http_client_request(&client, "POST", COMPLETE, "", "{\"prompt\":\"a\",\"max_tokens\":2}"));
    assert_true(http_client_read(&client, &reply));
    assert_int_equal(reply.status, 200);
    server_signal(&server, SIGTERM);
    assert_int_equal(server_wait_exit(&server, 10), 0);
    assert_int_not_equal(access(path, F_OK), 0); /* the socket file is gone */
}

static void test_wrong_starts(void **state)
{
    static const struct {
        const char *flags;
        int status;
    } cases[] = {{"/nonexistent/model", 1}, {"--nonsense", 2}, {"--host 300.1.1.1", 1}};
    for (int i = 0; i < 3; i++) {
        char command[512];
        snprintf(command, sizeof(command),
                 "%s serve --port 0 --host 127.0.0.1 %s 0<&- 2>&1 | grep -c 'penstock serve: ' "
                 ">/dev/null; exit ${PIPESTATUS[0]}",
                 PENSTOCK_PROGRAM, cases[i].flags);
        char *argv[] = {"bash", "-c", command, NULL};
        pid_t pid = fork();
        if (!pid) execvp("bash", argv), _exit(127);
        server.pid = pid, server.log_fd = dup(0);
        assert_int_equal(server_wait_exit(&server, 20), cases[i].status);
    }
}

static void test_tls(void **state)
{
    char command[1024], line[256] = "";
    if (access(SERVER_TEST_MODEL "/config.json", R_OK)) skip();
    if (system("command -v openssl curl >/dev/null")) skip();
    char directory[] = "/tmp/penstock-tls-XXXXXX";
    assert_non_null(mkdtemp(directory));
    snprintf(
        command, sizeof(command),
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout %s/key.pem -out %s/cert.pem -days 2 "
        "-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null",
        directory, directory);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), SMALL "--ssl-keyfile %s/key.pem --ssl-certfile %s/cert.pem",
             directory, directory);
    start(command);
    snprintf(command, sizeof(command),
             "for i in $(seq 600); do curl -sf --cacert %s/cert.pem https://127.0.0.1:%d/ready "
             ">/dev/null && break; sleep 0.1; done; curl -sN --cacert %s/cert.pem "
             "https://127.0.0.1:%d" COMPLETE " -d '" SHORT "' | tail -n 2 | head -n 1",
             directory, server.port, directory, server.port);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof(line), pipe));
    pclose(pipe);
    assert_string_equal(line, "data: [DONE]\n");
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_listens_before_it_loads, stop),
        cmocka_unit_test_teardown(test_idle_costs_nothing, stop),
        cmocka_unit_test_teardown(test_vanished_client_frees_its_pages, stop),
        cmocka_unit_test_teardown(test_full_queue_is_429, stop),
        cmocka_unit_test_teardown(test_sigterm_drains, stop),
        cmocka_unit_test_teardown(test_shutdown_timeout_and_second_signal, stop),
        cmocka_unit_test_teardown(test_dead_rank_ends_the_process, stop),
        cmocka_unit_test_teardown(test_unix_socket, stop),
        cmocka_unit_test_teardown(test_wrong_starts, stop),
        cmocka_unit_test_teardown(test_tls, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
