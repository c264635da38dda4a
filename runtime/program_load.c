/*
 * program_load.c - fills a program's weights from the model's files.
 *
 * Matrices are cut into chunks of rows that threads take from a counter: a thread reads its rows
 * from the mapping, brings them into the weight's type and order, and hands them to the device,
 * which packs them. Rows that need nothing are handed over where they lie. Threads are this file's
 * own and end with program_load.
 */
#include "runtime/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/program_parts.h"
#include "runtime/q6_k.h"

enum {
    CHUNK_BYTES =
        1 << 20,     /* of the weight: enough to amortise a hand-over, few enough to balance */
    CHUNK_ROWS = 64, /* a multiple of what devices pack together */
    THREADS_MAX = 256,
};

struct chunk {
    const struct weight_plan *plan;
    int64_t row, rows; /* of the weight */
};

struct loader {
    const struct device_ops *ops;
    struct device *device;
    struct chunk *chunks;
    int64_t chunk_count;
    size_t scratch_bytes; /* rows of one chunk in the weight's type */
    size_t row_values;    /* longest row */
    atomic_llong next;
    void (*progress)(void *arg, int64_t bytes);
    void *progress_arg;
};

struct scratch {
    char *rows;
    float *values;
};

static bool is_aligned(const void *data, enum dtype dtype)
{
    return (uintptr_t)data % (dtype == DTYPE_F32 ? 4 : 2) == 0;
}

static bool is_stored_as(const struct model_tensor *tensor, enum dtype dtype)
{
    return tensor->dtype == dtype && !tensor->q6_k;
}

/* The tensor's row that becomes row `i` of the source: the GGUF converter of Llama stores the
 * halves (i, i + d / 2) of a head as neighbours, and we rotate halves. */
static int64_t source_row(const struct weight_source *source, int64_t i)
{
    int64_t head_dim = source->interleaved;
    if (!head_dim) return i;
    int64_t in_head = i % head_dim, half = head_dim / 2;
    return i - in_head + 2 * (in_head % half) + in_head / half;
}

/* Where column `col` of a row lies; columns are whole blocks. */
static const char *at_column(const struct model_tensor *tensor, int64_t row, int64_t col)
{
    return (const char *)tensor->data + row * model_tensor_bytes(tensor, tensor->cols) +
           model_tensor_bytes(tensor, col);
}

/* `count` values of a row from column `col` as float32. Slices of block types need not begin at a
 * block: where they do not, whole blocks are expanded around them. */
static void row_to_f32(const struct model_tensor *tensor, int64_t row, int64_t col, int64_t count,
                       float *values, float *out)
{
    int64_t block = tensor->q6_k ? Q6_K_BLOCK : dtype_block(tensor->dtype), skip = col % block;
    const char *data = at_column(tensor, row, col - skip);
    int64_t whole = (skip + count + block - 1) / block * block;
    float *expanded = whole == count ? out : values;
    if (tensor->q6_k) {
        q6_k_to_f32(data, whole, expanded);
    } else {
        if (!is_aligned(data, tensor->dtype)) { /* safetensors promise no alignment */
            char *copy = (char *)(values + whole);
            memcpy(copy, data, dtype_row_bytes(tensor->dtype, whole));
            data = copy;
        }
        dtype_to_f32(tensor->dtype, data, whole, expanded);
    }
    if (whole != count) memcpy(out, values + skip, (size_t)count * sizeof *out);
}

/* One row of the source in the weight's type. */
static void convert_row(const struct weight_plan *plan, const struct weight_source *source,
                        int64_t row, struct scratch *scratch, char *out)
{
    const struct model_tensor *tensor = &source->tensor;
    size_t bytes = dtype_row_bytes(plan->dtype, plan->cols);
    row = source->row + source_row(source, row);
    if (is_stored_as(tensor, plan->dtype)) { /* a slice is whole blocks, or the weight were F32 */
        memcpy(out, at_column(tensor, row, source->col), bytes);
        return;
    }
    float *values = scratch->values;
    row_to_f32(tensor, row, source->col, source->cols, values + source->cols, values);
    if (plan->dtype == DTYPE_F32)
        memcpy(out, values, bytes);
    else
        dtype_from_f32(plan->dtype, values, plan->cols, out);
}

/* Rows that can be handed to the device where they lie in the mapping; else NULL. */
static const void *rows_in_place(const struct weight_plan *plan, const struct weight_source *source,
                                 int64_t row)
{
    const struct model_tensor *tensor = &source->tensor;
    if (!is_stored_as(tensor, plan->dtype) || source->interleaved || source->cols != tensor->cols)
        return NULL;
    const char *data = at_column(tensor, source->row + row, 0);
    return is_aligned(data, tensor->dtype) ? data : NULL;
}

/* Rows [row, row + count) of the weight that lie within one source, or within its padding. */
static void load_rows(struct loader *loader, const struct weight_plan *plan,
                      const struct weight_source *source, int64_t source_start, int64_t row,
                      int64_t count, struct scratch *scratch)
{
    size_t bytes = dtype_row_bytes(plan->dtype, plan->cols);
    const void *data = source ? rows_in_place(plan, source, row - source_start) : NULL;
    if (!data) {
        for (int64_t i = 0; i < count; i++) {
            if (source)
                convert_row(plan, source, row + i - source_start, scratch,
                            scratch->rows + (size_t)i * bytes);
            else
                memset(scratch->rows + (size_t)i * bytes, 0, bytes);
        }
        data = scratch->rows;
    }
    loader->ops->weight_write(loader->device, plan->weight, row, count, data);
    if (source && loader->progress)
        loader->progress(loader->progress_arg,
                         count * model_tensor_bytes(&source->tensor, source->cols));
}

static void load_matrix(struct loader *loader, const struct chunk *chunk, struct scratch *scratch)
{
    const struct weight_plan *plan = chunk->plan;
    int64_t row = chunk->row, end = chunk->row + chunk->rows, start = 0;
    for (int i = 0; i < plan->source_count && row < end; i++) {
        const struct weight_source *source = &plan->sources[i];
        int64_t stop = start + source->rows < end ? start + source->rows : end;
        if (row < stop) {
            load_rows(loader, plan, source, start, row, stop - row, scratch);
            row = stop;
        }
        start += source->rows;
    }
    if (row < end) load_rows(loader, plan, NULL, 0, row, end - row, scratch);
}

/* A vector is one row of float32, put together from all its sources. */
static void load_vector(struct loader *loader, const struct weight_plan *plan,
                        struct scratch *scratch)
{
    float *out = (float *)(void *)scratch->rows;
    int64_t bytes = 0;
    for (int i = 0; i < plan->source_count; i++) {
        const struct weight_source *source = &plan->sources[i];
        float *values = scratch->values;
        row_to_f32(&source->tensor, 0, source->col, source->cols, values + source->cols, values);
        for (int64_t j = 0; j < source->cols; j++) out[j] = values[source_row(source, j)];
        out += source->cols;
        bytes += model_tensor_bytes(&source->tensor, source->cols);
    }
    loader->ops->weight_write(loader->device, plan->weight, 0, 1, scratch->rows);
    if (loader->progress) loader->progress(loader->progress_arg, bytes);
}

static void *load_chunks(void *arg)
{
    struct loader *loader = arg;
    struct scratch scratch = {malloc(loader->scratch_bytes),
                              malloc((3 * loader->row_values + 4 * Q6_K_BLOCK) * sizeof(float))};
    CHECK(scratch.rows && scratch.values);
    for (;;) {
        int64_t i = atomic_fetch_add_explicit(&loader->next, 1, memory_order_relaxed);
        if (i >= loader->chunk_count) break;
        const struct chunk *chunk = &loader->chunks[i];
        if (chunk->plan->kind == WEIGHT_VECTOR)
            load_vector(loader, chunk->plan, &scratch);
        else
            load_matrix(loader, chunk, &scratch);
    }
    free(scratch.rows);
    free(scratch.values);
    return NULL;
}

static int64_t chunk_rows(const struct weight_plan *plan)
{
    int64_t rows = CHUNK_BYTES / (int64_t)dtype_row_bytes(plan->dtype, plan->cols);
    rows = rows / CHUNK_ROWS * CHUNK_ROWS;
    return rows < CHUNK_ROWS ? CHUNK_ROWS : rows;
}

static void cut_chunks(const struct program_parts *parts, struct loader *loader)
{
    int64_t count = 0;
    for (int i = 0; i < parts->plan_count; i++)
        count += parts->plans[i].rows / chunk_rows(&parts->plans[i]) + 1;
    loader->chunks = malloc((size_t)count * sizeof *loader->chunks);
    CHECK(loader->chunks);
    for (int i = 0; i < parts->plan_count; i++) {
        const struct weight_plan *plan = &parts->plans[i];
        int64_t step = chunk_rows(plan);
        for (int64_t row = 0; row < plan->rows; row += step) {
            int64_t rows = plan->rows - row < step ? plan->rows - row : step;
            size_t bytes = (size_t)rows * dtype_row_bytes(plan->dtype, plan->cols);
            loader->chunks[loader->chunk_count++] = (struct chunk){plan, row, rows};
            if (bytes > loader->scratch_bytes) loader->scratch_bytes = bytes;
        }
        if ((size_t)plan->cols > loader->row_values) loader->row_values = (size_t)plan->cols;
    }
}

enum status program_load(struct program *program, const struct model *model,
                         const struct device_ops *ops, struct device *device, int threads,
                         void (*progress)(void *arg, int64_t bytes), void *progress_arg,
                         struct error *error)
{
    struct loader loader = {
        .ops = ops, .device = device, .progress = progress, .progress_arg = progress_arg};
    pthread_t helpers[THREADS_MAX];
    int count = 0;
    cut_chunks((const struct program_parts *)program, &loader);
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    if (threads > loader.chunk_count) threads = (int)loader.chunk_count;
    while (count < threads - 1 && pthread_create(&helpers[count], NULL, load_chunks, &loader) == 0)
        count++; /* fewer threads than asked for are slower, not wrong */
    load_chunks(&loader);
    for (int i = 0; i < count; i++) pthread_join(helpers[i], NULL);
    free(loader.chunks);
    model_drop_pages(model);
    return STATUS_OK;
}
