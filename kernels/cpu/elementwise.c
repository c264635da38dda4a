/*
 * elementwise.c - OP_NORM and OP_MLP_ACT, and how small ops are spread over the threads. Owns
 * nothing; never allocates.
 */
#include "kernels/cpu/vector.h"

enum {
    PARALLEL_MIN = 16384, /* floats: about what waking the threads costs */
    ACT_COST = 4,         /* of an activation, in floats of ordinary work */
    ACT_CHUNK = 1024,     /* columns */
};

struct elementwise_job {
    struct device *device;
    const struct op *op;
    const struct cpu_vector *vector;
    const float *in, *weight;
    float *residual, *out;
    int rows;
};

const struct cpu_vector *cpu_vector_of(enum cpu_isa isa)
{
    switch (isa) {
#ifdef __x86_64__
    case CPU_AVX2: return &vector_avx2;
    case CPU_AVX512:
    case CPU_AVX512_BF16: return &vector_avx512;
#endif
#ifdef __aarch64__
    case CPU_NEON: return &vector_neon;
#endif
    default: return &vector_scalar;
    }
}

void cpu_vector_run(struct device *device, size_t work, void (*job)(void *arg, int thread),
                    void *arg)
{
    if (work >= PARALLEL_MIN) {
        cpu_pool_run(device->pool, job, arg);
        return;
    }
    for (int i = 0; i < cpu_pool_threads(device->pool); i++) job(arg, i);
}

static int rows_of(const struct device *device, int buffer)
{
    const struct program_buffer *b = &device->shape.program->buffers[buffer];
    return b->extent == BUFFER_PER_LOGITS ? device->batch->logits_count
                                          : device->batch->token_count;
}

static void norm_job(void *arg, int thread)
{
    const struct elementwise_job *job = arg;
    int cols = job->op->norm.cols;
    struct vector_span span = vector_span(job->rows, thread, cpu_pool_threads(job->device->pool));
    for (int64_t i = span.begin; i < span.end; i++) {
        int64_t at = i * cols;
        job->vector->norm(job->in ? job->in + at : NULL, job->residual + at, job->weight,
                          job->out + at, cols, job->op->norm.eps);
    }
}

void cpu_op_norm(struct device *device, const struct op *op)
{
    struct elementwise_job job = {.device = device,
                                  .op = op,
                                  .vector = cpu_vector_of(device->isa),
                                  .weight = cpu_weight_vector(op->norm.weight),
                                  .residual = device->buffers[op->norm.residual],
                                  .out = device->buffers[op->out],
                                  .rows = rows_of(device, op->out)};
    if (op->in != BUFFER_NONE) job.in = device->buffers[op->in];
    cpu_vector_run(device, (size_t)job.rows * (size_t)op->norm.cols, norm_job, &job);
}

static void act_job(void *arg, int thread)
{
    const struct elementwise_job *job = arg;
    int n = job->op->mlp_act.n, chunks = (n + ACT_CHUNK - 1) / ACT_CHUNK;
    struct vector_span span =
        vector_span((int64_t)job->rows * chunks, thread, cpu_pool_threads(job->device->pool));
    for (int64_t i = span.begin; i < span.end; i++) {
        int64_t row = i / chunks;
        int from = (int)(i % chunks) * ACT_CHUNK;
        int count = n - from < ACT_CHUNK ? n - from : ACT_CHUNK;
        const float *gate = job->in + row * 2 * n + from;
        job->vector->act(job->op->mlp_act.activation, gate, gate + n, job->out + row * n + from,
                         count);
    }
}

void cpu_op_mlp_act(struct device *device, const struct op *op)
{
    struct elementwise_job job = {.device = device,
                                  .op = op,
                                  .vector = cpu_vector_of(device->isa),
                                  .in = device->buffers[op->in],
                                  .out = device->buffers[op->out],
                                  .rows = rows_of(device, op->out)};
    cpu_vector_run(device, (size_t)job.rows * (size_t)op->mlp_act.n * ACT_COST, act_job, &job);
}
