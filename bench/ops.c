/*
 * ops.c - `penstock bench ops`: each op of a model's program by itself, on batches of chosen sizes,
 * against counted bytes and operations and the ceilings measured in the same run.
 *
 * Drives the CPU device directly: no engine, no scheduler. All layers of an op are run one after
 * another, so that weights come from memory as they do in a step and not from a cache that the last
 * repetition filled.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ceilings.h"
#include "bench/local.h"
#include "kernels/device.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/batch.h"
#include "runtime/program.h"

static const char usage[] =
    "Usage: penstock bench ops [MODEL] [-p LIST] [--streams LIST] [-d N] [-r N] [ENGINE "
    "OPTIONS]\n\n"
    "Times every op: one prefill chunk of each -p size, and one decode step of each number of "
    "--streams,\n"
    "with -d tokens in the cache before. Bytes are weights and KV read once, operations a multiply "
    "and an\n"
    "add for each weight and token, and for each query, key and value.\n\n"
    "  penstock bench ops model.gguf -p 512 --streams 1,16 -d 1024 -r 9\n\n";

struct ops_bench {
    struct local_options options;
    struct model *model;
    struct device *device;
    struct program *program;
    struct device_shape shape;
    struct batch *batch;
    struct ceilings ceilings;
    int threads;
};

static int fail(const struct error *error)
{
    fprintf(stderr, "penstock bench ops: %s\n", error->message);
    return 1;
}

static int largest(const struct local_list *list, int least)
{
    for (int i = 0; i < list->count; i++)
        if (list->values[i] > least) least = list->values[i];
    return least;
}

static int pages_for(const struct ops_bench *bench, int tokens)
{
    return (tokens + bench->shape.page_tokens - 1) / bench->shape.page_tokens;
}

static enum status prepare(struct ops_bench *bench, struct error *error)
{
    int tokens = largest(&bench->options.prompt, 1), rows = largest(&bench->options.streams, 1);
    int depth = bench->options.depth.count ? bench->options.depth.values[0] : 0;
    struct device_shape *shape = &bench->shape;
    shape->program = bench->program;
    shape->page_tokens = 32;
    shape->kv_dtype = DTYPE_BF16;
    shape->max_model_len = depth + tokens + 1;
    shape->page_count = 1 + (int64_t)rows * pages_for(bench, shape->max_model_len);
    shape->limits = (struct batch_limits){
        .rows_max = rows,
        .tokens_max = tokens > rows ? tokens : rows,
        .pages_max = rows * pages_for(bench, shape->max_model_len),
        .logits_max = rows,
        .bias_max = 1,
        .history_max = shape->max_model_len,
    };
    bench->batch = batch_create(&shape->limits);
    return device_cpu.prepare(bench->device, shape, error);
}

static enum status open_bench(struct ops_bench *bench, struct error *error)
{
    bench->threads = bench->options.engine.threads > 0 ? bench->options.engine.threads : 2;
    struct device_options device = {
        .threads = bench->threads, .first_cpu = -1, .isa = bench->options.engine.isa};
    struct program_options program = {.rank_count = 1, .dtype = -1, .quantization = -1};
    enum status status = model_open(bench->options.engine.model, &bench->model, error);
    if (status) return status;
    program.max_model_len = model_config(bench->model)->max_position;
    status = device_cpu.open(&device, &bench->device, error);
    if (!status)
        status = program_create(bench->model, &program, &device_cpu, bench->device, &bench->program,
                                error);
    if (!status)
        status = program_load(bench->program, bench->model, &device_cpu, bench->device,
                              bench->threads, NULL, NULL, error);
    return status ? status : prepare(bench, error);
}

/* `rows` sequences of `q_len` new tokens behind `depth` cached ones (of garbage, which times the
 * same). */
static void fill_batch(struct ops_bench *bench, int rows, int q_len, int depth)
{
    struct batch *batch = bench->batch;
    batch_clear(batch);
    for (int r = 0; r < rows; r++) {
        struct batch_row *row = &batch->rows[batch->row_count++];
        int pages = pages_for(bench, depth + q_len);
        *row = (struct batch_row){.slot = r,
                                  .q_start = batch->token_count,
                                  .q_len = q_len,
                                  .kv_len = depth + q_len,
                                  .page_start = batch->page_count,
                                  .page_count = pages,
                                  .logits_start = r,
                                  .logits_count = 1};
        for (int i = 0; i < pages; i++)
            batch->pages[batch->page_count++] =
                1 + r * pages_for(bench, bench->shape.max_model_len) + i;
        for (int i = 0; i < q_len; i++) {
            int t = batch->token_count++;
            batch->tokens[t] = (r * 131 + i * 17) % bench->program->vocab;
            batch->positions[t] = depth + i, batch->token_rows[t] = r;
        }
        batch->logits[batch->logits_count++] =
            (struct batch_logits){.token = batch->token_count - 1,
                                  .target = TARGET_SAMPLE,
                                  .top_count = LOGPROBS_NONE,
                                  .row = r,
                                  .sampling = batch->sampling_count};
        batch->sampling[batch->sampling_count++] =
            (struct batch_sampling){.top_p = 1, .repetition_penalty = 1, .mask_start = -1};
    }
    if (q_len == 1) batch->decode_count = rows;
}

struct work { /* of one op on the batch */
    double bytes, operations;
};

static struct work work_of(const struct ops_bench *bench, const struct op *op, int rows, int q_len,
                           int depth)
{
    enum dtype dtype = model_config(bench->model)->dtype;
    double each = (double)dtype_row_bytes(dtype, QUANT_BLOCK) / QUANT_BLOCK,
           tokens = (double)rows * q_len;
    struct work work = {0, 0};
    if (op->kind == OP_LINEAR || op->kind == OP_LOGITS) {
        const struct weight *weight = op->kind == OP_LINEAR ? op->linear.weight : op->logits.weight;
        work.bytes = (double)device_cpu.weight_bytes(weight);
        work.operations = 2 * work.bytes / each * (op->kind == OP_LINEAR ? tokens : rows);
    } else if (op->kind == OP_ATTENTION) {
        double seen = depth + (q_len + 1) / 2.0;
        work.operations = 4 * tokens * seen * op->attention.heads * op->attention.head_dim;
        work.bytes = 4.0 * rows * (depth + q_len) * op->attention.kv_heads * op->attention.head_dim;
    }
    return work;
}

/* Seconds of all ops called `name`, once through. */
static double run_named(struct ops_bench *bench, const char *name)
{
    int64_t start = clock_ns();
    for (int i = 0; i < bench->program->op_count; i++)
        if (!strcmp(bench->program->ops[i].name, name))
            device_cpu.run(bench->device, &bench->program->ops[i]);
    return (double)(clock_ns() - start) * 1e-9;
}

static void print_op(struct ops_bench *bench, int first, int rows, int q_len, int depth)
{
    const struct program *program = bench->program;
    const struct op *op = &program->ops[first];
    int repetitions = bench->options.repetitions, count = 0;
    double *times = calloc((size_t)repetitions, sizeof(*times)), low, high;
    struct work work = {0, 0};
    CHECK(times);
    for (int i = 0; i < program->op_count; i++) {
        if (strcmp(program->ops[i].name, op->name) != 0) continue;
        struct work own = work_of(bench, &program->ops[i], rows, q_len, depth);
        work.bytes += own.bytes, work.operations += own.operations, count++;
    }
    run_named(bench, op->name);
    for (int i = 0; i < repetitions; i++) times[i] = run_named(bench, op->name);
    double middle = local_median(times, repetitions, &low, &high);
    printf("| %-14s | %4d | %10.1f | %10.1f |", op->name, count, middle * 1e6, low * 1e6);
    if (work.operations > 0) {
        double gbs = work.bytes / middle * 1e-9, gops = work.operations / middle * 1e-9;
        printf(" %6.1f | %4.0f%% | %7.0f | %4.0f%% |\n", gbs, 100 * gbs / bench->ceilings.read_gbs,
               gops, 100 * gops / bench->ceilings.peak_gops);
    } else {
        printf("        |       |         |       |\n");
    }
    free(times);
}

static void measure(struct ops_bench *bench, int rows, int q_len, int depth)
{
    const struct program *program = bench->program;
    fill_batch(bench, rows, q_len, depth);
    device_cpu.begin(bench->device, bench->batch);
    printf("\n%d x %d tokens behind %d\n\n| %-14s | %4s | %10s | %10s | %6s | %5s | %7s | %5s |\n"
           "|---|---|---|---|---|---|---|---|\n",
           rows, q_len, depth, "op", "runs", "median us", "least us", "GB/s", "read", "GOPS",
           "peak");
    for (int i = 0; i < program->op_count; i++) {
        int first = 0;
        while (strcmp(program->ops[first].name, program->ops[i].name) != 0) first++;
        if (first == i) print_op(bench, i, rows, q_len, depth);
    }
}

int command_bench_ops(int argc, char **argv)
{
    struct ops_bench bench = {.options = {.repetitions = 9}};
    struct error error = {0};
    int code;
    if (!local_parse(&bench.options, argc, argv, usage, &code)) return code;
    if (!bench.options.prompt.count) bench.options.prompt = (struct local_list){{512}, 1};
    if (!bench.options.streams.count) bench.options.streams = (struct local_list){{1, 16}, 2};
    if (open_bench(&bench, &error)) return fail(&error);
    enum dtype dtype = model_config(bench.model)->dtype;
    ceilings_measure(&bench.ceilings, bench.threads, dtype);
    printf("%s, %s, %d threads; ceilings measured now: read %.1f GB/s, %s %.0f GOPS\n",
           model_name(bench.model), dtype_name(dtype), bench.threads, bench.ceilings.read_gbs,
           bench.ceilings.peak_name, bench.ceilings.peak_gops);
    int depth = bench.options.depth.count ? bench.options.depth.values[0] : 0;
    for (int i = 0; i < bench.options.prompt.count; i++)
        if (bench.options.prompt.values[i])
            measure(&bench, 1, bench.options.prompt.values[i], depth);
    for (int i = 0; i < bench.options.streams.count; i++)
        if (bench.options.streams.values[i])
            measure(&bench, bench.options.streams.values[i], 1, depth);
    batch_destroy(bench.batch);
    device_cpu.close(bench.device);
    program_destroy(bench.program);
    model_close(bench.model);
    options_free(&bench.options.engine);
    return 0;
}
