/*
 * comm_local.c - ranks as threads of one process, reducing in each other's memory.
 *
 * Every collective is: publish pointers, barrier, work on one's own share, barrier. A share is
 * reduced by one rank, in rank order, and written to everybody, so all ranks hold the same bits.
 * The barrier spins briefly, then sleeps; who sleeps longer than the timeout names the missing rank
 * and aborts the group. It never frees memory that another rank may still read: the last to leave
 * does.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "parallel/comm.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum { SPIN_ROUNDS = 2000 };

struct member {
    _Alignas(128) float *data; /* published for the collective that is going on */
    const float *in;
    _Atomic int64_t step;
    const char *_Atomic op;
    _Atomic uint64_t arrivals; /* barriers entered */
};

struct group {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int rank_count, timeout_ms;
    _Atomic int members_left;
    _Alignas(128) _Atomic int arrived;
    _Alignas(128) _Atomic uint64_t generation;
    _Atomic bool aborted;
    char reason[ERROR_MESSAGE_MAX]; /* under lock */
    struct member members[];
};

struct comm {
    struct comm_base base;
    struct group *group;
};

static void abort_group(struct group *group, const char *reason)
{
    pthread_mutex_lock(&group->lock);
    if (!atomic_load(&group->aborted)) {
        snprintf(group->reason, sizeof(group->reason), "%s", reason);
        atomic_store(&group->aborted, true);
    }
    pthread_cond_broadcast(&group->moved);
    pthread_mutex_unlock(&group->lock);
}

static enum status aborted_error(struct group *group, struct error *error)
{
    pthread_mutex_lock(&group->lock);
    enum status status = error_set(error, STATUS_DEVICE, NULL, "%s", group->reason);
    pthread_mutex_unlock(&group->lock);
    return status;
}

/* Names the ranks that have not come to the barrier that `comm` waits at. */
static void report_stall(struct comm *comm)
{
    struct group *group = comm->group;
    struct member *own = &group->members[comm->base.rank];
    char reason[ERROR_MESSAGE_MAX];
    int missing = comm->base.rank;
    for (int r = group->rank_count - 1; r >= 0; r--)
        if (atomic_load(&group->members[r].arrivals) < atomic_load(&own->arrivals)) missing = r;
    struct member *late = &group->members[missing];
    const char *late_op = atomic_load(&late->op), *own_op = atomic_load(&own->op);
    snprintf(reason, sizeof(reason),
             "rank %d stopped answering: rank %d waited %d ms for it in op %s of step %lld; "
             "it was last seen in op %s of step %lld",
             missing, comm->base.rank, group->timeout_ms, own_op ? own_op : "none",
             (long long)atomic_load(&own->step), late_op ? late_op : "none",
             (long long)atomic_load(&late->step));
    abort_group(group, reason);
}

static void deadline_after(struct timespec *at, int ms)
{
    clock_gettime(CLOCK_MONOTONIC, at);
    at->tv_sec += ms / 1000;
    at->tv_nsec += (long)(ms % 1000) * 1000000;
    if (at->tv_nsec >= 1000000000) at->tv_nsec -= 1000000000, at->tv_sec++;
}

static void sleep_at_barrier(struct comm *comm, uint64_t generation)
{
    struct group *group = comm->group;
    struct timespec deadline;
    deadline_after(&deadline, group->timeout_ms);
    bool late = false;
    pthread_mutex_lock(&group->lock);
    while (atomic_load(&group->generation) == generation && !atomic_load(&group->aborted) && !late)
        late = pthread_cond_timedwait(&group->moved, &group->lock, &deadline) == ETIMEDOUT;
    late = late && atomic_load(&group->generation) == generation && !atomic_load(&group->aborted);
    pthread_mutex_unlock(&group->lock);
    if (late) report_stall(comm);
}

static enum status barrier(struct comm *comm, struct error *error)
{
    struct group *group = comm->group;
    uint64_t generation = atomic_load(&group->generation);
    if (atomic_load(&group->aborted)) return aborted_error(group, error);
    atomic_fetch_add(&group->members[comm->base.rank].arrivals, 1);
    if (atomic_fetch_add(&group->arrived, 1) == group->rank_count - 1) {
        atomic_store(&group->arrived, 0);
        pthread_mutex_lock(&group->lock);
        atomic_fetch_add(&group->generation, 1);
        pthread_cond_broadcast(&group->moved);
        pthread_mutex_unlock(&group->lock);
    } else {
        for (int i = 0; i < SPIN_ROUNDS && atomic_load(&group->generation) == generation; i++)
            if (i % 64 == 63) sched_yield();
        if (atomic_load(&group->generation) == generation) sleep_at_barrier(comm, generation);
    }
    return atomic_load(&group->aborted) ? aborted_error(group, error) : STATUS_OK;
}

static enum status local_all_reduce(struct comm *comm, float *data, size_t count,
                                    struct error *error)
{
    struct group *group = comm->group;
    int n = group->rank_count, rank = comm->base.rank;
    group->members[rank].data = data;
    enum status status = barrier(comm, error);
    if (status) return status;
    size_t begin = count * (size_t)rank / (size_t)n, end = count * ((size_t)rank + 1) / (size_t)n;
    float *first = group->members[0].data;
    for (int r = 1; r < n; r++) {
        const float *from = group->members[r].data;
        for (size_t i = begin; i < end; i++) first[i] += from[i];
    }
    for (int r = 1; r < n && end > begin; r++)
        memcpy(group->members[r].data + begin, first + begin, (end - begin) * sizeof(float));
    return barrier(comm, error);
}

static enum status local_all_gather(struct comm *comm, const float *in, float *out, size_t rows,
                                    size_t cols, struct error *error)
{
    struct group *group = comm->group;
    size_t n = (size_t)group->rank_count;
    group->members[comm->base.rank].in = in;
    enum status status = barrier(comm, error);
    if (status) return status;
    for (size_t row = 0; row < rows; row++)
        for (size_t r = 0; r < n; r++)
            memcpy(out + (row * n + r) * cols, group->members[r].in + row * cols,
                   cols * sizeof(float));
    return barrier(comm, error);
}

static enum status local_broadcast(struct comm *comm, void *data, size_t bytes, struct error *error)
{
    struct group *group = comm->group;
    group->members[comm->base.rank].in = data;
    enum status status = barrier(comm, error);
    if (status) return status;
    if (comm->base.rank > 0) memcpy(data, group->members[0].in, bytes);
    return barrier(comm, error);
}

static void local_note(struct comm *comm, int64_t step, const char *op)
{
    struct member *own = &comm->group->members[comm->base.rank];
    atomic_store_explicit(&own->step, step, memory_order_relaxed);
    atomic_store_explicit(&own->op, op, memory_order_relaxed);
}

static void local_abort(struct comm *comm, const char *reason)
{
    abort_group(comm->group, reason);
}

static void local_leave(struct comm *comm)
{
    if (!comm) return;
    struct group *group = comm->group;
    if (atomic_fetch_sub(&group->members_left, 1) == 1) {
        pthread_cond_destroy(&group->moved);
        pthread_mutex_destroy(&group->lock);
        free(group);
    }
    free(comm);
}

static const struct comm_ops local_ops = {
    .name = "local",
    .all_reduce = local_all_reduce,
    .all_gather = local_all_gather,
    .broadcast = local_broadcast,
    .note = local_note,
    .abort = local_abort,
    .leave = local_leave,
};

enum status comm_local_create(int rank_count, int timeout_ms, struct comm **out,
                              struct error *error)
{
    CHECK(rank_count >= 1 && timeout_ms > 0);
    size_t bytes = sizeof(struct group) + (size_t)rank_count * sizeof(struct member);
    struct group *group = aligned_alloc(128, (bytes + 127) / 128 * 128);
    if (!group)
        return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for %d ranks", rank_count);
    memset(group, 0, bytes);
    pthread_mutex_init(&group->lock, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&group->moved, &attributes);
    pthread_condattr_destroy(&attributes);
    group->rank_count = rank_count, group->timeout_ms = timeout_ms;
    atomic_store(&group->members_left, rank_count);
    for (int r = 0; r < rank_count; r++) {
        out[r] = calloc(1, sizeof(**out));
        CHECK(out[r]);
        out[r]->base = (struct comm_base){&local_ops, r, rank_count};
        out[r]->group = group;
    }
    return STATUS_OK;
}
