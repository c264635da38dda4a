/* test_cpu_linear.c - linear layers, LM head and embedding of every dtype on every instruction set
 * of this machine, against float64 on the weights and activations as the kernels see them; each row
 * the same bit for bit alone, in a batch and on 1 to 4 threads. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/linear.h"

enum { ROWS_MAX = 70, PAD = 3, WRITERS = 3 };

/* A device with one matrix, an input and an output buffer and one op. */
struct rig {
    struct device device;
    struct program program;
    struct op op;
    struct batch batch;
    struct batch_logits logits[ROWS_MAX];
    int32_t tokens[ROWS_MAX];
    int n, k;
    enum dtype dtype;
    uint8_t *source; /* dense rows of the dtype */
    float *dense;    /* [n][k], what they mean */
};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    return s ^= s << 13, s ^= s >> 7, s ^= s << 17;
}

static float random_value(void) /* about normal, one in 128 twenty times larger */
{
    float s = -6;
    for (int i = 0; i < 12; i++) s += (float)(random_bits() >> 40) / (1 << 24);
    return random_bits() % 128 ? s : 20 * s;
}

static void rig_make_weights(struct rig *rig)
{
    size_t row_bytes = dtype_row_bytes(rig->dtype, rig->k), count = (size_t)rig->n * (size_t)rig->k;
    rig->source = malloc(row_bytes * (size_t)rig->n);
    rig->dense = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++) rig->dense[i] = random_value() * 0.05f;
    dtype_from_f32(rig->dtype, rig->dense, (int64_t)count, rig->source);
    if (rig->dtype == DTYPE_Q8_0) rig->source[2] = 0x80; /* -128, which a file may hold */
    dtype_to_f32(rig->dtype, rig->source, (int64_t)count, rig->dense);
}

struct writer {
    struct rig *rig;
    struct weight *weight;
    int first, end;
};

static void *write_rows(void *arg)
{
    struct writer *w = arg;
    size_t row_bytes = dtype_row_bytes(w->rig->dtype, w->rig->k);
    for (int row = w->first; row < w->end;) { /* in pieces of 1, 2, 3... rows */
        int count =
            (row - w->first) % 7 + 1 < w->end - row ? (row - w->first) % 7 + 1 : w->end - row;
        cpu_weight_write(w->weight, row, count, w->rig->source + row_bytes * (size_t)row);
        row += count;
    }
    return NULL;
}

static struct weight *rig_write_weights(struct rig *rig)
{
    struct weight_desc desc = {"w", WEIGHT_MATRIX, rig->dtype, rig->n, rig->k};
    struct weight *weight = NULL;
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    assert_int_equal(cpu_weight_create(&rig->device, &desc, &weight, NULL), STATUS_OK);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){rig, weight, rig->n * i / WRITERS, rig->n * (i + 1) / WRITERS};
        pthread_create(&threads[i], NULL, write_rows, &writers[i]);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
    return weight;
}

static struct weight *make_vector(struct rig *rig, const float *values, int cols)
{
    struct weight_desc desc = {"bias", WEIGHT_VECTOR, DTYPE_F32, 1, cols};
    struct weight *weight = NULL;
    assert_int_equal(cpu_weight_create(&rig->device, &desc, &weight, NULL), STATUS_OK);
    cpu_weight_write(weight, 0, 1, values);
    return weight;
}

/* Weights must be made already; fills both buffers with garbage that must not be read or survive.
 */
static void rig_prepare(struct rig *rig, int threads)
{
    rig->program.ops = &rig->op, rig->program.op_count = 1;
    rig->program.buffer_count = 2;
    rig->program.buffers[0] = (struct program_buffer){"in", BUFFER_PER_TOKEN, rig->k + PAD};
    rig->program.buffers[1] = (struct program_buffer){"out", BUFFER_PER_TOKEN, rig->n + PAD};
    rig->device.shape.program = &rig->program;
    rig->device.shape.limits.tokens_max = rig->device.shape.limits.logits_max = ROWS_MAX;
    rig->device.batch = &rig->batch, rig->batch.logits = rig->logits;
    rig->device.tokens = rig->tokens;
    for (int i = 0; i < 2; i++) {
        size_t count = (size_t)ROWS_MAX * (size_t)rig->program.buffers[i].cols;
        rig->device.buffers[i] = malloc(count * sizeof(float));
        for (size_t j = 0; j < count; j++) rig->device.buffers[i][j] = NAN;
    }
    assert_int_equal(cpu_pool_create(threads, -1, &rig->device.pool, NULL), STATUS_OK);
    assert_int_equal(cpu_linear_prepare(&rig->device, NULL), STATUS_OK);
    assert_true(cpu_linear_workspace(&rig->device.shape, threads) > 0);
}

/* Stops what has threads; weights stay. */
static void rig_rest(struct rig *rig)
{
    cpu_linear_close(&rig->device);
    cpu_pool_destroy(rig->device.pool);
    for (int i = 0; i < 2; i++) free(rig->device.buffers[i]);
}

static void rig_close(struct rig *rig)
{
    rig_rest(rig);
    cpu_weights_close(&rig->device);
    free(rig->source);
    free(rig->dense);
}

static void run_linear(struct rig *rig, const float *x, int rows, float *y)
{
    rig->batch.token_count = rows;
    for (int r = 0; r < rows; r++)
        memcpy(rig->device.buffers[0] + (size_t)r * (size_t)(rig->k + PAD),
               x + (size_t)r * (size_t)rig->k, (size_t)rig->k * sizeof(float));
    cpu_op_linear(&rig->device, &rig->op);
    for (int r = 0; r < rows; r++) {
        const float *out = rig->device.buffers[1] + (size_t)r * (size_t)(rig->n + PAD);
        memcpy(y + (size_t)r * (size_t)rig->n, out, (size_t)rig->n * sizeof(float));
        for (int i = 0; i < PAD; i++) assert_true(isnan(out[rig->n + i])); /* nothing beyond n */
    }
}

/* x as the kernel of this dtype sees it. */
static void round_activations(const struct rig *rig, const float *x, float *out)
{
    for (int i = 0; i < rig->k; i++) {
        out[i] = x[i];
        if (rig->dtype == DTYPE_BF16 && rig->device.isa == CPU_AVX512_BF16)
            out[i] = bf16_to_f32(f32_to_bf16(x[i]));
        if (dtype_block(rig->dtype) == 1) continue;
        float top = 0;
        for (int j = i / 32 * 32; j < i / 32 * 32 + 32; j++) top = fmaxf(top, fabsf(x[j]));
        out[i] = top > 0 ? nearbyintf(x[i] * (127 / top)) * (top / 127) : 0;
    }
}

static void check_row(const struct rig *rig, const float *x, const float *bias, const float *y)
{
    float *rounded = malloc((size_t)rig->k * sizeof(float));
    round_activations(rig, x, rounded);
    for (int o = 0; o < rig->n; o++) {
        double sum = bias ? bias[o] : 0, size = fabs(sum);
        for (int i = 0; i < rig->k; i++) {
            double product =
                (double)rig->dense[(size_t)o * (size_t)rig->k + (size_t)i] * rounded[i];
            sum += product, size += fabs(product);
        }
        if (!(fabs(y[o] - sum) <= 3e-6 * size + 1e-30))
            fail_msg("%s %s n %d k %d output %d: %g, not %g", cpu_isa_name(rig->device.isa),
                     dtype_name(rig->dtype), rig->n, rig->k, o, y[o], sum);
    }
    free(rounded);
}

static void check_linear(enum cpu_isa isa, enum dtype dtype, int m, int n, int k, bool has_bias)
{
    struct rig rig = {.device.isa = isa, .dtype = dtype, .n = n, .k = k};
    size_t xs = (size_t)m * (size_t)k, ys = (size_t)m * (size_t)n;
    float *x = malloc(xs * sizeof(float)), *y = malloc(ys * sizeof(float));
    float *again = malloc(ys * sizeof(float)), *bias = malloc((size_t)n * sizeof(float));
    for (size_t i = 0; i < xs; i++) x[i] = random_value();
    for (int i = 0; i < n; i++) bias[i] = random_value();
    rig_make_weights(&rig);
    rig.op = (struct op){.kind = OP_LINEAR, .in = 0, .out = 1};
    rig.op.linear.weight = rig_write_weights(&rig);
    rig.op.linear.bias = has_bias ? make_vector(&rig, bias, n) : NULL;
    for (int threads = 1; threads <= 4; threads++) {
        rig_prepare(&rig, threads);
        run_linear(&rig, x, m, threads == 1 ? y : again);
        if (threads > 1) assert_memory_equal(y, again, ys * sizeof(float));
        for (int r = 0; r < m && (threads == 1 || r < 2); r++) { /* alone */
            run_linear(&rig, x + (size_t)r * (size_t)k, 1, again);
            assert_memory_equal(y + (size_t)r * (size_t)n, again, (size_t)n * sizeof(float));
        }
        for (int size = 2; size < m; size = size * 2 + 1) { /* in smaller batches */
            run_linear(&rig, x + (size_t)(m - size) * (size_t)k, size, again);
            assert_memory_equal(y + (size_t)(m - size) * (size_t)n, again,
                                (size_t)size * (size_t)n * sizeof(float));
        }
        rig_rest(&rig);
    }
    rig_prepare(&rig, 1);
    for (int r = 0; r < m; r++)
        check_row(&rig, x + (size_t)r * (size_t)k, has_bias ? bias : NULL,
                  y + (size_t)r * (size_t)n);
    rig_close(&rig);
    free(x), free(y), free(again), free(bias);
}

static void each_kernel(void (*check)(enum cpu_isa isa, enum dtype dtype))
{
    for (int isa = CPU_SCALAR; isa <= CPU_NEON; isa++) {
        if (!cpu_isa_available((enum cpu_isa)isa)) continue;
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            check((enum cpu_isa)isa, (enum dtype)dtype);
    }
}

static void check_shapes(enum cpu_isa isa, enum dtype dtype)
{
    static const int shapes[][3] = {
        {1, 1, 32},    {2, 17, 64},  {3, 33, 96},  {4, 64, 288}, {5, 100, 160}, {6, 31, 64},
        {7, 15, 416},  {8, 32, 32},  {9, 65, 96},  {10, 8, 128}, {11, 64, 128}, {12, 70, 64},
        {13, 31, 224}, {16, 48, 64}, {23, 65, 96}, {64, 47, 96}, {70, 40, 64},
    };
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        const int *s = shapes[i];
        check_linear(isa, dtype, s[0], s[1], s[2], i % 2);
        if (dtype_block(dtype) == 1) /* odd and tiny K */
            check_linear(isa, dtype, s[0], s[1], i < 3 ? (int)i + 1 : s[2] - 1 - (int)i * 2,
                         i % 2 == 0);
    }
}

static void test_shapes(void **state)
{
    each_kernel(check_shapes);
}

/* Panels longer than a piece: sums go through y between pieces. */
static void check_long(enum cpu_isa isa, enum dtype dtype)
{
    check_linear(isa, dtype, 14, 40, isa == CPU_SCALAR ? 16384 : 28672, true);
}

static void test_long_rows(void **state)
{
    each_kernel(check_long);
}

static void check_embed(enum cpu_isa isa, enum dtype dtype)
{
    int n = 45, k = dtype_block(dtype) == 1 ? 37 : 96;
    struct rig rig = {.device.isa = isa, .dtype = dtype, .n = k, .k = n}; /* out has k columns */
    struct rig table = {.device.isa = isa, .dtype = dtype, .n = n, .k = k};
    rig_make_weights(&table);
    rig.op = (struct op){.kind = OP_EMBED, .in = BUFFER_NONE, .out = 1};
    struct weight *weight = rig_write_weights(&table);
    rig.op.embed.table = weight, rig.op.embed.scale = 1.5f, rig.op.embed.vocab_start = 10;
    rig_prepare(&rig, 2);
    rig.batch.token_count = ROWS_MAX;
    for (int i = 0; i < ROWS_MAX; i++) rig.tokens[i] = i;
    cpu_op_embed(&rig.device, &rig.op);
    for (int i = 0; i < ROWS_MAX; i++) {
        const float *out = rig.device.buffers[1] + (size_t)i * (size_t)(k + PAD);
        for (int j = 0; j < k; j++) {
            int row = i - 10;
            float want = row < 0 || row >= n ? 0 : table.dense[row * k + j] * 1.5f;
            assert_true(out[j] == want);
        }
        assert_true(isnan(out[k]));
    }
    rig.batch.token_count = 1, rig.tokens[0] = 12; /* a decode step */
    cpu_op_embed(&rig.device, &rig.op);
    assert_true(rig.device.buffers[1][3] == table.dense[2 * k + 3] * 1.5f);
    rig_close(&rig);
    cpu_weights_close(&table.device);
    free(table.source), free(table.dense);
}

static void test_embedding_from_panels(void **state)
{
    each_kernel(check_embed);
}

static void check_logits(enum cpu_isa isa, enum dtype dtype)
{
    static const float caps[] = {0, 30};
    struct rig rig = {.device.isa = isa, .dtype = dtype, .n = 75, .k = 64};
    float *y = malloc((size_t)ROWS_MAX * 75 * sizeof(float));
    rig_make_weights(&rig);
    struct weight *weight = rig_write_weights(&rig);
    rig.op = (struct op){.kind = OP_LINEAR, .in = 0, .out = 1};
    rig.op.linear.weight = weight;
    rig_prepare(&rig, 2);
    float *x = malloc((size_t)ROWS_MAX * 64 * sizeof(float));
    for (int i = 0; i < ROWS_MAX * 64; i++) x[i] = 10 * random_value();
    run_linear(&rig, x, ROWS_MAX, y);
    for (int c = 0; c < 2; c++) { /* rows 3, 6, 9...: the linear layer's, finished */
        rig.op = (struct op){.kind = OP_LOGITS, .in = 0, .out = 1};
        rig.op.logits.weight = weight;
        rig.op.logits.scale = c ? 0.5f : 1, rig.op.logits.softcap = caps[c];
        rig.batch.logits_count = ROWS_MAX / 3 - 1;
        for (int i = 0; i < rig.batch.logits_count; i++) rig.logits[i].token = 3 * (i + 1);
        cpu_op_logits(&rig.device, &rig.op);
        for (int i = 0; i < rig.batch.logits_count * 75; i++) {
            float got = rig.device.buffers[1][i / 75 * (75 + PAD) + i % 75];
            float raw = y[(i / 75 + 1) * 3 * 75 + i % 75];
            if (c)
                assert_true(fabs(got - 30 * tanh(raw * 0.5 / 30)) < 1e-4);
            else
                assert_true(got == raw);
        }
    }
    rig_close(&rig);
    free(x), free(y);
}

static void test_logits(void **state)
{
    each_kernel(check_logits);
}

/* Blocks of zeros, a huge value among small ones, and values near the ends of float32. */
static void check_extremes(enum cpu_isa isa, enum dtype dtype)
{
    struct rig rig = {.device.isa = isa, .dtype = dtype, .n = 33, .k = 96};
    float x[2 * 96] = {0}, y[2 * 33];
    rig_make_weights(&rig);
    rig.op = (struct op){.kind = OP_LINEAR, .in = 0, .out = 1};
    rig.op.linear.weight = rig_write_weights(&rig);
    rig_prepare(&rig, 2);
    run_linear(&rig, x, 2, y);
    for (int i = 0; i < 2 * 33; i++) assert_true(y[i] == 0);
    for (int i = 0; i < 96; i++) x[i] = 1e-3f * (float)i, x[96 + i] = 1e-30f * (float)(i + 1);
    x[50] = 1e5f, x[96 + 40] = 1e30f;
    run_linear(&rig, x, 2, y);
    for (int r = 0; r < 2; r++) check_row(&rig, x + r * 96, NULL, y + r * 33);
    for (int i = 0; i < 96; i++)
        x[i] = i % 2 ? 1e-41f : -2e-39f; /* a scale whose inverse overflows */
    run_linear(&rig, x, 1, y);
    for (int i = 0; i < 33; i++) assert_true(fabsf(y[i]) < 1e-35f);
    rig_close(&rig);
}

/* The quantised kernels of AVX2 and AVX-512 are the same arithmetic. */
static void test_quantised_same_on_avx(void **state)
{
    if (!cpu_isa_available(CPU_AVX512)) skip();
    float x[5 * 64], y[2][5 * 40];
    for (int i = 0; i < 5 * 64; i++) x[i] = random_value();
    for (int dtype = DTYPE_Q8_0; dtype <= DTYPE_Q4_0; dtype++) {
        struct rig rig = {.device.isa = CPU_AVX2, .dtype = (enum dtype)dtype, .n = 40, .k = 64};
        rig_make_weights(&rig);
        rig.op = (struct op){.kind = OP_LINEAR, .in = 0, .out = 1};
        for (int i = 0; i < 2; i++) {
            rig.device.isa = i ? CPU_AVX512 : CPU_AVX2;
            rig.op.linear.weight = rig_write_weights(&rig);
            rig_prepare(&rig, 2);
            run_linear(&rig, x, 5, y[i]);
            if (!i) rig_rest(&rig);
        }
        assert_memory_equal(y[0], y[1], sizeof(y[0]));
        rig_close(&rig);
    }
}

static void test_extreme_activations(void **state)
{
    each_kernel(check_extremes);
}

static void test_refusals(void **state)
{
    struct device device = {.isa = CPU_SCALAR};
    struct error error = {0};
    struct weight *weight = NULL;
    struct weight_desc odd = {"blk.0.ffn", WEIGHT_MATRIX, DTYPE_Q8_0, 4, 33};
    struct weight_desc none = {"empty", WEIGHT_MATRIX, DTYPE_F32, 0, 32};
    struct weight_desc huge = {"head", WEIGHT_MATRIX, DTYPE_F32, 1 << 30, 1 << 30};
    assert_int_equal(cpu_weight_create(&device, &odd, &weight, &error), STATUS_UNSUPPORTED);
    assert_string_equal(error.param, "blk.0.ffn");
    assert_int_equal(cpu_weight_create(&device, &none, &weight, &error), STATUS_INVALID);
    assert_int_equal(cpu_weight_create(&device, &huge, &weight, &error), STATUS_NO_MEMORY);
    assert_null(weight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_embedding_from_panels),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_extreme_activations),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_quantised_same_on_avx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
