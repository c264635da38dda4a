/* test_http.c - the HTTP server by itself: framing, pipelining, limits, slow and vanishing clients.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/http.h"
#include "tests/support/http_client.h"

static struct fixture {
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t stop;
    uv_timer_t later;
    struct http_server *server;
    struct http_request *held; /* of /hold, answered never */
    int port;
    int gone_count, finished_count,
        status_sum; /* written by the loop, read after its end or polled */
    char uds[64];
} fixture;

static void on_gone(struct http_request *request)
{
    __atomic_add_fetch(&fixture.gone_count, 1, __ATOMIC_SEQ_CST);
}

/* Floods a client with a stream until it is dropped. */
static void flood(struct http_request *request)
{
    static char piece[65536];
    memset(piece, 'x', sizeof(piece));
    http_begin(request, 200, "text/plain");
    for (int i = 0; i < 1000; i++) http_write(request, piece, sizeof(piece));
}

static void handle(void *arg, struct http_request *request)
{
    request->gone = on_gone;
    if (!strcmp(request->path, "/echo")) {
        char text[64];
        snprintf(text, sizeof(text), "%s %s", request->method, request->query);
        http_add_header(request, "X-Query", text);
        http_respond(request, 200, "text/plain", request->body.data, request->body.len);
    } else if (!strcmp(request->path, "/stream")) {
        http_begin(request, 200, "text/event-stream");
        for (int i = 0; i < 3; i++) http_write(request, "piece\n", 6);
        http_end(request);
    } else if (!strcmp(request->path, "/flood")) {
        flood(request);
    } else if (strcmp(request->path, "/hold")) {
        http_respond(request, 404, "text/plain", "no", 2);
    }
}

static void format_error(void *arg, int status, const char *message, struct buffer *out)
{
    buffer_printf(out, "%d %s", status, message);
}

static void finished(void *arg, const struct http_request *request, int status)
{
    fixture.finished_count++;
}

static void on_stop(uv_async_t *async)
{
    http_server_close(fixture.server);
    uv_close((uv_handle_t *)&fixture.stop, NULL);
}

static void *run_loop(void *arg)
{
    uv_run(&fixture.loop, UV_RUN_DEFAULT);
    return NULL;
}

static int set_up(void **state)
{
    struct http_config config = {.limits = http_default_limits,
                                 .handle = handle,
                                 .format_error = format_error,
                                 .error_content_type = "text/plain",
                                 .finished = finished};
    config.limits.body_bytes_max = 1 << 20;
    config.limits.head_bytes_max = 8 << 10;
    config.limits.output_max = 1 << 20;
    config.limits.idle_timeout_ms = 1500;
    config.limits.head_timeout_ms = 600;
    config.limits.body_timeout_ms = 600;
    struct error error;
    uv_loop_init(&fixture.loop);
    uv_async_init(&fixture.loop, &fixture.stop, on_stop);
    if (http_server_create(&fixture.loop, &config, &fixture.server, &error)) return -1;
    if (http_server_listen(fixture.server, "127.0.0.1", 0, &fixture.port, &error)) return -1;
    snprintf(fixture.uds, sizeof(fixture.uds), "/tmp/penstock-test-%d.sock", getpid());
    if (http_server_listen_unix(fixture.server, fixture.uds, &error)) return -1;
    return pthread_create(&fixture.thread, NULL, run_loop, NULL);
}

static int tear_down(void **state)
{
    uv_async_send(&fixture.stop);
    pthread_join(fixture.thread, NULL);
    http_server_destroy(fixture.server);
    return uv_loop_close(&fixture.loop);
}

static struct http_client client;
static struct http_reply reply;

static void done(void)
{
    http_client_close(&client);
    http_reply_free(&reply);
}

static void test_keep_alive_and_headers(void **state)
{
    char value[64];
    assert_true(http_client_connect(&client, fixture.port));
    for (int i = 0; i < 3; i++) {
        assert_true(http_client_request(&client, "POST", "/echo?a=b", "X-Empty:\r\nX-Odd:  v \r\n",
                                        "{\"k\":1}"));
        assert_true(http_client_read(&client, &reply));
        assert_int_equal(reply.status, 200);
        assert_string_equal(reply.body.data, "{\"k\":1}");
        assert_true(http_reply_header(&reply, "x-query", value, sizeof(value)));
        assert_string_equal(value, "POST a=b");
    }
    done();
}

static void test_pipelining_keeps_order(void **state)
{
    struct buffer all = {0};
    assert_true(http_client_connect(&client, fixture.port));
    for (int i = 0; i < 200; i++)
        buffer_printf(&all, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n%03d", i);
    assert_true(http_client_send(&client, all.data, all.len));
    for (int i = 0; i < 200; i++) {
        assert_true(http_client_read(&client, &reply));
        assert_int_equal(atoi(reply.body.data), i);
    }
    buffer_free(&all);
    done();
}

static void test_one_byte_at_a_time(void **state)
{
    static const char text[] =
        "POST http://h/echo?q HTTP/1.1\r\nHost: x\r\nX-Empty: \r\n"
        "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n3;e=1\r\nefg\r\n0\r\n"
        "Trailer: t\r\n\r\n";
    assert_true(http_client_connect(&client, fixture.port));
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        assert_true(http_client_send(&client, text + i, 1));
    assert_true(http_client_read(&client, &reply));
    assert_string_equal(reply.body.data, "abcdefg");
    done();
}

static void test_streams(void **state)
{
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_request(&client, "GET", "/stream", "", NULL));
    assert_true(http_client_read(&client, &reply));
    assert_string_equal(reply.body.data, "piece\npiece\npiece\n");
    assert_true(http_client_send_string(&client, "GET /stream HTTP/1.0\r\n\r\n"));
    assert_true(http_client_read(&client, &reply)); /* unchunked, ended by closing */
    assert_string_equal(reply.body.data, "piece\npiece\npiece\n");
    done();
}

static void test_head_and_upgrade(void **state)
{
    char value[64];
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_send_string(
        &client,
        "HEAD /none HTTP/1.1\r\nHost: x\r\n\r\nPOST /echo HTTP/1.1\r\nHost: x\r\n"
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nhi"));
    assert_true(http_client_read_head(&client, &reply));
    assert_int_equal(reply.status, 404);
    assert_true(http_reply_header(&reply, "content-length", value, sizeof(value)));
    assert_string_equal(value, "2");
    assert_true(http_client_read(&client, &reply));
    assert_string_equal(reply.body.data, "hi");
    done();
}

static void expect_refusal(const char *text, int status)
{
    assert_true(http_client_connect(&client, fixture.port));
    http_client_send_string(&client, text); /* may be refused before all of it is sent */
    assert_true(http_client_read(&client, &reply));
    assert_int_equal(reply.status, status);
    assert_true(http_client_at_end(&client));
    done();
}

static void test_refusals(void **state)
{
    struct buffer text = {0};
    expect_refusal("nonsense\r\n\r\n", 400);
    expect_refusal("GET /echo HTTP/3.0\r\n\r\n", 400);
    expect_refusal("POST /echo HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400);
    expect_refusal("POST /echo HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                   400);
    expect_refusal("POST /echo HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n", 413);
    expect_refusal("POST /echo HTTP/1.1\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\n", 417);
    expect_refusal("POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400);
    buffer_printf(&text, "GET /echo HTTP/1.1\r\n");
    for (int i = 0; i < 200; i++) buffer_printf(&text, "H%d: v\r\n", i);
    expect_refusal(text.data, 431);
    buffer_clear(&text);
    buffer_printf(&text, "GET /echo HTTP/1.1\r\nBig: ");
    for (int i = 0; i < 9000; i++) buffer_append_char(&text, 'x');
    expect_refusal(text.data, 431);
    buffer_clear(&text);
    buffer_printf(&text, "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 150; i++) {
        buffer_printf(&text, "2000\r\n");
        for (int k = 0; k < 0x2000; k++) buffer_append_char(&text, 'y');
        buffer_printf(&text, "\r\n");
    }
    expect_refusal(text.data, 413);
    buffer_free(&text);
}

static void test_expect_continue(void **state)
{
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_send_string(
        &client, "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    assert_true(http_client_read(&client, &reply));
    assert_int_equal(reply.status, 100);
    assert_true(http_client_send_string(&client, "ok"));
    assert_true(http_client_read(&client, &reply));
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body.data, "ok");
    done();
}

static void test_slow_clients_time_out(void **state)
{
    expect_refusal("GET /echo HTTP/1.1\r\nHo", 408);
    expect_refusal("POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\nab", 408);
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_at_end(&client)); /* idle: closed without a word */
    done();
}

static void wait_gone(int count)
{
    for (int i = 0; i < 500 && __atomic_load_n(&fixture.gone_count, __ATOMIC_SEQ_CST) < count; i++)
        usleep(10000);
    assert_int_equal(__atomic_load_n(&fixture.gone_count, __ATOMIC_SEQ_CST), count);
}

static void test_vanishing_client_is_noticed(void **state)
{
    int before = fixture.gone_count;
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_request(&client, "POST", "/hold", "", "{}"));
    usleep(50000);
    http_client_close(&client);
    wait_gone(before + 1);
    done();
}

static void test_slow_reader_is_dropped(void **state)
{
    int before = fixture.gone_count;
    assert_true(http_client_connect(&client, fixture.port));
    assert_true(http_client_request(&client, "GET", "/flood", "", NULL));
    wait_gone(before + 1);
    done();
}

static void test_unix_socket(void **state)
{
    assert_true(http_client_connect_unix(&client, fixture.uds));
    assert_true(http_client_request(&client, "POST", "/echo", "", "unix"));
    assert_true(http_client_read(&client, &reply));
    assert_string_equal(reply.body.data, "unix");
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep_alive_and_headers),
        cmocka_unit_test(test_pipelining_keeps_order),
        cmocka_unit_test(test_one_byte_at_a_time),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_head_and_upgrade),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_expect_continue),
        cmocka_unit_test(test_slow_clients_time_out),
        cmocka_unit_test(test_vanishing_client_is_noticed),
        cmocka_unit_test(test_slow_reader_is_dropped),
        cmocka_unit_test(test_unix_socket),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
