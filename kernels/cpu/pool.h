/*
 * pool.h - the compute threads of one rank: thread 0 is the caller, the others wait for jobs.
 *
 * An epoch opens a job and a barrier closes it. Waiting threads spin for a short while, then sleep
 * on a futex, so an idle engine costs nothing. Thread: pool_run is called by the owner's worker
 * thread only.
 */
#ifndef KERNELS_CPU_POOL_H
#define KERNELS_CPU_POOL_H

#include "runtime/base/status.h"

struct cpu_pool;

/* `first_cpu` >= 0 pins thread i to first_cpu + i (thread 0 too). */
enum status cpu_pool_create(int threads, int first_cpu, struct cpu_pool **out, struct error *error);
void cpu_pool_destroy(struct cpu_pool *pool); /* NULL is fine */
int cpu_pool_threads(const struct cpu_pool *pool);

/* Runs job(arg, thread) on every thread, thread in [0, threads), and returns when all are done. */
void cpu_pool_run(struct cpu_pool *pool, void (*job)(void *arg, int thread), void *arg);

/* Inside a job: waits until every thread has come here. */
void cpu_pool_barrier(struct cpu_pool *pool);

#endif
