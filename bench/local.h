/*
 * local.h - the engine in this process, for benchmarks without HTTP: submit, wait, take times.
 *
 * Thread: main makes every call. Prompts are random ids from a seed, fresh for every measurement
 * unless a prefix is meant to be in the cache, so that no later point replays warm prefixes.
 */
#ifndef BENCH_LOCAL_H
#define BENCH_LOCAL_H

#include <semaphore.h>

#include "bench/random.h"
#include "server/service.h"

enum { LOCAL_LIST_MAX = 16 };

struct local_list { /* "128,512" */
    int values[LOCAL_LIST_MAX];
    int count;
};

struct local_options {
    struct options engine;
    struct local_list prompt, generate, depth, streams; /* -p, -n, -d, --streams */
    int repetitions;                                    /* -r */
};

struct local {
    struct service *service;
    sem_t woken;
    struct random random;
};

struct local_times { /* of one request, seconds since its submission */
    double first_s, last_s;
    int tokens;
};

/* Own flags as llama-bench spells them, the rest as `penstock serve` does. Returns false after
 * printing help or an error, with the exit status. */
bool local_parse(struct local_options *options, int argc, char **argv, const char *usage,
                 int *code);

enum status local_open(struct local *local, const struct options *options, struct error *error);
void local_close(struct local *local);

void local_random_ids(struct local *local, int32_t *ids, int count);

/* Runs `count` requests at once to their end: prompt i is prompts[i * prompt_len ...].
 * times[count]. Returns the seconds from the first submission to the last event. */
double local_run(struct local *local, const int32_t *prompts, int prompt_len, int generate,
                 int count, struct local_times *times);

/* median, and the smallest and largest of values[count] (sorted in place). */
double local_median(double *values, int count, double *low, double *high);

int command_bench_offline(int argc, char **argv);
int command_bench_latency(int argc, char **argv);
int command_bench_ops(int argc, char **argv);

#endif
