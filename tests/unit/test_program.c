/* test_program.c - what each rank of a program holds: shapes, contents, types; and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/model.h"
#include "runtime/program.h"
#include "tests/support/plain_device.h"
#include "tests/support/tiny_model.h"

enum { COLS_MAX = 512 };

static const struct tiny_model LLAMA = {.family = "llama",
                                        .hidden = 64,
                                        .layers = 2,
                                        .heads = 8,
                                        .kv_heads = 2,
                                        .head_dim = 12,
                                        .ffn = 96,
                                        .vocab = 51,
                                        .attention_bias = true,
                                        .mlp_bias = true};
static const struct tiny_model QWEN3 = {.family = "qwen3",
                                        .hidden = 64,
                                        .layers = 2,
                                        .heads = 8,
                                        .kv_heads = 4,
                                        .head_dim = 32,
                                        .ffn = 128,
                                        .vocab = 48,
                                        .tied = true,
                                        .dtype = DTYPE_BF16};

struct loaded { /* a rank's program on the plain device */
    struct model *model;
    struct device *device;
    struct program *program;
    int64_t reported;
};

static void count_bytes(void *arg, int64_t bytes)
{
    __atomic_fetch_add((int64_t *)arg, bytes, __ATOMIC_RELAXED);
}

static struct loaded load_path(const char *path, struct program_options options, int threads)
{
    struct loaded loaded = {0};
    struct error error = {0};
    if (model_open(path, &loaded.model, &error) != STATUS_OK) fail_msg("%s", error.message);
    device_plain.open(NULL, &loaded.device, NULL);
    if (program_create(loaded.model, &options, &device_plain, loaded.device, &loaded.program,
                       &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(program_load(loaded.program, loaded.model, &device_plain, loaded.device,
                                  threads, count_bytes, &loaded.reported, &error),
                     STATUS_OK);
    assert_int_equal(loaded.reported, program_load_bytes(loaded.program));
    return loaded;
}

static struct loaded load(const struct tiny_model *tiny, int rank, int rank_count)
{
    char path[64];
    struct loaded loaded =
        load_path(tiny_directory(tiny, path),
                  (struct program_options){
                      .rank = rank, .rank_count = rank_count, .dtype = -1, .quantization = -1},
                  3);
    tiny_remove(path);
    return loaded;
}

static void unload(struct loaded *loaded)
{
    program_destroy(loaded->program);
    device_plain.close(loaded->device);
    model_close(loaded->model);
}

static const struct op *find_op(const struct program *program, const char *name, int layer)
{
    for (int i = 0; i < program->op_count; i++)
        if (!strcmp(program->ops[i].name, name) && program->ops[i].layer == layer)
            return &program->ops[i];
    return NULL;
}

/* Rows [row, row + count) of `weight` are rows [first, first + count) of the role's tensor, columns
 * from `col`. */
static void expect_rows(const struct weight *weight, int64_t row, int64_t count,
                        enum weight_role role, int layer, int64_t first, int64_t col)
{
    float values[COLS_MAX];
    for (int64_t i = 0; i < count; i++) {
        plain_row(weight, row + i, values);
        for (int64_t j = 0; j < weight->desc.cols; j++)
            if (values[j] != tiny_value(role, layer, first + i, col + j))
                fail_msg("%s: row %lld, column %lld is %g", weight->name, (long long)(row + i),
                         (long long)j, values[j]);
    }
}

/* Elements [at, at + count) of a vector are [first, ...) of the role's. */
static void expect_part(const struct weight *weight, int64_t at, int64_t count,
                        enum weight_role role, int layer, int64_t first)
{
    float values[COLS_MAX];
    plain_row(weight, 0, values);
    for (int64_t i = 0; i < count; i++)
        assert_float_equal(values[at + i], tiny_value(role, layer, 0, first + i), 0);
}

/* Everything rank `rank` of `ranks` holds of LLAMA's layer 1. */
static void check_llama_layer(const struct loaded *loaded, int rank, int ranks)
{
    const struct tiny_model *t = &LLAMA;
    int q = t->heads * t->head_dim / ranks, groups = ranks >= t->kv_heads ? 1 : t->kv_heads / ranks;
    int kv = groups * t->head_dim, ffn = t->ffn / ranks;
    int kv_first = (ranks > t->kv_heads ? rank / (ranks / t->kv_heads) : rank * groups);
    kv_first *= t->head_dim;
    const struct op *op = find_op(loaded->program, "qkv", 1);
    const struct weight *w = op->linear.weight, *bias = op->linear.bias;
    assert_int_equal(w->desc.rows, q + 2 * kv);
    expect_rows(w, 0, q, ROLE_Q, 1, rank * q, 0);
    expect_rows(w, q, kv, ROLE_K, 1, kv_first, 0);
    expect_rows(w, q + kv, kv, ROLE_V, 1, kv_first, 0);
    expect_part(bias, 0, q, ROLE_Q_BIAS, 1, rank * q);
    expect_part(bias, q, kv, ROLE_K_BIAS, 1, kv_first);
    expect_part(bias, q + kv, kv, ROLE_V_BIAS, 1, kv_first);
    op = find_op(loaded->program, "o", 1);
    assert_int_equal(op->linear.weight->desc.cols, q);
    expect_rows(op->linear.weight, 0, t->hidden, ROLE_O, 1, 0, rank * q);
    assert_int_equal(op->linear.bias != NULL, rank == 0);
    op = find_op(loaded->program, "gate_up", 1);
    expect_rows(op->linear.weight, 0, ffn, ROLE_GATE, 1, rank * ffn, 0);
    expect_rows(op->linear.weight, ffn, ffn, ROLE_UP, 1, rank * ffn, 0);
    expect_part(op->linear.bias, ffn, ffn, ROLE_UP_BIAS, 1, rank * ffn);
    op = find_op(loaded->program, "down", 1);
    expect_rows(op->linear.weight, 0, t->hidden, ROLE_DOWN, 1, 0, rank * ffn);
    assert_int_equal(op->linear.bias != NULL, rank == 0);
    op = find_op(loaded->program, "rope_kv", 1);
    assert_int_equal(op->rope_kv.heads, t->heads / ranks);
    assert_int_equal(op->rope_kv.kv_heads, groups);
    assert_int_equal(loaded->program->kv_layers[1].kv_heads, groups);
}

static void check_llama_vocabulary(const struct loaded *loaded, int rank, int ranks)
{
    int shard = (LLAMA.vocab + ranks - 1) / ranks, first = rank * shard;
    int count = LLAMA.vocab - first < shard ? LLAMA.vocab - first : shard;
    float zero[COLS_MAX];
    const struct op *embed = find_op(loaded->program, "embed", -1);
    const struct op *logits = find_op(loaded->program, "logits", -1);
    assert_int_equal(embed->embed.vocab_start, first);
    assert_int_equal(embed->embed.table->desc.rows, shard);
    expect_rows(embed->embed.table, 0, count, ROLE_EMBED, 0, first, 0);
    expect_rows(logits->logits.weight, 0, count, ROLE_HEAD, 0, first, 0);
    for (int i = count; i < shard; i++) {
        plain_row(logits->logits.weight, i, zero);
        for (int j = 0; j < LLAMA.hidden; j++) assert_float_equal(zero[j], 0, 0);
    }
    assert_int_equal(find_op(loaded->program, "sample", -1)->sample.vocab, LLAMA.vocab);
    assert_int_equal(loaded->program->buffers[logits->out].cols, shard);
    const struct op *gather = find_op(loaded->program, "logits_gather", -1);
    assert_int_equal(gather != NULL, ranks > 1);
    if (gather) assert_int_equal(loaded->program->buffers[gather->out].cols, shard * ranks);
}

static void test_shards(void **state)
{
    for (int ranks = 1; ranks <= 8; ranks *= 2)
        for (int rank = 0; rank < ranks; rank++) {
            struct loaded loaded = load(&LLAMA, rank, ranks);
            check_llama_layer(&loaded, rank, ranks);
            check_llama_vocabulary(&loaded, rank, ranks);
            unload(&loaded);
        }
}

static void test_order_of_ops(void **state)
{
    static const char *const wanted[] = {
        "embed",    "rope_table", "attention_norm", "qkv",  "rope_kv",    "attention", "o",
        "mlp_norm", "gate_up",    "mlp_act",        "down", "final_norm", "logits",    "sample"};
    struct tiny_model one = QWEN3;
    one.layers = 1;
    struct loaded loaded = load(&one, 0, 1);
    assert_int_equal(loaded.program->op_count, sizeof wanted / sizeof *wanted);
    for (int i = 0; i < loaded.program->op_count; i++)
        assert_string_equal(loaded.program->ops[i].name, wanted[i]);
    assert_int_equal(loaded.program->ops[2].in, BUFFER_NONE);
    assert_int_equal(loaded.program->ops[2].norm.residual, loaded.program->ops[0].out);
    const struct op *rope = find_op(loaded.program, "rope_kv", 0);
    expect_part(rope->rope_kv.q_norm, 0, one.head_dim, ROLE_Q_NORM, 0, 0);
    expect_part(rope->rope_kv.k_norm, 0, one.head_dim, ROLE_K_NORM, 0, 0);
    assert_ptr_equal(find_op(loaded.program, "embed", -1)->embed.table,
                     find_op(loaded.program, "logits", -1)->logits.weight); /* tied */
    assert_int_equal(find_op(loaded.program, "qkv", 0)->linear.weight->desc.dtype, DTYPE_BF16);
    unload(&loaded);
}

/* The rows that the GGUF converter reordered come back in HF's order, so both load alike. */
static void test_gguf_equals_hf(void **state)
{
    const char *path = "/tmp/penstock-tiny-test.gguf";
    struct tiny_model qwen2 = LLAMA;
    qwen2.family = "qwen2", qwen2.attention_bias = qwen2.mlp_bias = false;
    const struct tiny_model *models[] = {&LLAMA, &qwen2};
    for (int m = 0; m < 2; m++) {
        struct buffer file = tiny_gguf(models[m]);
        tiny_write_file(path, file.data, file.len);
        buffer_free(&file);
        for (int rank = 0; rank < 2; rank++) {
            struct loaded hf = load(models[m], rank, 2);
            struct loaded gguf =
                load_path(path,
                          (struct program_options){
                              .rank = rank, .rank_count = 2, .dtype = -1, .quantization = -1},
                          1);
            const struct weight *a = plain_weights(hf.device), *b = plain_weights(gguf.device);
            for (; a && b; a = a->next, b = b->next) {
                assert_int_equal(a->desc.rows, b->desc.rows);
                assert_memory_equal(a->rows, b->rows, device_plain.weight_bytes(a));
            }
            assert_true(!a && !b);
            unload(&hf);
            unload(&gguf);
        }
    }
    unlink(path);
}

/* --quantization quantises whole blocks of every matrix and says so of the rest; --dtype converts.
 */
static void test_element_types(void **state)
{
    char path[64];
    float values[COLS_MAX];
    uint8_t packed[COLS_MAX];
    struct program_options options = {.rank_count = 1, .dtype = -1, .quantization = DTYPE_Q8_0};
    struct loaded loaded = load_path(tiny_directory(&LLAMA, path), options, 2);
    const struct weight *gate = find_op(loaded.program, "gate_up", 0)->linear.weight;
    assert_int_equal(gate->desc.dtype, DTYPE_Q8_0);
    for (int j = 0; j < LLAMA.hidden; j++) values[j] = tiny_value(ROLE_UP, 0, 5, j);
    dtype_from_f32(DTYPE_Q8_0, values, LLAMA.hidden, packed);
    size_t bytes = dtype_row_bytes(DTYPE_Q8_0, LLAMA.hidden);
    assert_memory_equal(gate->rows + (size_t)(LLAMA.ffn + 5) * bytes, packed, bytes);
    assert_int_equal(find_op(loaded.program, "embed", -1)->embed.table->desc.dtype, DTYPE_Q8_0);
    unload(&loaded);

    options.rank_count = 4; /* o has 24 columns a rank, down 24: they stay as they are */
    loaded = load_path(path, options, 2);
    assert_int_equal(find_op(loaded.program, "o", 0)->linear.weight->desc.dtype, DTYPE_F32);
    expect_rows(find_op(loaded.program, "o", 0)->linear.weight, 0, 64, ROLE_O, 0, 0, 0);
    unload(&loaded);

    options = (struct program_options){.rank_count = 1, .dtype = DTYPE_F16, .quantization = -1};
    loaded = load_path(path, options, 2);
    assert_int_equal(find_op(loaded.program, "o", 0)->linear.weight->desc.dtype, DTYPE_F16);
    expect_rows(find_op(loaded.program, "o", 0)->linear.weight, 0, 64, ROLE_O, 0, 0, 0);
    unload(&loaded);
    tiny_remove(path);
}

/* Packed GGUF weights: kept packed; split between blocks; dequantised when asked or when a share is
 * no whole block. */
static void test_packed_gguf(void **state)
{
    const char *path = "/tmp/penstock-tiny-packed.gguf";
    struct tiny_model tiny = LLAMA;
    tiny.dtype = DTYPE_Q8_0;
    struct buffer file = tiny_gguf(&tiny);
    float whole[COLS_MAX], part[COLS_MAX];
    tiny_write_file(path, file.data, file.len);
    buffer_free(&file);
    struct program_options options = {.rank_count = 1, .dtype = -1, .quantization = -1};
    struct loaded one = load_path(path, options, 2);
    assert_int_equal(find_op(one.program, "down", 0)->linear.weight->desc.dtype, DTYPE_Q8_0);
    for (int ranks = 2; ranks <= 4; ranks *= 2)
        for (int dtype = -1; dtype <= DTYPE_F32; dtype++) {
            options = (struct program_options){ranks - 1, ranks, dtype, -1, 0};
            struct loaded last = load_path(path, options, 2);
            const struct weight *down = find_op(last.program, "down", 0)->linear.weight;
            assert_int_equal(down->desc.dtype, DTYPE_F32); /* 48 and 24 columns */
            assert_int_equal(find_op(last.program, "qkv", 0)->linear.weight->desc.dtype,
                             dtype < 0 ? DTYPE_Q8_0 : DTYPE_F32);
            for (int i = 0; i < tiny.hidden; i++) {
                plain_row(find_op(one.program, "down", 0)->linear.weight, i, whole);
                plain_row(down, i, part);
                assert_memory_equal(part, whole + tiny.ffn - down->desc.cols,
                                    (size_t)down->desc.cols * sizeof *part);
            }
            unload(&last);
        }
    unload(&one);
    struct model *model = NULL;
    struct device *device;
    struct program *program;
    struct error error = {0};
    assert_int_equal(model_open(path, &model, &error), STATUS_OK);
    assert_int_equal(model_config(model)->dtype, DTYPE_Q8_0);
    device_plain.open(NULL, &device, NULL);
    options = (struct program_options){0, 1, -1, DTYPE_Q4_0, 0};
    assert_int_equal(program_create(model, &options, &device_plain, device, &program, &error),
                     STATUS_INVALID);
    assert_string_equal(error.param, "quantization");
    device_plain.close(device);
    model_close(model);
    unlink(path);
}

static void test_refusals(void **state)
{
    struct model_config config = {
        .heads = 12, .kv_heads = 4, .head_dim = 8, .ffn = 36, .vocab = 100, .layer_count = 1};
    struct error error = {0};
    assert_int_equal(program_check(&config, 4, &error), STATUS_OK);
    assert_int_equal(program_check(&config, 12, &error), STATUS_OK); /* 4 KV heads, thrice */
    assert_int_equal(program_check(&config, 5, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "12 attention heads"));
    assert_int_equal(program_check(&config, 6, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "4 KV heads"));
    config.ffn = 38;
    assert_int_equal(program_check(&config, 4, &error), STATUS_INVALID);
    assert_non_null(strstr(error.message, "intermediate size 38"));
}

static void expect_open(const struct tiny_model *tiny, enum status wanted, const char *param)
{
    char path[64];
    struct model *model = NULL;
    struct error error = {0};
    enum status status = model_open(tiny_directory(tiny, path), &model, &error);
    tiny_remove(path);
    if (status != wanted) fail_msg("%s: %s", status_name(status), error.message);
    assert_string_equal(error.param, param);
    assert_non_null(strstr(error.message, param));
    model_close(model);
}

static void test_weights_that_do_not_fit(void **state)
{
    struct tiny_model tiny = LLAMA;
    tiny.skip = "model.layers.1.mlp.up_proj.weight";
    expect_open(&tiny, STATUS_CORRUPT, tiny.skip);
    tiny.skip = "model.layers.0.self_attn.k_proj.bias";
    expect_open(&tiny, STATUS_CORRUPT, tiny.skip);
    tiny = LLAMA, tiny.extra = "\"vocab_size\": 60,"; /* the first of two keys counts: 51 */
    expect_open(&tiny, STATUS_OK, "");
    tiny.extra = NULL, tiny.tied = false, tiny.skip = "lm_head.weight";
    expect_open(&tiny, STATUS_CORRUPT, "lm_head.weight");
}

/* The models of ../shared load at every width they allow. */
static void test_real_models(void **state)
{
    static const char *const paths[] = {"../shared/models/stories15M",
                                        "../shared/models/minimind2-small",
                                        "../shared/models/stories260K.gguf"};
    if (access(paths[0], R_OK) != 0) {
        print_message("skipped: ../shared is not here\n");
        skip();
    }
    for (int i = 0; i < 3; i++)
        for (int ranks = 1; ranks <= 4; ranks *= 2) {
            if (i == 0 && ranks == 4) continue; /* 6 heads */
            struct loaded loaded =
                load_path(paths[i], (struct program_options){ranks - 1, ranks, -1, -1, 0}, 2);
            unload(&loaded);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_order_of_ops),
        cmocka_unit_test(test_gguf_equals_hf),
        cmocka_unit_test(test_element_types),
        cmocka_unit_test(test_packed_gguf),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_weights_that_do_not_fit),
        cmocka_unit_test(test_real_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
