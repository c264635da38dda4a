/*
 * attention.c - OP_ATTENTION: which rows meet which tiles on which thread. Owns the KV pages, the
 * scratch of each thread and the storage of splits, all sized in prepare; attention_ISA.c have the
 * arithmetic. Never does any that could depend on the plan.
 *
 * An op is planned into items - (KV head, some queries of a row, a range of tiles) - which threads
 * take from one counter, heads outermost, so that K and V of a head are used while they are in the
 * caches. An item that would take much longer than a thread's share is split along KV: its first
 * part folds its tiles into a state and stores that, the others store their tiles as they are, and
 * whoever finishes last takes the tiles in, in order. Where the storage is full there are fewer
 * splits; results are the same.
 */
#include "kernels/cpu/attention.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

enum {
    DECODE_ITEMS = 16, /* wanted per thread, so that the tail balances */
    PREFILL_ITEMS = 4,
    TILE_COST = 12, /* of reading a tile of KV, in rows of computing with it */
    ITEMS_EXTRA = 1024,
};

static const size_t PARTS_MIN = (size_t)1 << 18, PARTS_MAX = (size_t)1 << 24; /* floats */

struct attention_split {
    _Alignas(64) _Atomic int left; /* parts not done yet */
    int first, tiles;              /* tiles [first, first + tiles) are stored after the state */
    float *storage;
};

struct attention_item {
    int row, head;
    int q0, q1;       /* queries of the row */
    int tile0, tile1; /* tiles of KV */
    struct attention_split *split;
};

struct attention_job {
    struct device *device;
    const struct op *op;
    struct attention_pages pages;
    const float *in;
    float *out;
    int group, width, in_stride, out_stride, item_count;
    float scale;
};

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int ceil_div(int64_t a, int64_t b)
{
    return (int)((a + b - 1) / b);
}

/* ---- prepare ---- */

static size_t layer_page_bytes(const struct device_shape *shape, int layer)
{
    const struct kv_layer_shape *kv = &shape->program->kv_layers[layer];
    size_t word = shape->kv_dtype == DTYPE_F32 ? 4 : 2;
    return 2 * word * (size_t)shape->page_tokens * (size_t)kv->kv_heads *
           (size_t)attention_width(kv->head_dim);
}

size_t cpu_attention_page_bytes(const struct device *device, const struct device_shape *shape)
{
    size_t bytes = 0;
    for (int i = 0; i < shape->program->kv_layer_count; i++) bytes += layer_page_bytes(shape, i);
    return bytes;
}

struct attention_sizes {
    int items, runs;
    size_t parts; /* floats */
};

static struct attention_sizes sizes_of(const struct device_shape *shape, int threads)
{
    const struct batch_limits *limits = &shape->limits;
    struct attention_sizes sizes = {0};
    size_t wanted = 0;
    int tiles = shape->max_model_len / ATTENTION_TILE + 2;
    for (int i = 0; i < shape->program->op_count; i++) {
        const struct op *op = &shape->program->ops[i];
        if (op->kind != OP_ATTENTION) continue;
        int group = op->attention.heads / op->attention.kv_heads;
        int step = ATTENTION_ITEM_ROWS / group;
        size_t part = (size_t)attention_part_head(group) +
                      (size_t)group * (size_t)attention_width(op->attention.head_dim);
        int jobs = (limits->tokens_max / step + limits->rows_max) * op->attention.kv_heads;
        sizes.items = max_int(sizes.items, jobs);
        /* no more decode items than there are to be are ever split */
        size_t rows =
            (size_t)min_int(DECODE_ITEMS * threads, limits->rows_max * op->attention.kv_heads);
        size_t floats = rows * (size_t)tiles * part;
        wanted = floats > wanted ? floats : wanted;
    }
    sizes.items += 2 * DECODE_ITEMS * threads + ITEMS_EXTRA;
    sizes.runs = limits->tokens_max / ATTENTION_BLOCK + 2 * limits->rows_max;
    sizes.parts = wanted < PARTS_MIN ? PARTS_MIN : wanted > PARTS_MAX ? PARTS_MAX : wanted;
    return sizes;
}

size_t cpu_attention_workspace(const struct device *device, const struct device_shape *shape)
{
    int threads = cpu_pool_threads(device->pool);
    struct attention_sizes sizes = sizes_of(shape, threads);
    return (size_t)threads * sizeof(struct attention_scratch) + sizes.parts * sizeof(float) +
           (size_t)sizes.items * (sizeof(struct attention_item) + sizeof(struct attention_split)) +
           (size_t)sizes.runs * sizeof(struct attention_run);
}

const struct attention_kernels *cpu_attention_kernels(enum cpu_isa isa, bool f32)
{
    switch (isa) {
#ifdef __x86_64__
    case CPU_AVX2: return f32 ? &attention_f32_avx2 : &attention_bf16_avx2;
    case CPU_AVX512: return f32 ? &attention_f32_avx512 : &attention_bf16_avx512;
    case CPU_AVX512_BF16: return f32 ? &attention_f32_avx512 : &attention_bf16_avx512bf16;
#endif
#ifdef __aarch64__
    case CPU_NEON: return f32 ? &attention_f32_neon : &attention_bf16_neon;
#endif
    default: return f32 ? &attention_f32_scalar : &attention_bf16_scalar;
    }
}

enum status cpu_attention_supports(const struct op *op, struct error *error)
{
    int heads, kv_heads, head_dim;
    if (op->kind == OP_ATTENTION) {
        heads = op->attention.heads, kv_heads = op->attention.kv_heads;
        head_dim = op->attention.head_dim;
    } else {
        heads = op->rope_kv.heads, kv_heads = op->rope_kv.kv_heads;
        head_dim = op->rope_kv.head_dim;
        if (op->rope_kv.rotary_dim % 2 || op->rope_kv.rotary_dim > head_dim)
            return error_set(error, STATUS_UNSUPPORTED, op->name,
                             "a rotary size of %d does not fit heads of %d", op->rope_kv.rotary_dim,
                             head_dim);
    }
    if (head_dim < 1 || head_dim > ATTENTION_HEAD_MAX)
        return error_set(error, STATUS_UNSUPPORTED, op->name,
                         "heads of %d are not supported on the CPU; up to %d are", head_dim,
                         ATTENTION_HEAD_MAX);
    if (kv_heads < 1 || heads % kv_heads || heads / kv_heads > ATTENTION_ITEM_ROWS)
        return error_set(error, STATUS_UNSUPPORTED, op->name,
                         "%d heads on %d KV heads are not supported on the CPU: a multiple, up to "
                         "%d to one, is",
                         heads, kv_heads, ATTENTION_ITEM_ROWS);
    return STATUS_OK;
}

enum status cpu_attention_prepare(struct device *device, struct error *error)
{
    const struct device_shape *shape = &device->shape;
    int layers = shape->program->kv_layer_count, threads = cpu_pool_threads(device->pool);
    bool f32 = shape->kv_dtype == DTYPE_F32;
    if (!f32 && shape->kv_dtype != DTYPE_BF16)
        return error_set(error, STATUS_UNSUPPORTED, "kv_dtype",
                         "a KV cache of %s is not supported on the CPU; bf16 and f32 are",
                         dtype_name(shape->kv_dtype));
    if (shape->page_tokens < ATTENTION_BLOCK || shape->page_tokens % ATTENTION_BLOCK)
        return error_set(error, STATUS_INVALID, "page_tokens",
                         "pages of %d tokens: a multiple of %d is needed", shape->page_tokens,
                         ATTENTION_BLOCK);
    struct attention_sizes sizes = sizes_of(shape, threads);
    struct cpu_attention *attention = cpu_alloc(sizeof(*attention));
    if (!attention) goto no_memory;
    device->attention = attention;
    attention->kernels = cpu_attention_kernels(device->isa, f32);
    attention->items_max = sizes.items, attention->runs_max = sizes.runs;
    attention->part_floats = sizes.parts;
    attention->target = DECODE_ITEMS * threads;
    attention->layer_count = layers, attention->threads = threads;
    attention->layers = calloc((size_t)layers + 1, sizeof(*attention->layers));
    attention->layer_bytes = calloc((size_t)layers + 1, sizeof(*attention->layer_bytes));
    CHECK(attention->layers && attention->layer_bytes);
    attention->scratch = cpu_alloc((size_t)threads * sizeof(*attention->scratch));
    attention->items = cpu_alloc((size_t)sizes.items * sizeof(*attention->items));
    attention->splits = cpu_alloc((size_t)sizes.items * sizeof(*attention->splits));
    attention->runs = cpu_alloc((size_t)sizes.runs * sizeof(*attention->runs));
    attention->parts = cpu_alloc(sizes.parts * sizeof(float));
    if (!attention->scratch || !attention->items || !attention->splits || !attention->runs ||
        !attention->parts)
        goto no_memory;
    for (int i = 0; i < layers; i++) {
        attention->layer_bytes[i] = layer_page_bytes(shape, i) * (size_t)shape->page_count;
        attention->layers[i] = cpu_alloc(attention->layer_bytes[i]);
        if (!attention->layers[i]) goto no_memory;
    }
    return STATUS_OK;
no_memory:
    cpu_attention_close(device);
    return error_set(error, STATUS_NO_MEMORY, NULL,
                     "no memory for a KV cache of %lld pages of %d tokens",
                     (long long)shape->page_count, shape->page_tokens);
}

void cpu_attention_close(struct device *device)
{
    struct cpu_attention *attention = device->attention;
    if (!attention) return;
    for (int i = 0; i < attention->layer_count; i++)
        cpu_free(attention->layers[i], attention->layer_bytes[i]);
    cpu_free(attention->parts, attention->part_floats * sizeof(float));
    cpu_free(attention->runs, (size_t)attention->runs_max * sizeof(*attention->runs));
    cpu_free(attention->splits, (size_t)attention->items_max * sizeof(*attention->splits));
    cpu_free(attention->items, (size_t)attention->items_max * sizeof(*attention->items));
    cpu_free(attention->scratch, (size_t)attention->threads * sizeof(*attention->scratch));
    free(attention->layer_bytes);
    free(attention->layers);
    cpu_free(attention, sizeof(*attention));
    device->attention = NULL;
}

struct attention_pages attention_pages_of(const struct device *device, int kv_layer)
{
    const struct device_shape *shape = &device->shape;
    const struct kv_layer_shape *kv = &shape->program->kv_layers[kv_layer];
    struct attention_pages pages = {.base = device->attention->layers[kv_layer]};
    pages.page_tokens = shape->page_tokens;
    pages.width = attention_width(kv->head_dim);
    pages.f32 = shape->kv_dtype == DTYPE_F32;
    pages.block_bytes = (size_t)ATTENTION_BLOCK * (size_t)pages.width * (pages.f32 ? 4 : 2);
    pages.v_offset = pages.block_bytes * (size_t)(shape->page_tokens / ATTENTION_BLOCK);
    pages.piece_bytes = 2 * pages.v_offset;
    pages.page_bytes = pages.piece_bytes * (size_t)kv->kv_heads;
    return pages;
}

/* ---- plan ---- */

/* Queries [q0, q1) of a row: its rows, the tiles they see, and what they cost. */
struct chunk {
    int row, q0, q1, rows, from, to;
    int64_t cost; /* of a tile */
};

static struct chunk chunk_of(const struct attention_job *job, int row, int q0, int q1)
{
    const struct batch_row *r = &job->device->batch->rows[row];
    int first = r->kv_len - r->q_len + q0, window = job->op->attention.window;
    struct chunk chunk = {.row = row, .q0 = q0, .q1 = q1, .rows = (q1 - q0) * job->group};
    chunk.from = window && first >= window ? (first - window + 1) / ATTENTION_TILE : 0;
    chunk.to = (r->kv_len - r->q_len + q1 - 1) / ATTENTION_TILE + 1;
    chunk.cost = TILE_COST + chunk.rows;
    return chunk;
}

struct plan_state {
    int64_t cost;  /* of all chunks of one head */
    int jobs_left; /* chunks without items yet */
    size_t floats_used;
    int split_count;
};

/* Tiles of a part, so that an item costs no more than a thread's share of a share; whole items
 * where they are few enough. */
static int tiles_each(const struct attention_job *job, const struct chunk *chunk, int64_t cost)
{
    int items = job->device->attention->target;
    if (chunk->rows > ATTENTION_TILE_ROWS && items > PREFILL_ITEMS)
        items = max_int(items * PREFILL_ITEMS / DECODE_ITEMS, 1);
    return max_int(1, ceil_div(ceil_div(cost, items), chunk->cost));
}

static void plan_chunk(struct attention_job *job, struct plan_state *plan, int head,
                       const struct chunk *chunk)
{
    struct cpu_attention *attention = job->device->attention;
    struct attention_split *split = NULL;
    int tiles = chunk->to - chunk->from;
    int each = tiles_each(job, chunk, plan->cost * job->op->attention.kv_heads), first = tiles;
    size_t part =
        (size_t)attention_part_head(chunk->rows) + (size_t)chunk->rows * (size_t)job->width;
    plan->jobs_left--;
    if (each < tiles) { /* as many stored tiles as there is room for */
        size_t room = (attention->part_floats - plan->floats_used) / part;
        int stored = min_int(tiles - each, room > 1 ? (int)min_int((int)room - 1, tiles) : 0);
        int items = attention->items_max - job->item_count - plan->jobs_left - 1;
        if (stored > 0 && ceil_div(stored, each) <= items) first = tiles - stored;
    }
    if (first < tiles) {
        split = &attention->splits[plan->split_count++];
        split->left = 1 + ceil_div(tiles - first, each);
        split->first = chunk->from + first, split->tiles = tiles - first;
        split->storage = attention->parts + plan->floats_used;
        plan->floats_used += part * (size_t)(split->tiles + 1);
    }
    for (int t = chunk->from, next; t < chunk->to; t = next) {
        next = t == chunk->from ? t + first : min_int(t + each, chunk->to);
        CHECK(job->item_count < attention->items_max);
        attention->items[job->item_count++] = (struct attention_item){.row = chunk->row,
                                                                      .head = head,
                                                                      .q0 = chunk->q0,
                                                                      .q1 = chunk->q1,
                                                                      .tile0 = t,
                                                                      .tile1 = next,
                                                                      .split = split};
    }
}

/* Each head from a row's longest chunk to its shortest: the tail balances. */
static void plan(struct attention_job *job)
{
    const struct batch *batch = job->device->batch;
    int step = ATTENTION_ITEM_ROWS / job->group, kv_heads = job->op->attention.kv_heads;
    struct plan_state state = {0};
    for (int pass = -1; pass < kv_heads; pass++) { /* -1: count only */
        for (int r = 0; r < batch->row_count; r++) {
            int q_len = batch->rows[r].q_len;
            for (int q0 = (q_len - 1) / step * step; q0 >= 0 && q_len > 0; q0 -= step) {
                struct chunk chunk = chunk_of(job, r, q0, min_int(q0 + step, q_len));
                if (pass >= 0) {
                    plan_chunk(job, &state, pass, &chunk);
                } else {
                    state.cost += chunk.cost * (chunk.to - chunk.from);
                    state.jobs_left += kv_heads;
                }
            }
        }
    }
}

/* ---- run ---- */

/* The blocks of K and of V of one tile. Past the end the last block stands in: it is never seen,
 * but has to be readable. */
static void list_blocks(const struct attention_job *job, const struct batch_row *row, int head,
                        int tile, const char **out)
{
    const struct attention_pages *pages = &job->pages;
    const int32_t *table = job->device->batch->pages + row->page_start;
    int last = (row->kv_len - 1) / ATTENTION_BLOCK, block = tile * ATTENTION_BLOCKS;
    int per_page = pages->page_tokens / ATTENTION_BLOCK;
    int page = block / per_page, at = block % per_page;
    const char *k = NULL;
    for (int b = 0; b < ATTENTION_BLOCKS; b++, block++) {
        if (block <= last)
            k = pages->base + (size_t)table[page] * pages->page_bytes +
                (size_t)head * pages->piece_bytes + (size_t)at * pages->block_bytes;
        else if (!k)
            k = attention_block(pages, table, head, last);
        out[b] = k, out[ATTENTION_BLOCKS + b] = k + pages->v_offset;
        if (++at == per_page) at = 0, page++;
    }
}

static void store_state(const struct attention_scratch *scratch, float *to, int rows, int width)
{
    size_t bytes = (size_t)rows * sizeof(float);
    memcpy(to, scratch->max, bytes);
    memcpy(to + rows, scratch->sum, bytes);
    memcpy(to + attention_part_head(rows), scratch->o, bytes * (size_t)width);
}

static void load_state(struct attention_scratch *scratch, const float *from, int rows, int width)
{
    size_t bytes = (size_t)rows * sizeof(float);
    memcpy(scratch->max, from, bytes);
    memcpy(scratch->sum, from + rows, bytes);
    memcpy(scratch->o, from + attention_part_head(rows), bytes * (size_t)width);
}

/* Whether this was the split's last part, whose state is then complete in the scratch. */
static bool finish_split(const struct attention_job *job, struct attention_split *split, bool first,
                         struct attention_scratch *scratch, int rows, size_t part)
{
    if (first) store_state(scratch, split->storage, rows, job->width);
    if (atomic_fetch_sub(&split->left, 1) > 1) return false;
    load_state(scratch, split->storage, rows, job->width);
    for (int t = 1; t <= split->tiles; t++)
        job->device->attention->kernels->take_part(scratch, split->storage + (size_t)t * part, rows,
                                                   job->width);
    return true;
}

static void run_item(const struct attention_job *job, const struct attention_item *item,
                     struct attention_scratch *scratch)
{
    const struct attention_kernels *kernels = job->device->attention->kernels;
    const struct batch_row *row = &job->device->batch->rows[item->row];
    const char *blocks[ATTENTION_LIST];
    struct attention_split *split = item->split;
    int group = job->group, rows = (item->q1 - item->q0) * group, width = job->width;
    int head_dim = job->op->attention.head_dim;
    size_t token = (size_t)(row->q_start + item->q0);
    const float *q = job->in + token * (size_t)job->in_stride + item->head * group * head_dim;
    float *out = job->out + token * (size_t)job->out_stride + item->head * group * head_dim;
    size_t part = (size_t)attention_part_head(rows) + (size_t)rows * (size_t)width;
    bool first = split && item->tile0 < split->first;
    struct attention_tile tile = {.blocks = blocks,
                                  .rows = rows,
                                  .group = group,
                                  .width = width,
                                  .position = row->kv_len - row->q_len + item->q0,
                                  .window = job->op->attention.window,
                                  .softcap = job->op->attention.softcap};
    for (int r = 0; r < rows; r++)
        kernels->begin_row(scratch, r,
                           q + (size_t)(r / group) * (size_t)job->in_stride + r % group * head_dim,
                           head_dim, width, job->scale);
    list_blocks(job, row, item->head, item->tile0, blocks + 2 * ATTENTION_BLOCKS);
    for (int t = item->tile0; t < item->tile1; t++) {
        memcpy(blocks, blocks + 2 * ATTENTION_BLOCKS, sizeof(blocks) / 2);
        list_blocks(job, row, item->head, t + 1, blocks + 2 * ATTENTION_BLOCKS);
        tile.start = t * ATTENTION_TILE;
        if (split && !first) tile.part = split->storage + (size_t)(t - split->first + 1) * part;
        kernels->tile(scratch, &tile);
    }
    if (split && !finish_split(job, split, first, scratch, rows, part)) return;
    for (int r = 0; r < rows; r++)
        kernels->end_row(scratch, r,
                         out + (size_t)(r / group) * (size_t)job->out_stride + r % group * head_dim,
                         head_dim, width);
}

static void attention_job(void *arg, int thread)
{
    const struct attention_job *job = arg;
    struct cpu_attention *attention = job->device->attention;
    for (;;) {
        int i = atomic_fetch_add_explicit(&attention->next, 1, memory_order_relaxed);
        if (i >= job->item_count) return;
        run_item(job, &attention->items[i], &attention->scratch[thread]);
    }
}

void cpu_op_attention(struct device *device, const struct op *op)
{
    int heads = op->attention.heads, kv_heads = op->attention.kv_heads;
    float softcap = op->attention.softcap;
    struct attention_job job = {
        .device = device,
        .op = op,
        .pages = attention_pages_of(device, op->attention.kv_layer),
        .in = device->buffers[op->in],
        .out = device->buffers[op->out],
        .group = heads / kv_heads,
        .width = attention_width(op->attention.head_dim),
        .in_stride = (heads + 2 * kv_heads) * op->attention.head_dim,
        .out_stride = heads * op->attention.head_dim,
        /* scores in units of log2; twice over the cap where tanh is to be taken of them */
        .scale = (softcap != 0 ? 2 / softcap : 1) * 1.44269504f * op->attention.scale};
    plan(&job);
    atomic_store_explicit(&device->attention->next, 0, memory_order_relaxed);
    cpu_pool_run(device->pool, attention_job, &job);
}
