/* test_json.c - fields of requests: types, ranges, refusals by name, depth; errors; histograms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "server/api_error.h"
#include "server/histogram.h"
#include "server/json.h"
#include "server/openapi.h"

static struct error error;
static yyjson_doc *doc;

static yyjson_val *parse(const char *text)
{
    yyjson_doc_free(doc);
    doc = NULL;
    memset(&error, 0, sizeof(error));
    if (json_read_object(text, strlen(text), &doc, &error)) doc = NULL;
    return yyjson_doc_get_root(doc);
}

static void test_bodies(void **state)
{
    static char deep[4000];
    assert_null(parse(""));
    assert_null(parse("{\"a\":"));
    assert_non_null(strstr(error.message, "byte"));
    assert_null(parse("[1]"));
    assert_null(parse("{\"a\":\"\xff\"}"));
    memset(deep, '[', 1000);
    assert_null(parse(deep));
    assert_non_null(strstr(error.message, "nested"));
    assert_non_null(parse("{\"a\":\"[[[[[\\\"[[[[\"}"));
}

static void test_fields(void **state)
{
    int64_t number = 7;
    double real = 1;
    bool flag = false;
    const char *text = NULL;
    yyjson_val *root = parse("{\"i\":5,\"r\":5.0,\"h\":5.5,\"s\":\"x\",\"b\":true,\"n\":null,"
                             "\"big\":18446744073709551615}");
    assert_int_equal(json_int(root, "i", 0, 9, &number, &error), STATUS_OK);
    assert_int_equal(number, 5);
    assert_int_equal(json_int(root, "r", 0, 9, &number, &error), STATUS_OK);
    assert_int_equal(json_int(root, "n", 0, 9, &number, &error), STATUS_OK);
    assert_int_equal(json_int(root, "absent", 0, 9, &number, &error), STATUS_OK);
    assert_int_equal(number, 5);
    assert_int_equal(json_int(root, "h", 0, 9, &number, &error), STATUS_INVALID);
    assert_string_equal(error.param, "h");
    assert_int_equal(json_int(root, "i", 6, 9, &number, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "at least 6"));
    assert_int_equal(json_int(root, "i", 0, 4, &number, &error), STATUS_INVALID);
    assert_int_equal(json_int(root, "big", 0, INT64_MAX, &number, &error), STATUS_INVALID);
    assert_int_equal(json_int(root, "b", 0, 9, &number, &error), STATUS_INVALID);
    assert_int_equal(json_float(root, "h", 0, 9, &real, &error), STATUS_OK);
    assert_true(real == 5.5);
    assert_int_equal(json_float(root, "s", 0, 9, &real, &error), STATUS_INVALID);
    assert_int_equal(json_bool(root, "b", &flag, &error), STATUS_OK);
    assert_true(flag);
    assert_int_equal(json_bool(root, "i", &flag, &error), STATUS_INVALID);
    assert_int_equal(json_string(root, "s", &text, NULL, &error), STATUS_OK);
    assert_string_equal(text, "x");
    assert_int_equal(json_string(root, "i", &text, NULL, &error), STATUS_INVALID);
}

static void test_refusals(void **state)
{
    static const struct json_refusal list[] = {
        {"tools", HARMLESS_EMPTY, NULL, "no tools"},
        {"store", HARMLESS_FALSE, NULL, "no store"},
        {"tool_choice", HARMLESS_WORD, "none|auto", "no choice"},
        {"suffix", HARMLESS_NULL, NULL, "no suffix"},
    };
    static const char *const fine[] = {"{}", "{\"tools\":[],\"store\":false,\"suffix\":null}",
                                       "{\"tool_choice\":\"auto\"}"};
    static const char *const bad[] = {"{\"tools\":[1]}", "{\"store\":true}",
                                      "{\"tool_choice\":\"required\"}", "{\"tool_choice\":\"aut\"}",
                                      "{\"suffix\":\"\"}"};
    for (size_t i = 0; i < sizeof(fine) / sizeof(*fine); i++)
        assert_int_equal(json_refuse_fields(parse(fine[i]), list, 4, &error), STATUS_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(json_refuse_fields(parse(bad[i]), list, 4, &error), STATUS_UNSUPPORTED);
        assert_non_null(strstr(error.message, error.param));
    }
    yyjson_doc_free(doc);
    doc = NULL;
}

static void test_errors(void **state)
{
    struct buffer out = {0};
    api_format_error(400, "bad \"x\"", "x", &out);
    assert_string_equal(out.data, "{\"error\":{\"message\":\"bad \\\"x\\\"\",\"type\":"
                                  "\"invalid_request_error\",\"param\":\"x\",\"code\":400}}");
    buffer_free(&out);
    assert_int_equal(api_http_status(STATUS_QUEUE_FULL), 429);
    assert_int_equal(api_http_status(STATUS_UNAVAILABLE), 503);
    assert_int_equal(api_http_status(STATUS_DEVICE), 500);
}

static void test_histogram(void **state)
{
    static const double bounds[] = {0.5, 1, 2};
    struct histogram histogram;
    struct buffer out = {0};
    histogram_init(&histogram, bounds, 3);
    histogram_add(&histogram, 0.5);
    histogram_add(&histogram, 1.5);
    histogram_add(&histogram, 7);
    histogram_write(&histogram, "h", "help", "a=\"b\"", &out);
    assert_non_null(strstr(out.data, "h_bucket{a=\"b\",le=\"0.5\"} 1\n"));
    assert_non_null(strstr(out.data, "h_bucket{a=\"b\",le=\"2\"} 2\n"));
    assert_non_null(strstr(out.data, "h_bucket{a=\"b\",le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(out.data, "h_sum{a=\"b\"} 9\n"));
    assert_non_null(strstr(out.data, "h_count{a=\"b\"} 3\n"));
    buffer_free(&out);
}

static void test_openapi_is_json(void **state)
{
    yyjson_doc *openapi = yyjson_read(openapi_json, openapi_json_len, 0);
    yyjson_val *paths = yyjson_obj_get(yyjson_doc_get_root(openapi), "paths");
    assert_non_null(yyjson_obj_get(paths, "/v1/chat/completions"));
    assert_non_null(yyjson_obj_get(paths, "/metrics"));
    yyjson_doc_free(openapi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),    cmocka_unit_test(test_fields),
        cmocka_unit_test(test_refusals),  cmocka_unit_test(test_errors),
        cmocka_unit_test(test_histogram), cmocka_unit_test(test_openapi_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
