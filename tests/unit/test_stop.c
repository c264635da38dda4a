/* test_stop.c - stop strings in growing text, reasoning tags: pieces join to the
 * whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/buffer.h"
#include "server/reasoning.h"
#include "server/stop.h"

static void test_find_leftmost(void **state)
{
    static const struct stop_string strings[] = {{"world", 5}, {"o w", 3}, {"hello", 5}};
    struct stop_match match;
    assert_true(stop_find(strings, 2, "hello world", 11, 0, &match));
    assert_int_equal(match.start, 4);
    assert_int_equal(match.end, 7);
    assert_int_equal(match.index, 1);
    assert_true(stop_find(strings, 1, "hello world", 11, 10, &match)); /* ends after byte 10 */
    assert_false(stop_find(strings, 3, "hello worl", 10, 9, &match));
    assert_false(stop_find(strings, 1, "", 0, 0, &match));
}

static void test_held(void **state)
{
    static const struct stop_string strings[] = {{"abab", 4}, {"bc", 2}, {"x\0y", 3}};
    assert_int_equal(stop_held_bytes(strings, 3, "zaba", 4), 3);
    assert_int_equal(stop_held_bytes(strings, 3, "zab", 3), 2);
    assert_int_equal(stop_held_bytes(strings, 3, "zz", 2), 0);
    assert_int_equal(stop_held_bytes(strings, 3, "x\0", 2), 2);
    assert_int_equal(stop_held_bytes(strings, 0, "abab", 4), 0);
}

/* Whatever the cuts into tokens, the text told is the one before the leftmost stop string. */
static void test_any_cut_gives_the_same_text(void **state)
{
    static const struct stop_string strings[] = {{"END", 3}, {"\n\n", 2}, {"EN!", 3}};
    static const char text[] = "one E EN tw\no ENEND three\n\n";
    srand(1);
    for (int round = 0; round < 2000; round++) {
        struct buffer all = {0}, told = {0};
        size_t at = 0, ready = 0;
        bool stopped = false;
        while (at < sizeof(text) - 1 && !stopped) {
            size_t len = 1 + (size_t)rand() % 4, before = all.len;
            if (len > sizeof(text) - 1 - at) len = sizeof(text) - 1 - at;
            buffer_append(&all, text + at, len);
            at += len;
            struct stop_match match;
            stopped = stop_find(strings, 3, all.data, all.len, before, &match);
            size_t now =
                stopped ? match.start : all.len - stop_held_bytes(strings, 3, all.data, all.len);
            assert_true(now >= ready);
            buffer_append(&told, all.data + ready, now - ready);
            ready = now;
        }
        assert_true(stopped);
        assert_string_equal(told.data, "one E EN tw\no EN");
        buffer_free(&all);
        buffer_free(&told);
    }
}

static void check_reasoning(const char *parser, const char *text, const char *reasoning,
                            const char *content)
{
    for (int round = 0; round < 500; round++) {
        struct buffer all = {0}, thought = {0}, said = {0};
        size_t len = strlen(text), at = 0, used = 0;
        buffer_append(&thought, "", 0);
        buffer_append(&said, "", 0);
        while (at < len || !round) {
            size_t piece = round ? 1 + (size_t)rand() % 5 : len;
            if (piece > len - at) piece = len - at;
            buffer_append(&all, text + at, piece);
            at += piece;
            struct reasoning_parts parts;
            reasoning_split(parser, all.data, all.len, used, at == len, &parts);
            buffer_append(&thought, parts.reasoning, parts.reasoning_len);
            buffer_append(&said, parts.content, parts.content_len);
            used = parts.used;
            if (at == len) break;
        }
        assert_string_equal(thought.data, reasoning);
        assert_string_equal(said.data, content);
        buffer_free(&all);
        buffer_free(&thought);
        buffer_free(&said);
    }
}

static void test_reasoning(void **state)
{
    check_reasoning("qwen3", "<think>\nhm</think>\n\nyes </think>", "\nhm", "yes </think>");
    check_reasoning("qwen3", "no thought", "", "no thought");
    check_reasoning("qwen3", "<thin", "", "<thin");
    check_reasoning("qwen3", "\n<think>cut </thi", "cut </thi", "");
    check_reasoning("deepseek_r1", "hm < 3</think>\nyes", "hm < 3", "yes");
    check_reasoning("deepseek_r1", "<think>hm</think>yes", "hm", "yes");
    check_reasoning("deepseek_r1", "never ends", "never ends", "");
    check_reasoning("deepseek_r1", "a</think>\n\n", "a", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find_leftmost),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_any_cut_gives_the_same_text),
        cmocka_unit_test(test_reasoning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
