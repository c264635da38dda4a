/*
 * executor.c - see executor.h. Owns the workers of this process and the order of batches.
 */
#include "runtime/executor.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel/comm.h"
#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/batch.h"
#include "runtime/sizing.h"
#include "runtime/worker.h"

struct executor {
    struct executor_options options;
    struct executor_info info;
    struct crew crew;
    struct worker *workers;
    int worker_count; /* in this process */
    int64_t taken;    /* results handed out by executor_wait */
};

static int available_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set)) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

/* "stall:RANK:STEP" or "die:RANK:STEP". */
static enum status parse_fault(struct executor *executor, struct error *error)
{
    const char *fault = executor->options.fault;
    char kind[8];
    int rank;
    long long step;
    if (!fault) return STATUS_OK;
    bool parsed = sscanf(fault, "%7[a-z]:%d:%lld", kind, &rank, &step) == 3;
    if (!parsed || (strcmp(kind, "stall") != 0 && strcmp(kind, "die") != 0))
        return error_set(error, STATUS_INVALID, "--inject-fault",
                         "--inject-fault %s is not stall:RANK:STEP or die:RANK:STEP", fault);
    for (int i = 0; i < executor->worker_count; i++) {
        if (executor->workers[i].rank != rank) continue;
        executor->workers[i].fault_step = step;
        executor->workers[i].fault_dies = !strcmp(kind, "die");
    }
    return STATUS_OK;
}

static enum status choose_device(const struct executor_options *options,
                                 const struct device_ops **out, struct error *error)
{
    const char *name = options->device ? options->device : "auto";
    *out = &device_cpu;
    if (!strcmp(name, "auto") || !strcmp(name, "cpu")) return STATUS_OK;
    if (!strcmp(name, "cuda"))
        return error_set(error, STATUS_UNSUPPORTED, "--device",
                         "--device cuda: this build has no CUDA backend yet; use --device cpu");
    return error_set(error, STATUS_INVALID, "--device", "--device %s is not auto, cpu or cuda",
                     name);
}

/* Ranks are threads of this process, or the processes of an MPI world with one rank each. */
static enum status create_workers(struct executor *executor, struct error *error)
{
    struct executor_options *options = &executor->options;
    struct comm *comms[64] = {NULL};
    const struct device_ops *ops;
    enum status status = choose_device(options, &ops, error);
    if (status) return status;
    int world = comm_mpi_world_size();
    int ranks = options->tensor_parallel > 0 ? options->tensor_parallel : world;
    if (ranks > 64 || (world > 1 && ranks != world))
        return error_set(error, STATUS_INVALID, "--tensor-parallel-size",
                         world > 1 ? "--tensor-parallel-size %d differs from the %d ranks of mpirun"
                                   : "--tensor-parallel-size %d: at most %d ranks",
                         ranks, world > 1 ? world : 64);
    status = program_check(model_config(executor->crew.model), ranks, error);
    if (status) return status;
    executor->crew.world = world > 1;
    executor->worker_count = world > 1 ? 1 : ranks;
    if (world > 1)
        status = comm_mpi_join(options->stall_timeout_ms, comms, error);
    else if (ranks > 1)
        status = comm_local_create(ranks, options->stall_timeout_ms, comms, error);
    if (status) return status;

    executor->workers = calloc((size_t)executor->worker_count, sizeof(*executor->workers));
    CHECK(executor->workers);
    int threads = options->threads > 0 ? options->threads : available_cores();
    for (int i = 0; i < executor->worker_count; i++) {
        int share = threads / executor->worker_count + (i < threads % executor->worker_count);
        executor->workers[i] = (struct worker){
            .crew = &executor->crew,
            .rank = world > 1 ? ((struct comm_base *)(void *)comms[0])->rank : i,
            .rank_count = ranks,
            .threads = share > 0 ? share : 1,
            .ops = ops,
            .comm = comms[i],
            .fault_step = -1,
        };
    }
    executor->info.rank_count = ranks;
    executor->info.world_rank = world > 1 ? executor->workers[0].rank : 0;
    executor->info.threads = threads;
    return parse_fault(executor, error);
}

static void ask(struct executor *executor, enum worker_stage stage)
{
    pthread_mutex_lock(&executor->crew.lock);
    executor->crew.stage = stage;
    pthread_cond_broadcast(&executor->crew.moved);
    pthread_mutex_unlock(&executor->crew.lock);
}

/* Until every worker has done what comes before `stage`, or one failed. */
static enum status await(struct executor *executor, enum worker_stage stage, struct error *error)
{
    struct crew *crew = &executor->crew;
    pthread_mutex_lock(&crew->lock);
    for (int i = 0; i < executor->worker_count; i++)
        while (executor->workers[i].stage_done < stage && !crew->failed)
            pthread_cond_wait(&crew->moved, &crew->lock);
    enum status status = crew->failed ? crew->error.status : STATUS_OK;
    if (status && error) *error = crew->error;
    pthread_mutex_unlock(&crew->lock);
    return status;
}

/* Ranks of a world may see different amounts of memory: all take what rank 0 planned. */
static enum status agree_on_shape(struct executor *executor, struct error *error)
{
    struct worker *worker = &executor->workers[0];
    struct device_shape *shape = &executor->crew.shape;
    if (!executor->crew.world) return STATUS_OK;
    int64_t plan[3] = {shape->page_count, shape->max_model_len, shape->limits.pages_max};
    enum status status = ((struct comm_base *)(void *)worker->comm)
                             ->ops->broadcast(worker->comm, plan, sizeof(plan), error);
    shape->page_count = plan[0], shape->max_model_len = (int)plan[1];
    shape->limits.pages_max = (int)plan[2];
    shape->limits.history_max = (int)plan[1] + shape->limits.tokens_max;
    return status;
}

/* Nobody is ready before all are: from here on a silent rank is a stalled one. */
static enum status meet(struct executor *executor, struct error *error)
{
    struct worker *worker = &executor->workers[0];
    float one = 1;
    if (!executor->crew.world) return STATUS_OK;
    return ((struct comm_base *)(void *)worker->comm)
        ->ops->all_reduce(worker->comm, &one, 1, error);
}

static void fill_info(struct executor *executor)
{
    const struct device_shape *shape = &executor->crew.shape;
    struct executor_info *info = &executor->info;
    info->limits = shape->limits;
    info->page_tokens = shape->page_tokens;
    info->max_model_len = shape->max_model_len;
    info->page_count = shape->page_count;
    info->device_name = executor->workers[0].ops->name;
    for (int i = 0; i < executor->worker_count; i++) {
        struct worker *worker = &executor->workers[i];
        struct device_shape own = *shape;
        own.program = worker->program;
        info->weight_bytes += program_weight_bytes(worker->program, worker->ops);
        info->kv_bytes += (size_t)shape->page_count * worker->ops->page_bytes(worker->device, &own);
        info->workspace_bytes += worker->ops->workspace_bytes(worker->device, &own);
    }
}

static enum status start(struct executor *executor, struct error *error)
{
    struct crew *crew = &executor->crew;
    enum status status = create_workers(executor, error);
    if (status) return status;
    status = sizing_model_len(&executor->options, crew->model, &crew->shape.max_model_len, error);
    if (status) return status;
    if (executor->options.trace_path) {
        status = trace_open(executor->options.trace_path, &crew->trace, error);
        if (status) return status;
    }
    for (int i = 0; i < executor->worker_count; i++) {
        struct worker *worker = &executor->workers[i];
        if (pthread_create(&worker->thread, NULL, worker_main, worker))
            return error_set(error, STATUS_NO_MEMORY, NULL, "cannot start the thread of rank %d",
                             worker->rank);
        worker->started = true;
    }
    status = await(executor, STAGE_PREPARE, error);
    if (!status) status = sizing_plan(crew, executor->workers, executor->worker_count, error);
    if (!status) status = agree_on_shape(executor, error);
    if (status) return status;
    for (int i = 0; i < EXECUTOR_IN_FLIGHT_MAX; i++)
        crew->results[i] = batch_result_create(&crew->shape.limits);
    ask(executor, STAGE_PREPARE);
    status = await(executor, STAGE_RUN, error);
    if (!status) status = meet(executor, error);
    if (status) return status;
    fill_info(executor);
    ask(executor, STAGE_RUN);
    return STATUS_OK;
}

enum status executor_create(const struct executor_options *options, const struct model *model,
                            struct executor **out, struct error *error)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    CHECK(executor);
    executor->options = *options;
    if (executor->options.stall_timeout_ms <= 0) executor->options.stall_timeout_ms = 4000;
    if (executor->options.memory_utilization <= 0) executor->options.memory_utilization = 0.92;
    executor->crew.options = &executor->options;
    executor->crew.model = model;
    pthread_mutex_init(&executor->crew.lock, NULL);
    pthread_cond_init(&executor->crew.moved, NULL);
    enum status status = start(executor, error);
    if (status) {
        executor_destroy(executor);
        return status;
    }
    *out = executor;
    return STATUS_OK;
}

void executor_destroy(struct executor *executor)
{
    if (!executor) return;
    struct crew *crew = &executor->crew;
    ask(executor, STAGE_STOP);
    for (int i = 0; i < executor->worker_count && executor->workers; i++)
        if (executor->workers[i].started) pthread_join(executor->workers[i].thread, NULL);
    for (int i = 0; i < executor->worker_count && executor->workers; i++) {
        struct worker *worker = &executor->workers[i];
        profile_destroy(worker->profile);
        batch_destroy(worker->received);
        batch_result_destroy(worker->scratch);
        free(worker->wire);
        if (worker->device) worker->ops->close(worker->device);
        program_destroy(worker->program);
        if (worker->comm) ((struct comm_base *)(void *)worker->comm)->ops->leave(worker->comm);
    }
    for (int i = 0; i < EXECUTOR_IN_FLIGHT_MAX; i++) batch_result_destroy(crew->results[i]);
    trace_close(crew->trace);
    pthread_cond_destroy(&crew->moved);
    pthread_mutex_destroy(&crew->lock);
    free(executor->workers);
    free(executor);
}

const struct executor_info *executor_info(const struct executor *executor)
{
    return &executor->info;
}

enum status executor_follow(struct executor *executor, struct error *error)
{
    CHECK(executor->info.world_rank > 0);
    return worker_follow(&executor->workers[0], error);
}

/* Steps that every worker of this process has run; under the lock. */
static int64_t completed(const struct executor *executor)
{
    int64_t least = executor->crew.submitted;
    for (int i = 0; i < executor->worker_count; i++)
        if (executor->workers[i].done < least) least = executor->workers[i].done;
    return least;
}

void executor_submit(struct executor *executor, const struct batch *batch)
{
    struct crew *crew = &executor->crew;
    pthread_mutex_lock(&crew->lock);
    CHECK(crew->submitted - executor->taken < EXECUTOR_IN_FLIGHT_MAX);
    crew->batches[crew->submitted % EXECUTOR_IN_FLIGHT_MAX] = batch;
    crew->submitted++;
    pthread_cond_broadcast(&crew->moved);
    pthread_mutex_unlock(&crew->lock);
}

const struct batch_result *executor_wait(struct executor *executor, struct error *error)
{
    struct crew *crew = &executor->crew;
    pthread_mutex_lock(&crew->lock);
    CHECK(crew->submitted > executor->taken);
    while (completed(executor) <= executor->taken && !crew->failed)
        pthread_cond_wait(&crew->moved, &crew->lock);
    const struct batch_result *result = NULL;
    if (completed(executor) > executor->taken)
        result = crew->results[executor->taken++ % EXECUTOR_IN_FLIGHT_MAX];
    else if (error)
        *error = crew->error;
    pthread_mutex_unlock(&crew->lock);
    return result;
}

bool executor_ready(const struct executor *executor)
{
    struct crew *crew = (struct crew *)(uintptr_t)&executor->crew;
    pthread_mutex_lock(&crew->lock);
    bool ready = completed(executor) > executor->taken || crew->failed;
    pthread_mutex_unlock(&crew->lock);
    return ready;
}

void executor_print_profile(const struct executor *executor, struct buffer *out)
{
    for (int i = 0; i < executor->worker_count; i++)
        if (executor->workers[i].profile) profile_print(executor->workers[i].profile, out);
}
