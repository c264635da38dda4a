/* family.c - see family.h. */
#include "runtime/family.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/check.h"

/* clang-format off: a table is read by column */
static const struct family_weight DENSE[ROLE_COUNT] = {
    [ROLE_EMBED] = {"model.embed_tokens.weight", "token_embd.weight", SHARD_VOCAB, NEED_ALWAYS,
                    SIZE_VOCAB, SIZE_HIDDEN},
    [ROLE_HEAD] = {"lm_head.weight", "output.weight", SHARD_VOCAB, NEED_UNTIED, SIZE_VOCAB,
                   SIZE_HIDDEN},
    [ROLE_FINAL_NORM] = {"model.norm.weight", "output_norm.weight", SHARD_NONE, NEED_ALWAYS,
                         SIZE_ONE, SIZE_HIDDEN},
    [ROLE_ATTENTION_NORM] = {"model.layers.%d.input_layernorm.weight", "blk.%d.attn_norm.weight",
                             SHARD_NONE, NEED_ALWAYS, SIZE_ONE, SIZE_HIDDEN},
    [ROLE_Q] = {"model.layers.%d.self_attn.q_proj.weight", "blk.%d.attn_q.weight", SHARD_HEADS,
                NEED_ALWAYS, SIZE_Q, SIZE_HIDDEN},
    [ROLE_K] = {"model.layers.%d.self_attn.k_proj.weight", "blk.%d.attn_k.weight", SHARD_KV,
                NEED_ALWAYS, SIZE_KV, SIZE_HIDDEN},
    [ROLE_V] = {"model.layers.%d.self_attn.v_proj.weight", "blk.%d.attn_v.weight", SHARD_KV,
                NEED_ALWAYS, SIZE_KV, SIZE_HIDDEN},
    [ROLE_O] = {"model.layers.%d.self_attn.o_proj.weight", "blk.%d.attn_output.weight",
                SHARD_HEADS_K, NEED_ALWAYS, SIZE_HIDDEN, SIZE_Q},
    [ROLE_Q_BIAS] = {"model.layers.%d.self_attn.q_proj.bias", "blk.%d.attn_q.bias", SHARD_HEADS,
                     NEED_QKV_BIAS, SIZE_ONE, SIZE_Q},
    [ROLE_K_BIAS] = {"model.layers.%d.self_attn.k_proj.bias", "blk.%d.attn_k.bias", SHARD_KV,
                     NEED_QKV_BIAS, SIZE_ONE, SIZE_KV},
    [ROLE_V_BIAS] = {"model.layers.%d.self_attn.v_proj.bias", "blk.%d.attn_v.bias", SHARD_KV,
                     NEED_QKV_BIAS, SIZE_ONE, SIZE_KV},
    [ROLE_O_BIAS] = {"model.layers.%d.self_attn.o_proj.bias", "blk.%d.attn_output.bias",
                     SHARD_FIRST, NEED_O_BIAS, SIZE_ONE, SIZE_HIDDEN},
    [ROLE_Q_NORM] = {"model.layers.%d.self_attn.q_norm.weight", "blk.%d.attn_q_norm.weight",
                     SHARD_NONE, NEED_QK_NORM, SIZE_ONE, SIZE_HEAD},
    [ROLE_K_NORM] = {"model.layers.%d.self_attn.k_norm.weight", "blk.%d.attn_k_norm.weight",
                     SHARD_NONE, NEED_QK_NORM, SIZE_ONE, SIZE_HEAD},
    [ROLE_MLP_NORM] = {"model.layers.%d.post_attention_layernorm.weight", "blk.%d.ffn_norm.weight",
                       SHARD_NONE, NEED_ALWAYS, SIZE_ONE, SIZE_HIDDEN},
    [ROLE_GATE] = {"model.layers.%d.mlp.gate_proj.weight", "blk.%d.ffn_gate.weight", SHARD_FFN,
                   NEED_ALWAYS, SIZE_FFN, SIZE_HIDDEN},
    [ROLE_UP] = {"model.layers.%d.mlp.up_proj.weight", "blk.%d.ffn_up.weight", SHARD_FFN,
                 NEED_ALWAYS, SIZE_FFN, SIZE_HIDDEN},
    [ROLE_DOWN] = {"model.layers.%d.mlp.down_proj.weight", "blk.%d.ffn_down.weight", SHARD_FFN_K,
                   NEED_ALWAYS, SIZE_HIDDEN, SIZE_FFN},
    [ROLE_GATE_BIAS] = {"model.layers.%d.mlp.gate_proj.bias", "blk.%d.ffn_gate.bias", SHARD_FFN,
                        NEED_MLP_BIAS, SIZE_ONE, SIZE_FFN},
    [ROLE_UP_BIAS] = {"model.layers.%d.mlp.up_proj.bias", "blk.%d.ffn_up.bias", SHARD_FFN,
                      NEED_MLP_BIAS, SIZE_ONE, SIZE_FFN},
    [ROLE_DOWN_BIAS] = {"model.layers.%d.mlp.down_proj.bias", "blk.%d.ffn_down.bias", SHARD_FIRST,
                        NEED_MLP_BIAS, SIZE_ONE, SIZE_HIDDEN},
};
/* clang-format on */

static const struct family FAMILIES[] = {
    {.name = "llama",
     .hf_architecture = "LlamaForCausalLM",
     .hf_model_type = "llama",
     .gguf_architecture = "llama",
     .attention_bias = true,
     .mlp_bias = true,
     .gguf_interleaved = true,
     .max_position = 2048,
     .weights = DENSE},
    {.name = "mistral", /* its GGUF files say "llama" */
     .hf_architecture = "MistralForCausalLM",
     .hf_model_type = "mistral",
     .window = WINDOW_ALL,
     .kv_heads = 8,
     .max_position = 131072,
     .weights = DENSE},
    {.name = "qwen2",
     .hf_architecture = "Qwen2ForCausalLM",
     .hf_model_type = "qwen2",
     .gguf_architecture = "qwen2",
     .qkv_bias = true,
     .window = WINDOW_LATE_LAYERS,
     .kv_heads = 32,
     .max_position = 32768,
     .weights = DENSE},
    {.name = "qwen3",
     .hf_architecture = "Qwen3ForCausalLM",
     .hf_model_type = "qwen3",
     .gguf_architecture = "qwen3",
     .attention_bias = true,
     .qk_norm = true,
     .window = WINDOW_LATE_LAYERS,
     .head_dim = 128,
     .kv_heads = 32,
     .max_position = 32768,
     .weights = DENSE},
};

enum { FAMILY_COUNT = sizeof FAMILIES / sizeof *FAMILIES };

const struct family *family_by_hf(const char *architecture, const char *model_type)
{
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (architecture ? strcmp(FAMILIES[i].hf_architecture, architecture) == 0
                         : model_type && strcmp(FAMILIES[i].hf_model_type, model_type) == 0)
            return &FAMILIES[i];
    return NULL;
}

const struct family *family_by_gguf(const char *architecture)
{
    for (int i = 0; i < FAMILY_COUNT; i++)
        if (FAMILIES[i].gguf_architecture &&
            strcmp(FAMILIES[i].gguf_architecture, architecture) == 0)
            return &FAMILIES[i];
    return NULL;
}

const char *family_list(void)
{
    return "llama (2, 3.x), mistral, qwen2 (2.5) and qwen3";
}

bool family_has(const struct family *family, const struct model_config *config,
                enum weight_role role)
{
    switch (family->weights[role].need) {
    case NEED_ALWAYS: return true;
    case NEED_UNTIED: return !config->tied_embeddings;
    case NEED_QKV_BIAS: return config->qkv_bias;
    case NEED_O_BIAS: return config->o_bias;
    case NEED_MLP_BIAS: return config->mlp_bias;
    case NEED_QK_NORM: return config->qk_norm;
    }
    CHECK(false);
    return false;
}

bool family_in_layers(const struct family *family, enum weight_role role)
{
    return strchr(family->weights[role].hf, '%') != NULL;
}

int family_size(const struct model_config *config, enum weight_size size)
{
    switch (size) {
    case SIZE_ONE: return 1;
    case SIZE_HIDDEN: return config->hidden;
    case SIZE_VOCAB: return config->vocab;
    case SIZE_Q: return config->heads * config->head_dim;
    case SIZE_KV: return config->kv_heads * config->head_dim;
    case SIZE_HEAD: return config->head_dim;
    case SIZE_FFN: return config->ffn;
    }
    CHECK(false);
    return 0;
}

const char *family_weight_name(const struct family *family, enum weight_role role, bool gguf,
                               int layer, char out[FAMILY_NAME_MAX])
{
    const char *format = gguf ? family->weights[role].gguf : family->weights[role].hf;
    const char *mark = strchr(format, '%');
    if (mark)
        snprintf(out, FAMILY_NAME_MAX, "%.*s%d%s", (int)(mark - format), format, layer, mark + 2);
    else
        snprintf(out, FAMILY_NAME_MAX, "%s", format);
    return out;
}
