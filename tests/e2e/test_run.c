/*
 * test_run.c - `penstock run` as a person and as a pipe use it: a conversation in a terminal with
 * commands, history and Ctrl-C, text piped in, clear errors; and the trace that benchmarks and
 * servers write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "runtime/base/clock.h"

enum { WAIT_S = 60 };

struct terminal {
    pid_t pid;
    int fd;
    struct buffer seen; /* everything it printed */
    size_t used;        /* of it, up to what was waited for */
};

static void terminal_start(struct terminal *terminal)
{
    memset(terminal, 0, sizeof(*terminal));
    terminal->pid = forkpty(&terminal->fd, NULL, NULL, NULL);
    assert_true(terminal->pid >= 0);
    if (terminal->pid) return;
    execl(PENSTOCK_PROGRAM, PENSTOCK_PROGRAM, "run", "--max-model-len", "1024", (char *)NULL);
    _exit(127);
}

static void terminal_type(struct terminal *terminal, const char *text)
{
    assert_int_equal(write(terminal->fd, text, strlen(text)), strlen(text));
}

/* Until the text appears after what was already waited for. */
static void terminal_expect(struct terminal *terminal, const char *text)
{
    int64_t deadline = clock_ns() + WAIT_S * 1000000000ll;
    for (;;) {
        char *from = terminal->seen.data ? terminal->seen.data + terminal->used : NULL;
        char *found = from ? strstr(from, text) : NULL;
        if (found) {
            terminal->used = (size_t)(found - terminal->seen.data) + strlen(text);
            return;
        }
        struct pollfd ready = {.fd = terminal->fd, .events = POLLIN};
        char part[4096];
        if (clock_ns() > deadline) break;
        if (poll(&ready, 1, 100) != 1) continue;
        ssize_t n = read(terminal->fd, part, sizeof(part));
        if (n <= 0) break;
        buffer_append(&terminal->seen, part, (size_t)n);
    }
    fail_msg("'%s' did not appear in: %s", text,
             terminal->seen.data ? terminal->seen.data + terminal->used : "");
}

static int terminal_end(struct terminal *terminal)
{
    int status;
    waitpid(terminal->pid, &status, 0);
    close(terminal->fd);
    buffer_free(&terminal->seen);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void test_conversation(void **state)
{
    struct terminal terminal;
    terminal_start(&terminal);
    terminal_expect(&terminal, "/help for commands");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "What is the capital of France?\r");
    terminal_expect(&terminal, "Paris");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "And of Spain?\r"); /* refers back: the conversation is kept */
    terminal_expect(&terminal, "Madrid");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "\033[A\033[A"); /* up twice: the first question again */
    terminal_expect(&terminal, "capital of France?");
    terminal_type(&terminal, "\r");
    terminal_expect(&terminal, "Paris");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "/show\r");
    terminal_expect(&terminal, "\"assistant\"");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "/nonsense\r");
    terminal_expect(&terminal, "there is no /nonsense");
    terminal_type(&terminal, "/exit\r");
    assert_int_equal(terminal_end(&terminal), 0);
}

static void test_interrupt_stops_the_answer_only(void **state)
{
    struct terminal terminal;
    terminal_start(&terminal);
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "/set ignore_eos true\r"); /* it would go on to the context's end */
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "Tell me a story about a fox.\r");
    terminal_expect(&terminal, "Once");
    terminal_type(&terminal, "\003");
    terminal_expect(&terminal, "[stopped]");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "/set ignore_eos false\r");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "/clear\r");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "What is the capital of Italy?\r");
    terminal_expect(&terminal, "Rome");
    terminal_expect(&terminal, "> ");
    terminal_type(&terminal, "\004"); /* Ctrl-D leaves */
    assert_int_equal(terminal_end(&terminal), 0);
}

/* stdout (and stderr) of a shell command; its exit status. */
static int shell(const char *command, struct buffer *out)
{
    char part[4096];
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    for (size_t n; (n = fread(part, 1, sizeof(part), pipe)) > 0;) buffer_append(out, part, n);
    return WEXITSTATUS(pclose(pipe));
}

static void test_piped(void **state)
{
    struct buffer out = {0};
    assert_int_equal(shell("echo 'What is the capital of Japan?' | " PENSTOCK_PROGRAM
                           " run --max-model-len 512 2>/dev/null",
                           &out),
                     0);
    assert_string_equal(out.data, "The capital of Japan is Tokyo.\n");
    buffer_clear(&out);
    assert_int_equal(
        shell(PENSTOCK_PROGRAM " run /no/such/model --prompt hi 2>&1 </dev/null", &out), 1);
    assert_non_null(strstr(out.data, "/no/such/model"));
    buffer_clear(&out);
    assert_int_equal(shell(PENSTOCK_PROGRAM " run --no-such-flag 2>&1 </dev/null", &out), 2);
    assert_non_null(strstr(out.data, "--no-such-flag"));
    buffer_free(&out);
}

static void test_trace_is_a_chrome_trace(void **state)
{
    char path[] = "/tmp/penstock-trace-XXXXXX", command[512];
    int fd = mkstemp(path), steps = 0, ops = 0;
    struct buffer out = {0};
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof(command),
             PENSTOCK_PROGRAM
             " run --max-model-len 512 --prompt 'What is your name?' --trace %s 2>&1 "
             "</dev/null",
             path);
    assert_int_equal(shell(command, &out), 0);
    yyjson_doc *document = yyjson_read_file(path, 0, NULL, NULL);
    assert_non_null(document);
    yyjson_val *event;
    size_t i, count;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(document), "traceEvents"), i, count,
                       event)
    {
        assert_string_equal(yyjson_get_str(yyjson_obj_get(event, "ph")), "X");
        assert_true(yyjson_get_num(yyjson_obj_get(event, "dur")) >= 0);
        const char *category = yyjson_get_str(yyjson_obj_get(event, "cat"));
        steps += !strcmp(category, "step"), ops += !strcmp(category, "op");
    }
    assert_true(steps > 3 && ops > 10 * steps);
    yyjson_doc_free(document);
    buffer_free(&out);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conversation),
        cmocka_unit_test(test_interrupt_stops_the_answer_only),
        cmocka_unit_test(test_piped),
        cmocka_unit_test(test_trace_is_a_chrome_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
