/*
 * comm_mpi.c - ranks as processes of an MPI world (mpirun -np N).
 *
 * Collectives are MPI's nonblocking ones, polled: so a wait can be timed, can notice that a peer
 * process of this host died, and costs next to nothing while a follower idles between requests.
 * Sums are made here, in rank order, so that all ranks hold the same bits whatever algorithm MPI
 * picks: every rank gets its share from all (alltoall), adds, and the shares are gathered. Thread:
 * one worker thread makes the calls (MPI_THREAD_SERIALIZED); abort only sets a flag.
 */
#include <errno.h>
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "parallel/comm.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum {
    SPIN_NS = 200000,     /* poll without sleeping for so long: the length of a reduction */
    NAP_NS = 50000,       /* then sleep this between polls, and later */
    LONG_NAP_NS = 500000, /* this: an idle follower */
    IDLE_AFTER_NS = 20000000,
    PEER_CHECK_NS = 20000000, /* between looks at the peers' processes */
    HOST_MAX = 64,
};

struct peer {
    int pid;
    char host[HOST_MAX];
};

struct seat { /* where a rank of this host is, in memory that they share */
    _Alignas(64) _Atomic int64_t waits; /* collectives entered */
    _Atomic int64_t step;
    char op[48]; /* may be torn while it is written: it is only shown */
};

struct comm {
    struct comm_base base;
    int timeout_ms;
    int64_t step; /* where this rank is; -1: between steps, where waiting is no stall */
    const char *op;
    _Atomic bool aborted;
    struct peer *peers;
    struct seat **seats; /* [rank_count], NULL for ranks of other hosts */
    MPI_Win window;
    int *counts, *offsets; /* [rank_count] */
    float *parts;          /* [rank_count][share], grows */
    size_t part_capacity;
};

static enum status fail(struct comm *comm, struct error *error, const char *what)
{
    atomic_store(&comm->aborted, true);
    return error_set(error, STATUS_DEVICE, NULL, "%s; rank %d was in op %s of step %lld", what,
                     comm->base.rank, comm->op ? comm->op : "none", (long long)comm->step);
}

/* The first peer of this host whose process is gone, or -1. */
static int dead_peer(const struct comm *comm)
{
    const struct peer *own = &comm->peers[comm->base.rank];
    for (int r = 0; r < comm->base.rank_count; r++) {
        const struct peer *peer = &comm->peers[r];
        if (r == comm->base.rank || strcmp(peer->host, own->host) != 0) continue;
        if (kill(peer->pid, 0) && errno == ESRCH) return r;
        char path[48], state = 0;
        snprintf(path, sizeof(path), "/proc/%d/stat", peer->pid);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
        fclose(file);
        if (state == 'Z' || state == 'X') return r; /* dead, and its parent has not looked yet */
    }
    return -1;
}

/* The rank of this host that is behind, and where it was seen last. */
static void describe_stall(const struct comm *comm, char *out, size_t size)
{
    int64_t own = atomic_load(&comm->seats[comm->base.rank]->waits);
    for (int r = 0; r < comm->base.rank_count; r++) {
        const struct seat *seat = comm->seats[r];
        if (!seat || atomic_load(&seat->waits) >= own) continue;
        snprintf(
            out, size,
            "rank %d stopped answering: waited %d ms for it; it was last seen in op %.47s of step "
            "%lld",
            r, comm->timeout_ms, seat->op, (long long)atomic_load(&seat->step));
        return;
    }
    snprintf(out, size, "a rank of another host stopped answering: waited %d ms for it",
             comm->timeout_ms);
}

static enum status wait_for(struct comm *comm, MPI_Request *request, struct error *error)
{
    int64_t start = clock_ns(), checked = start;
    char what[200];
    atomic_fetch_add(&comm->seats[comm->base.rank]->waits, 1);
    for (;;) {
        int done = 0;
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return fail(comm, error, "MPI reported a failed collective");
        if (done) return STATUS_OK;
        if (atomic_load(&comm->aborted)) return fail(comm, error, "the run was aborted");
        int64_t waited = clock_ns() - start;
        if (waited < SPIN_NS) {
            sched_yield();
            continue;
        }
        if (clock_ns() - checked > PEER_CHECK_NS) {
            int rank = dead_peer(comm);
            checked = clock_ns();
            snprintf(what, sizeof(what), "rank %d died", rank);
            if (rank >= 0) return fail(comm, error, what);
        }
        if (comm->step >= 0 && waited > (int64_t)comm->timeout_ms * 1000000) {
            describe_stall(comm, what, sizeof(what));
            return fail(comm, error, what);
        }
        struct timespec nap = {0, waited < IDLE_AFTER_NS ? NAP_NS : LONG_NAP_NS};
        nanosleep(&nap, NULL);
    }
}

/* Room for `share` floats from each rank. Sizes repeat from step to step, so this settles at once.
 */
static void reserve_parts(struct comm *comm, size_t share)
{
    size_t need = share * (size_t)comm->base.rank_count;
    if (need <= comm->part_capacity) return;
    free(comm->parts);
    comm->parts = malloc(need * sizeof(float));
    CHECK(comm->parts);
    comm->part_capacity = need;
}

static enum status mpi_all_reduce(struct comm *comm, float *data, size_t count, struct error *error)
{
    size_t n = (size_t)comm->base.rank_count, rank = (size_t)comm->base.rank;
    size_t begin = count * rank / n, share = count * (rank + 1) / n - begin;
    reserve_parts(comm, share + 1);
    int part_counts[64], part_offsets[64];
    CHECK(n <= 64 && count <= INT32_MAX);
    for (size_t r = 0; r < n; r++) {
        comm->offsets[r] = (int)(count * r / n);
        comm->counts[r] = (int)(count * (r + 1) / n) - comm->offsets[r];
        part_counts[r] = (int)share, part_offsets[r] = (int)(share * r);
    }
    MPI_Request request;
    MPI_Ialltoallv(data, comm->counts, comm->offsets, MPI_FLOAT, comm->parts, part_counts,
                   part_offsets, MPI_FLOAT, MPI_COMM_WORLD, &request);
    enum status status = wait_for(comm, &request, error);
    if (status) return status;
    float *sum = data + begin;
    memcpy(sum, comm->parts, share * sizeof(float));
    for (size_t r = 1; r < n; r++)
        for (size_t i = 0; i < share; i++) sum[i] += comm->parts[r * share + i];
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, comm->counts, comm->offsets,
                    MPI_FLOAT, MPI_COMM_WORLD, &request);
    return wait_for(comm, &request, error);
}

static enum status mpi_all_gather(struct comm *comm, const float *in, float *out, size_t rows,
                                  size_t cols, struct error *error)
{
    size_t n = (size_t)comm->base.rank_count, each = rows * cols;
    CHECK(each <= INT32_MAX);
    reserve_parts(comm, each);
    MPI_Request request;
    MPI_Iallgather(in, (int)each, MPI_FLOAT, comm->parts, (int)each, MPI_FLOAT, MPI_COMM_WORLD,
                   &request);
    enum status status = wait_for(comm, &request, error);
    if (status) return status;
    for (size_t row = 0; row < rows; row++)
        for (size_t r = 0; r < n; r++)
            memcpy(out + (row * n + r) * cols, comm->parts + r * each + row * cols,
                   cols * sizeof(float));
    return STATUS_OK;
}

static enum status mpi_broadcast(struct comm *comm, void *data, size_t bytes, struct error *error)
{
    CHECK(bytes <= INT32_MAX);
    MPI_Request request;
    MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    return wait_for(comm, &request, error);
}

static void mpi_note(struct comm *comm, int64_t step, const char *op)
{
    struct seat *seat = comm->seats[comm->base.rank];
    comm->step = step, comm->op = op;
    atomic_store(&seat->step, step);
    snprintf(seat->op, sizeof(seat->op), "%s", op);
}

static void mpi_abort(struct comm *comm, const char *reason)
{
    (void)reason;
    atomic_store(&comm->aborted, true);
}

/* After a failure the others cannot be met any more: the world ends with this process's exit. */
static void mpi_leave(struct comm *comm)
{
    if (!comm) return;
    if (!atomic_load(&comm->aborted)) {
        MPI_Win_free(&comm->window);
        MPI_Finalize();
    }
    free(comm->seats), free(comm->peers), free(comm->counts), free(comm->offsets),
        free(comm->parts);
    free(comm);
}

static const struct comm_ops mpi_ops = {
    .name = "mpi",
    .all_reduce = mpi_all_reduce,
    .all_gather = mpi_all_gather,
    .broadcast = mpi_broadcast,
    .note = mpi_note,
    .abort = mpi_abort,
    .leave = mpi_leave,
};

/* A window that the ranks of a host share, a seat each. */
static void share_seats(struct comm *comm)
{
    MPI_Comm host;
    MPI_Group world_group, host_group;
    struct seat *own;
    int host_size = 0;
    comm->seats = calloc((size_t)comm->base.rank_count, sizeof(*comm->seats));
    CHECK(comm->seats);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, comm->base.rank, MPI_INFO_NULL,
                        &host);
    MPI_Win_allocate_shared(sizeof(struct seat), 1, MPI_INFO_NULL, host, &own, &comm->window);
    memset(own, 0, sizeof(*own));
    MPI_Comm_size(host, &host_size);
    MPI_Comm_group(MPI_COMM_WORLD, &world_group);
    MPI_Comm_group(host, &host_group);
    for (int i = 0; i < host_size; i++) {
        int rank, unit;
        MPI_Aint bytes;
        void *at;
        MPI_Group_translate_ranks(host_group, 1, &i, world_group, &rank);
        MPI_Win_shared_query(comm->window, i, &bytes, &unit, &at);
        comm->seats[rank] = at;
    }
    MPI_Group_free(&host_group);
    MPI_Group_free(&world_group);
    MPI_Comm_free(&host);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The plug-in's one symbol: parallel/comm.c finds it by this name. */
enum status penstock_comm_mpi_join(int timeout_ms, struct comm **out, struct error *error);

enum status penstock_comm_mpi_join(int timeout_ms, struct comm **out, struct error *error)
{
    int provided = 0, rank = 0, rank_count = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_SERIALIZED)
        return error_set(error, STATUS_UNSUPPORTED, NULL,
                         "this MPI does not support calls from more than one thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    struct comm *comm = calloc(1, sizeof(*comm));
    CHECK(comm);
    comm->base = (struct comm_base){&mpi_ops, rank, rank_count};
    comm->timeout_ms = timeout_ms, comm->step = -1;
    comm->peers = calloc((size_t)rank_count, sizeof(*comm->peers));
    comm->counts = calloc((size_t)rank_count, sizeof(int));
    comm->offsets = calloc((size_t)rank_count, sizeof(int));
    CHECK(comm->peers && comm->counts && comm->offsets);
    struct peer own = {.pid = (int)getpid()};
    gethostname(own.host, sizeof(own.host) - 1);
    MPI_Allgather(&own, sizeof(own), MPI_BYTE, comm->peers, sizeof(own), MPI_BYTE, MPI_COMM_WORLD);
    share_seats(comm);
    *out = comm;
    return STATUS_OK;
}
