/*
 * test_fuzz_http.c - the HTTP and JSON surface under bytes that nobody meant: mutated requests and
 * bodies against the real program, which must answer 4xx or close, stay alive, and leak no
 * sequence.
 *
 * Argument: seconds (default 5). The seed is printed. Skips without ../shared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/clock.h"
#include "tests/support/http_client.h"
#include "tests/support/server_process.h"

static int seconds = 5;
static struct server_process server;
static uint64_t state_of_random;

static uint32_t random_below(uint32_t limit)
{
    state_of_random = state_of_random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state_of_random >> 33) % limit;
}

static const char *const bodies[] = {
    "{\"prompt\":\"Hello\",\"max_tokens\":2,\"n\":2,\"logprobs\":3,\"echo\":true}",
    "{\"prompt\":[[5,6],[7]],\"max_tokens\":2,\"stream\":true,\"stop\":[\"a\",\"\\u00e9\"]}",
    "{\"prompt\":\"x\",\"max_tokens\":1,\"logit_bias\":{\"5\":-100},\"stop_token_ids\":[1,2],"
    "\"seed\":-3,\"top_k\":-1,\"top_p\":0.5,\"min_p\":0.1,\"temperature\":0.7}",
    "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},"
    "{\"role\":\"assistant\",\"content\":\"so\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
    "\"arguments\":\"{\\\"a\\\":1}\"}}]}],\"max_tokens\":2,\"continue_final_message\":true,"
    "\"chat_template_kwargs\":{\"enable_thinking\":false}}",
    "{\"messages\":[{\"role\":\"system\",\"content\":\"\\ud83d\\ude00\"},{\"role\":\"user\","
    "\"content\":\"q\"}],\"max_completion_tokens\":2,\"logprobs\":true,\"top_logprobs\":4,"
    "\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
    "{\"tokens\":[5,6,7,6399]}",
    "{\"prompt\":\"a\\u0000b\",\"return_token_strs\":true,\"add_special_tokens\":false}",
};
static const char *const paths[] = {"/v1/completions", "/v1/chat/completions", "/tokenize",
                                    "/detokenize",     "/v1/models/mini",      "/health"};
static const char *const scraps[] = {"null",
                                     "-1",
                                     "1e999",
                                     "\"\"",
                                     "[]",
                                     "{}",
                                     "true",
                                     "[[[",
                                     "\\ud800",
                                     "\xff\xfe",
                                     "9223372036854775808",
                                     "{%",
                                     "\"<|im_end|>\"",
                                     "0.0000001",
                                     ",",
                                     ":"};

/* Bytes flipped, cut, doubled, and scraps of JSON put in. */
static void mutate(struct buffer *text)
{
    for (uint32_t rounds = random_below(4); rounds && text->len; rounds--) {
        uint32_t at = random_below((uint32_t)text->len);
        const char *scrap = scraps[random_below(sizeof(scraps) / sizeof(*scraps))];
        struct buffer out = {0};
        switch (random_below(5)) {
        case 0: text->data[at] ^= (char)(1 << random_below(8)); break;
        case 1: text->data[at] = (char)random_below(256); break;
        case 2: text->len = at, text->data[at] = 0; break;
        case 3: {
            size_t skip = random_below(8);
            if (at + skip > text->len) skip = text->len - at;
            buffer_append(&out, text->data, at);
            buffer_append_string(&out, scrap);
            buffer_append(&out, text->data + at + skip, text->len - at - skip);
            break;
        }
        default:
            buffer_append(&out, text->data, text->len);
            buffer_append(&out, text->data + at, text->len - at);
            break;
        }
        if (!out.data) continue;
        buffer_free(text);
        *text = out;
    }
}

static void one_request(struct http_client *client)
{
    struct buffer body = {0}, whole = {0};
    buffer_append_string(&body, bodies[random_below(sizeof(bodies) / sizeof(*bodies))]);
    mutate(&body);
    const char *path = paths[random_below(sizeof(paths) / sizeof(*paths))];
    if (random_below(4))
        buffer_printf(&whole, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", path,
                      body.len);
    else
        buffer_printf(&whole, "POST %s HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", path,
                      body.len);
    bool chunked = strstr(whole.data, "chunked") != NULL;
    buffer_append(&whole, body.data, body.len);
    if (chunked) buffer_append_string(&whole, "\r\n0\r\n\r\n");
    if (!random_below(6)) mutate(&whole); /* the framing too */
    http_client_send(client, whole.data, whole.len);
    buffer_free(&body);
    buffer_free(&whole);
}

static void fuzz(void **state)
{
    if (access(SERVER_TEST_MODEL "/config.json", R_OK)) skip();
    state_of_random = (uint64_t)clock_ns();
    print_message("seed %llu\n", (unsigned long long)state_of_random);
    assert_true(server_start(&server, PENSTOCK_PROGRAM,
                             SERVER_TEST_MODEL " --served-model-name mini --max-model-len 512 "
                                               "--kv-cache-memory-bytes 32M --threads 1"));
    assert_true(server_wait_ready(&server));
    int64_t deadline = clock_ns() + seconds * 1000000000ll;
    int requests = 0, answers = 0;
    struct http_reply reply = {0};
    while (clock_ns() < deadline) {
        struct http_client client;
        if (!http_client_connect(&client, server.port)) break;
        one_request(&client);
        requests++;
        if (!random_below(8)) shutdown(client.fd, SHUT_RDWR); /* some vanish at once */
        /* A request whose framing promises more than was sent is left waiting: do not wait with it.
         */
        client.timeout_ms = 200;
        if (http_client_read(&client, &reply)) {
            answers++;
            bool expected = reply.status == 505 || (reply.status >= 200 && reply.status < 500);
            if (!expected) print_message("%d %s\n", reply.status, reply.body.data);
            assert_true(expected);
        }
        http_client_close(&client);
    }
    print_message("%d requests, %d answers\n", requests, answers);
    assert_true(answers > 0);
    bool alive = http_call(server.port, "/health", NULL, &reply);
    if (!alive) server_wait_exit(&server, 5); /* prints its last words */
    assert_true(alive);
    assert_int_equal(reply.status, 200);
    for (int i = 0; i < 1000 && server_metric(&server, "vllm:num_requests_running") > 0; i++)
        usleep(10000);
    assert_true(server_metric(&server, "penstock:kv_pages_used") == 0);
    http_reply_free(&reply);
    server_signal(&server, 15);
    assert_int_equal(server_wait_exit(&server, 20), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) seconds = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(fuzz)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
