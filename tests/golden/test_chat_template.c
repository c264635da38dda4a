/*
 * test_chat_template.c - chat templates render as Jinja2 does under transformers' settings: every
 * template in ../shared over every conversation, and snippets of our own. What Jinja2 made of them
 * was recorded by chat_template/make_goldens.py.
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

enum { NOW = 1750000000, CASES_MAX = 256 };

static struct buffer read_file(const char *path)
{
    struct buffer text = {0};
    char block[65536];
    size_t count;
    FILE *file = fopen(path, "rb");
    if (!file) return text;
    while ((count = fread(block, 1, sizeof(block), file)) > 0) buffer_append(&text, block, count);
    fclose(file);
    return text;
}

/* The next line of `text` as JSON; NULL at the end. */
static yyjson_doc *next_line(const struct buffer *text, size_t *at)
{
    if (*at >= text->len) return NULL;
    char *line = text->data + *at, *end = memchr(line, '\n', text->len - *at);
    assert_non_null(end);
    yyjson_doc *doc = yyjson_read(line, (size_t)(end - line), 0);
    assert_non_null(doc);
    *at += (size_t)(end - line) + 1;
    return doc;
}

/* The template of a .jinja file or of a tokenizer_config.json under ../shared. */
static struct chat_template *open_template(const char *path)
{
    struct chat_template *chat_template = NULL;
    struct error error;
    struct buffer full = {0};
    buffer_printf(&full, "../shared/%s", path);
    struct buffer text = read_file(full.data);
    buffer_free(&full);
    if (!text.data) return NULL;
    yyjson_doc *doc = strstr(path, ".json") ? yyjson_read(text.data, text.len, 0) : NULL;
    if (doc) {
        yyjson_val *source = yyjson_obj_get(yyjson_doc_get_root(doc), "chat_template");
        buffer_clear(&text);
        buffer_append(&text, yyjson_get_str(source), yyjson_get_len(source));
        yyjson_doc_free(doc);
    }
    if (chat_template_parse(text.data, text.len, &chat_template, &error))
        fail_msg("%s: %s", path, error.message);
    chat_template_set_now(chat_template, NOW);
    buffer_free(&text);
    return chat_template;
}

/* Renders and compares with `expected`, a string, or NULL where it must fail (with `message`). */
static bool check(const struct chat_template *chat_template, yyjson_val *variables,
                  const char *where, const struct buffer *expected, const char *message)
{
    struct buffer out = {0};
    struct error error = {0};
    bool ok;
    if (chat_template_render(chat_template, variables, &out, &error)) {
        ok = !expected && (!message || !strncmp(message, error.message, ERROR_MESSAGE_MAX - 1));
        if (!ok) fprintf(stderr, "%s: fails with: %s\n", where, error.message);
    } else {
        ok = expected && out.len == expected->len && !memcmp(out.data, expected->data, out.len);
        if (!ok)
            fprintf(stderr, "%s:\n--- expected\n%s\n--- rendered\n%s\n", where,
                    expected ? expected->data : "an error", out.data);
    }
    buffer_free(&out);
    return ok;
}

/* Applies a recorded difference to the result before. */
static void apply(struct buffer *result, yyjson_val *delta)
{
    struct buffer next = {0};
    size_t start = yyjson_get_uint(yyjson_arr_get(delta, 0));
    size_t end = yyjson_get_uint(yyjson_arr_get(delta, 1));
    yyjson_val *between = yyjson_arr_get(delta, 2);
    assert_true(start + end <= result->len);
    buffer_append(&next, result->data, start);
    buffer_append(&next, yyjson_get_str(between), yyjson_get_len(between));
    buffer_append(&next, result->data ? result->data + result->len - end : "", end);
    buffer_free(result);
    *result = next;
}

static void test_shared_templates(void **state)
{
    struct buffer cases = read_file("tests/golden/chat_template/cases.jsonl");
    struct buffer goldens = read_file("tests/golden/chat_template/goldens.jsonl");
    yyjson_doc *given[CASES_MAX], *line;
    size_t at = 0, count = 0, renders = 0, wrong = 0, absent = 0;
    char where[512];
    while (count < CASES_MAX && (given[count] = next_line(&cases, &at))) count++;
    assert_true(count > 40 && count < CASES_MAX);
    at = 0;
    while ((line = next_line(&goldens, &at))) {
        const char *path = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(line), "template"));
        if (!path) {
            fail_msg("goldens.jsonl does not fit cases.jsonl: run make_goldens.py");
            return;
        }
        struct chat_template *chat_template = open_template(path);
        struct buffer expected = {0};
        absent += !chat_template;
        for (size_t i = 0; i < count; i++) {
            yyjson_doc *golden = next_line(&goldens, &at);
            yyjson_val *root = yyjson_doc_get_root(golden), *one = yyjson_doc_get_root(given[i]);
            if (yyjson_is_arr(root)) apply(&expected, root);
            const char *name = yyjson_get_str(yyjson_arr_get(one, 0));
            snprintf(where, sizeof(where), "%s: %s", path, name ? name : "?");
            if (chat_template)
                wrong += !check(chat_template, yyjson_arr_get(one, 1), where,
                                yyjson_is_arr(root) ? &expected : NULL,
                                yyjson_get_str(yyjson_obj_get(root, "error")));
            renders += chat_template != NULL;
            yyjson_doc_free(golden);
        }
        buffer_free(&expected);
        chat_template_destroy(chat_template);
        yyjson_doc_free(line);
    }
    for (size_t i = 0; i < count; i++) yyjson_doc_free(given[i]);
    buffer_free(&cases), buffer_free(&goldens);
    if (absent) print_message("%zu templates are not in ../shared: skipped\n", absent);
    print_message("%zu renders compared\n", renders);
    assert_int_equal(wrong, 0);
    if (!renders) skip();
}

static void test_snippets(void **state)
{
    struct buffer lines = read_file("tests/golden/chat_template/snippets.jsonl");
    struct buffer text = read_file("tests/golden/chat_template/snippets.json");
    yyjson_doc *variables = yyjson_read(text.data, text.len, 0), *line;
    size_t at = 0, wrong = 0;
    assert_non_null(variables);
    while ((line = next_line(&lines, &at))) {
        yyjson_val *source = yyjson_arr_get(yyjson_doc_get_root(line), 0);
        yyjson_val *result = yyjson_arr_get(yyjson_doc_get_root(line), 1);
        struct chat_template *chat_template = NULL;
        struct buffer expected = {0};
        struct error error;
        if (yyjson_is_str(result))
            buffer_append(&expected, yyjson_get_str(result), yyjson_get_len(result));
        if (!chat_template_parse(yyjson_get_str(source), yyjson_get_len(source), &chat_template,
                                 &error)) {
            chat_template_set_now(chat_template, NOW);
            wrong += !check(chat_template, yyjson_doc_get_root(variables), yyjson_get_str(source),
                            yyjson_is_str(result) ? &expected : NULL,
                            yyjson_get_str(yyjson_obj_get(result, "error")));
        } else if (yyjson_is_str(result)) {
            fprintf(stderr, "%s: refused: %s\n", yyjson_get_str(source), error.message);
            wrong++;
        }
        chat_template_destroy(chat_template);
        buffer_free(&expected);
        yyjson_doc_free(line);
    }
    yyjson_doc_free(variables);
    buffer_free(&lines), buffer_free(&text);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_templates),
        cmocka_unit_test(test_snippets),
    };
    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
