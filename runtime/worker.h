/*
 * worker.h - one rank: its device, its program, its place in the communicator, and the thread that
 * runs steps on them.
 *
 * Normative: the worker's thread makes every call to the device; the executor's thread talks to it
 * only through worker_post and the states below, under the crew's lock. A step is posted to every
 * local worker; each runs it and counts it; whoever fails reports once for all.
 */
#ifndef RUNTIME_WORKER_H
#define RUNTIME_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "kernels/device.h"
#include "parallel/comm.h"
#include "runtime/executor.h"
#include "runtime/program.h"
#include "runtime/trace.h"

enum worker_stage { STAGE_LOAD, STAGE_PREPARE, STAGE_RUN, STAGE_STOP };

struct crew { /* what the workers of a process share with the executor */
    pthread_mutex_t lock;
    pthread_cond_t moved;
    enum worker_stage stage; /* what the executor asks for */
    int64_t submitted;       /* batches; worker w has run workers[w].done of them */
    const struct batch *batches[EXECUTOR_IN_FLIGHT_MAX];
    struct batch_result *results[EXECUTOR_IN_FLIGHT_MAX]; /* rank 0's */
    bool failed;
    struct error error; /* of the first failure */
    const struct executor_options *options;
    const struct model *model;
    struct device_shape shape; /* set before STAGE_PREPARE */
    struct trace *trace;
    bool world; /* ranks are processes: batches come and go by broadcast */
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    bool started;
    int rank, rank_count, threads;
    const struct device_ops *ops;
    struct device *device;
    struct program *program;
    struct comm *comm; /* NULL: a single rank */
    struct profile *profile;
    struct batch *received;       /* followers: the decoded batch */
    void *wire;                   /* world: encoded batch */
    struct batch_result *scratch; /* ranks whose results nobody reads */
    enum worker_stage stage_done; /* under the crew's lock, as are the next two */
    int64_t done;
    int64_t fault_step; /* -1: none */
    bool fault_dies;
};

/* The thread: load, prepare, run, each when the crew's stage asks for it. */
void *worker_main(void *worker);

/* Followers: steps come from rank 0 until it says stop. On the caller's thread, after
 * STAGE_PREPARE. */
enum status worker_follow(struct worker *worker, struct error *error);

/* Records the first failure, wakes everybody, aborts the communicator. */
void crew_fail(struct crew *crew, struct worker *worker, const struct error *error);

#endif
