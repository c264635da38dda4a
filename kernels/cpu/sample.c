/*
 * sample.c - OP_SAMPLE and the state of slots: the token each sampled last and its history. Owns
 * that state, a scratch per thread and the results of the step; sample_choose.c has the rules for a
 * row. Rows are spread over the threads; nothing is allocated after prepare.
 */
#include "kernels/cpu/sample.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/log.h"

enum { HISTORY_SLACK = 8 }; /* steps that run ahead of a row that turns out finished */

struct slot_state {
    int32_t last; /* token sampled last */
    int32_t history_len, prompt_len;
};

struct cpu_sampler {
    int threads, vocab, history_max, rows_max, logits_max;
    struct slot_state *slots;    /* [rows_max] */
    int32_t *histories;          /* [rows_max][history_max] */
    struct sample_scratch *work; /* [threads] */
    struct logits_result *results;
    char *memory; /* what the scratches' pointers point into */
    size_t memory_bytes;
    bool nan_logged;
    _Alignas(64) _Atomic int next;
    _Atomic int64_t nan_rows;
};

struct sample_job {
    struct device *device;
    const struct op *op;
    const struct cpu_vector *vector;
    const float *logits;
    int stride;
};

static size_t line_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t scratch_bytes(int vocab)
{
    size_t n = (size_t)vocab;
    return 4 * line_up(n * 4) + 2 * line_up(n * sizeof(struct sample_candidate)) +
           line_up((n / SAMPLE_CHUNK + 1) * sizeof(double));
}

static void *take(char **at, size_t bytes)
{
    char *p = *at;
    *at += line_up(bytes);
    return p;
}

static void place_scratch(struct sample_scratch *scratch, int vocab, char *at)
{
    size_t n = (size_t)vocab;
    scratch->logits = take(&at, n * 4);
    scratch->probs = take(&at, n * 4);
    scratch->ids = take(&at, n * 4);
    scratch->counts = take(&at, n * 4);
    scratch->candidates = take(&at, n * sizeof(struct sample_candidate));
    scratch->spare = take(&at, n * sizeof(struct sample_candidate));
    scratch->sums = take(&at, (n / SAMPLE_CHUNK + 1) * sizeof(double));
}

static int history_max_of(const struct device_shape *shape)
{
    return shape->max_model_len + HISTORY_SLACK;
}

size_t cpu_sampler_workspace(const struct device_shape *shape, int threads)
{
    size_t rows = (size_t)shape->limits.rows_max;
    return (size_t)threads * scratch_bytes(shape->program->vocab) +
           rows * (size_t)history_max_of(shape) * sizeof(int32_t) +
           (size_t)shape->limits.logits_max * sizeof(struct logits_result);
}

enum status cpu_sampler_prepare(struct device *device, struct error *error)
{
    const struct device_shape *shape = &device->shape;
    struct cpu_sampler *sampler = cpu_alloc(sizeof(*sampler));
    if (!sampler) goto no_memory;
    device->sampler = sampler;
    sampler->threads = cpu_pool_threads(device->pool);
    sampler->vocab = shape->program->vocab;
    sampler->history_max = history_max_of(shape);
    sampler->rows_max = shape->limits.rows_max, sampler->logits_max = shape->limits.logits_max;
    sampler->slots = calloc((size_t)sampler->rows_max + 1, sizeof(*sampler->slots));
    sampler->work = calloc((size_t)sampler->threads, sizeof(*sampler->work));
    sampler->results = calloc((size_t)sampler->logits_max + 1, sizeof(*sampler->results));
    CHECK(sampler->slots && sampler->work && sampler->results);
    size_t history_bytes = line_up((size_t)sampler->rows_max * (size_t)sampler->history_max * 4);
    size_t each = scratch_bytes(sampler->vocab);
    sampler->memory_bytes = history_bytes + (size_t)sampler->threads * each;
    sampler->memory = cpu_alloc(sampler->memory_bytes);
    if (!sampler->memory) goto no_memory;
    sampler->histories = (int32_t *)(void *)sampler->memory;
    for (int i = 0; i < sampler->threads; i++)
        place_scratch(&sampler->work[i], sampler->vocab,
                      sampler->memory + history_bytes + (size_t)i * each);
    return STATUS_OK;
no_memory:
    cpu_sampler_close(device);
    return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for the sampler's state");
}

void cpu_sampler_close(struct device *device)
{
    struct cpu_sampler *sampler = device->sampler;
    if (!sampler) return;
    if (sampler->memory) cpu_free(sampler->memory, sampler->memory_bytes);
    free(sampler->results);
    free(sampler->work);
    free(sampler->slots);
    cpu_free(sampler, sizeof(*sampler));
    device->sampler = NULL;
}

static int32_t *history_of(struct cpu_sampler *sampler, int slot)
{
    return sampler->histories + (size_t)slot * (size_t)sampler->history_max;
}

void cpu_sampler_begin(struct device *device)
{
    struct cpu_sampler *sampler = device->sampler;
    const struct batch *batch = device->batch;
    for (int r = 0; r < batch->row_count; r++) {
        const struct batch_row *row = &batch->rows[r];
        CHECK(row->slot >= 0 && row->slot < sampler->rows_max);
        if (row->history_len == HISTORY_KEEP) continue;
        CHECK(row->history_len <= sampler->history_max);
        struct slot_state *slot = &sampler->slots[row->slot];
        slot->history_len = row->history_len, slot->prompt_len = row->history_prompt_len;
        if (row->history_len)
            memcpy(history_of(sampler, row->slot), batch->history + row->history_start,
                   (size_t)row->history_len * sizeof(int32_t));
    }
    for (int t = 0; t < batch->token_count; t++) {
        int32_t token = batch->tokens[t];
        if (token == TOKEN_FROM_SLOT)
            token = sampler->slots[batch->rows[batch->token_rows[t]].slot].last;
        device->tokens[t] = token;
    }
}

/* Ascending ids and strictly larger values only: ties stay with the lower id. */
static void find_top(const struct cpu_vector *vector, const float *logits, int vocab, int count,
                     struct logits_result *out)
{
    enum { STRIP = 256 };
    float values[LOGPROBS_MAX];
    int32_t ids[STRIP];
    int n = 0;
    for (int begin = 0; begin < vocab && count > 0; begin += STRIP) {
        int len = vocab - begin < STRIP ? vocab - begin : STRIP;
        float least = n < count ? -INFINITY : nextafterf(values[n - 1], INFINITY);
        int found = vector->gather(logits + begin, len, least, ids);
        for (int i = 0; i < found; i++) {
            float x = logits[begin + ids[i]];
            if (n == count && !(x > values[n - 1])) continue;
            int at = n < count ? n++ : n - 1;
            for (; at > 0 && values[at - 1] < x; at--)
                values[at] = values[at - 1], out->top_ids[at] = out->top_ids[at - 1];
            values[at] = x, out->top_ids[at] = begin + ids[i];
        }
    }
    out->top_count = n;
    for (int i = 0; i < n; i++) out->top_logprobs[i] = values[i];
}

void sample_logprobs(const struct cpu_vector *vector, const float *logits, int vocab, int token,
                     int top_count, struct logits_result *out)
{
    float max = vector->top(logits, vocab).max;
    double norm = max;
    if (isfinite(max)) norm += log(vector->exp_sums(logits, vocab, max, 1, 0, NULL, NULL));
    find_top(vector, logits, vocab, top_count, out);
    for (int i = 0; i < out->top_count; i++)
        out->top_logprobs[i] = (float)(out->top_logprobs[i] - norm);
    if (token < 0 || token >= vocab) { /* nothing this model can say */
        out->logprob = -INFINITY;
        return;
    }
    out->logprob = (float)(logits[token] - norm);
    out->rank = 1 + vector->rank(logits, vocab, logits[token], token);
}

static void sample_row(const struct sample_job *job, int index, struct sample_scratch *scratch)
{
    struct device *device = job->device;
    struct cpu_sampler *sampler = device->sampler;
    const struct batch *batch = device->batch;
    const struct batch_logits *wanted = &batch->logits[index];
    const float *logits = job->logits + (size_t)index * (size_t)job->stride;
    int vocab = job->op->sample.vocab;
    struct logits_result *out = &sampler->results[index];
    *out = (struct logits_result){.token = wanted->target};
    if (wanted->target == TARGET_SAMPLE) {
        const struct batch_sampling *sampling = &batch->sampling[wanted->sampling];
        int slot = batch->rows[wanted->row].slot;
        struct sample_history history = {history_of(sampler, slot),
                                         sampler->slots[slot].history_len,
                                         sampler->slots[slot].prompt_len};
        struct sample_top top = job->vector->top(logits, vocab);
        if (top.nan_count) atomic_fetch_add(&sampler->nan_rows, 1);
        int raw_best = job->vector->index_of(logits, vocab, top.max);
        if (sampling->temperature == 0 && !sampling->bias_count && sampling->mask_start < 0 &&
            !sampling->uses_history) {
            out->token = raw_best;
        } else {
            job->vector->clean(logits, scratch->logits, vocab);
            sample_modify(scratch->logits, vocab, batch, sampling, &history, scratch->counts);
            out->token = sample_choose(job->vector, scratch, vocab, sampling, raw_best);
        }
    }
    if (wanted->top_count != LOGPROBS_NONE)
        sample_logprobs(job->vector, logits, vocab, out->token, wanted->top_count, out);
}

static void sample_job(void *arg, int thread)
{
    const struct sample_job *job = arg;
    struct cpu_sampler *sampler = job->device->sampler;
    for (;;) {
        int i = atomic_fetch_add_explicit(&sampler->next, 1, memory_order_relaxed);
        if (i >= job->device->batch->logits_count) return;
        sample_row(job, i, &sampler->work[thread]);
    }
}

void cpu_op_sample(struct device *device, const struct op *op)
{
    struct cpu_sampler *sampler = device->sampler;
    const struct batch *batch = device->batch;
    struct sample_job job = {.device = device,
                             .op = op,
                             .vector = cpu_vector_of(device->isa),
                             .logits = device->buffers[op->in],
                             .stride = device->shape.program->buffers[op->in].cols};
    if (!batch->logits_count) return;
    CHECK(batch->logits_count <= sampler->logits_max && op->sample.vocab <= sampler->vocab);
    atomic_store_explicit(&sampler->next, 0, memory_order_relaxed);
    if (batch->logits_count == 1)
        sample_job(&job, 0);
    else
        cpu_pool_run(device->pool, sample_job, &job);
    for (int i = 0; i < batch->logits_count; i++) {
        if (batch->logits[i].target != TARGET_SAMPLE) continue;
        int slot = batch->rows[batch->logits[i].row].slot;
        struct slot_state *state = &sampler->slots[slot];
        state->last = sampler->results[i].token;
        if (state->history_len < sampler->history_max)
            history_of(sampler, slot)[state->history_len++] = state->last;
    }
    if (atomic_load(&sampler->nan_rows) && !sampler->nan_logged) {
        sampler->nan_logged = true;
        log_warning("sampler", "the model's logits have NaN in them: broken weights or overflow; "
                               "they count as impossible tokens (said once)");
    }
}

void cpu_sampler_results(struct device *device, struct batch_result *out)
{
    const struct batch *batch = device->batch;
    out->step = batch->step, out->logits_count = batch->logits_count;
    memcpy(out->logits, device->sampler->results,
           (size_t)batch->logits_count * sizeof(*out->logits));
}
