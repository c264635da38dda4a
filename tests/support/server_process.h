/*
 * server_process.h - the real program as a child: start, wait until ready, look inside, end.
 *
 * Thread: its owner's.
 */
#ifndef TESTS_SUPPORT_SERVER_PROCESS_H
#define TESTS_SUPPORT_SERVER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#define SERVER_TEST_MODEL "../shared/models/minimind2-small"

struct server_process {
    pid_t pid;
    int port;          /* 0: a Unix socket */
    int log_fd;        /* its stderr */
    char log[1 << 14]; /* what that said after it listened, once it ended */
};

/* Runs `program serve` with the flags (separated by spaces) on 127.0.0.1 and any free port, unless
 * the flags have --uds. Waits until it listens. */
bool server_start(struct server_process *server, const char *program, const char *flags);
/* The same behind other words, such as "mpirun -np 2". */
bool server_start_under(struct server_process *server, const char *launcher, const char *program,
                        const char *flags);
/* Until /ready says 200. */
bool server_wait_ready(const struct server_process *server);
void server_signal(const struct server_process *server, int number);
/* Waits for the end and returns the exit status; 128 + N after signal N; -1 after `seconds`. */
int server_wait_exit(struct server_process *server, int seconds);
void server_kill(struct server_process *server);
/* CPU time used so far. */
double server_cpu_seconds(const struct server_process *server);
/* A sample of /metrics by the beginning of its line; -1 if absent. */
double server_metric(const struct server_process *server, const char *name);

#endif
