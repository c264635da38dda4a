/* server_process.c - see server_process.h. */
#include "tests/support/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "tests/support/http_client.h"

enum { ARGUMENTS_MAX = 64, START_MS = 20000, READY_MS = 120000 };

static int add_words(char **argv, int argc, char *words)
{
    for (char *word = strtok(words, " "); word && argc < ARGUMENTS_MAX - 8;
         word = strtok(NULL, " "))
        argv[argc++] = word;
    return argc;
}

static void run_child(char *launcher, const char *program, char *flags, bool uds)
{
    char *argv[ARGUMENTS_MAX] = {NULL};
    int argc = add_words(argv, 0, launcher);
    argv[argc++] = (char *)(uintptr_t)program, argv[argc++] = "serve";
    if (!uds) {
        argv[argc++] = "--host", argv[argc++] = "127.0.0.1";
        argv[argc++] = "--port", argv[argc++] = "0";
    }
    argc = add_words(argv, argc, flags);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv);
    _exit(127);
}

/* Reads the log until "listening on", which ends with the port. */
static bool wait_listening(struct server_process *server)
{
    char text[8192];
    size_t len = 0;
    int64_t deadline = clock_ns() + START_MS * 1000000ll;
    while (clock_ns() < deadline && len < sizeof(text) - 1) {
        struct pollfd wait = {.fd = server->log_fd, .events = POLLIN};
        if (poll(&wait, 1, 100) != 1) continue;
        ssize_t n = read(server->log_fd, text + len, sizeof(text) - 1 - len);
        if (n <= 0) break;
        text[len += (size_t)n] = 0;
        char *line = strstr(text, "listening on ");
        if (!line || !strchr(line, '\n')) continue;
        char *colon = strrchr(line, ':');
        server->port = colon && colon > strstr(line, "//") + 1 ? atoi(colon + 1) : 0;
        return true;
    }
    fprintf(stderr, "the server did not start: %.*s\n", (int)len, text);
    return false;
}

bool server_start(struct server_process *server, const char *program, const char *flags)
{
    return server_start_under(server, "", program, flags);
}

bool server_start_under(struct server_process *server, const char *launcher, const char *program,
                        const char *flags)
{
    int log[2];
    char *copy = strdup(flags), *prefix = strdup(launcher);
    bool uds = strstr(flags, "--uds") != NULL;
    if (!copy || !prefix || pipe2(log, O_CLOEXEC)) return false;
    fflush(NULL);
    server->pid = fork();
    if (!server->pid) {
        dup2(log[1], STDERR_FILENO);
        run_child(prefix, program, copy, uds);
    }
    free(copy), free(prefix);
    close(log[1]);
    server->log_fd = log[0];
    /* A pipe that nobody empties must not block the server's log. */
    fcntl(log[0], F_SETPIPE_SZ, 1 << 20);
    return server->pid > 0 && wait_listening(server);
}

bool server_wait_ready(const struct server_process *server)
{
    struct http_reply reply = {0};
    int64_t deadline = clock_ns() + READY_MS * 1000000ll;
    bool ready = false;
    while (!ready && clock_ns() < deadline) {
        ready = http_call(server->port, "/ready", NULL, &reply) && reply.status == 200;
        if (!ready) usleep(20000);
    }
    http_reply_free(&reply);
    return ready;
}

void server_signal(const struct server_process *server, int number)
{
    kill(server->pid, number);
}

static void keep_log(struct server_process *server)
{
    size_t len = 0, room = sizeof(server->log) - 1;
    fcntl(server->log_fd, F_SETFL, O_NONBLOCK);
    for (ssize_t n; len < room && (n = read(server->log_fd, server->log + len, room - len)) > 0;)
        len += (size_t)n;
    server->log[len] = 0;
}

int server_wait_exit(struct server_process *server, int seconds)
{
    int64_t deadline = clock_ns() + seconds * 1000000000ll;
    int status;
    while (waitpid(server->pid, &status, WNOHANG) == 0) {
        if (clock_ns() > deadline) return -1;
        usleep(5000);
    }
    bool crashed = WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status) != 0;
    keep_log(server);
    if (crashed) fputs(server->log, stderr); /* what it said before */
    close(server->log_fd);
    server->pid = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void server_kill(struct server_process *server)
{
    if (server->pid <= 0) return;
    kill(server->pid, SIGKILL);
    server_wait_exit(server, 10);
}

double server_cpu_seconds(const struct server_process *server)
{
    char path[64], text[1024];
    long user = 0, kernel = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)server->pid);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = 0;
    char *at = strrchr(text, ')');
    if (!at ||
        sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &kernel) != 2)
        return 0;
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

double server_metric(const struct server_process *server, const char *name)
{
    struct http_reply reply = {0};
    double value = -1;
    if (http_call(server->port, "/metrics", NULL, &reply))
        for (char *line = reply.body.data; line && *line; line = strchr(line, '\n'), line += !!line)
            if (!strncmp(line, name, strlen(name)) && strchr(line, '\n')) {
                char *end = strchr(line, '\n');
                while (end > line && *end != ' ') end--;
                value = strtod(end, NULL);
                break;
            }
    http_reply_free(&reply);
    return value;
}
