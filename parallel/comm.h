/*
 * comm.h - the communicator of a tensor-parallel group.
 *
 * Every rank makes the same calls in the same order (lockstep). Reductions add in rank order on
 * every rank, so all ranks hold the same bits. Thread: a rank's worker thread makes its calls;
 * `abort` may come from any thread and makes every rank's pending and later calls return
 * STATUS_DEVICE. A rank that waits longer than the timeout aborts the communicator and names the
 * rank, op and step it waited for.
 */
#ifndef PARALLEL_COMM_H
#define PARALLEL_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct comm; /* one rank's handle; each implementation's own */

struct comm_ops {
    const char *name; /* "local", "mpi", "nccl" */
    /* Sum of float32 [count] over ranks, in place. */
    enum status (*all_reduce)(struct comm *comm, float *data, size_t count, struct error *error);
    /* out[row][rank][cols] from each rank's in[row][cols]. */
    enum status (*all_gather)(struct comm *comm, const float *in, float *out, size_t rows,
                              size_t cols, struct error *error);
    /* Bytes from rank 0 to all. */
    enum status (*broadcast)(struct comm *comm, void *data, size_t bytes, struct error *error);
    void (*note)(struct comm *comm, int64_t step,
                 const char *op); /* where this rank is, for messages */
    void (*abort)(struct comm *comm, const char *reason);
    void (*leave)(struct comm *comm); /* frees the handle */
};

struct comm_base { /* the first member of every implementation's struct comm */
    const struct comm_ops *ops;
    int rank, rank_count;
};

/* `rank_count` handles for threads of this process. out[rank_count]. */
enum status comm_local_create(int rank_count, int timeout_ms, struct comm **out,
                              struct error *error);

/* The world of mpirun, through the plug-in penstock-mpi.so beside the program; STATUS_UNSUPPORTED
 * where the build has none. */
enum status comm_mpi_join(int timeout_ms, struct comm **out, struct error *error);

/* The world that mpirun or srun started this process in, without joining it: 1 rank and rank 0
 * where neither did. */
int comm_mpi_world_size(void);
int comm_mpi_world_rank(void);

#endif
