/* test_base.c - the small things everything stands on: buffer, arena, list, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/arena.h"
#include "runtime/base/buffer.h"
#include "runtime/base/list.h"
#include "runtime/base/memory_guard.h"
#include "runtime/base/status.h"

static void test_buffer_grows(void **state)
{
    struct buffer b = {0};
    for (int i = 0; i < 1000; i++) buffer_printf(&b, "%d,", i);
    assert_memory_equal(b.data, "0,1,2,3,", 8);
    assert_string_equal(b.data + b.len - 4, "999,");
    buffer_clear(&b);
    buffer_append(&b, "a\0b", 3);
    assert_int_equal(b.len, 3);
    assert_int_equal(b.data[3], 0);
    buffer_free(&b);
    assert_null(b.data);
}

static void test_arena_aligns_and_frees(void **state)
{
    struct arena arena = {0};
    for (size_t i = 1; i < 3000; i += 7) {
        char *p = arena_alloc(&arena, i * 11);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, 0x5a, i * 11);
    }
    assert_string_equal(arena_strndup(&arena, "hello", 4), "hell");
    arena_free(&arena);
    assert_int_equal(arena.total_bytes, 0);
}

struct item {
    int value;
    struct list_node node;
};

static void test_list_order(void **state)
{
    struct list_node a, b;
    struct item items[5];
    list_init(&a), list_init(&b);
    for (int i = 0; i < 5; i++) {
        items[i].value = i;
        list_push_back(i < 3 ? &a : &b, &items[i].node);
    }
    list_remove(&items[1].node);
    list_remove(&items[1].node);
    list_splice(&a, &b);
    assert_true(list_empty(&b));
    static const int expected[] = {0, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        assert_int_equal(LIST_ITEM(list_pop_front(&a), struct item, node)->value, expected[i]);
    assert_null(list_pop_front(&a));
}

static void test_error_text(void **state)
{
    struct error error;
    assert_int_equal(error_set(&error, STATUS_INVALID, "top_p", "must be %s", "in (0, 1]"),
                     STATUS_INVALID);
    error_prefix(&error, error.status, "%s", "request");
    assert_string_equal(error.message, "request: must be in (0, 1]");
    assert_string_equal(error.param, "top_p");
    assert_int_equal(error_set(NULL, STATUS_IO, NULL, "x"), STATUS_IO);
}

static void test_forbidden_allocation_aborts(void **state)
{
    if (!memory_guarded()) skip();
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        memory_forbid(true);
        void *volatile memory = malloc(10);
        _exit(memory != NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    memory_forbid(true);
    memory_forbid(false);
    free(malloc(10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffer_grows),
        cmocka_unit_test(test_arena_aligns_and_frees),
        cmocka_unit_test(test_list_order),
        cmocka_unit_test(test_error_text),
        cmocka_unit_test(test_forbidden_allocation_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
