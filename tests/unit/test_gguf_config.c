/* test_gguf_config.c - configurations from GGUF metadata: scalings, windows, ends, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/gguf_config.h"
#include "runtime/q6_k.h"
#include "runtime/rope.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/tiny_model.h"

struct opened {
    struct buffer file;
    struct gguf *gguf;
    struct model_config config;
    struct generation_config generation;
    struct error error;
    enum status status;
};

/* The least a llama file must say, without `skip`, and whatever the writer holds already. */
static struct opened finish(struct gguf_writer *w, const char *skip)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = {{"llama.embedding_length", 64},
                {"llama.block_count", 2},
                {"llama.attention.head_count", 4},
                {"llama.feed_forward_length", 96},
                {"llama.context_length", 512}};
    static const float zeros[64 * 10];
    struct opened o = {0};
    const struct family *family;
    gguf_writer_string(w, "general.architecture", "llama");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!skip || strcmp(skip, keys[i].key) != 0) gguf_writer_u32(w, keys[i].key, keys[i].value);
    gguf_writer_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    gguf_writer_tensor(w, "token_embd.weight", 0, 64, 10, zeros, sizeof zeros);
    o.file = gguf_writer_finish(w);
    assert_int_equal(gguf_open_memory(o.file.data, o.file.len, &o.gguf, &o.error), STATUS_OK);
    o.status = gguf_config_parse(o.gguf, &family, &o.config, &o.generation, &o.error);
    return o;
}

static void release(struct opened *o)
{
    gguf_close(o->gguf);
    buffer_free(&o->file);
}

static void bad(struct gguf_writer *w, const char *skip, enum status wanted, const char *param)
{
    struct opened o = finish(w, skip);
    if (o.status != wanted) fail_msg("%s: %s", param, status_name(o.status));
    assert_string_equal(o.error.param, param);
    release(&o);
}

static void test_defaults(void **state)
{
    struct gguf_writer w = {0};
    gguf_writer_u32(&w, "tokenizer.ggml.eos_token_id", 2);
    gguf_writer_u32(&w, "tokenizer.ggml.eot_token_id", 3);
    gguf_writer_u32(&w, "tokenizer.ggml.bos_token_id", 1);
    struct opened o = finish(&w, NULL);
    assert_int_equal(o.status, STATUS_OK);
    assert_int_equal(o.config.kv_heads, 4);
    assert_int_equal(o.config.head_dim, 16);
    assert_int_equal(o.config.vocab, 10);
    assert_true(o.config.tied_embeddings && !o.config.qkv_bias);
    assert_int_equal(o.config.rope.scaling, ROPE_PLAIN);
    assert_int_equal(o.generation.eos_count, 2);
    assert_int_equal(o.generation.eos[1], 3);
    assert_int_equal(o.generation.bos, 1);
    release(&o);
}

static void test_scalings(void **state)
{
    struct gguf_writer w = {0};
    gguf_writer_f32(&w, "llama.rope.scale_linear", 4);
    struct opened o = finish(&w, NULL);
    assert_int_equal(o.config.rope.scaling, ROPE_LINEAR);
    assert_float_equal(o.config.rope.factor, 4, 0);
    release(&o);

    gguf_writer_string(&w, "llama.rope.scaling.type", "yarn");
    gguf_writer_f32(&w, "llama.rope.scaling.factor", 4);
    gguf_writer_u32(&w, "llama.rope.scaling.original_context_length", 128);
    o = finish(&w, NULL);
    assert_int_equal(o.config.rope.scaling, ROPE_YARN);
    assert_int_equal(o.config.rope.original_max_position, 128);
    float inv_freq[8], factor;
    rope_frequencies(&o.config.rope, 512, 512, inv_freq, &factor);
    assert_float_equal(factor, 1.138629, 1e-5); /* 0.1 ln 4 + 1, as in transformers */
    release(&o);

    static const float factors[8] = {1, 1, 1, 1, 2, 4, 8, 8};
    gguf_writer_tensor(&w, "rope_freqs.weight", 0, 8, 0, factors, sizeof factors);
    o = finish(&w, NULL);
    assert_int_equal(o.status, STATUS_OK);
    assert_memory_equal(o.config.rope.factors, factors, sizeof factors);
    release(&o);
}

static void test_refusals(void **state)
{
    static const float zeros[64];
    struct gguf_writer w = {0};
    bad(&w, "llama.block_count", STATUS_INVALID, "llama.block_count");
    gguf_writer_u32(&w, "llama.expert_count", 8);
    bad(&w, NULL, STATUS_UNSUPPORTED, "llama.expert_count");
    gguf_writer_u32(&w, "llama.attention.key_length", 16);
    gguf_writer_u32(&w, "llama.attention.value_length", 8);
    bad(&w, NULL, STATUS_UNSUPPORTED, "llama.attention.value_length");
    gguf_writer_u32(&w, "llama.rope.dimension_count", 8);
    bad(&w, NULL, STATUS_UNSUPPORTED, "llama.rope.dimension_count");
    gguf_writer_string(&w, "llama.rope.scaling.type", "longrope");
    bad(&w, NULL, STATUS_UNSUPPORTED, "llama.rope.scaling.type");
    gguf_writer_string(&w, "llama.attention.head_count_kv", "two");
    bad(&w, NULL, STATUS_INVALID, "llama.attention.head_count_kv");
    gguf_writer_u32(&w, "llama.attention.head_count_kv", 3);
    bad(&w, NULL, STATUS_INVALID, "number of KV heads");
    gguf_writer_u32(&w, "tokenizer.ggml.eos_token_id", 10);
    bad(&w, NULL, STATUS_INVALID, "tokenizer.ggml.eos_token_id");
    gguf_writer_tensor(&w, "rope_freqs.weight", 0, 7, 0, zeros, 28);
    bad(&w, NULL, STATUS_CORRUPT, "rope_freqs.weight");
    gguf_writer_tensor(&w, "rope_freqs.weight", 0, 8, 0, zeros, 32);
    bad(&w, NULL, STATUS_CORRUPT, "rope_freqs.weight"); /* divides by zero */
}

/* A tensor type that we do not have is named, with the tensor. */
static void test_unsupported_type(void **state)
{
    const char *path = "/tmp/penstock-test-q4k.gguf";
    static const char zeros[144 * 8];
    struct tiny_model tiny = {.family = "llama",
                              .hidden = 256,
                              .layers = 1,
                              .heads = 4,
                              .kv_heads = 4,
                              .head_dim = 64,
                              .ffn = 32,
                              .vocab = 8,
                              .skip = "token_embd.weight"};
    struct buffer file = tiny_gguf(&tiny);
    struct gguf_writer w = {0};
    struct gguf *gguf;
    struct model *model;
    struct error error = {0};
    static const char *const keys[] = {"embedding_length",       "block_count",
                                       "attention.head_count",   "attention.key_length",
                                       "attention.value_length", "feed_forward_length",
                                       "context_length"};
    assert_int_equal(gguf_open_memory(file.data, file.len, &gguf, &error), STATUS_OK);
    gguf_writer_string(&w, "general.architecture", "llama");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char key[64];
        int64_t value;
        snprintf(key, sizeof key, "llama.%s", keys[i]);
        assert_true(gguf_get_int(gguf, key, &value));
        gguf_writer_u32(&w, key, (uint32_t)value);
    }
    gguf_writer_f32(&w, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    gguf_writer_tensor(&w, "token_embd.weight", 12, 256, 8, zeros, sizeof zeros);
    gguf_close(gguf);
    buffer_free(&file);
    file = gguf_writer_finish(&w);
    tiny_write_file(path, file.data, file.len);
    buffer_free(&file);
    assert_int_equal(model_open(path, &model, &error), STATUS_UNSUPPORTED);
    assert_string_equal(error.param, "token_embd.weight");
    assert_non_null(strstr(error.message, "Q4_K"));
    unlink(path);
}

/* Against gguf-py's dequantize on a block by formula. */
static void test_q6_k(void **state)
{
    static const struct {
        int at;
        float value;
    } wanted[] = {{0, -44.71875F},   {1, 53.0F},     {15, -9.9375F},   {16, -13.5F},
                  {31, -3.0F},       {32, 7.21875F}, {47, -6.5625F},   {63, -18.125F},
                  {64, -95.0F},      {95, 93.0F},    {96, -27.1875F},  {127, 46.875F},
                  {128, -10.96875F}, {145, -24.0F},  {170, 55.28125F}, {191, -30.625F},
                  {200, 34.03125F},  {255, -1.875F}};
    uint8_t block[Q6_K_BYTES];
    float values[Q6_K_BLOCK];
    double sum = 0, weighted = 0;
    uint16_t scale = f32_to_f16(0.03125F);
    for (int i = 0; i < Q6_K_BYTES; i++) block[i] = (uint8_t)(i * 37 + 11);
    memcpy(block + Q6_K_BYTES - 2, &scale, 2);
    q6_k_to_f32(block, Q6_K_BLOCK, values);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_float_equal(values[wanted[i].at], wanted[i].value, 0);
    for (int i = 0; i < Q6_K_BLOCK; i++) sum += values[i], weighted += values[i] * i;
    assert_float_equal(sum, 144.125, 0);
    assert_float_equal(weighted, 24369, 0);
}

/* The embedded model, where this build has one. */
static void test_default_model(void **state)
{
    size_t bytes;
    struct model *model = NULL;
    struct error error = {0};
    enum status status = model_open(NULL, &model, &error);
    if (!model_default_data(&bytes)) {
        assert_int_equal(status, STATUS_NOT_FOUND);
        assert_non_null(strstr(error.message, "no default model"));
        return;
    }
    assert_int_equal(status, STATUS_OK);
    assert_null(model_path(model));
    assert_non_null(model_gguf(model));
    assert_true(model_generation(model)->eos_count > 0);
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_scalings),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_unsupported_type),
        cmocka_unit_test(test_q6_k),     cmocka_unit_test(test_default_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
