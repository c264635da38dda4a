/* test_hf_config.c - config.json and generation_config.json: both spellings, defaults, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/hf_config.h"

/* The least a configuration must say, and `more`. */
static enum status parse(const char *architecture, const char *more, struct model_config *config,
                         struct generation_config *generation, struct error *error)
{
    char text[2048];
    const struct family *family;
    int len = snprintf(text, sizeof text,
                       "{\"architectures\": [\"%s\"], %s \"hidden_size\": 64, "
                       "\"num_hidden_layers\": 4, \"num_attention_heads\": 8, "
                       "\"intermediate_size\": 128, \"vocab_size\": 100}",
                       architecture, more);
    return hf_config_parse(text, (size_t)len, &family, config, generation, error);
}

static struct model_config good(const char *architecture, const char *more)
{
    struct model_config config;
    struct generation_config generation;
    struct error error = {0};
    if (parse(architecture, more, &config, &generation, &error) != STATUS_OK)
        fail_msg("%s: %s", more, error.message);
    return config;
}

static void bad(const char *architecture, const char *more, enum status wanted, const char *param)
{
    struct model_config config;
    struct generation_config generation;
    struct error error = {0};
    enum status status = parse(architecture, more, &config, &generation, &error);
    if (status != wanted) fail_msg("%s: %s", more, status_name(status));
    assert_string_equal(error.param, param);
    assert_true(error.message[0]);
}

static const char LLAMA[] = "LlamaForCausalLM", MISTRAL[] = "MistralForCausalLM",
                  QWEN2[] = "Qwen2ForCausalLM", QWEN3[] = "Qwen3ForCausalLM";

static void test_defaults(void **state)
{
    struct model_config c = good(LLAMA, "");
    assert_string_equal(c.family, "llama");
    assert_int_equal(c.kv_heads, 8);
    assert_int_equal(c.head_dim, 8);
    assert_int_equal(c.max_position, 2048);
    assert_float_equal(c.norm_eps, 1e-6, 1e-12);
    assert_float_equal(c.rope.theta, 10000, 0);
    assert_int_equal(c.rope.scaling, ROPE_PLAIN);
    assert_false(c.tied_embeddings || c.qkv_bias || c.o_bias || c.mlp_bias || c.qk_norm);
    c = good(MISTRAL, "\"num_key_value_heads\": null,");
    assert_int_equal(c.sliding_window, 4096);
    assert_int_equal(c.kv_heads, 8);
    c = good(MISTRAL, "\"sliding_window\": null,");
    assert_int_equal(c.sliding_window, 0);
    c = good(MISTRAL, "\"sliding_window\": 32,");
    assert_int_equal(c.sliding_window, 32);
    assert_int_equal(c.sliding_window_start, 0);
    c = good(QWEN2, "\"num_key_value_heads\": 2, \"sliding_window\": 32,");
    assert_true(c.qkv_bias && !c.o_bias);
    assert_int_equal(c.sliding_window, 0);
    c = good(QWEN3, "\"num_key_value_heads\": 2,");
    assert_true(c.qk_norm && !c.qkv_bias);
    assert_int_equal(c.head_dim, 128);
}

static void test_windows(void **state)
{
    struct model_config c = good(QWEN2, "\"num_key_value_heads\": 2, \"use_sliding_window\": true, "
                                        "\"sliding_window\": 16, \"max_window_layers\": 2,");
    assert_int_equal(c.sliding_window, 16);
    assert_int_equal(c.sliding_window_start, 2);
    c = good(QWEN2, "\"num_key_value_heads\": 2, \"use_sliding_window\": true,"
                    "\"sliding_window\": 16, \"layer_types\": [\"full_attention\", "
                    "\"full_attention\", \"full_attention\", \"sliding_attention\"],");
    assert_int_equal(c.sliding_window_start, 3);
    bad(QWEN2,
        "\"num_key_value_heads\": 2, \"use_sliding_window\": true, \"layer_types\": "
        "[\"sliding_attention\", \"full_attention\", \"full_attention\", "
        "\"full_attention\"],",
        STATUS_UNSUPPORTED, "layer_types");
    bad(QWEN2, "\"num_key_value_heads\": 2, \"layer_types\": [\"full_attention\"],", STATUS_INVALID,
        "layer_types");
}

static void test_both_rope_spellings(void **state)
{
    static const char *const spellings[] = {
        "\"rope_theta\": 5e5, \"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, "
        "\"low_freq_factor\": 1, \"high_freq_factor\": 4, "
        "\"original_max_position_embeddings\": 512},",
        "\"rope_parameters\": {\"rope_type\": \"llama3\", \"rope_theta\": 500000, \"factor\": 8.0, "
        "\"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
        "\"original_max_position_embeddings\": 512},"};
    for (int i = 0; i < 2; i++) {
        struct model_config c = good(LLAMA, spellings[i]);
        assert_int_equal(c.rope.scaling, ROPE_LLAMA3);
        assert_float_equal(c.rope.theta, 500000, 0);
        assert_float_equal(c.rope.factor, 8, 0);
        assert_int_equal(c.rope.original_max_position, 512);
    }
    struct model_config c = good(LLAMA, "\"max_position_embeddings\": 4096, \"rope_parameters\": "
                                        "{\"rope_type\": \"yarn\", \"factor\": null, "
                                        "\"original_max_position_embeddings\": 1024},");
    assert_float_equal(c.rope.factor, 4, 0);
}

static void test_refusals(void **state)
{
    bad("GPT2LMHeadModel", "", STATUS_UNSUPPORTED, "architectures");
    bad("MixtralForCausalLM", "", STATUS_UNSUPPORTED, "architectures");
    bad(LLAMA, "\"quantization_config\": {\"quant_method\": \"gptq\"},", STATUS_UNSUPPORTED,
        "quantization_config");
    bad(LLAMA, "\"hidden_act\": \"relu\",", STATUS_UNSUPPORTED, "hidden_act");
    bad(LLAMA, "\"partial_rotary_factor\": 0.5,", STATUS_UNSUPPORTED, "partial_rotary_factor");
    bad(LLAMA, "\"num_experts\": 8,", STATUS_UNSUPPORTED, "num_experts");
    bad(LLAMA, "\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 2},", STATUS_UNSUPPORTED,
        "rope_type");
    bad(LLAMA, "\"rope_scaling\": {\"type\": \"linear\"},", STATUS_INVALID, "factor");
    bad(LLAMA, "\"rope_scaling\": {\"type\": \"linear\", \"factor\": \"2\"},", STATUS_INVALID,
        "factor");
    bad(LLAMA, "\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 2},", STATUS_INVALID,
        "low_freq_factor");
    bad(LLAMA, "\"rope_scaling\": [],", STATUS_INVALID, "rope_scaling");
    bad(LLAMA, "\"rope_parameters\": {\"full_attention\": {}},", STATUS_UNSUPPORTED,
        "rope_parameters");
    bad(LLAMA, "\"rope_theta\": -1,", STATUS_INVALID, "rope_theta");
    bad(LLAMA, "\"num_key_value_heads\": 3,", STATUS_INVALID, "number of KV heads");
    bad(LLAMA, "\"num_key_value_heads\": 0,", STATUS_INVALID, "num_key_value_heads");
    bad(LLAMA, "\"num_key_value_heads\": 1e30,", STATUS_INVALID, "num_key_value_heads");
    bad(LLAMA, "\"head_dim\": 7,", STATUS_UNSUPPORTED, "head size");
    bad(LLAMA, "\"head_dim\": 99999999999999999999,", STATUS_INVALID, "head_dim");
    bad(LLAMA, "\"tie_word_embeddings\": 1,", STATUS_INVALID, "tie_word_embeddings");
    bad(LLAMA, "\"rms_norm_eps\": 2,", STATUS_INVALID, "rms_norm_eps");
    bad(LLAMA, "\"eos_token_id\": 100,", STATUS_INVALID, "eos_token_id");
    bad(LLAMA, "\"eos_token_id\": [1, -2],", STATUS_INVALID, "eos_token_id");
    bad(LLAMA, "\"hidden_size\": \"64\",", STATUS_INVALID, "hidden_size");
    bad(LLAMA, "\"vocab_size\": null,", STATUS_INVALID, "vocab_size");
    bad(LLAMA, "\"unterminated", STATUS_CORRUPT, "");
}

static void test_generation(void **state)
{
    struct model_config config;
    struct generation_config g;
    struct error error = {0};
    static const char text[] = "{\"temperature\": 0.6, \"top_p\": 0.95, \"top_k\": 20, "
                               "\"min_p\": 0.05, \"repetition_penalty\": 1.1, "
                               "\"eos_token_id\": [5, 6], \"do_sample\": true}";
    static const char low[] = "{\"temperature\": -1}";
    assert_int_equal(parse(LLAMA, "\"eos_token_id\": 2, \"bos_token_id\": 1,", &config, &g, &error),
                     STATUS_OK);
    assert_float_equal(g.temperature, 1, 0);
    assert_float_equal(g.top_p, 1, 0);
    assert_int_equal(g.eos_count, 1);
    assert_int_equal(g.eos[0], 2);
    assert_int_equal(g.bos, 1);
    assert_int_equal(hf_generation_parse(text, sizeof text - 1, 100, &g, &error), STATUS_OK);
    assert_float_equal(g.temperature, 0.6, 1e-6);
    assert_float_equal(g.min_p, 0.05, 1e-6);
    assert_int_equal(g.top_k, 20);
    assert_int_equal(g.eos_count, 2);
    assert_int_equal(g.eos[1], 6);
    assert_int_equal(g.bos, 1);
    assert_int_equal(hf_generation_parse(text, sizeof text - 1, 6, &g, &error), STATUS_INVALID);
    assert_string_equal(error.param, "eos_token_id");
    assert_int_equal(hf_generation_parse(low, sizeof low - 1, 6, &g, &error), STATUS_INVALID);
    assert_string_equal(error.param, "temperature");
    assert_int_equal(hf_generation_parse("[]", 2, 6, &g, &error), STATUS_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_both_rope_spellings),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_generation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
