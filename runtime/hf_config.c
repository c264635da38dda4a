/* hf_config.c - see hf_config.h. */
#include "runtime/hf_config.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <yyjson.h>

enum {
    HIDDEN_MAX = 1 << 20,
    LAYERS_MAX = 1 << 12,
    HEADS_MAX = 1 << 12,
    HEAD_DIM_MAX = 1 << 10,
    FFN_MAX = 1 << 22,
    VOCAB_MAX = 1 << 24,
};

const struct generation_config GENERATION_DEFAULTS = {
    .temperature = 1, .top_p = 1, .repetition_penalty = 1, .bos = -1};

static enum status refuse(struct error *error, const char *key, const char *what)
{
    return error_set(error, STATUS_INVALID, key, "'%s' %s", key, what);
}

static enum status unsupported(struct error *error, const char *key, const char *what)
{
    return error_set(error, STATUS_UNSUPPORTED, key, "'%s' %s", key, what);
}

/* --- reading values ------------------------------------------------------------------------- */

/* NULL where it is absent or null: both mean the default. */
static yyjson_val *find(yyjson_val *object, const char *key)
{
    yyjson_val *value = yyjson_obj_get(object, key);
    return yyjson_is_null(value) ? NULL : value;
}

/* `*out` keeps its default where the key is absent. */
static enum status read_int(yyjson_val *object, const char *key, int min, int max, int *out,
                            struct error *error)
{
    yyjson_val *value = find(object, key);
    if (!value) return STATUS_OK;
    if (!yyjson_is_int(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) > INT_MAX))
        return refuse(error, key, "is not an integer in range");
    int64_t n = yyjson_get_sint(value);
    if (n < min || n > max)
        return error_set(error, STATUS_INVALID, key, "'%s' is %lld, not in %d..%d", key,
                         (long long)n, min, max);
    *out = (int)n;
    return STATUS_OK;
}

static enum status need_int(yyjson_val *object, const char *key, int min, int max, int *out,
                            struct error *error)
{
    if (!find(object, key)) return refuse(error, key, "is missing");
    return read_int(object, key, min, max, out, error);
}

static enum status read_double(yyjson_val *object, const char *key, double min, double max,
                               double *out, struct error *error)
{
    yyjson_val *value = find(object, key);
    if (!value) return STATUS_OK;
    if (!yyjson_is_num(value)) return refuse(error, key, "is not a number");
    double x = yyjson_get_num(value);
    if (!(x >= min && x <= max))
        return error_set(error, STATUS_INVALID, key, "'%s' is %g, not in %g..%g", key, x, min, max);
    *out = x;
    return STATUS_OK;
}

static enum status read_bool(yyjson_val *object, const char *key, bool *out, struct error *error)
{
    yyjson_val *value = find(object, key);
    if (!value) return STATUS_OK;
    if (!yyjson_is_bool(value)) return refuse(error, key, "is not true or false");
    *out = yyjson_get_bool(value);
    return STATUS_OK;
}

/* --- rotary embedding ----------------------------------------------------------------------- */

static enum status rope_kind(yyjson_val *scaling, struct rope_config *rope, struct error *error)
{
    static const char *const names[] = {[ROPE_PLAIN] = "default",
                                        [ROPE_LINEAR] = "linear",
                                        [ROPE_LLAMA3] = "llama3",
                                        [ROPE_YARN] = "yarn",
                                        [ROPE_DYNAMIC] = "dynamic"};
    yyjson_val *value = find(scaling, "rope_type");
    if (!value) value = find(scaling, "type");
    if (!value) return STATUS_OK;
    if (!yyjson_is_str(value)) return refuse(error, "rope_type", "is not a string");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (yyjson_equals_str(value, names[i])) {
            rope->scaling = (enum rope_scaling)i;
            return STATUS_OK;
        }
    return error_set(error, STATUS_UNSUPPORTED, "rope_type",
                     "rope_type '%.40s' is not supported; default, linear, llama3, "
                     "yarn and dynamic are",
                     yyjson_get_str(value));
}

static enum status read_llama3(yyjson_val *scaling, struct rope_config *rope, struct error *error)
{
    enum status status;
    if (!find(scaling, "low_freq_factor") || !find(scaling, "high_freq_factor"))
        return refuse(error, "low_freq_factor", "and high_freq_factor are needed for llama3 RoPE");
    status = read_double(scaling, "low_freq_factor", 1e-6, 1e6, &rope->low_freq_factor, error);
    if (status == STATUS_OK)
        status =
            read_double(scaling, "high_freq_factor", 1e-6, 1e6, &rope->high_freq_factor, error);
    if (status == STATUS_OK && rope->high_freq_factor <= rope->low_freq_factor)
        status = refuse(error, "high_freq_factor", "is not above low_freq_factor");
    return status;
}

static enum status read_yarn(yyjson_val *scaling, struct rope_config *rope, struct error *error)
{
    const struct {
        const char *key;
        double min, max, *out;
    } numbers[] = {{"attention_factor", 1e-6, 1e6, &rope->attention_factor},
                   {"beta_fast", 0, 1e6, &rope->beta_fast},
                   {"beta_slow", 0, 1e6, &rope->beta_slow},
                   {"mscale", 0, 1e6, &rope->mscale},
                   {"mscale_all_dim", 0, 1e6, &rope->mscale_all_dim}};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == STATUS_OK; i++)
        status = read_double(scaling, numbers[i].key, numbers[i].min, numbers[i].max,
                             numbers[i].out, error);
    if (status == STATUS_OK) status = read_bool(scaling, "truncate", &rope->truncate, error);
    if (rope->beta_fast == 0) rope->beta_fast = 32;
    if (rope->beta_slow == 0) rope->beta_slow = 1;
    return status;
}

static enum status read_scaling(yyjson_val *root, yyjson_val *scaling,
                                const struct model_config *config, struct rope_config *rope,
                                struct error *error)
{
    enum status status = rope_kind(scaling, rope, error);
    if (status != STATUS_OK || rope->scaling == ROPE_PLAIN) return status;
    rope->original_max_position = config->max_position;
    if (!find(scaling, "factor")) {
        if (rope->scaling != ROPE_YARN) return refuse(error, "factor", "is missing");
        rope->factor = 0; /* YaRN's follows from the lengths */
    }
    status = read_double(scaling, "factor", 1, 1e6, &rope->factor, error);
    if (status == STATUS_OK)
        status = read_int(scaling, "original_max_position_embeddings", 1, INT_MAX,
                          &rope->original_max_position, error);
    if (status == STATUS_OK) /* Phi's spelling, which transformers lets win */
        status = read_int(root, "original_max_position_embeddings", 1, INT_MAX,
                          &rope->original_max_position, error);
    if (status == STATUS_OK && rope->factor == 0)
        rope->factor = (double)config->max_position / rope->original_max_position;
    if (status == STATUS_OK && rope->scaling == ROPE_LLAMA3)
        status = read_llama3(scaling, rope, error);
    if (status == STATUS_OK && rope->scaling == ROPE_YARN) status = read_yarn(scaling, rope, error);
    return status;
}

static enum status read_rope(yyjson_val *root, struct model_config *config, struct error *error)
{
    struct rope_config *rope = &config->rope;
    *rope = (struct rope_config){.theta = 10000,
                                 .rotary_dim = config->head_dim,
                                 .factor = 1,
                                 .beta_fast = 32,
                                 .beta_slow = 1,
                                 .truncate = true};
    /* As in transformers, the older spelling wins where both are there. */
    const char *key = find(root, "rope_scaling") ? "rope_scaling" : "rope_parameters";
    yyjson_val *scaling = find(root, key);
    if (scaling && !yyjson_is_obj(scaling)) return refuse(error, key, "is not an object");
    if (find(scaling, "full_attention") || find(scaling, "sliding_attention"))
        return unsupported(error, key, "differs by layer type, which is not supported");
    double partial = 1;
    enum status status = read_double(root, "rope_theta", 1.0001, 1e15, &rope->theta, error);
    if (status == STATUS_OK)
        status = read_double(scaling, "rope_theta", 1.0001, 1e15, &rope->theta, error);
    if (status == STATUS_OK)
        status = read_double(root, "partial_rotary_factor", 0, 1, &partial, error);
    if (status == STATUS_OK)
        status = read_double(scaling, "partial_rotary_factor", 0, 1, &partial, error);
    if (status == STATUS_OK && partial != 1)
        status = unsupported(error, "partial_rotary_factor", "other than 1 is not supported");
    return status == STATUS_OK ? read_scaling(root, scaling, config, rope, error) : status;
}

/* --- the rest ------------------------------------------------------------------------------- */

static enum status read_family(yyjson_val *root, const struct family **family, struct error *error)
{
    const char *type = yyjson_get_str(find(root, "model_type"));
    const char *architecture = yyjson_get_str(yyjson_arr_get(find(root, "architectures"), 0));
    if (!architecture && !type)
        return refuse(error, "architectures", "is missing, and so is model_type");
    *family = family_by_hf(architecture, type);
    if (*family) return STATUS_OK;
    return error_set(error, STATUS_UNSUPPORTED, "architectures",
                     "architecture '%.60s' is not supported; %s are",
                     architecture ? architecture : type, family_list());
}

/* Settings that would change the result and that we do not have. */
static enum status refuse_unhandled(yyjson_val *root, struct error *error)
{
    static const char *const absent[] = {"quantization_config", "num_experts", "num_local_experts",
                                         "dual_chunk_attention_config"};
    yyjson_val *quantization = find(root, "quantization_config");
    const char *method = yyjson_get_str(find(quantization, "quant_method"));
    if (quantization)
        return error_set(error, STATUS_UNSUPPORTED, "quantization_config",
                         "quantization_config (%.40s) is not supported; use the "
                         "unquantised model with --quantization, or a GGUF file",
                         method ? method : "unknown method");
    for (size_t i = 1; i < sizeof absent / sizeof *absent; i++)
        if (find(root, absent[i])) return unsupported(error, absent[i], "is not supported");
    return STATUS_OK;
}

static enum status read_activation(yyjson_val *root, enum activation *out, struct error *error)
{
    yyjson_val *value = find(root, "hidden_act");
    *out = ACTIVATION_SILU;
    if (!value || yyjson_equals_str(value, "silu")) return STATUS_OK;
    if (yyjson_equals_str(value, "gelu_pytorch_tanh")) {
        *out = ACTIVATION_GELU_TANH;
        return STATUS_OK;
    }
    return unsupported(error, "hidden_act", "is neither silu nor gelu_pytorch_tanh");
}

/* `layer_types` must say what use_sliding_window and max_window_layers can say. */
static enum status read_layer_types(yyjson_val *types, struct model_config *config, int window,
                                    struct error *error)
{
    size_t i, count;
    yyjson_val *type;
    int start = config->layer_count;
    if (!yyjson_is_arr(types) || yyjson_arr_size(types) != (size_t)config->layer_count)
        return refuse(error, "layer_types", "is not an array of one entry per layer");
    yyjson_arr_foreach(types, i, count, type)
    {
        bool sliding = yyjson_equals_str(type, "sliding_attention");
        if (sliding && start == config->layer_count) start = (int)i;
        if ((!sliding && !yyjson_equals_str(type, "full_attention")) ||
            (!sliding && start < (int)i))
            return unsupported(error, "layer_types",
                               "is more than full attention followed by sliding attention");
    }
    if (start < config->layer_count && window == 0)
        return refuse(error, "sliding_window", "is missing, but layer_types names such layers");
    config->sliding_window_start = start;
    config->sliding_window = start < config->layer_count ? window : 0;
    return STATUS_OK;
}

static enum status read_window(yyjson_val *root, const struct family *family,
                               struct model_config *config, struct error *error)
{
    bool use = family->window == WINDOW_ALL;
    int window = yyjson_obj_get(root, "sliding_window") ? 0 : 4096; /* an explicit null is none */
    config->sliding_window = config->sliding_window_start = 0;
    if (family->window == WINDOW_NONE) return STATUS_OK;
    enum status status = read_int(root, "sliding_window", 1, INT_MAX, &window, error);
    if (status != STATUS_OK) return status;
    if (family->window == WINDOW_LATE_LAYERS) {
        config->sliding_window_start = 28;
        status = read_bool(root, "use_sliding_window", &use, error);
        if (status == STATUS_OK)
            status = read_int(root, "max_window_layers", 0, INT_MAX, &config->sliding_window_start,
                              error);
        if (status != STATUS_OK) return status;
        yyjson_val *types = find(root, "layer_types");
        if (types) return read_layer_types(types, config, use ? window : 0, error);
    }
    config->sliding_window = use && config->sliding_window_start < config->layer_count ? window : 0;
    return STATUS_OK;
}

static enum status read_sizes(yyjson_val *root, const struct family *family,
                              struct model_config *config, struct error *error)
{
    const struct {
        const char *key;
        int max, *out;
    } sizes[] = {{"hidden_size", HIDDEN_MAX, &config->hidden},
                 {"num_hidden_layers", LAYERS_MAX, &config->layer_count},
                 {"num_attention_heads", HEADS_MAX, &config->heads},
                 {"intermediate_size", FFN_MAX, &config->ffn},
                 {"vocab_size", VOCAB_MAX, &config->vocab}};
    enum status status = STATUS_OK;
    double eps = 1e-6;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == STATUS_OK; i++)
        status = need_int(root, sizes[i].key, 1, sizes[i].max, sizes[i].out, error);
    if (status != STATUS_OK) return status;
    /* transformers' default is a count only where the key is absent; null means "as heads". */
    config->kv_heads = family->kv_heads && !yyjson_obj_get(root, "num_key_value_heads")
                           ? family->kv_heads
                           : config->heads;
    config->head_dim = family->head_dim ? family->head_dim : config->hidden / config->heads;
    config->max_position = family->max_position;
    status = read_int(root, "num_key_value_heads", 1, HEADS_MAX, &config->kv_heads, error);
    if (status == STATUS_OK)
        status = read_int(root, "head_dim", 1, HEAD_DIM_MAX, &config->head_dim, error);
    if (status == STATUS_OK)
        status =
            read_int(root, "max_position_embeddings", 1, INT_MAX, &config->max_position, error);
    if (status == STATUS_OK) status = read_double(root, "rms_norm_eps", 0, 1, &eps, error);
    config->norm_eps = (float)eps;
    return status;
}

static enum status read_flags(yyjson_val *root, const struct family *family,
                              struct model_config *config, struct error *error)
{
    bool attention = false, mlp = false;
    enum status status = read_bool(root, "tie_word_embeddings", &config->tied_embeddings, error);
    if (status == STATUS_OK && family->attention_bias)
        status = read_bool(root, "attention_bias", &attention, error);
    if (status == STATUS_OK && family->mlp_bias) status = read_bool(root, "mlp_bias", &mlp, error);
    config->qkv_bias = family->qkv_bias || attention;
    config->o_bias = attention, config->mlp_bias = mlp;
    config->qk_norm = family->qk_norm;
    return status;
}

enum status model_config_check(const struct model_config *config, struct error *error)
{
    const struct {
        const char *name;
        int value, max;
    } sizes[] = {{"hidden size", config->hidden, HIDDEN_MAX},
                 {"number of layers", config->layer_count, LAYERS_MAX},
                 {"number of attention heads", config->heads, HEADS_MAX},
                 {"number of KV heads", config->kv_heads, HEADS_MAX},
                 {"head size", config->head_dim, HEAD_DIM_MAX},
                 {"intermediate size", config->ffn, FFN_MAX},
                 {"vocabulary size", config->vocab, VOCAB_MAX},
                 {"context length", config->max_position, INT_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].value < 1 || sizes[i].value > sizes[i].max)
            return error_set(error, STATUS_INVALID, sizes[i].name,
                             "the model's %s is %d, not in 1..%d", sizes[i].name, sizes[i].value,
                             sizes[i].max);
    if (config->head_dim % 2)
        return error_set(error, STATUS_UNSUPPORTED, "head size",
                         "the head size %d is odd; rotary embedding turns pairs", config->head_dim);
    if (config->rope.scaling == ROPE_DYNAMIC && config->head_dim <= 2)
        return error_set(error, STATUS_UNSUPPORTED, "head size",
                         "dynamic RoPE scaling needs a head size above 2");
    if (config->heads % config->kv_heads)
        return error_set(error, STATUS_INVALID, "number of KV heads",
                         "%d attention heads are no multiple of %d KV heads", config->heads,
                         config->kv_heads);
    return STATUS_OK;
}

/* --- generation ----------------------------------------------------------------------------- */

static bool token_id(yyjson_val *value, int vocab, int32_t *out)
{
    if (!yyjson_is_uint(value) || yyjson_get_uint(value) >= (uint64_t)vocab) return false;
    *out = (int32_t)yyjson_get_uint(value);
    return true;
}

static enum status read_tokens(yyjson_val *root, int vocab, struct generation_config *generation,
                               struct error *error)
{
    yyjson_val *eos = find(root, "eos_token_id"), *bos = find(root, "bos_token_id"), *id;
    if (bos && !token_id(bos, vocab, &generation->bos))
        return refuse(error, "bos_token_id", "is no token of the vocabulary");
    if (!eos) return STATUS_OK;
    generation->eos_count = 0;
    if (yyjson_is_arr(eos)) {
        size_t i, count;
        if (yyjson_arr_size(eos) > MODEL_EOS_MAX)
            return refuse(error, "eos_token_id", "holds more than 16 tokens");
        yyjson_arr_foreach(eos, i, count, id)
        {
            if (!token_id(id, vocab, &generation->eos[i]))
                return refuse(error, "eos_token_id", "holds no token of the vocabulary");
        }
        generation->eos_count = (int)count;
        return STATUS_OK;
    }
    if (!token_id(eos, vocab, &generation->eos[0]))
        return refuse(error, "eos_token_id", "is no token of the vocabulary");
    generation->eos_count = 1;
    return STATUS_OK;
}

static yyjson_doc *read_document(const char *text, size_t bytes, struct error *error)
{
    yyjson_read_err reason;
    yyjson_doc *doc =
        yyjson_read_opts((char *)(uintptr_t)text, bytes, YYJSON_READ_NOFLAG, NULL, &reason);
    if (!doc) {
        error_set(error, STATUS_CORRUPT, NULL, "not JSON: %s at byte %zu", reason.msg, reason.pos);
    } else if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        error_set(error, STATUS_CORRUPT, NULL, "not a JSON object");
        yyjson_doc_free(doc);
        doc = NULL;
    }
    return doc;
}

enum status hf_config_parse(const char *text, size_t bytes, const struct family **family,
                            struct model_config *config, struct generation_config *generation,
                            struct error *error)
{
    yyjson_doc *doc = read_document(text, bytes, error);
    if (!doc) return error_prefix(error, STATUS_CORRUPT, "config.json");
    yyjson_val *root = yyjson_doc_get_root(doc);
    *config = (struct model_config){0};
    *generation = GENERATION_DEFAULTS;
    enum status status = read_family(root, family, error);
    if (status == STATUS_OK) status = refuse_unhandled(root, error);
    if (status == STATUS_OK) status = read_sizes(root, *family, config, error);
    if (status == STATUS_OK) status = read_flags(root, *family, config, error);
    if (status == STATUS_OK) status = read_activation(root, &config->activation, error);
    if (status == STATUS_OK) status = read_window(root, *family, config, error);
    if (status == STATUS_OK) status = read_rope(root, config, error);
    if (status == STATUS_OK) status = model_config_check(config, error);
    if (status == STATUS_OK) status = read_tokens(root, config->vocab, generation, error);
    if (status == STATUS_OK) config->family = (*family)->name;
    yyjson_doc_free(doc);
    return status == STATUS_OK ? status : error_prefix(error, status, "config.json");
}

enum status hf_generation_parse(const char *text, size_t bytes, int vocab,
                                struct generation_config *generation, struct error *error)
{
    yyjson_doc *doc = read_document(text, bytes, error);
    if (!doc) return error_prefix(error, STATUS_CORRUPT, "generation_config.json");
    yyjson_val *root = yyjson_doc_get_root(doc);
    double temperature = generation->temperature, top_p = generation->top_p;
    double min_p = generation->min_p, penalty = generation->repetition_penalty;
    enum status status = read_tokens(root, vocab, generation, error);
    if (status == STATUS_OK) status = read_double(root, "temperature", 0, 100, &temperature, error);
    if (status == STATUS_OK) status = read_double(root, "top_p", 1e-6, 1, &top_p, error);
    if (status == STATUS_OK) status = read_double(root, "min_p", 0, 1, &min_p, error);
    if (status == STATUS_OK)
        status = read_double(root, "repetition_penalty", 1e-6, 100, &penalty, error);
    if (status == STATUS_OK)
        status = read_int(root, "top_k", 0, INT_MAX, &generation->top_k, error);
    generation->temperature = (float)temperature, generation->top_p = (float)top_p;
    generation->min_p = (float)min_p, generation->repetition_penalty = (float)penalty;
    yyjson_doc_free(doc);
    return status == STATUS_OK ? status : error_prefix(error, status, "generation_config.json");
}
