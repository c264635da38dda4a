/*
 * device_cpu.c - the CPU as a device: opening, memory of the steps, and which function runs which
 * op.
 *
 * Owns struct device and its activation buffers; the parts of it that ops own (packed activations,
 * KV pages, sampler) are made and freed by them. Thread: the worker thread that owns the device,
 * but weight_write: any, for different rows.
 */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/linear.h"
#include "runtime/base/check.h"

static void device_close(struct device *device);

static enum status device_open(const struct device_options *options, struct device **out,
                               struct error *error)
{
    enum cpu_isa isa = cpu_isa_best();
    if (options->isa && !cpu_isa_parse(options->isa, &isa))
        return error_set(error, STATUS_INVALID, "isa", "no instruction set is called \"%s\"",
                         options->isa);
    if (!cpu_isa_available(isa))
        return error_set(error, STATUS_UNSUPPORTED, "isa", "this machine has no %s; its best is %s",
                         cpu_isa_name(isa), cpu_isa_name(cpu_isa_best()));
    struct device *device = calloc(1, sizeof(*device));
    CHECK(device);
    device->isa = isa;
    enum status status =
        cpu_pool_create(options->threads, options->first_cpu, &device->pool, error);
    if (status)
        free(device);
    else
        *out = device;
    return status;
}

static int64_t buffer_rows(const struct device_shape *shape, int id)
{
    return shape->program->buffers[id].extent == BUFFER_PER_TOKEN ? shape->limits.tokens_max
                                                                  : shape->limits.logits_max;
}

static size_t buffer_bytes(const struct device_shape *shape, int id)
{
    size_t cols = (size_t)shape->program->buffers[id].cols;
    return (size_t)buffer_rows(shape, id) * cols * sizeof(float);
}

static size_t tokens_bytes(const struct device_shape *shape)
{
    return (size_t)shape->limits.tokens_max * sizeof(int32_t);
}

static void device_close(struct device *device)
{
    if (!device) return;
    cpu_sampler_close(device);
    cpu_attention_close(device);
    cpu_linear_close(device);
    for (int i = 0; i < BUFFERS_MAX; i++) {
        if (device->buffers[i]) cpu_free(device->buffers[i], buffer_bytes(&device->shape, i));
    }
    if (device->tokens) cpu_free(device->tokens, tokens_bytes(&device->shape));
    cpu_weights_close(device);
    cpu_pool_destroy(device->pool);
    free(device);
}

static bool is_matrix(const struct weight *weight)
{
    return weight && weight->kind == WEIGHT_MATRIX;
}

static bool is_vector(const struct weight *weight, int64_t cols)
{
    return weight && weight->kind == WEIGHT_VECTOR && weight->cols == cols;
}

/* Whether the op's weights have the kind and shape its kernel reads. */
static bool weights_fit(const struct op *op)
{
    switch (op->kind) {
    case OP_EMBED: return is_matrix(op->embed.table);
    case OP_NORM: return is_vector(op->norm.weight, op->norm.cols);
    case OP_LINEAR:
        return is_matrix(op->linear.weight) &&
               (!op->linear.bias || is_vector(op->linear.bias, op->linear.weight->rows));
    case OP_ROPE_KV:
        return (!op->rope_kv.q_norm || is_vector(op->rope_kv.q_norm, op->rope_kv.head_dim)) &&
               (!op->rope_kv.k_norm || is_vector(op->rope_kv.k_norm, op->rope_kv.head_dim));
    case OP_LOGITS: return is_matrix(op->logits.weight);
    default: return true;
    }
}

static enum status device_supports(struct device *device, const struct op *op, struct error *error)
{
    if ((unsigned)op->kind >= OP_KIND_COUNT)
        return error_set(error, STATUS_UNSUPPORTED, op->name, "the CPU has no op of kind %d",
                         (int)op->kind);
    if (!weights_fit(op))
        return error_set(error, STATUS_UNSUPPORTED, op->name,
                         "the weights of the op %s do not have the kind or shape it needs",
                         op_kind_name(op->kind));
    if (op->kind == OP_ATTENTION || op->kind == OP_ROPE_KV)
        return cpu_attention_supports(op, error);
    return STATUS_OK;
}

static void device_weight_write(struct device *device, struct weight *weight, int64_t row,
                                int64_t count, const void *data)
{
    cpu_weight_write(weight, row, count, data);
}

static size_t device_weight_bytes(const struct weight *weight)
{
    return weight->bytes;
}

static size_t device_page_bytes(struct device *device, const struct device_shape *shape)
{
    return cpu_attention_page_bytes(device, shape);
}

static size_t device_workspace_bytes(struct device *device, const struct device_shape *shape)
{
    int threads = cpu_pool_threads(device->pool);
    size_t bytes = tokens_bytes(shape);
    for (int i = 0; i < shape->program->buffer_count; i++) bytes += buffer_bytes(shape, i);
    return bytes + cpu_linear_workspace(shape, threads) + cpu_attention_workspace(device, shape) +
           cpu_sampler_workspace(shape, threads);
}

static size_t device_memory_free(struct device *device)
{
    return cpu_memory_available();
}

static enum status device_prepare(struct device *device, const struct device_shape *shape,
                                  struct error *error)
{
    CHECK(!device->shape.program && shape->program->buffer_count <= BUFFERS_MAX);
    device->shape = *shape;
    device->tokens = cpu_alloc(tokens_bytes(shape));
    bool is_full = !device->tokens;
    for (int i = 0; i < shape->program->buffer_count && !is_full; i++) {
        device->buffers[i] = cpu_alloc(buffer_bytes(shape, i));
        is_full = !device->buffers[i];
    }
    if (is_full)
        return error_set(error, STATUS_NO_MEMORY, NULL,
                         "no memory for the activations of %d tokens per step",
                         shape->limits.tokens_max);
    enum status status = cpu_linear_prepare(device, error);
    if (!status) status = cpu_attention_prepare(device, error);
    if (!status) status = cpu_sampler_prepare(device, error);
    return status; /* what was made is freed by close */
}

static void device_begin(struct device *device, const struct batch *batch)
{
    device->batch = batch;
    cpu_sampler_begin(device);
}

static void device_run(struct device *device, const struct op *op)
{
    static void (*const run[OP_KIND_COUNT])(struct device * device, const struct op *op) = {
        [OP_EMBED] = cpu_op_embed,     [OP_ROPE_TABLE] = cpu_op_rope_table,
        [OP_NORM] = cpu_op_norm,       [OP_LINEAR] = cpu_op_linear,
        [OP_ROPE_KV] = cpu_op_rope_kv, [OP_ATTENTION] = cpu_op_attention,
        [OP_MLP_ACT] = cpu_op_mlp_act, [OP_LOGITS] = cpu_op_logits,
        [OP_SAMPLE] = cpu_op_sample,
    };
    CHECK(run[op->kind]); /* collectives are the executor's */
    run[op->kind](device, op);
}

static enum status device_end(struct device *device, struct batch_result *out, struct error *error)
{
    cpu_sampler_results(device, out);
    device->batch = NULL;
    return STATUS_OK; /* a CPU that fails takes the process with it */
}

static void *device_buffer(struct device *device, int id)
{
    CHECK(id >= 0 && id < BUFFERS_MAX);
    return device->buffers[id];
}

const struct device_ops device_cpu = {
    .name = "cpu",
    .open = device_open,
    .close = device_close,
    .supports = device_supports,
    .weight_create = cpu_weight_create,
    .weight_write = device_weight_write,
    .weight_bytes = device_weight_bytes,
    .page_bytes = device_page_bytes,
    .workspace_bytes = device_workspace_bytes,
    .memory_free = device_memory_free,
    .prepare = device_prepare,
    .begin = device_begin,
    .run = device_run,
    .end = device_end,
    .buffer = device_buffer,
};
