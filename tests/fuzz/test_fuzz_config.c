/* test_fuzz_config.c - damaged config.json and generation_config.json are refused with a reason or
 * give a configuration that everything behind can live with. Arguments: seconds, seed. */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/hf_config.h"
#include "runtime/program.h"
#include "runtime/rope.h"
#include "tests/support/mutate.h"

static const char YARN[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"hidden_size\":64,"
    "\"num_hidden_layers\":2,\"num_attention_heads\":8,\"num_key_value_heads\":2,\"head_dim\":8,"
    "\"intermediate_size\":96,\"vocab_size\":100,\"max_position_embeddings\":512,"
    "\"rms_norm_eps\":1e-05,\"hidden_act\":\"silu\",\"rope_theta\":10000.0,\"rope_scaling\":"
    "{\"type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":128,\"beta_fast\":32,"
    "\"mscale\":1.0,\"mscale_all_dim\":0.5},\"eos_token_id\":[1,2],\"bos_token_id\":0,"
    "\"attention_bias\":false,\"mlp_bias\":false,\"tie_word_embeddings\":true}";

static const char LLAMA3[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":2,"
    "\"num_attention_heads\":8,\"intermediate_size\":96,\"vocab_size\":100,\"rope_parameters\":"
    "{\"rope_type\":\"llama3\",\"rope_theta\":5e5,\"factor\":8,\"low_freq_factor\":1,"
    "\"high_freq_factor\":4,\"original_max_position_embeddings\":512}}";

static const char DYNAMIC[] =
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":64,\"num_hidden_layers\":3,"
    "\"num_attention_heads\":8,\"num_key_value_heads\":4,\"intermediate_size\":96,\"vocab_size\":"
    "50,"
    "\"use_sliding_window\":true,\"sliding_window\":16,\"max_window_layers\":1,\"layer_types\":"
    "[\"full_attention\",\"sliding_attention\",\"sliding_attention\"],\"rope_scaling\":"
    "{\"type\":\"dynamic\",\"factor\":2.0}}";

static const char GENERATION[] =
    "{\"temperature\":0.7,\"top_p\":0.8,\"top_k\":20,\"min_p\":0.1,\"repetition_penalty\":1.05,"
    "\"eos_token_id\":[3,4],\"bos_token_id\":1}";

static const char *const CONFIGS[] = {YARN, LLAMA3, DYNAMIC, GENERATION};

/* What an accepted configuration goes through next. */
static void use(const struct model_config *config)
{
    static float inv_freq[1024];
    float factor;
    struct error error = {0};
    CHECK(config->rope.rotary_dim <= 2048 && config->heads % config->kv_heads == 0);
    rope_frequencies(&config->rope, config->max_position, config->max_position, inv_freq, &factor);
    for (int ranks = 1; ranks <= 8; ranks++)
        if (program_check(config, ranks, &error) != STATUS_OK) CHECK(error.message[0]);
}

int main(int argc, char **argv)
{
    enum { COUNT = sizeof CONFIGS / sizeof *CONFIGS };
    struct buffer valid[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) buffer_append_string(&valid[i], CONFIGS[i]);
    struct mutate mutate = mutate_begin(argc, argv);
    while (mutate_more(&mutate)) {
        const struct family *family;
        struct model_config config;
        struct generation_config generation = GENERATION_DEFAULTS;
        struct error error = {0};
        size_t bytes;
        int which = (int)mutate_below(&mutate, COUNT);
        char *text = mutate_json(&mutate, &valid[which], &bytes);
        enum status status =
            which == COUNT - 1
                ? hf_generation_parse(text, bytes, 100, &generation, &error)
                : hf_config_parse(text, bytes, &family, &config, &generation, &error);
        if (status == STATUS_OK) {
            mutate.accepted++;
            if (which < COUNT - 1) use(&config);
        } else {
            CHECK(error.message[0]);
        }
        free(text);
    }
    mutate_end(&mutate);
    for (int i = 0; i < COUNT; i++) buffer_free(&valid[i]);
    return 0;
}
