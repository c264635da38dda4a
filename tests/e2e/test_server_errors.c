/*
 * test_server_errors.c - what the real program refuses, and how: fields by name, models, routes,
 * methods, keys, origins. Skips without ../shared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "tests/support/http_client.h"
#include "tests/support/server_process.h"

#define NEED_SERVER()                                                                              \
    do {                                                                                           \
        if (!running) skip();                                                                      \
    } while (0)

static struct server_process server;
static bool running;
static struct http_reply reply;

static int set_up(void **state)
{
    if (access(SERVER_TEST_MODEL "/config.json", R_OK)) return 0;
    running = server_start(&server, PENSTOCK_PROGRAM,
                           SERVER_TEST_MODEL " --served-model-name mini other --max-model-len 256 "
                                             "--api-key first --api-key second --threads 1 "
                                             "--allowed-origins [\"http://good\"] "
                                             "--kv-cache-memory-bytes 32M") &&
              server_wait_ready(&server);
    return running ? 0 : -1;
}

static int tear_down(void **state)
{
    server_kill(&server);
    http_reply_free(&reply);
    return 0;
}

static int ask(const char *method, const char *path, const char *headers, const char *body)
{
    struct http_client client;
    char with_key[512];
    snprintf(with_key, sizeof(with_key), "%s%s", headers,
             strstr(headers, "Authorization") ? "" : "Authorization: Bearer second\r\n");
    assert_true(http_client_connect(&client, server.port));
    assert_true(http_client_request(&client, method, path, with_key, body));
    assert_true(http_client_read(&client, &reply));
    http_client_close(&client);
    return reply.status;
}

static void expect_error(const char *path, const char *body, int status, const char *param)
{
    int got = ask("POST", path, "", body);
    if (got != status) print_message("%s -> %d %s\n", body, got, reply.body.data);
    assert_int_equal(got, status);
    yyjson_doc *doc = yyjson_read(reply.body.data, reply.body.len, 0);
    yyjson_val *error = yyjson_obj_get(yyjson_doc_get_root(doc), "error");
    assert_int_equal(yyjson_get_int(yyjson_obj_get(error, "code")), status);
    assert_true(yyjson_is_str(yyjson_obj_get(error, "message")));
    const char *found = yyjson_get_str(yyjson_obj_get(error, "param"));
    if (param && (!found || strcmp(found, param)))
        print_message("%s -> %s\n", body, reply.body.data);
    if (param) assert_string_equal(found, param);
    yyjson_doc_free(doc);
}

static void test_completion_fields(void **state)
{
    NEED_SERVER();
    static const struct {
        const char *fields, *param;
    } cases[] = {
        {"\"temperature\":-1", "temperature"},
        {"\"temperature\":\"hot\"", "temperature"},
        {"\"top_p\":0", "top_p"},
        {"\"top_p\":1.1", "top_p"},
        {"\"top_k\":-2", "top_k"},
        {"\"top_k\":1.5", "top_k"},
        {"\"min_p\":2", "min_p"},
        {"\"n\":0", "n"},
        {"\"n\":1000", "n"},
        {"\"max_tokens\":0", "max_tokens"},
        {"\"max_tokens\":-5", "max_tokens"},
        {"\"max_tokens\":5000", "max_tokens"},
        {"\"min_tokens\":17", "min_tokens"},
        {"\"presence_penalty\":3", "presence_penalty"},
        {"\"frequency_penalty\":-3", "frequency_penalty"},
        {"\"repetition_penalty\":0", "repetition_penalty"},
        {"\"logit_bias\":{\"99999999\":1}", "logit_bias"},
        {"\"logit_bias\":{\"x\":1}", "logit_bias"},
        {"\"logit_bias\":{\"5\":101}", "logit_bias"},
        {"\"logit_bias\":[]", "logit_bias"},
        {"\"logprobs\":21", "logprobs"},
        {"\"logprobs\":-1", "logprobs"},
        {"\"prompt_logprobs\":-1", "prompt_logprobs"},
        {"\"prompt_logprobs\":1,\"stream\":true", "prompt_logprobs"},
        {"\"stop\":\"\"", "stop"},
        {"\"stop\":[\"a\",5]", "stop"},
        {"\"stop_token_ids\":[-1]", "stop_token_ids"},
        {"\"stop_token_ids\":7", "stop_token_ids"},
        {"\"stream\":1", "stream"},
        {"\"stream_options\":{\"include_usage\":true}", "stream_options"},
        {"\"seed\":1.5", "seed"},
        {"\"echo\":\"yes\"", "echo"},
        {"\"best_of\":2", "best_of"},
        {"\"suffix\":\"end\"", "suffix"},
        {"\"response_format\":{\"type\":\"json_object\"}", "response_format"},
        {"\"guided_json\":{}", "guided_json"},
        {"\"structured_outputs\":{\"regex\":\"a\"}", "structured_outputs"},
        {"\"use_beam_search\":true", "use_beam_search"},
        {"\"truncate_prompt_tokens\":0", "truncate_prompt_tokens"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char body[256];
        snprintf(body, sizeof(body), "{\"prompt\":\"a\",%s}", cases[i].fields);
        expect_error("/v1/completions", body, 400, cases[i].param);
    }
}

static void test_prompts(void **state)
{
    NEED_SERVER();
    static const char *const bodies[] = {
        "{}",
        "{\"prompt\":null}",
        "{\"prompt\":5}",
        "{\"prompt\":[]}",
        "{\"prompt\":[[]]}",
        "{\"prompt\":[-1]}",
        "{\"prompt\":[6400]}",
        "{\"prompt\":[1.5]}",
        "{\"prompt\":[\"a\",5]}",
        "{\"prompt\":[5,\"a\"]}",
        "{\"prompt\":{}}",
    };
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
        expect_error("/v1/completions", bodies[i], 400, "prompt");
    struct buffer body = {0};
    buffer_printf(&body, "{\"prompt\":[5");
    for (int i = 0; i < 300; i++) buffer_printf(&body, ",%d", i);
    buffer_printf(&body, "]}");
    expect_error("/v1/completions", body.data, 400, "prompt"); /* longer than the context */
    buffer_free(&body);
    expect_error("/v1/completions", "{\"prompt\":\"a\",\"model\":\"gpt-9\"}", 404, "model");
    expect_error("/v1/completions", "", 400, NULL);
    expect_error("/v1/completions", "{\"prompt\":\"a\"", 400, NULL);
    expect_error("/v1/completions", "[]", 400, NULL);
}

static void test_chat_fields(void **state)
{
    NEED_SERVER();
    static const struct {
        const char *body, *param;
    } cases[] = {
        {"{}", "messages"},
        {"{\"messages\":[]}", "messages"},
        {"{\"messages\":\"hi\"}", "messages"},
        {"{\"messages\":[{\"content\":\"x\"}]}", "messages"},
        {"{\"messages\":[{\"role\":\"user\"}]}", "messages"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":5}]}", "messages"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
         "{\"url\":\"x\"}}]}]}",
         "messages"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[{\"type\":"
         "\"function\"}]}",
         "tools"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tool_choice\":\"required\"}",
         "tool_choice"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"top_logprobs\":2}",
         "top_logprobs"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"logprobs\":5}", "logprobs"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_completion_tokens\":0}",
         "max_completion_tokens"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"chat_template\":\"{{1}}\"}",
         "chat_template"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"chat_template_kwargs\":5}",
         "chat_template_kwargs"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"audio\":{}}", "audio"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"continue_final_message\":true,"
         "\"add_generation_prompt\":true}",
         "continue_final_message"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        expect_error("/v1/chat/completions", cases[i].body, 400, cases[i].param);
    assert_int_equal(
        ask("POST", "/v1/chat/completions", "",
            "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":2,"
            "\"tools\":[],\"tool_choice\":\"none\",\"model\":\"other\",\"user\":\"me\","
            "\"unknown_field\":{\"a\":1},\"response_format\":{\"type\":\"text\"}}"),
        200);
}

static void test_routes(void **state)
{
    NEED_SERVER();
    char value[128];
    assert_int_equal(ask("GET", "/nothing", "", NULL), 404);
    assert_int_equal(ask("GET", "/v1/completions", "", NULL), 405);
    assert_true(http_reply_header(&reply, "allow", value, sizeof(value)));
    assert_non_null(strstr(value, "POST"));
    assert_int_equal(ask("POST", "/health", "", "{}"), 405);
    assert_int_equal(ask("POST", "/v1/embeddings", "", "{\"input\":\"x\"}"), 404);
    assert_non_null(strstr(reply.body.data, "embeddings"));
    assert_int_equal(ask("GET", "/v1/models", "", NULL), 200);
    assert_non_null(strstr(reply.body.data, "\"id\":\"mini\""));
    assert_non_null(strstr(reply.body.data, "\"id\":\"other\""));
    assert_non_null(strstr(reply.body.data, "\"max_model_len\":256"));
    assert_int_equal(ask("GET", "/v1/models/mini", "", NULL), 200);
    assert_int_equal(ask("GET", "/v1/models/gpt", "", NULL), 404);
    assert_int_equal(ask("GET", "/health", "X-Request-Id: abc-1\r\n", NULL), 200);
    assert_true(http_reply_header(&reply, "x-request-id", value, sizeof(value)));
    assert_string_equal(value, "abc-1");
    assert_int_equal(ask("GET", "/openapi.json", "", NULL), 200);
    assert_int_equal(ask("GET", "/version", "", NULL), 200);
    assert_int_equal(ask("POST", "/detokenize", "", "{\"tokens\":[99999]}"), 400);
    assert_int_equal(ask("POST", "/tokenize", "", "{}"), 400);
}

static void test_api_keys(void **state)
{
    NEED_SERVER();
    static const char body[] = "{\"prompt\":\"a\",\"max_tokens\":1}";
    assert_int_equal(ask("POST", "/v1/completions", "Authorization: Bearer nope\r\n", body), 401);
    assert_non_null(strstr(reply.body.data, "authentication_error"));
    assert_int_equal(ask("POST", "/v1/completions", "Authorization: second\r\n", body), 401);
    assert_int_equal(ask("POST", "/v1/completions", "Authorization: Bearer firs\r\n", body), 401);
    assert_int_equal(ask("GET", "/v1/models", "Authorization: \r\n", NULL), 401);
    assert_int_equal(ask("GET", "/v1/nothing", "Authorization: \r\n", NULL), 401);
    assert_int_equal(ask("POST", "/tokenize", "Authorization: \r\n", "{\"prompt\":\"a\"}"), 401);
    assert_int_equal(ask("POST", "/v1/completions", "Authorization: Bearer first\r\n", body), 200);
    assert_int_equal(ask("POST", "/v1/completions", "Authorization: bearer second\r\n", body), 200);
    static const char *const open[] = {"/health", "/ready", "/metrics", "/version"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask("GET", open[i], "Authorization: \r\n", NULL), 200);
}

static void test_cors(void **state)
{
    NEED_SERVER();
    char value[128];
    assert_int_equal(ask("GET", "/health", "Origin: http://good\r\n", NULL), 200);
    assert_true(http_reply_header(&reply, "access-control-allow-origin", value, sizeof(value)));
    assert_string_equal(value, "http://good");
    assert_int_equal(ask("GET", "/health", "Origin: http://evil\r\n", NULL), 200);
    assert_false(http_reply_header(&reply, "access-control-allow-origin", value, sizeof(value)));
    static const char preflight[] = "Authorization: \r\nAccess-Control-Request-Method: POST\r\n"
                                    "Access-Control-Request-Headers: content-type\r\n";
    char headers[256];
    snprintf(headers, sizeof(headers), "Origin: http://good\r\n%s", preflight);
    assert_int_equal(ask("OPTIONS", "/v1/chat/completions", headers, NULL), 200);
    assert_true(http_reply_header(&reply, "access-control-allow-headers", value, sizeof(value)));
    assert_string_equal(value, "content-type");
    snprintf(headers, sizeof(headers), "Origin: http://evil\r\n%s", preflight);
    assert_int_equal(ask("OPTIONS", "/v1/chat/completions", headers, NULL), 400);
    assert_int_equal(ask("OPTIONS", "/v1/completions", "Authorization: \r\n", NULL), 204);
}

static void test_large_bodies(void **state)
{
    NEED_SERVER();
    struct buffer body = {0};
    buffer_printf(&body, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (int i = 0; i < 20000; i++) buffer_printf(&body, "word ");
    buffer_printf(&body, "\"}]}");
    expect_error("/v1/chat/completions", body.data, 400, "messages"); /* on the thread pool */
    buffer_clear(&body);
    for (int i = 0; i < 200; i++) buffer_append_string(&body, "{\"a\":[");
    expect_error("/v1/completions", body.data, 400, NULL);
    buffer_free(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_completion_fields), cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_chat_fields),       cmocka_unit_test(test_routes),
        cmocka_unit_test(test_api_keys),          cmocka_unit_test(test_cors),
        cmocka_unit_test(test_large_bodies),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
