/*
 * linear.c - the ops that multiply by a packed matrix: linear layers, the LM head, embeddings.
 *
 * Owns the packed activations and the counters that hand out panels. A call packs its rows of X
 * into tiles, then takes panels: outermost, so that each weight is read from memory once, with all
 * tiles of X inside. Each thread takes panels from its own contiguous range of outputs and then
 * helps the others; who computes a panel changes nothing in it. Never allocates after prepare.
 *
 * Thread: the worker thread that owns the device, and the pool's threads inside a job.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/linear.h"
#include "runtime/base/check.h"

enum {
    LINE = 128,           /* apart so far, threads do not disturb each other */
    USED_PER_FETCH = 128, /* bytes of a panel that a kernel uses per line it fetches ahead */
    /* Up to so many values of X every thread packs all of it for itself rather than wait for the
     * others at a barrier and then fetch it from their caches. */
    PRIVATE_VALUES_MAX = 8192,
    /* A panel longer than this is taken in pieces along K, so that it stays in the second-level
     * cache while the tiles pass. */
    PIECE_BYTES_MAX = 448 * 1024,
    /* Rows of X that pass a panel at a time: what a thread takes, so that the last one to finish is
     * not waited for long. */
    UNIT_ROWS = 128,
};

struct panel_counter { /* a line of its own: every panel taken writes it */
    _Alignas(LINE) _Atomic int64_t taken;
};

struct cpu_linear {
    int threads;
    uint8_t *packed;         /* all rows, shared */
    uint8_t *private_packed; /* [threads][private_bytes] */
    size_t packed_bytes, private_bytes;
    struct panel_counter *counters; /* [threads] */
};

struct gemm {
    struct device *device;
    const struct weight *weight;
    const float *x, *bias;
    const struct batch_logits *logits; /* rows of x to take; NULL: all */
    size_t x_stride;
    float *y;
    size_t y_stride;
    int rows, tile_count, piece_count, unit_count; /* a panel is taken in units of its tiles */
    bool is_private;
    float scale, softcap; /* of the result; 1 and 0: none */
};

/* How many rows at most are packed by every thread: those of one tile, which one thread would pack
 * while the others wait, always. */
static int64_t private_rows_max(const struct weight *weight)
{
    int64_t rows = PRIVATE_VALUES_MAX / weight->cols;
    return rows > weight->format->rows_max ? rows : weight->format->rows_max;
}

/* Bytes of packed rows for the largest matrices of the program: shared, and per thread. */
static void workspace_sizes(const struct device_shape *shape, size_t *packed,
                            size_t *private_packed)
{
    *packed = *private_packed = 0;
    for (int i = 0; i < shape->program->op_count; i++) {
        const struct op *op = &shape->program->ops[i];
        if (op->kind != OP_LINEAR && op->kind != OP_LOGITS) continue;
        const struct weight *weight = op->kind == OP_LINEAR ? op->linear.weight : op->logits.weight;
        int64_t rows = op->kind == OP_LINEAR ? shape->limits.tokens_max : shape->limits.logits_max;
        size_t all = cpu_weight_packed_bytes(weight, rows);
        size_t own = cpu_weight_packed_bytes(weight, private_rows_max(weight));
        if (all > *packed) *packed = all;
        if (own > *private_packed) *private_packed = own;
    }
    *private_packed = (*private_packed + LINE - 1) / LINE * LINE;
}

size_t cpu_linear_workspace(const struct device_shape *shape, int threads)
{
    size_t packed, private_packed;
    workspace_sizes(shape, &packed, &private_packed);
    return packed + (private_packed + sizeof(struct panel_counter)) * (size_t)threads;
}

enum status cpu_linear_prepare(struct device *device, struct error *error)
{
    struct cpu_linear *linear = calloc(1, sizeof(*linear));
    CHECK(linear);
    size_t threads = (size_t)cpu_pool_threads(device->pool);
    device->linear = linear;
    linear->threads = (int)threads;
    workspace_sizes(&device->shape, &linear->packed_bytes, &linear->private_bytes);
    linear->packed = cpu_alloc(linear->packed_bytes);
    linear->private_packed = cpu_alloc(linear->private_bytes * threads);
    linear->counters = aligned_alloc(LINE, sizeof(*linear->counters) * threads);
    if (linear->packed && linear->private_packed && linear->counters) return STATUS_OK;
    return error_set(error, STATUS_NO_MEMORY, NULL, "no memory for packed activations, %zu MiB",
                     linear->packed_bytes >> 20);
}

void cpu_linear_close(struct device *device)
{
    struct cpu_linear *linear = device->linear;
    if (!linear) return;
    cpu_free(linear->packed, linear->packed_bytes);
    cpu_free(linear->private_packed, linear->private_bytes * (size_t)linear->threads);
    free(linear->counters);
    free(linear);
    device->linear = NULL;
}

static int tile_start(const struct gemm *g, int tile)
{
    return (int)((int64_t)g->rows * tile / g->tile_count);
}

static void pack_tiles(const struct gemm *g, int first, int end, uint8_t *packed)
{
    const struct linear_format *format = g->weight->format;
    for (int tile = first; tile < end; tile++) {
        int start = tile_start(g, tile), rows = tile_start(g, tile + 1) - start;
        uint8_t *out = packed + cpu_weight_packed_bytes(g->weight, start);
        for (int r = 0; r < rows; r++) {
            size_t from = (size_t)(g->logits ? g->logits[start + r].token : start + r);
            format->pack(g->x + from * g->x_stride, g->weight->cols, r, rows, out);
        }
    }
}

typedef float vec4 __attribute__((vector_size(16)));
typedef int32_t int4 __attribute__((vector_size(16)));

static vec4 clamp4(vec4 x, float limit)
{
    vec4 high = limit - (vec4){0};
    int4 above = x > high, below = x < -high;
    return (vec4)(((int4)x & ~above & ~below) | ((int4)high & above) | ((int4)-high & below));
}

/* cap * tanh(x / cap) by tanh(z) = 1 - 2 / (e^2z + 1) and e^2z = 2^n e^f; good to 2e-6 of the cap.
 */
static vec4 softcap4(vec4 x, float cap)
{
    const float rounder = 0x1.8p23f; /* added, leaves an integer in the low bits */
    vec4 z = clamp4(x * (2 / cap * 1.44269504f), 30);
    vec4 shifted = z + rounder, f = (z - (shifted - rounder)) * 0.693147181f;
    vec4 p = 1 + f * (0.5f + f * (1 / 6.0f + f * (1 / 24.0f + f * (1 / 120.0f))));
    vec4 e = (vec4)((int4)(1 + f * p) + ((int4)shifted - (int4)(rounder - (vec4){0})) * (1 << 23));
    return cap - 2 * cap / (e + 1);
}

/* Scale and softcap of a panel's outputs for some rows, where they are still in the first-level
 * cache. */
static void finish_tiles(const struct gemm *g, int64_t panel, int cols, int first_row, int end_row)
{
    for (int r = first_row; r < end_row; r++) {
        float *y = g->y + (size_t)r * g->y_stride + panel * PANEL_WIDTH;
        for (int i = 0; i < cols; i += 4) {
            vec4 v = {0};
            size_t bytes = (size_t)(cols - i < 4 ? cols - i : 4) * sizeof(float);
            memcpy(&v, y + i, bytes);
            v *= g->scale;
            if (g->softcap != 0) v = softcap4(v, g->softcap);
            memcpy(y + i, &v, bytes);
        }
    }
}

/* Tiles [first, end) times one panel. */
static void run_tiles(const struct gemm *g, int64_t panel, int first, int end,
                      const uint8_t *packed)
{
    const struct weight *w = g->weight;
    const struct linear_format *format = w->format;
    int64_t left = w->rows - panel * PANEL_WIDTH;
    struct linear_tile t = {.y_stride = g->y_stride,
                            .cols = left < PANEL_WIDTH ? (int)left : PANEL_WIDTH};
    if (g->tile_count > 1)
        t.ahead_step = (size_t)(USED_PER_FETCH - 1 + g->tile_count) / (size_t)g->tile_count;
    for (int piece = 0; piece < g->piece_count; piece++) {
        int64_t start = w->steps * piece / g->piece_count;
        t.steps = w->steps * (piece + 1) / g->piece_count - start;
        size_t bytes = w->step_bytes * (size_t)t.steps, x_step_bytes = (size_t)format->x_words * 4;
        t.w = w->data + w->panel_bytes * (size_t)panel + w->step_bytes * (size_t)start;
        t.resume = piece > 0;
        t.bias = g->bias && piece == g->piece_count - 1 ? g->bias + panel * PANEL_WIDTH : NULL;
        for (int tile = first; tile < end; tile++) {
            int row = tile_start(g, tile);
            t.rows = tile_start(g, tile + 1) - row;
            t.x = packed +
                  ((size_t)row * (size_t)w->steps + (size_t)start * (size_t)t.rows) * x_step_bytes;
            t.y = g->y + (size_t)row * g->y_stride + panel * PANEL_WIDTH;
            t.ahead = (const char *)t.w + bytes + bytes * (size_t)tile / (size_t)g->tile_count;
            format->tiles[t.rows - 1](&t);
        }
    }
    if (g->softcap != 0 || g->scale != 1)
        finish_tiles(g, panel, t.cols, tile_start(g, first), tile_start(g, end));
}

static const uint8_t *pack_rows(const struct gemm *g, int thread)
{
    struct cpu_linear *linear = g->device->linear;
    if (g->is_private) {
        uint8_t *own = linear->private_packed + linear->private_bytes * (size_t)thread;
        pack_tiles(g, 0, g->tile_count, own);
        return own;
    }
    int first = (int)((int64_t)g->tile_count * thread / linear->threads);
    int end = (int)((int64_t)g->tile_count * (thread + 1) / linear->threads);
    pack_tiles(g, first, end, linear->packed);
    cpu_pool_barrier(g->device->pool);
    return linear->packed;
}

static void gemm_job(void *arg, int thread)
{
    const struct gemm *g = arg;
    struct cpu_linear *linear = g->device->linear;
    const uint8_t *packed = pack_rows(g, thread);
    int64_t threads = linear->threads, units = g->unit_count,
            count = g->weight->panel_count * units;
    for (int64_t i = 0; i < threads; i++) {
        int64_t owner = (thread + i) % threads, at;
        int64_t start = count * owner / threads, end = count * (owner + 1) / threads;
        _Atomic int64_t *taken = &linear->counters[owner].taken;
        while ((at = start + atomic_fetch_add_explicit(taken, 1, memory_order_relaxed)) < end) {
            int64_t unit = at % units, tiles = g->tile_count;
            run_tiles(g, at / units, (int)(tiles * unit / units), (int)(tiles * (unit + 1) / units),
                      packed);
        }
    }
}

static void gemm_run(struct gemm *g)
{
    struct cpu_linear *linear = g->device->linear;
    const struct weight *w = g->weight;
    if (!g->rows) return;
    g->tile_count = (g->rows + w->format->rows_max - 1) / w->format->rows_max;
    g->piece_count = 1;
    if (g->tile_count > 1)
        g->piece_count = (int)((w->panel_bytes + PIECE_BYTES_MAX - 1) / PIECE_BYTES_MAX);
    g->unit_count = (g->rows + UNIT_ROWS - 1) / UNIT_ROWS;
    g->is_private = g->rows <= private_rows_max(w);
    for (int i = 0; i < linear->threads; i++)
        atomic_store_explicit(&linear->counters[i].taken, 0, memory_order_relaxed);
    cpu_pool_run(g->device->pool, gemm_job, g);
}

static size_t stride_of(const struct device *device, int buffer)
{
    return (size_t)device->shape.program->buffers[buffer].cols;
}

void cpu_op_linear(struct device *device, const struct op *op)
{
    struct gemm g = {
        .device = device,
        .weight = op->linear.weight,
        .x = device->buffers[op->in],
        .x_stride = stride_of(device, op->in),
        .bias = op->linear.bias ? cpu_weight_vector(op->linear.bias) : NULL,
        .y = device->buffers[op->out],
        .y_stride = stride_of(device, op->out),
        .rows = device->batch->token_count,
        .scale = 1,
    };
    gemm_run(&g);
}

void cpu_op_logits(struct device *device, const struct op *op)
{
    struct gemm g = {
        .device = device,
        .weight = op->logits.weight,
        .x = device->buffers[op->in],
        .x_stride = stride_of(device, op->in),
        .logits = device->batch->logits,
        .y = device->buffers[op->out],
        .y_stride = stride_of(device, op->out),
        .rows = device->batch->logits_count,
        .scale = op->logits.scale,
        .softcap = op->logits.softcap,
    };
    gemm_run(&g);
}

struct embed {
    struct device *device;
    const struct op *op;
};

static void embed_rows(const struct embed *e, int first, int end)
{
    const struct weight *table = e->op->embed.table;
    size_t stride = stride_of(e->device, e->op->out);
    for (int i = first; i < end; i++) {
        int64_t row = (int64_t)e->device->tokens[i] - e->op->embed.vocab_start;
        float *out = e->device->buffers[e->op->out] + (size_t)i * stride;
        if (row < 0 || row >= table->rows)
            memset(out, 0, (size_t)table->cols * sizeof(float));
        else
            cpu_weight_row(table, row, e->op->embed.scale, out);
    }
}

static void embed_job(void *arg, int thread)
{
    const struct embed *e = arg;
    int64_t count = e->device->batch->token_count, threads = cpu_pool_threads(e->device->pool);
    embed_rows(e, (int)(count * thread / threads), (int)(count * (thread + 1) / threads));
}

void cpu_op_embed(struct device *device, const struct op *op)
{
    struct embed e = {.device = device, .op = op};
    if (device->batch->token_count < 2)
        embed_rows(&e, 0, device->batch->token_count);
    else
        cpu_pool_run(device->pool, embed_job, &e);
}
