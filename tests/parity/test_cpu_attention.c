/* test_cpu_attention.c - rotation, KV pages and paged attention on every instruction set of this
 * machine against float64; each row the same bit for bit alone, in any batch, chunked, split along
 * KV and on any number of threads; caches full of NaN where nothing was written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/vector.h"
#include "runtime/batch.h"

enum { SEQUENCES = 5, LONGEST = 608, KV_HEADS = 2, TOKENS_MAX = 1400, SPARE_PAGES = 3 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(PENSTOCK_DEBUG)
enum { SHAPE_STEP = 6 }; /* slow builds see a part of the shapes with each instruction set */
#else
enum { SHAPE_STEP = 1 };
#endif

static const int lengths[SEQUENCES] = {1, 37, 130, 290, 600};

struct shape {
    int head_dim, group, page_tokens, window;
    float softcap, sharp;
    enum dtype dtype;
};

/* A device with one layer: buffer 0 qkv, 1 the output, 2 the rotation table. */
struct rig {
    struct shape shape;
    struct device *device;
    struct program program;
    struct kv_layer_shape layer;
    struct op ops[2];
    struct batch_limits limits;
    struct batch *batch;
    int32_t tables[SEQUENCES][LONGEST / 16 + 1];
};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    return s ^= s << 13, s ^= s >> 7, s ^= s << 17;
}

static int random_below(int n)
{
    return (int)(random_bits() % (unsigned)n);
}

static float random_value(void) /* about normal */
{
    float s = -6;
    for (int i = 0; i < 12; i++) s += (float)(random_bits() >> 40) / (1 << 24);
    return s;
}

static int stride_of(const struct shape *shape)
{
    return (KV_HEADS * shape->group + 2 * KV_HEADS) * shape->head_dim;
}

/* A quiet NaN whether it is read as bf16 or as float32. */
static void poison(struct cpu_attention *attention)
{
    uint16_t *to = (uint16_t *)(void *)attention->layers[0];
    for (size_t i = 0; i < attention->layer_bytes[0] / 2; i++) to[i] = 0x7fc0;
}

static void rig_open(struct rig *rig, const struct shape *shape, const char *isa, int threads)
{
    int d = shape->head_dim, heads = KV_HEADS * shape->group, pages = 0;
    *rig = (struct rig){.shape = *shape, .layer = {KV_HEADS, d}};
    rig->limits = (struct batch_limits){8, TOKENS_MAX, 400, 8, 8, 8, 8};
    rig->ops[0] = (struct op){.kind = OP_ROPE_KV, .name = "rope", .in = 0, .out = 0};
    rig->ops[0].rope_kv.heads = heads, rig->ops[0].rope_kv.kv_heads = KV_HEADS;
    rig->ops[0].rope_kv.head_dim = d, rig->ops[0].rope_kv.table = 2;
    rig->ops[1] = (struct op){.kind = OP_ATTENTION, .name = "attention", .in = 0, .out = 1};
    rig->ops[1].attention.heads = heads, rig->ops[1].attention.kv_heads = KV_HEADS;
    rig->ops[1].attention.head_dim = d, rig->ops[1].attention.window = shape->window;
    rig->ops[1].attention.softcap = shape->softcap;
    rig->ops[1].attention.scale = 1 / sqrtf((float)d);
    rig->program = (struct program){.ops = rig->ops, .op_count = 2, .vocab = 32};
    rig->program.kv_layers = &rig->layer, rig->program.kv_layer_count = 1;
    rig->program.buffers[0] = (struct program_buffer){"qkv", BUFFER_PER_TOKEN, stride_of(shape)};
    rig->program.buffers[1] = (struct program_buffer){"out", BUFFER_PER_TOKEN, heads * d};
    rig->program.buffers[2] = (struct program_buffer){"table", BUFFER_PER_TOKEN, 256};
    rig->program.buffer_count = 3;
    struct device_options options = {.threads = threads, .first_cpu = -1, .isa = isa};
    struct device_shape sizes = {.program = &rig->program,
                                 .limits = rig->limits,
                                 .page_tokens = shape->page_tokens,
                                 .kv_dtype = shape->dtype,
                                 .max_model_len = LONGEST};
    for (int s = 0; s < SEQUENCES; s++) pages += (lengths[s] - 1) / shape->page_tokens + 1;
    sizes.page_count = pages + SPARE_PAGES;
    assert_int_equal(device_cpu.open(&options, &rig->device, NULL), STATUS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(device_cpu.supports(rig->device, &rig->ops[i], NULL), STATUS_OK);
    assert_int_equal(device_cpu.prepare(rig->device, &sizes, NULL), STATUS_OK);
    poison(rig->device->attention);
    int next = 1 + random_below(SPARE_PAGES - 1), step = random_below(2) ? 1 : -1;
    for (int s = 0, used = 0; s < SEQUENCES; s++) {
        for (int i = 0; i < LONGEST / 16 + 1; i++) {
            bool is_used = i * shape->page_tokens < lengths[s];
            int page = step > 0 ? used : pages - 1 - used;
            rig->tables[s][i] = is_used ? next + page : PAGE_SCRAP;
            used += is_used;
        }
    }
    rig->batch = batch_create(&rig->limits);
}

static void rig_close(struct rig *rig)
{
    batch_destroy(rig->batch);
    device_cpu.close(rig->device);
}

/* Tokens [from, from + count) of a sequence become a row of the batch. */
static void add_row(struct rig *rig, int sequence, int from, int count)
{
    struct batch *batch = rig->batch;
    struct batch_row *row = &batch->rows[batch->row_count];
    int pages = (from + count - 1) / rig->shape.page_tokens + 1;
    *row = (struct batch_row){.slot = batch->row_count,
                              .q_start = batch->token_count,
                              .q_len = count,
                              .kv_len = from + count,
                              .page_start = batch->page_count,
                              .page_count = pages};
    for (int i = 0; i < pages; i++) batch->pages[batch->page_count++] = rig->tables[sequence][i];
    for (int i = 0; i < count; i++) {
        batch->token_rows[batch->token_count] = batch->row_count;
        batch->tokens[batch->token_count] = 0;
        batch->positions[batch->token_count++] = from + i;
    }
    batch->row_count++;
}

/* All inputs [sequence][token][(H + 2G) d], and outputs [sequence][token][H d]. */
struct data {
    float *in[SEQUENCES], *out[SEQUENCES];
};

static void data_make(struct data *data, const struct shape *shape)
{
    size_t stride = (size_t)stride_of(shape);
    size_t width = (size_t)(KV_HEADS * shape->group * shape->head_dim);
    for (int s = 0; s < SEQUENCES; s++) {
        data->in[s] = malloc((size_t)lengths[s] * stride * sizeof(float));
        data->out[s] = calloc((size_t)lengths[s] * width, sizeof(float));
        for (size_t i = 0; i < (size_t)lengths[s] * stride; i++)
            data->in[s][i] = random_value() * (i % stride < width ? shape->sharp : 1);
    }
}

static void data_free(struct data *data)
{
    for (int s = 0; s < SEQUENCES; s++) free(data->in[s]), free(data->out[s]);
}

/* Runs the batch: sequences[r] at from[r] is row r. */
static void run_batch(struct rig *rig, struct data *data, const int *sequences, const int *from)
{
    struct batch *batch = rig->batch;
    size_t stride = (size_t)stride_of(&rig->shape);
    size_t width = (size_t)rig->program.buffers[1].cols;
    float *in = device_cpu.buffer(rig->device, 0), *out = device_cpu.buffer(rig->device, 1);
    for (int r = 0; r < batch->row_count; r++) {
        const struct batch_row *row = &batch->rows[r];
        memcpy(in + (size_t)row->q_start * stride,
               data->in[sequences[r]] + (size_t)from[r] * stride,
               (size_t)row->q_len * stride * sizeof(float));
    }
    device_cpu.begin(rig->device, batch);
    for (int i = 0; i < 2; i++) device_cpu.run(rig->device, &rig->ops[i]);
    for (int r = 0; r < batch->row_count; r++) {
        const struct batch_row *row = &batch->rows[r];
        memcpy(data->out[sequences[r]] + (size_t)from[r] * width,
               out + (size_t)row->q_start * width, (size_t)row->q_len * width * sizeof(float));
    }
    batch_clear(batch);
}

/* Every sequence whole, all in one batch. */
static void run_whole(struct rig *rig, struct data *data)
{
    int sequences[SEQUENCES], from[SEQUENCES] = {0};
    for (int s = 0; s < SEQUENCES; s++) add_row(rig, sequences[s] = s, 0, lengths[s]);
    run_batch(rig, data, sequences, from);
}

/* Random chunks of random sequences, until all are done; splits as the dice say, and at times no
 * storage for them. */
static void run_chunked(struct rig *rig, struct data *data)
{
    static const int targets[] = {1, 7, 40, 1000};
    struct cpu_attention *attention = rig->device->attention;
    size_t part_floats = attention->part_floats;
    int done[SEQUENCES] = {0};
    for (bool more = true; more;) {
        int sequences[SEQUENCES], from[SEQUENCES], count = 0;
        more = false;
        for (int s = SEQUENCES - 1; s >= 0; s--) {
            int left = lengths[s] - done[s], step = 1 + random_below(random_below(2) ? 3 : 150);
            more |= left > 0;
            if (!left || random_below(4) == 0) continue;
            if (step > left) step = left;
            if (left < 6) step = 1;
            add_row(rig, s, done[s], step);
            sequences[count] = s, from[count++] = done[s], done[s] += step;
        }
        attention->target = targets[random_below(4)];
        attention->part_floats = random_below(3) ? part_floats : (size_t)random_below(20000);
        if (count) run_batch(rig, data, sequences, from);
    }
    attention->part_floats = part_floats;
}

static float as_stored(enum dtype dtype, float x)
{
    return dtype == DTYPE_F32 ? x : bf16_to_f32(f32_to_bf16(x));
}

/* One head of one query in float64, on K and V as they are stored. */
static void reference(const struct shape *shape, const float *in, int position, int head,
                      double *out)
{
    int d = shape->head_dim, heads = KV_HEADS * shape->group, kv = head / shape->group;
    double s[LONGEST], top = -INFINITY, sum = 0;
    size_t stride = (size_t)stride_of(shape);
    const float *q = in + (size_t)position * stride + head * d;
    int from = shape->window && position >= shape->window ? position - shape->window + 1 : 0;
    for (int t = from; t <= position; t++) {
        const float *k = in + (size_t)t * stride + (heads + kv) * d;
        s[t] = 0;
        for (int i = 0; i < d; i++) s[t] += (double)q[i] * as_stored(shape->dtype, k[i]);
        s[t] *= 1 / sqrtf((float)d);
        if (shape->softcap != 0) s[t] = shape->softcap * tanh(s[t] / shape->softcap);
        top = fmax(top, s[t]);
    }
    for (int i = 0; i < d; i++) out[i] = 0;
    for (int t = from; t <= position; t++) {
        const float *v = in + (size_t)t * stride + (heads + KV_HEADS + kv) * d;
        double p = exp(s[t] - top);
        sum += p;
        for (int i = 0; i < d; i++) out[i] += p * as_stored(shape->dtype, v[i]);
    }
    for (int i = 0; i < d; i++) out[i] /= sum;
}

static void check_values(const struct shape *shape, const struct data *data, double bound,
                         const char *isa)
{
    int heads = KV_HEADS * shape->group, d = shape->head_dim;
    for (int s = 0; s < SEQUENCES; s++) {
        int step = lengths[s] > 40 ? 17 : 1; /* a sample is enough of long ones */
        for (int t = (lengths[s] - 1) % step; t < lengths[s]; t += step) {
            int h = t % heads;
            double want[ATTENTION_HEAD_MAX], size = 0, error = 0;
            reference(shape, data->in[s], t, h, want);
            const float *got = data->out[s] + (size_t)t * (size_t)(heads * d) + h * d;
            for (int i = 0; i < d; i++) {
                size += want[i] * want[i];
                error += (got[i] - want[i]) * (got[i] - want[i]);
            }
            if (error <= bound * bound * size) continue;
            fail_msg("%s d %d group %d page %d window %d cap %g %s: sequence %d token %d head %d: "
                     "error %g of %g",
                     isa, d, shape->group, shape->page_tokens, shape->window,
                     (double)shape->softcap, dtype_name(shape->dtype), s, t, h, sqrt(error),
                     sqrt(size));
        }
    }
}

/* Whole on 2 threads and chunked on `threads` are the same, and right. */
static void check_shape(const struct shape *shape, enum cpu_isa isa, int threads)
{
    const char *name = cpu_isa_name(isa);
    bool is_rounded = isa == CPU_AVX512_BF16 && shape->dtype == DTYPE_BF16; /* Q and P too */
    struct rig rig;
    struct data data, again;
    data_make(&data, shape);
    again = data;
    size_t width = (size_t)(KV_HEADS * shape->group * shape->head_dim);
    for (int s = 0; s < SEQUENCES; s++)
        again.out[s] = calloc((size_t)lengths[s] * width, sizeof(float));
    rig_open(&rig, shape, name, 2);
    run_whole(&rig, &data);
    rig_close(&rig);
    check_values(shape, &data, is_rounded ? 1.2e-2 : 3e-6, name);
    rig_open(&rig, shape, name, threads);
    run_chunked(&rig, &again);
    rig_close(&rig);
    for (int s = 0; s < SEQUENCES; s++)
        assert_memory_equal(data.out[s], again.out[s], (size_t)lengths[s] * width * sizeof(float));
    for (int s = 0; s < SEQUENCES; s++) free(again.out[s]);
    data_free(&data);
}

static const enum cpu_isa isas[] = {CPU_SCALAR, CPU_AVX2, CPU_AVX512, CPU_AVX512_BF16, CPU_NEON};

static void test_attention(void **state)
{
    static const struct shape shapes[] = {
        {64, 1, 16, 0, 0, 1, DTYPE_BF16},    {80, 4, 32, 0, 0, 1, DTYPE_BF16},
        {128, 2, 48, 100, 0, 2, DTYPE_BF16}, {256, 1, 16, 0, 10, 3, DTYPE_BF16},
        {48, 7, 64, 300, 5, 3, DTYPE_BF16},  {20, 3, 16, 0, 0, 1, DTYPE_BF16},
        {100, 2, 32, 33, 0, 1, DTYPE_BF16},  {32, 16, 16, 0, 0, 1, DTYPE_BF16},
        {96, 5, 16, 1, 0, 1, DTYPE_BF16},    {64, 2, 16, 0, 0, 2, DTYPE_F32},
        {36, 3, 32, 100, 8, 3, DTYPE_F32},   {128, 6, 48, 0, 0, 1, DTYPE_F32},
    };
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        for (size_t j = i % SHAPE_STEP; j < sizeof(shapes) / sizeof(*shapes); j += SHAPE_STEP)
            check_shape(&shapes[j], isas[i], (i + j) % 4 ? 1 : 3);
    }
}

/* A row reads prefix pages that another row of the same batch writes. */
static void test_shared_pages(void **state)
{
    struct shape shape = {64, 2, 16, 0, 0, 1, DTYPE_BF16};
    struct rig rig;
    struct data data;
    size_t stride = (size_t)stride_of(&shape), width = (size_t)(KV_HEADS * 2 * 64);
    int sequences[] = {3, 4}, from[] = {0, 256};
    data_make(&data, &shape);
    memcpy(data.in[4], data.in[3], 256 * stride * sizeof(float));
    rig_open(&rig, &shape, NULL, 2);
    run_whole(&rig, &data);
    float *want = malloc(600 * width * sizeof(float));
    memcpy(want, data.out[4], 600 * width * sizeof(float));
    poison(rig.device->attention);
    memcpy(rig.tables[4], rig.tables[3], 16 * sizeof(int32_t));
    add_row(&rig, 3, 0, 290);
    add_row(&rig, 4, 256, 600 - 256);
    run_batch(&rig, &data, sequences, from);
    assert_memory_equal(want, data.out[4], 600 * width * sizeof(float));
    free(want);
    rig_close(&rig);
    data_free(&data);
}

/* The exact mode far out: one query over 9,000 tokens whose scores are sharp. */
static void test_exact_far(void **state)
{
    enum { LEN = 9000, D = 64 };
    for (size_t n = 0; n < sizeof(isas) / sizeof(*isas); n++) {
        if (!cpu_isa_available(isas[n])) continue;
        struct attention_scratch *scratch = aligned_alloc(64, sizeof(*scratch));
        float *k = calloc(LEN / 16 + 32, 16 * D * 4), *v = calloc(LEN + 512, D * 4);
        float q[D], out[D];
        double s[LEN], top = -INFINITY, sum = 0, want[D] = {0}, error = 0, size = 0;
        const struct attention_kernels *kernels = cpu_attention_kernels(isas[n], true);
        for (int i = 0; i < D; i++) q[i] = random_value() * 3;
        for (int t = 0; t < LEN; t++) {
            s[t] = 0;
            for (int i = 0; i < D; i++) {
                float x = random_value();
                k[t / 16 * 16 * D + i * 16 + t % 16] = x, s[t] += (double)q[i] * x / 8;
                v[t * D + i] = random_value();
            }
            top = fmax(top, s[t]);
        }
        for (int t = 0; t < LEN; t++) {
            double p = exp(s[t] - top);
            sum += p;
            for (int i = 0; i < D; i++) want[i] += p * v[t * D + i];
        }
        kernels->begin_row(scratch, 0, q, D, D, 1.44269504f / 8);
        for (int t = 0; t * ATTENTION_TILE < LEN; t++) {
            const char *blocks[ATTENTION_LIST];
            for (int b = 0; b < ATTENTION_BLOCKS; b++) {
                blocks[b] = blocks[b + 32] = (char *)(k + (t * ATTENTION_TILE + b * 16) * D);
                blocks[b + 16] = blocks[b + 48] = (char *)(v + (t * ATTENTION_TILE + b * 16) * D);
            }
            struct attention_tile tile = {.blocks = blocks,
                                          .start = t * ATTENTION_TILE,
                                          .rows = 1,
                                          .group = 1,
                                          .position = LEN - 1,
                                          .width = D};
            kernels->tile(scratch, &tile);
        }
        kernels->end_row(scratch, 0, out, D, D);
        for (int i = 0; i < D; i++) {
            want[i] /= sum;
            size += want[i] * want[i], error += (out[i] - want[i]) * (out[i] - want[i]);
        }
        assert_true(sqrt(error) <= 3e-6 * sqrt(size));
        free(scratch), free(k), free(v);
    }
}

/* ---- rotation ---- */

static void rms_norm(const float *x, const float *weight, int d, double *out)
{
    double sum = 0;
    for (int i = 0; i < d; i++) sum += (double)x[i] * x[i];
    for (int i = 0; i < d; i++) out[i] = x[i] / sqrt(sum / d + 1e-6) * (weight ? weight[i] : 1);
}

static void check_rotation(enum cpu_isa isa, int d, int rotary_dim, bool interleaved, bool normed)
{
    enum { COUNT = 21, FIRST = 8190 };
    const struct cpu_vector *vector = cpu_vector_of(isa);
    float inv_freq[128], weight[256], x[256], table[256];
    struct rig rig;
    struct shape shape = {d, 1, 16, 0, 0, 1, DTYPE_F32};
    rig_open(&rig, &shape, cpu_isa_name(isa), 2);
    for (int i = 0; i < rotary_dim / 2; i++)
        inv_freq[i] = 1 / powf(10000, 2 * (float)i / (float)rotary_dim);
    struct op op = {.kind = OP_ROPE_TABLE, .out = 2};
    op.rope_table.inv_freq = inv_freq, op.rope_table.rotary_dim = rotary_dim;
    op.rope_table.scale = 1.25f;
    add_row(&rig, 0, 0, COUNT);
    for (int t = 0; t < COUNT; t++) rig.batch->positions[t] = FIRST + t;
    device_cpu.begin(rig.device, rig.batch);
    device_cpu.run(rig.device, &op);
    for (int i = 0; i < d; i++) weight[i] = random_value();
    for (int t = 0; t < COUNT; t++) {
        double before[256], want[256];
        for (int i = 0; i < d; i++) x[i] = random_value();
        for (int i = 0; i < d; i++) before[i] = x[i];
        if (normed) rms_norm(x, weight, d, before);
        memcpy(want, before, sizeof(want));
        for (int i = 0; i < rotary_dim / 2; i++) {
            int a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + rotary_dim / 2;
            double angle = (float)(FIRST + t) * inv_freq[i]; /* a float32 product */
            want[a] = 1.25 * (before[a] * cos(angle) - before[b] * sin(angle));
            want[b] = 1.25 * (before[b] * cos(angle) + before[a] * sin(angle));
        }
        memcpy(table, (float *)device_cpu.buffer(rig.device, 2) + t * rotary_dim,
               (size_t)rotary_dim * sizeof(float));
        vector->rotate(x, normed ? weight : NULL, 1e-6f, table, d, rotary_dim, interleaved);
        for (int i = 0; i < d; i++) assert_true(fabs(x[i] - want[i]) <= 2e-6 * (1 + fabs(want[i])));
    }
    rig_close(&rig);
}

static void test_rotation(void **state)
{
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        check_rotation(isas[i], 128, 128, false, true);
        check_rotation(isas[i], 64, 64, true, false);
        check_rotation(isas[i], 80, 32, false, false);
        check_rotation(isas[i], 100, 50, true, true);
        check_rotation(isas[i], 36, 36, false, true);
    }
}

static void test_refused(void **state)
{
    struct op op = {.kind = OP_ATTENTION, .name = "attention"};
    struct error error;
    op.attention.heads = 4, op.attention.kv_heads = 2, op.attention.head_dim = 512;
    assert_int_equal(cpu_attention_supports(&op, &error), STATUS_UNSUPPORTED);
    op.attention.heads = 5, op.attention.head_dim = 64;
    assert_int_equal(cpu_attention_supports(&op, &error), STATUS_UNSUPPORTED);
    op.attention.heads = 6;
    assert_int_equal(cpu_attention_supports(&op, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention), cmocka_unit_test(test_shared_pages),
        cmocka_unit_test(test_exact_far), cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
