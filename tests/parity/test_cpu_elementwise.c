/* test_cpu_elementwise.c - norm, activation and the exponential under both on every instruction set
 * of this machine, against float64; the same bit for bit on any number of threads. */
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

static const enum cpu_isa isas[] = {CPU_SCALAR, CPU_AVX2, CPU_AVX512, CPU_AVX512_BF16, CPU_NEON};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    return s ^= s << 13, s ^= s >> 7, s ^= s << 17;
}

static float random_value(void) /* about normal */
{
    float s = -6;
    for (int i = 0; i < 12; i++) s += (float)(random_bits() >> 40) / (1 << 24);
    return s;
}

static void check_norm(const struct cpu_vector *vector, int n, bool has_in)
{
    float *in = calloc((size_t)n, 4), *residual = calloc((size_t)n, 4);
    float *weight = calloc((size_t)n, 4), *out = calloc((size_t)n + 1, 4);
    double *want = malloc((size_t)n * 8), sum = 0;
    for (int i = 0; i < n; i++) {
        in[i] = random_value(), residual[i] = random_value() * 30, weight[i] = random_value();
        want[i] = has_in ? residual[i] + in[i] : residual[i];
        sum += want[i] * want[i];
    }
    out[n] = 7;
    vector->norm(has_in ? in : NULL, residual, weight, out, n, 1e-6f);
    for (int i = 0; i < n; i++) {
        double x = want[i] / sqrt(sum / n + 1e-6) * weight[i];
        assert_true(fabs(residual[i] - want[i]) <= 1e-5);
        assert_true(fabs(out[i] - x) <= 1e-6 * (1 + fabs(x)));
    }
    assert_true(out[n] == 7);
    free(in), free(residual), free(weight), free(out), free(want);
}

static void test_norm(void **state)
{
    static const int sizes[] = {1, 3, 16, 100, 128, 1024, 1025, 5120};
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        for (size_t j = 0; j < sizeof(sizes) / sizeof(*sizes); j++) {
            check_norm(cpu_vector_of(isas[i]), sizes[j], true);
            check_norm(cpu_vector_of(isas[i]), sizes[j], false);
        }
    }
}

static void test_act(void **state)
{
    enum { N = 4003 };
    static float gate[N], up[N], out[N];
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        for (int a = ACTIVATION_SILU; a <= ACTIVATION_GELU_TANH; a++) {
            for (int j = 0; j < N; j++)
                gate[j] = (float)(j - N / 2) * 0.0103f, up[j] = random_value();
            cpu_vector_of(isas[i])->act(a, gate, up, out, N);
            for (int j = 0; j < N; j++) {
                double x = gate[j];
                double u =
                    a == ACTIVATION_SILU ? x / 2 : sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
                double want = 0.5 * x * (1 + tanh(u)) * up[j];
                assert_true(fabs(out[j] - want) <= 1e-6 * fabs(want) + 3e-7 * fabs(up[j]));
            }
        }
    }
}

/* exp through the sampler's pass: relative error, exact 1 at 0, exact 0 at -infinity and for NaN.
 */
static void test_exp(void **state)
{
    enum { N = 20000 };
    static float x[N], e[N];
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        double worst = 0, total = 0;
        for (int j = 0; j < N; j++) x[j] = -(float)j * 87 / N;
        x[N - 1] = -INFINITY, x[N - 2] = NAN, x[N - 3] = -1e30f;
        double sum = cpu_vector_of(isas[i])->exp_sums(x, N, 0, 1, 0, NULL, e);
        for (int j = 0; j < N - 3; j++) {
            worst = fmax(worst, fabs(e[j] / exp(x[j]) - 1));
            total += exp(x[j]);
        }
        assert_true(e[0] == 1 && e[N - 1] == 0 && e[N - 2] == 0 && e[N - 3] == 0);
        assert_true(fabs(sum / total - 1) < 1e-6);
        assert_true(worst < (isas[i] == CPU_SCALAR ? 8e-6 : 2.5e-7)); /* scalar has no true fma */
    }
}

/* The ops on a device: rows by tokens or by logits, the same whatever the threads. */
static void run_ops(const char *isa, int threads, int rows, int cols, float *out)
{
    struct program program = {.vocab = 32, .buffer_count = 4};
    struct batch_limits limits = {4, 64, 64, 64, 1, 1, 1};
    program.buffers[0] = (struct program_buffer){"residual", BUFFER_PER_TOKEN, cols};
    program.buffers[1] = (struct program_buffer){"in", BUFFER_PER_TOKEN, cols};
    program.buffers[2] = (struct program_buffer){"normed", BUFFER_PER_TOKEN, cols};
    program.buffers[3] = (struct program_buffer){"out", BUFFER_PER_TOKEN, cols / 2};
    struct device_options options = {.threads = threads, .first_cpu = -1, .isa = isa};
    struct device_shape shape = {.program = &program,
                                 .limits = limits,
                                 .page_tokens = 16,
                                 .page_count = 2,
                                 .kv_dtype = DTYPE_F32,
                                 .max_model_len = 64};
    struct weight_desc desc = {"norm", WEIGHT_VECTOR, DTYPE_F32, 1, cols};
    struct device *device;
    struct weight *weight;
    float *ones = malloc((size_t)cols * sizeof(float));
    for (int i = 0; i < cols; i++) ones[i] = 1 + (float)i / (float)cols;
    assert_int_equal(device_cpu.open(&options, &device, NULL), STATUS_OK);
    assert_int_equal(device_cpu.weight_create(device, &desc, &weight, NULL), STATUS_OK);
    device_cpu.weight_write(device, weight, 0, 1, ones);
    assert_int_equal(device_cpu.prepare(device, &shape, NULL), STATUS_OK);
    for (int b = 0; b < 2; b++) {
        float *to = device_cpu.buffer(device, b);
        for (int i = 0; i < rows * cols; i++) to[i] = sinf((float)(i + 7 * b));
    }
    struct op norm = {.kind = OP_NORM, .in = 1, .out = 2};
    norm.norm.weight = weight, norm.norm.residual = 0, norm.norm.eps = 1e-6f, norm.norm.cols = cols;
    struct op act = {.kind = OP_MLP_ACT, .in = 2, .out = 3};
    act.mlp_act.n = cols / 2;
    struct batch batch = {.token_count = rows};
    device->batch = &batch;
    device_cpu.run(device, &norm);
    device_cpu.run(device, &act);
    memcpy(out, device_cpu.buffer(device, 3), (size_t)(rows * (cols / 2)) * sizeof(float));
    device_cpu.close(device);
    free(ones);
}

static void test_threads(void **state)
{
    enum { ROWS = 40, COLS = 2600 };
    static float want[ROWS * COLS / 2], got[ROWS * COLS / 2];
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        run_ops(cpu_isa_name(isas[i]), 1, ROWS, COLS, want);
        run_ops(cpu_isa_name(isas[i]), 3, ROWS, COLS, got);
        assert_memory_equal(want, got, sizeof(want));
        memset(got, 0, sizeof(got));
        run_ops(cpu_isa_name(isas[i]), 2, 3, COLS, got); /* few rows: fewer than fill the threads */
        assert_memory_equal(want, got, 3 * COLS / 2 * sizeof(float));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_act),
        cmocka_unit_test(test_exp),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
