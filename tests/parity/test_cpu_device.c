/* test_cpu_device.c - the CPU device as the executor drives it: a small model of every op, opened,
 * filled, prepared and stepped. The same tokens and log probabilities, bit for bit, for a prompt in
 * one piece or in chunks, alone or beside another sequence, on 1 to 3 threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/cpu.h"
#include "runtime/batch.h"

enum {
    HIDDEN = 64,
    HEADS = 4,
    KV_HEADS = 2,
    HEAD_DIM = 32,
    FFN = 96,
    VOCAB = 150,
    LAYERS = 2,
    PAGE_TOKENS = 16,
    PAGES = 12,
    PROMPT = 37,
    NEW_TOKENS = 6,
    QKV = (HEADS + 2 * KV_HEADS) * HEAD_DIM,
};

enum { B_RESIDUAL, B_X, B_QKV, B_ATTENTION, B_GATE_UP, B_ACT, B_TABLE, B_LOGITS, B_COUNT };

struct model {
    struct device *device;
    struct program program;
    struct op ops[3 + 10 * LAYERS + 4];
    struct kv_layer_shape kv[LAYERS];
    float inv_freq[HEAD_DIM / 2];
    struct batch_limits limits;
    struct batch *batch;
    struct batch_result *result;
    uint64_t seed;
};

struct output {
    int32_t tokens[NEW_TOKENS];
    float logprobs[NEW_TOKENS];
};

static float next_value(struct model *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(m->seed >> 32) / (1u << 31) * 0.3f;
}

static struct weight *add_weight(struct model *m, enum weight_kind kind, enum dtype dtype, int rows,
                                 int cols)
{
    struct weight_desc desc = {"w", kind, dtype, rows, cols};
    struct weight *weight = NULL;
    float *values = malloc((size_t)rows * (size_t)cols * sizeof(float));
    char *data = malloc(dtype_row_bytes(dtype, cols) * (size_t)rows);
    for (int i = 0; i < rows * cols; i++) values[i] = next_value(m) + (kind == WEIGHT_VECTOR);
    dtype_from_f32(dtype, values, (int64_t)rows * cols, data);
    assert_int_equal(device_cpu.weight_create(m->device, &desc, &weight, NULL), STATUS_OK);
    device_cpu.weight_write(m->device, weight, 0, rows, data);
    assert_true(device_cpu.weight_bytes(weight) >= dtype_row_bytes(dtype, cols) * (size_t)rows);
    free(values), free(data);
    return weight;
}

static struct op *add_op(struct model *m, enum op_kind kind, int in, int out)
{
    struct op *op = &m->ops[m->program.op_count++];
    *op =
        (struct op){.kind = kind, .name = op_kind_name(kind), .in = (int8_t)in, .out = (int8_t)out};
    return op;
}

static void add_norm(struct model *m, int in)
{
    struct op *op = add_op(m, OP_NORM, in, B_X);
    op->norm.weight = add_weight(m, WEIGHT_VECTOR, DTYPE_F32, 1, HIDDEN);
    op->norm.residual = B_RESIDUAL, op->norm.eps = 1e-5f, op->norm.cols = HIDDEN;
}

static struct op *add_linear(struct model *m, enum dtype dtype, int in, int out, int n, int k)
{
    struct op *op = add_op(m, OP_LINEAR, in, out);
    op->linear.weight = add_weight(m, WEIGHT_MATRIX, dtype, n, k);
    return op;
}

static void add_layer(struct model *m, enum dtype dtype, int layer)
{
    m->kv[layer] = (struct kv_layer_shape){KV_HEADS, HEAD_DIM};
    add_norm(m, layer ? B_X : BUFFER_NONE);
    struct op *op = add_linear(m, dtype, B_X, B_QKV, QKV, HIDDEN);
    op->linear.bias = add_weight(m, WEIGHT_VECTOR, DTYPE_F32, 1, QKV);
    op = add_op(m, OP_ROPE_KV, B_QKV, B_QKV);
    op->rope_kv.table = B_TABLE, op->rope_kv.eps = 1e-5f, op->rope_kv.kv_layer = layer;
    op->rope_kv.q_norm = add_weight(m, WEIGHT_VECTOR, DTYPE_F32, 1, HEAD_DIM);
    op->rope_kv.heads = HEADS, op->rope_kv.kv_heads = KV_HEADS;
    op->rope_kv.head_dim = op->rope_kv.rotary_dim = HEAD_DIM;
    op = add_op(m, OP_ATTENTION, B_QKV, B_ATTENTION);
    op->attention.heads = HEADS, op->attention.kv_heads = KV_HEADS;
    op->attention.head_dim = HEAD_DIM, op->attention.kv_layer = layer;
    op->attention.scale = 0.2f;
    add_linear(m, dtype, B_ATTENTION, B_X, HIDDEN, HEADS * HEAD_DIM);
    add_norm(m, B_X);
    add_linear(m, dtype, B_X, B_GATE_UP, 2 * FFN, HIDDEN);
    op = add_op(m, OP_MLP_ACT, B_GATE_UP, B_ACT);
    op->mlp_act.activation = ACTIVATION_SILU, op->mlp_act.n = FFN;
    add_linear(m, dtype, B_ACT, B_X, HIDDEN, FFN);
}

static void build(struct model *m, enum dtype dtype)
{
    static const int cols[B_COUNT] = {HIDDEN,  HIDDEN, QKV,      HEADS * HEAD_DIM,
                                      2 * FFN, FFN,    HEAD_DIM, VOCAB};
    for (int i = 0; i < B_COUNT; i++)
        m->program.buffers[i] = (struct program_buffer){
            "b", i == B_LOGITS ? BUFFER_PER_LOGITS : BUFFER_PER_TOKEN, cols[i]};
    m->program.buffer_count = B_COUNT, m->program.vocab = VOCAB, m->program.ops = m->ops;
    m->program.kv_layers = m->kv, m->program.kv_layer_count = LAYERS;
    struct op *op = add_op(m, OP_EMBED, BUFFER_NONE, B_RESIDUAL);
    struct weight *table = op->embed.table = add_weight(m, WEIGHT_MATRIX, dtype, VOCAB, HIDDEN);
    op->embed.scale = 2;
    op = add_op(m, OP_ROPE_TABLE, BUFFER_NONE, B_TABLE);
    for (int i = 0; i < HEAD_DIM / 2; i++)
        m->inv_freq[i] = powf(10000, -2.0f * (float)i / HEAD_DIM);
    op->rope_table.inv_freq = m->inv_freq, op->rope_table.rotary_dim = HEAD_DIM;
    op->rope_table.scale = 1;
    for (int i = 0; i < LAYERS; i++) add_layer(m, dtype, i);
    add_norm(m, B_X);
    op = add_op(m, OP_LOGITS, B_X, B_LOGITS); /* tied: the embedding table's own panels */
    op->logits.weight = table, op->logits.scale = 1, op->logits.softcap = 20;
    op = add_op(m, OP_SAMPLE, B_LOGITS, BUFFER_NONE);
    op->sample.vocab = VOCAB;
}

static void model_open(struct model *m, enum cpu_isa isa, enum dtype dtype, int threads)
{
    struct device_options options = {.threads = threads, .first_cpu = -1, .isa = cpu_isa_name(isa)};
    struct device_shape shape = {.program = &m->program,
                                 .page_tokens = PAGE_TOKENS,
                                 .page_count = PAGES,
                                 .kv_dtype = DTYPE_BF16,
                                 .max_model_len = 64};
    *m = (struct model){.seed = 11, .limits = {4, 64, 16, 4, 4, 128, 8}};
    shape.limits = m->limits;
    assert_int_equal(device_cpu.open(&options, &m->device, NULL), STATUS_OK);
    build(m, dtype);
    for (int i = 0; i < m->program.op_count; i++)
        assert_int_equal(device_cpu.supports(m->device, &m->ops[i], NULL), STATUS_OK);
    assert_true(device_cpu.page_bytes(m->device, &shape) > 0);
    assert_true(device_cpu.workspace_bytes(m->device, &shape) > 64 * HIDDEN * 4);
    assert_true(device_cpu.memory_free(m->device) > 0);
    assert_int_equal(device_cpu.prepare(m->device, &shape, NULL), STATUS_OK);
    m->batch = batch_create(&m->limits);
    m->result = batch_result_create(&m->limits);
}

static void model_close(struct model *m)
{
    device_cpu.close(m->device);
    batch_destroy(m->batch);
    batch_result_destroy(m->result);
}

/* Tokens [from, from + count) of the prompt of `slot`, or its last sampled one, become a row. */
static void add_row(struct model *m, int slot, int from, int count, bool wants_logits)
{
    struct batch *b = m->batch;
    struct batch_row *row = &b->rows[b->row_count];
    *row = (struct batch_row){.slot = slot,
                              .q_start = b->token_count,
                              .q_len = count,
                              .kv_len = from + count,
                              .page_start = b->page_count,
                              .page_count = (from + count - 1) / PAGE_TOKENS + 1,
                              .logits_start = b->logits_count,
                              .logits_count = wants_logits,
                              .history_len = from ? HISTORY_KEEP : 0};
    for (int i = 0; i < row->page_count; i++) b->pages[b->page_count++] = 1 + slot * 5 + i;
    for (int i = 0; i < count; i++, b->token_count++) {
        b->tokens[b->token_count] =
            from >= PROMPT ? TOKEN_FROM_SLOT : (from + i + slot * 7) * 13 % VOCAB;
        b->positions[b->token_count] = from + i;
        b->token_rows[b->token_count] = b->row_count;
    }
    if (wants_logits) {
        b->logits[b->logits_count++] = (struct batch_logits){b->token_count - 1, TARGET_SAMPLE, 0,
                                                             b->row_count, b->sampling_count};
        b->sampling[b->sampling_count++] = (struct batch_sampling){
            .temperature = 0, .top_p = 1, .repetition_penalty = 1, .mask_start = -1};
    }
    b->row_count++;
}

static void step(struct model *m)
{
    struct error error;
    device_cpu.begin(m->device, m->batch);
    for (int i = 0; i < m->program.op_count; i++) device_cpu.run(m->device, &m->ops[i]);
    assert_int_equal(device_cpu.end(m->device, m->result, &error), STATUS_OK);
    assert_int_equal(m->result->logits_count, m->batch->logits_count);
    batch_clear(m->batch);
}

/* Slot 0's prompt in pieces of `chunk`, then decoding; beside it slot 1, if asked, a piece behind.
 */
static struct output generate(struct model *m, int chunk, bool has_company)
{
    struct output out = {0};
    int done = 0, company = 0;
    for (int i = 0; i < NEW_TOKENS;) {
        int count = done >= PROMPT ? 1 : PROMPT - done < chunk ? PROMPT - done : chunk;
        bool wants = done + count >= PROMPT;
        add_row(m, 0, done, count, wants);
        if (has_company && done) {
            int more = company >= PROMPT ? 1 : PROMPT - company < 9 ? PROMPT - company : 9;
            add_row(m, 1, company, more, company + more >= PROMPT);
            company += more;
        }
        step(m);
        done += count;
        if (!wants) continue;
        out.tokens[i] = m->result->logits[0].token;
        out.logprobs[i++] = m->result->logits[0].logprob;
    }
    return out;
}

static void check_model(enum cpu_isa isa, enum dtype dtype)
{
    struct output first = {0}, out;
    for (int threads = 1; threads <= 3; threads++) {
        struct model m;
        model_open(&m, isa, dtype, threads);
        out = generate(&m, PROMPT, false);
        if (threads == 1) first = out;
        assert_memory_equal(&out, &first, sizeof(out));
        out = generate(&m, 5, false);
        assert_memory_equal(&out, &first, sizeof(out));
        out = generate(&m, 16, true);
        assert_memory_equal(&out, &first, sizeof(out));
        model_close(&m);
    }
    for (int i = 0; i < NEW_TOKENS; i++) {
        assert_in_range(first.tokens[i], 0, VOCAB - 1);
        assert_true(first.logprobs[i] < 0 && first.logprobs[i] > -10);
    }
}

static void test_whole_models(void **state)
{
    for (int isa = CPU_SCALAR; isa <= CPU_NEON; isa++) {
        if (!cpu_isa_available((enum cpu_isa)isa)) continue;
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            check_model((enum cpu_isa)isa, (enum dtype)dtype);
    }
}

static void test_refusals(void **state)
{
    struct device *device = NULL;
    struct error error = {0};
    struct device_options options = {.threads = 1, .first_cpu = -1, .isa = "sse9"};
    assert_int_equal(device_cpu.open(&options, &device, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "sse9"));
    options.isa = cpu_isa_available(CPU_NEON) ? "avx2" : "neon";
    assert_int_equal(device_cpu.open(&options, &device, &error), STATUS_UNSUPPORTED);
    options.isa = NULL, options.threads = 0;
    assert_int_equal(device_cpu.open(&options, &device, &error), STATUS_INVALID);
    device_cpu.close(NULL);
    options.threads = 1;
    assert_int_equal(device_cpu.open(&options, &device, &error), STATUS_OK);
    struct model m = {.device = device, .seed = 1};
    struct op *op = add_linear(&m, DTYPE_F32, 0, 1, 6, 5);
    assert_int_equal(device_cpu.supports(device, op, &error), STATUS_OK);
    op->linear.bias = add_weight(&m, WEIGHT_VECTOR, DTYPE_F32, 1, 5); /* should be 6 */
    assert_int_equal(device_cpu.supports(device, op, &error), STATUS_UNSUPPORTED);
    op->kind = OP_KIND_COUNT;
    assert_int_equal(device_cpu.supports(device, op, &error), STATUS_UNSUPPORTED);
    device_cpu.close(device); /* never prepared */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole_models),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
