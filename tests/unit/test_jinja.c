/*
 * test_jinja.c - what a chat template may and may not do here: refusals by name and line, errors,
 * limits, the injected clock, variables. What templates render is
 * tests/golden/test_chat_template.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "server/text/chat_template.h"

/* Parses and renders with the variables of a JSON object; the text or the error goes to `out`. */
static enum status render(const char *source, const char *json, struct buffer *out)
{
    struct chat_template *chat_template = NULL;
    struct error error = {0};
    yyjson_doc *variables = yyjson_read(json, strlen(json), 0);
    assert_non_null(variables);
    buffer_clear(out);
    enum status status = chat_template_parse(source, strlen(source), &chat_template, &error);
    if (!status) {
        chat_template_set_now(chat_template, 1750000000);
        status = chat_template_render(chat_template, yyjson_doc_get_root(variables), out, &error);
    }
    if (status) {
        assert_int_equal(status, error.status);
        buffer_append_string(out, error.message);
    }
    chat_template_destroy(chat_template);
    yyjson_doc_free(variables);
    return status;
}

struct expectation {
    const char *source, *expected;
};

static void check_all(const struct expectation *all, size_t count, enum status status,
                      const char *json)
{
    struct buffer out = {0};
    for (size_t i = 0; i < count; i++) {
        enum status got = render(all[i].source, json, &out);
        const char *text = out.data ? out.data : "";
        bool same = status ? strstr(text, all[i].expected) != NULL : !strcmp(text, all[i].expected);
        if (got != status || !same)
            fail_msg("%s\n gives %s: %s\n expected %s", all[i].source, status_name(got), text,
                     all[i].expected);
    }
    buffer_free(&out);
}

#define CHECK_ALL(all, status, json) check_all(all, sizeof(all) / sizeof(*(all)), status, json)

static void test_refuses_by_name_and_line(void **state)
{
    static const struct expectation unsupported[] = {
        {"a\n{% include 'x' %}", "the tag 'include' is not supported (template line 2)"},
        {"{% extends 'x' %}", "the tag 'extends' is not supported (template line 1)"},
        {"{% import 'x' as y %}", "the tag 'import'"},
        {"\n\n{% block b %}{% endblock %}", "the tag 'block' is not supported (template line 3)"},
        {"{% autoescape true %}{% endautoescape %}", "the tag 'autoescape'"},
        {"{{ 1 }}\n{{ l|random }}", "the filter 'random' is not supported (template line 2)"},
        {"{% if x %}\n{{ s|wordwrap }}{% endif %}", "the filter 'wordwrap'"},
        {"{{ lipsum() }}", "the function 'lipsum' is not supported"},
    };
    static const struct expectation invalid[] = {
        {"{{ x|nosuch }}", "No filter named 'nosuch'. (template line 1)"},
        {"\n{{ x is nosuch }}", "No test named 'nosuch'. (template line 2)"},
        {"{% nosuch %}", "Encountered unknown tag 'nosuch'."},
        {"{% if x %}", "endif"},
        {"{% for x in y %}{% endif %}", "endif"},
        {"{{ 1", "expected '}}'"},
        {"{{ 'a }}", "a string is not closed"},
        {"{{ (1] }}", "a bracket is closed that was not opened"},
        {"{# no end", "Missing end of comment tag"},
        {"{% raw %}", "Missing end of raw directive"},
        {"{{ 99999999999999999999 }}", "integers over 64 bits"},
        {"{% set 1 = 2 %}", "can't assign"},
        {"{% for loop in x %}{% endfor %}", "loop"},
        {"{% break %}", "outside of a loop"},
        {"{% macro f(a, a) %}{% endmacro %}", "duplicate argument"},
        {"{{ f(a=1, 2) }}", "invalid syntax"},
        {"\xff", "not valid UTF-8"},
    };
    CHECK_ALL(unsupported, STATUS_UNSUPPORTED, "{}");
    CHECK_ALL(invalid, STATUS_INVALID, "{}");
}

static void test_raises(void **state)
{
    static const struct expectation raised[] = {
        {"x{{ raise_exception('roles must alternate') }}", "roles must alternate"},
        {"\n{{ x.y }}", "'x' is undefined (template line 2)"},
        {"{{ m.nosuch.y }}", "'dict object' has no attribute 'nosuch'"},
        {"{{ l.append(1) }}", "access to attribute 'append' is unsafe"},
        {"{{ m.update({}) }}", "unsafe"},
        {"{{ m() }}", "'dict' object is not callable"},
        {"{% set m.x = 1 %}", "cannot assign attribute on non-namespace object"},
        {"{{ 1 // 0 }}", "division by zero"},
        {"{{ 9223372036854775807 + 1 }}", "integers over 64 bits"},
        {"{{ {[]: 1} }}", "unhashable type: 'list'"},
        {"{% set a, b = [1] %}", "not enough values to unpack"},
        {"{{ [1, 'a']|sort }}", "cannot be ordered"},
        {"{{ x|tojson }}", "not JSON serializable"},
        {"{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "takes not more than 1 argument"},
        {"{{ range(1000000) }}", "Range too big"},
        {"{% set ns = namespace(_a=1) %}", "underscore"},
    };
    CHECK_ALL(raised, STATUS_INVALID, "{\"m\":{\"a\":1},\"l\":[1]}");
}

static void test_limits(void **state)
{
    static const struct expectation bounded[] = {
        {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "nests too deeply"},
        {"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}", "nests too deeply"},
        {"{% for i in range(99999) %}{% for i in range(99999) %}{% endfor %}{% endfor %}",
         "too much work"},
        {"{{ 'x' * 99999999999 }}", "too much text"},
        {"{{ ('x' * 1000000) * 1000 }}", "too much text"},
        {"{{ [1] * 99999999999 }}", "too"},
        {"{{ 'x'.center(99999999999) }}", "too much text"},
        {"{{ '%99999999d' % 1 }}", "too large"},
        {"{% set ns = namespace(a=[1]) %}{% for i in range(99) %}{% set ns.a = [ns.a, ns.a] %}"
         "{% endfor %}{{ ns.a }}",
         "too much"},
    };
    struct buffer deep = {0}, out = {0};
    CHECK_ALL(bounded, STATUS_INVALID, "{}");
    buffer_append_string(&deep, "{{ ");
    for (int i = 0; i < 200; i++) buffer_append_char(&deep, '(');
    assert_int_equal(render(deep.data, "{}", &out), STATUS_INVALID);
    assert_non_null(strstr(out.data, "expressions nest too deeply"));
    buffer_free(&deep), buffer_free(&out);
}

static void test_variables(void **state)
{
    static const struct expectation rendered[] = {
        {"{{ n }} {{ big }} {{ f }} {{ t }} {{ z }} {{ s }}|{{ nothing }}|",
         "7 18446744073709551615 0.1 True None ñ||"},
        {"{{ d.keys()|list }}{{ d['b'] }}{{ d.b }}", "['b', 'a']22"},
        {"{{ s|length }}{{ s|upper }}{{ 'né'[1] }}{{ '日本'[::-1] }}", "1Ñé本日"},
        {"{{ range is callable }}{{ dict }}", "Truemine"},
        {"{{ d|tojson }}{{ [big, f]|tojson }}", "{\"b\": 2, \"a\": 1}[18446744073709551615, 0.1]"},
        {"{{ strftime_now('%Y-%m-%d %H:%M') }}", "2025-06-15 15:06"},
        {"a\r\nb\n", "a\nb"},
        {"", ""},
    };
    CHECK_ALL(rendered, STATUS_OK,
              "{\"n\":7,\"big\":18446744073709551615,\"f\":0.1,\"t\":true,\"z\":null,"
              "\"s\":\"\\u00f1\",\"d\":{\"b\":1,\"a\":1,\"b\":2},\"dict\":\"mine\"}");
}

static void test_appends_and_keeps_on_error(void **state)
{
    struct chat_template *chat_template = NULL;
    struct error error;
    struct buffer out = {0};
    yyjson_doc *yes = yyjson_read("{\"a\":\"x\"}", 9, 0), *no = yyjson_read("{}", 2, 0);
    yyjson_doc *list = yyjson_read("[]", 2, 0);
    assert_int_equal(chat_template_parse("{{ a.upper() }}", 15, &chat_template, &error), STATUS_OK);
    buffer_append_string(&out, "before ");
    assert_int_equal(chat_template_render(chat_template, yyjson_doc_get_root(yes), &out, &error),
                     STATUS_OK);
    assert_int_equal(chat_template_render(chat_template, yyjson_doc_get_root(no), &out, &error),
                     STATUS_INVALID);
    assert_int_equal(chat_template_render(chat_template, yyjson_doc_get_root(list), &out, &error),
                     STATUS_INVALID);
    assert_string_equal(out.data, "before X");
    chat_template_destroy(chat_template);
    yyjson_doc_free(yes), yyjson_doc_free(no), yyjson_doc_free(list);
    buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_by_name_and_line),
        cmocka_unit_test(test_raises),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_appends_and_keeps_on_error),
    };
    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
