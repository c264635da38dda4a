/*
 * worker.c - see worker.h. Owns the step loop: begin, every op in order, end. It never allocates
 * there.
 */
#include "runtime/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/batch.h"

static const struct comm_ops *comm_of(const struct worker *worker)
{
    return ((const struct comm_base *)(const void *)worker->comm)->ops;
}

void crew_fail(struct crew *crew, struct worker *worker, const struct error *error)
{
    pthread_mutex_lock(&crew->lock);
    bool first = !crew->failed;
    if (first) crew->error = *error;
    crew->failed = true;
    pthread_cond_broadcast(&crew->moved);
    pthread_mutex_unlock(&crew->lock);
    if (!first) return;
    if (worker && worker->comm) comm_of(worker)->abort(worker->comm, error->message);
    if (crew->options->failed) {
        crew->options->failed(crew->options->failed_arg, error);
    } else {
        log_error("worker", "%s", error->message);
        exit(1);
    }
}

/* ---- a step ---- */

static enum status run_op(struct worker *worker, const struct op *op, const struct batch *batch,
                          struct error *error)
{
    if (op->kind == OP_ALL_REDUCE) {
        comm_of(worker)->note(worker->comm, batch->step, op->name);
        size_t count = (size_t)batch->token_count * (size_t)op->reduce.cols;
        return comm_of(worker)->all_reduce(
            worker->comm, worker->ops->buffer(worker->device, op->out), count, error);
    }
    bool needs_logits = op->kind == OP_LOGITS || op->kind == OP_ALL_GATHER || op->kind == OP_SAMPLE;
    if (needs_logits && !batch->logits_count) return STATUS_OK;
    if (op->kind == OP_ALL_GATHER) {
        comm_of(worker)->note(worker->comm, batch->step, op->name);
        return comm_of(worker)->all_gather(
            worker->comm, worker->ops->buffer(worker->device, op->in),
            worker->ops->buffer(worker->device, op->out), (size_t)batch->logits_count,
            (size_t)op->gather.cols, error);
    }
    worker->ops->run(worker->device, op);
    return STATUS_OK;
}

static enum status run_ops(struct worker *worker, const struct batch *batch, struct error *error)
{
    const struct program *program = worker->program;
    bool timed = worker->profile || worker->crew->trace;
    for (int i = 0; i < program->op_count; i++) {
        const struct op *op = &program->ops[i];
        int64_t start = timed ? clock_ns() : 0;
        enum status status = run_op(worker, op, batch, error);
        if (status)
            return error_prefix(error, status, "rank %d, step %" PRId64 ", op %s of layer %d",
                                worker->rank, batch->step, op->name, op->layer);
        if (!timed) continue;
        int64_t end = clock_ns();
        if (worker->profile) profile_add(worker->profile, i, end - start);
        if (worker->crew->trace) trace_op(worker->crew->trace, worker->rank, op, start, end);
    }
    return STATUS_OK;
}

static enum status run_step(struct worker *worker, const struct batch *batch,
                            struct batch_result *result, struct error *error)
{
    int64_t start = clock_ns();
    worker->ops->begin(worker->device, batch);
    enum status status = run_ops(worker, batch, error);
    if (status) return status;
    status = worker->ops->end(worker->device, result, error);
    if (status)
        return error_prefix(error, status, "rank %d, step %" PRId64, worker->rank, batch->step);
    result->step = batch->step;
    int64_t end = clock_ns();
    if (worker->profile) profile_step(worker->profile, batch, end - start);
    if (worker->crew->trace) trace_step(worker->crew->trace, worker->rank, batch, start, end);
    return STATUS_OK;
}

/* --inject-fault, for tests of what happens then: this rank goes silent. True: the thread shall
 * end. */
static bool meets_fault(struct worker *worker, int64_t step)
{
    if (worker->fault_step < 0 || step < worker->fault_step) return false;
    log_warning("worker", "rank %d: injected fault at step %" PRId64, worker->rank, step);
    if (worker->fault_dies && worker->crew->world) _exit(9);
    if (worker->fault_dies) return true;
    pthread_mutex_lock(&worker->crew->lock);
    while (!worker->crew->failed && worker->crew->stage != STAGE_STOP)
        pthread_cond_wait(&worker->crew->moved, &worker->crew->lock);
    pthread_mutex_unlock(&worker->crew->lock);
    return true;
}

/* ---- load and prepare ---- */

static void report_progress(void *arg, int64_t bytes)
{
    struct worker *worker = arg;
    struct crew *crew = worker->crew;
    if (crew->options->progress)
        crew->options->progress(crew->options->progress_arg, bytes,
                                program_load_bytes(worker->program));
}

static enum status load(struct worker *worker, struct error *error)
{
    const struct executor_options *options = worker->crew->options;
    struct device_options device = {
        .index = worker->rank,
        .threads = worker->threads,
        .first_cpu = -1,
        .isa = options->isa,
    };
    struct program_options program = {
        .rank = worker->rank,
        .rank_count = worker->rank_count,
        .dtype = options->dtype,
        .quantization = options->quantization,
        .max_model_len = worker->crew->shape.max_model_len,
    };
    enum status status = worker->ops->open(&device, &worker->device, error);
    if (status) return status;
    status = program_create(worker->crew->model, &program, worker->ops, worker->device,
                            &worker->program, error);
    if (status) return status;
    return program_load(worker->program, worker->crew->model, worker->ops, worker->device,
                        worker->threads, report_progress, worker, error);
}

static enum status prepare(struct worker *worker, struct error *error)
{
    struct device_shape shape = worker->crew->shape;
    shape.program = worker->program;
    enum status status = worker->ops->prepare(worker->device, &shape, error);
    if (status) return status;
    if (worker->crew->options->profile) worker->profile = profile_create(worker->program);
    if (worker->rank > 0) worker->scratch = batch_result_create(&shape.limits);
    if (worker->crew->world) {
        worker->wire = calloc(1, batch_encoded_max(&shape.limits));
        worker->received = batch_create(&shape.limits);
        CHECK(worker->wire);
    }
    return STATUS_OK;
}

/* ---- the thread ---- */

/* Rank 0 of a world tells the others what to run; 0 bytes: stop. */
static enum status announce(struct worker *worker, const struct batch *batch, struct error *error)
{
    uint64_t bytes = batch ? batch_encode(batch, worker->wire) : 0;
    comm_of(worker)->note(worker->comm, batch ? batch->step : -1, "broadcast of the batch");
    enum status status = comm_of(worker)->broadcast(worker->comm, &bytes, sizeof(bytes), error);
    if (status || !bytes) return status;
    return comm_of(worker)->broadcast(worker->comm, worker->wire, bytes, error);
}

enum status worker_follow(struct worker *worker, struct error *error)
{
    for (;;) {
        uint64_t bytes = 0;
        comm_of(worker)->note(worker->comm, -1, "wait for a batch");
        enum status status = comm_of(worker)->broadcast(worker->comm, &bytes, sizeof(bytes), error);
        if (status || !bytes) return status;
        CHECK(bytes <= batch_encoded_max(&worker->crew->shape.limits));
        status = comm_of(worker)->broadcast(worker->comm, worker->wire, bytes, error);
        if (status) return status;
        batch_decode(worker->wire, bytes, &worker->crew->shape.limits, worker->received);
        if (meets_fault(worker, worker->received->step)) return STATUS_OK;
        status = run_step(worker, worker->received, worker->scratch, error);
        if (status) return status;
    }
}

/* Waits until there is a batch to run (true) or nothing more will come (false). */
static bool next_batch(struct worker *worker, const struct batch **batch)
{
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    while (crew->submitted == worker->done && crew->stage == STAGE_RUN && !crew->failed)
        pthread_cond_wait(&crew->moved, &crew->lock);
    bool found = crew->submitted > worker->done && !crew->failed;
    if (found) *batch = crew->batches[worker->done % EXECUTOR_IN_FLIGHT_MAX];
    pthread_mutex_unlock(&crew->lock);
    return found;
}

static enum status run_batches(struct worker *worker, struct error *error)
{
    struct crew *crew = worker->crew;
    const struct batch *batch;
    while (next_batch(worker, &batch)) {
        if (meets_fault(worker, batch->step)) return STATUS_OK;
        if (crew->world) {
            enum status status = announce(worker, batch, error);
            if (status) return status;
        }
        struct batch_result *result =
            worker->rank ? worker->scratch : crew->results[worker->done % EXECUTOR_IN_FLIGHT_MAX];
        enum status status = run_step(worker, batch, result, error);
        if (status) return status;
        pthread_mutex_lock(&crew->lock);
        worker->done++;
        pthread_cond_broadcast(&crew->moved);
        pthread_mutex_unlock(&crew->lock);
    }
    return crew->world && !crew->failed ? announce(worker, NULL, error) : STATUS_OK;
}

/* Waits for the executor to ask for the stage after `stage`; false: it asks to stop. */
static bool stage_done(struct worker *worker, enum worker_stage stage)
{
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    worker->stage_done = stage + 1;
    pthread_cond_broadcast(&crew->moved);
    while (crew->stage == stage) pthread_cond_wait(&crew->moved, &crew->lock);
    bool go_on = crew->stage != STAGE_STOP;
    pthread_mutex_unlock(&crew->lock);
    return go_on;
}

void *worker_main(void *arg)
{
    struct worker *worker = arg;
    struct crew *crew = worker->crew;
    struct error error = {0};
    enum status status = load(worker, &error);
    if (!status && !stage_done(worker, STAGE_LOAD)) return NULL;
    if (!status) status = prepare(worker, &error);
    if (status) { /* at start the executor reports it */
        pthread_mutex_lock(&crew->lock);
        if (!crew->failed) crew->error = error;
        crew->failed = true;
        pthread_cond_broadcast(&crew->moved);
        pthread_mutex_unlock(&crew->lock);
        return NULL;
    }
    if (!stage_done(worker, STAGE_PREPARE)) return NULL;
    if (crew->world && worker->rank > 0) return NULL; /* executor_follow runs the steps */
    status = run_batches(worker, &error);
    if (status) crew_fail(crew, worker, &error);
    return NULL;
}
