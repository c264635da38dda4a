/*
 * rope.c - OP_ROPE_TABLE and OP_ROPE_KV: positions become angles, heads are normalised and turned,
 * and K and V go to their pages.
 *
 * The work of OP_ROPE_KV is cut into runs - tokens of one row within one block of 16 positions -
 * times KV heads: each piece of a page has one writer, whole blocks are written through a transpose
 * in registers, and no two writers share a word. Everything is written before attention begins, so
 * a row may read what another row of the same batch writes.
 */
#include <math.h>

#include "kernels/cpu/vector.h"
#include "runtime/base/check.h"

struct rope_job {
    struct device *device;
    const struct op *op;
    const struct cpu_vector *vector;
    const float *table; /* [T][rotary_dim] */
    float *x;           /* in: [T][(H + 2G) d]; table: [T][rotary_dim] */
    const float *q_norm, *k_norm;
    struct attention_pages pages;
    int run_count;
};

/* As transformers: the angle is a float32 product; its cosine and sine are exact to the last place.
 */
static void table_job(void *arg, int thread)
{
    const struct rope_job *job = arg;
    const struct batch *batch = job->device->batch;
    int half = job->op->rope_table.rotary_dim / 2;
    float scale = job->op->rope_table.scale;
    struct vector_span span =
        vector_span(batch->token_count, thread, cpu_pool_threads(job->device->pool));
    for (int64_t t = span.begin; t < span.end; t++) {
        float *cosines = job->x + t * 2 * half, *sines = cosines + half;
        float position = (float)batch->positions[t];
        for (int i = 0; i < half; i++) {
            float angle = position * job->op->rope_table.inv_freq[i];
            cosines[i] = cosf(angle) * scale;
            sines[i] = sinf(angle) * scale;
        }
    }
}

void cpu_op_rope_table(struct device *device, const struct op *op)
{
    enum { COST = 32 }; /* of an angle, in floats of ordinary work */
    struct rope_job job = {.device = device, .op = op, .x = device->buffers[op->out]};
    size_t work = (size_t)device->batch->token_count * (size_t)op->rope_table.rotary_dim * COST;
    cpu_vector_run(device, work, table_job, &job);
}

/* The runs of the batch, into the device's list; how many. */
static int list_runs(struct cpu_attention *attention, const struct batch *batch)
{
    int count = 0;
    for (int r = 0; r < batch->row_count; r++) {
        const struct batch_row *row = &batch->rows[r];
        int position = row->kv_len - row->q_len;
        for (int i = 0, step; i < row->q_len; i += step) {
            step = ATTENTION_BLOCK - (position + i) % ATTENTION_BLOCK;
            if (step > row->q_len - i) step = row->q_len - i;
            CHECK(count < attention->runs_max);
            attention->runs[count++] = (struct attention_run){
                .row = r, .token = row->q_start + i, .position = position + i, .count = step};
        }
    }
    return count;
}

static void rope_run(const struct rope_job *job, const struct attention_run *run, int head)
{
    const struct op *op = job->op;
    const struct batch *batch = job->device->batch;
    int d = op->rope_kv.head_dim, heads = op->rope_kv.heads, kv_heads = op->rope_kv.kv_heads;
    int group = heads / kv_heads, stride = (heads + 2 * kv_heads) * d;
    int rotary_dim = op->rope_kv.rotary_dim;
    float *row = job->x + (size_t)run->token * (size_t)stride;
    for (int t = 0; t < run->count; t++) {
        float *x = row + (size_t)t * (size_t)stride;
        const float *table = job->table + (size_t)(run->token + t) * (size_t)rotary_dim;
        for (int h = head * group; h < (head + 1) * group; h++)
            job->vector->rotate(x + h * d, job->q_norm, op->rope_kv.eps, table, d, rotary_dim,
                                op->rope_kv.interleaved);
        job->vector->rotate(x + (heads + head) * d, job->k_norm, op->rope_kv.eps, table, d,
                            rotary_dim, op->rope_kv.interleaved);
    }
    const int32_t *pages = batch->pages + batch->rows[run->row].page_start;
    char *block = attention_block(&job->pages, pages, head, run->position / ATTENTION_BLOCK);
    job->vector->write_kv(&job->pages, block, row + (heads + head) * d,
                          row + (heads + kv_heads + head) * d, stride, d,
                          run->position % ATTENTION_BLOCK, run->count);
}

static void rope_job(void *arg, int thread)
{
    const struct rope_job *job = arg;
    int kv_heads = job->op->rope_kv.kv_heads;
    struct vector_span span = vector_span((int64_t)job->run_count * kv_heads, thread,
                                          cpu_pool_threads(job->device->pool));
    for (int64_t i = span.begin; i < span.end; i++)
        rope_run(job, &job->device->attention->runs[i / kv_heads], (int)(i % kv_heads));
}

void cpu_op_rope_kv(struct device *device, const struct op *op)
{
    const struct weight *q_norm = op->rope_kv.q_norm, *k_norm = op->rope_kv.k_norm;
    struct rope_job job = {.device = device,
                           .op = op,
                           .vector = cpu_vector_of(device->isa),
                           .x = device->buffers[op->in],
                           .q_norm = q_norm ? cpu_weight_vector(q_norm) : NULL,
                           .k_norm = k_norm ? cpu_weight_vector(k_norm) : NULL,
                           .pages = attention_pages_of(device, op->rope_kv.kv_layer),
                           .run_count = list_runs(device->attention, device->batch)};
    job.table = op->rope_kv.rotary_dim ? device->buffers[op->rope_kv.table] : NULL;
    size_t cols =
        (size_t)(op->rope_kv.heads + 2 * op->rope_kv.kv_heads) * (size_t)op->rope_kv.head_dim;
    cpu_vector_run(device, (size_t)device->batch->token_count * cols, rope_job, &job);
}
