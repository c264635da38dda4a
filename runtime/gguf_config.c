/* gguf_config.c - see gguf_config.h. */
#include "runtime/gguf_config.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/hf_config.h"

enum { KEY_MAX = 96 };

struct reader {
    const struct gguf *gguf;
    const char *architecture;
    struct error *error;
};

/* "ARCHITECTURE.name" */
static const char *key_of(const struct reader *reader, const char *name, char out[KEY_MAX])
{
    snprintf(out, KEY_MAX, "%s.%s", reader->architecture, name);
    return out;
}

static bool has_key(const struct gguf *gguf, const char *key)
{
    int64_t n;
    double x;
    bool flag;
    struct gguf_string text;
    struct gguf_array array;
    return gguf_get_int(gguf, key, &n) || gguf_get_float(gguf, key, &x) ||
           gguf_get_bool(gguf, key, &flag) || gguf_get_string(gguf, key, &text) ||
           gguf_get_array(gguf, key, &array);
}

/* `*out` keeps its default where the key is absent. */
static enum status read_int(const struct reader *reader, const char *name, int min, int max,
                            int *out)
{
    char key[KEY_MAX];
    int64_t n;
    key_of(reader, name, key);
    if (!has_key(reader->gguf, key)) return STATUS_OK;
    if (!gguf_get_int(reader->gguf, key, &n))
        return error_set(reader->error, STATUS_INVALID, key,
                         "GGUF key '%s' is not one integer (one for all layers)", key);
    if (n < min || n > max)
        return error_set(reader->error, STATUS_INVALID, key, "GGUF key '%s' is %lld, not in %d..%d",
                         key, (long long)n, min, max);
    *out = (int)n;
    return STATUS_OK;
}

static enum status need_int(const struct reader *reader, const char *name, int *out)
{
    char key[KEY_MAX];
    if (!has_key(reader->gguf, key_of(reader, name, key)))
        return error_set(reader->error, STATUS_INVALID, key, "GGUF key '%s' is missing", key);
    return read_int(reader, name, 1, INT_MAX, out);
}

static enum status read_double(const struct reader *reader, const char *name, double min,
                               double max, double *out)
{
    char key[KEY_MAX];
    double x;
    key_of(reader, name, key);
    if (!has_key(reader->gguf, key)) return STATUS_OK;
    if (!gguf_get_float(reader->gguf, key, &x) || !(x >= min && x <= max))
        return error_set(reader->error, STATUS_INVALID, key,
                         "GGUF key '%s' is not a number in %g..%g", key, min, max);
    *out = x;
    return STATUS_OK;
}

static enum status read_family(struct reader *reader, const struct family **family,
                               char architecture[32])
{
    struct gguf_string text;
    if (!gguf_get_string(reader->gguf, "general.architecture", &text))
        return error_set(reader->error, STATUS_INVALID, "general.architecture",
                         "GGUF key 'general.architecture' is missing");
    snprintf(architecture, 32, "%.*s", text.len < 31 ? (int)text.len : 31, text.data);
    for (char *c = architecture; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    *family = family_by_gguf(architecture);
    if (!*family)
        return error_set(reader->error, STATUS_UNSUPPORTED, "general.architecture",
                         "GGUF architecture '%s' is not supported; %s are", architecture,
                         family_list());
    reader->architecture = architecture;
    return STATUS_OK;
}

static enum status refuse_unhandled(const struct reader *reader)
{
    static const char *const zero[] = {"expert_count", "expert_used_count", "ssm.state_size",
                                       "attention.key_length_mla"};
    static const char *const plain[] = {"attention.sliding_window_pattern",
                                        "rope.scaling.alpha",
                                        "attn_logit_softcapping",
                                        "final_logit_softcapping",
                                        "residual_scale",
                                        "embedding_scale",
                                        "logit_scale"};
    char key[KEY_MAX];
    int64_t n;
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (gguf_get_int(reader->gguf, key_of(reader, zero[i], key), &n) && n != 0)
            return error_set(reader->error, STATUS_UNSUPPORTED, key,
                             "GGUF key '%s' is %lld; such models are not supported", key,
                             (long long)n);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (has_key(reader->gguf, key_of(reader, plain[i], key)))
            return error_set(reader->error, STATUS_UNSUPPORTED, key,
                             "GGUF key '%s' is not supported", key);
    return STATUS_OK;
}

static enum status read_sizes(const struct reader *reader, struct model_config *config)
{
    const struct {
        const char *name;
        int *out;
    } sizes[] = {{"embedding_length", &config->hidden},
                 {"block_count", &config->layer_count},
                 {"attention.head_count", &config->heads},
                 {"feed_forward_length", &config->ffn},
                 {"context_length", &config->max_position}};
    enum status status = STATUS_OK;
    double eps = 0;
    char key[KEY_MAX];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == STATUS_OK; i++)
        status = need_int(reader, sizes[i].name, sizes[i].out);
    if (status != STATUS_OK) return status;
    config->kv_heads = config->heads;
    config->head_dim = config->hidden / config->heads;
    status = read_int(reader, "attention.head_count_kv", 1, INT_MAX, &config->kv_heads);
    if (status == STATUS_OK)
        status = read_int(reader, "attention.key_length", 1, INT_MAX, &config->head_dim);
    int value_length = config->head_dim;
    if (status == STATUS_OK)
        status = read_int(reader, "attention.value_length", 1, INT_MAX, &value_length);
    if (status == STATUS_OK && value_length != config->head_dim)
        status = error_set(reader->error, STATUS_UNSUPPORTED,
                           key_of(reader, "attention.value_length", key),
                           "GGUF key '%s' is %d, but keys have %d: not supported", key,
                           value_length, config->head_dim);
    if (status == STATUS_OK)
        status = read_int(reader, "attention.sliding_window", 0, INT_MAX, &config->sliding_window);
    if (status != STATUS_OK) return status;
    key_of(reader, "attention.layer_norm_rms_epsilon", key);
    if (!has_key(reader->gguf, key))
        return error_set(reader->error, STATUS_INVALID, key, "GGUF key '%s' is missing", key);
    status = read_double(reader, "attention.layer_norm_rms_epsilon", 0, 1, &eps);
    config->norm_eps = (float)eps;
    return status;
}

static enum status read_yarn(const struct reader *reader, struct rope_config *rope)
{
    double attention = 1, extrapolation = 1, multiplier = 0;
    const struct {
        const char *name;
        double min, *out;
    } numbers[] = {{"rope.scaling.attn_factor", 1e-6, &attention},
                   {"rope.scaling.yarn_attn_factor", 1e-6, &rope->attention_factor},
                   {"rope.scaling.yarn_beta_fast", 1e-6, &rope->beta_fast},
                   {"rope.scaling.yarn_beta_slow", 1e-6, &rope->beta_slow},
                   {"rope.scaling.yarn_ext_factor", 0, &extrapolation},
                   {"rope.scaling.yarn_log_multiplier", 0, &multiplier}};
    enum status status = read_int(reader, "rope.scaling.original_context_length", 1, INT_MAX,
                                  &rope->original_max_position);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && status == STATUS_OK; i++)
        status = read_double(reader, numbers[i].name, numbers[i].min, 1e6, numbers[i].out);
    if (status == STATUS_OK && (extrapolation != 1 || multiplier != 0))
        status = error_set(reader->error, STATUS_UNSUPPORTED, "rope.scaling",
                           "GGUF keys 'rope.scaling.yarn_ext_factor' and 'yarn_log_multiplier' are "
                           "not supported");
    /* The converter writes the configuration's own attention factor where it has one; else it
     * follows from the scaling factor. attn_factor comes on top of either. */
    if (rope->attention_factor == 0) rope->attention_factor = 0.1 * log(rope->factor) + 1;
    rope->attention_factor *= attention;
    return status;
}

/* The kind of scaling; `rope.scale_linear` is how old files spell it. */
static enum status read_scaling(const struct reader *reader, struct rope_config *rope)
{
    char key[KEY_MAX];
    struct gguf_string type;
    enum status status = read_double(reader, "rope.scale_linear", 1, 1e6, &rope->factor);
    if (status == STATUS_OK)
        status = read_double(reader, "rope.scaling.factor", 0, 1e6, &rope->factor);
    if (status != STATUS_OK) return status;
    if (rope->factor > 1) rope->scaling = ROPE_LINEAR;
    if (gguf_get_string(reader->gguf, key_of(reader, "rope.scaling.type", key), &type)) {
        if (type.len == 4 && !memcmp(type.data, "none", 4))
            rope->scaling = ROPE_PLAIN;
        else if (type.len == 4 && !memcmp(type.data, "yarn", 4))
            rope->scaling = ROPE_YARN;
        else if (type.len != 6 || memcmp(type.data, "linear", 6) != 0)
            return error_set(reader->error, STATUS_UNSUPPORTED, key,
                             "GGUF key '%s' is none of none, linear and yarn", key);
    }
    if (rope->factor < 1) rope->factor = 1; /* 0 is written for "no scaling" */
    if (rope->scaling != ROPE_YARN) return STATUS_OK;
    return read_yarn(reader, rope);
}

static enum status read_rope(const struct reader *reader, struct model_config *config)
{
    struct rope_config *rope = &config->rope;
    char key[KEY_MAX];
    *rope = (struct rope_config){.theta = 10000,
                                 .rotary_dim = config->head_dim,
                                 .factor = 1,
                                 .beta_fast = 32,
                                 .beta_slow = 1,
                                 .truncate = true,
                                 .original_max_position = config->max_position};
    enum status status = read_double(reader, "rope.freq_base", 1.0001, 1e15, &rope->theta);
    if (status == STATUS_OK)
        status = read_int(reader, "rope.dimension_count", 1, INT_MAX, &rope->rotary_dim);
    if (status == STATUS_OK && rope->rotary_dim != config->head_dim)
        status = error_set(reader->error, STATUS_UNSUPPORTED,
                           key_of(reader, "rope.dimension_count", key),
                           "GGUF key '%s' is %d, but heads have %d: not supported", key,
                           rope->rotary_dim, config->head_dim);
    if (status == STATUS_OK) status = read_scaling(reader, rope);
    if (status != STATUS_OK) return status;
    const struct gguf_tensor *factors = gguf_find_tensor(reader->gguf, "rope_freqs.weight");
    if (!factors) return STATUS_OK;
    if (factors->ggml_type != 0 || factors->dim_count != 1 ||
        factors->dims[0] != config->head_dim / 2)
        return error_set(reader->error, STATUS_CORRUPT, "rope_freqs.weight",
                         "GGUF tensor 'rope_freqs.weight' is not F32 of half the head size");
    rope->factors = factors->data;
    for (int i = 0; i < config->head_dim / 2; i++)
        if (!(rope->factors[i] > 0 && rope->factors[i] < 1e9F))
            return error_set(reader->error, STATUS_CORRUPT, "rope_freqs.weight",
                             "GGUF tensor 'rope_freqs.weight' holds a factor that is not positive");
    return STATUS_OK;
}

/* What is known from which tensors there are. */
static enum status read_tensors(const struct reader *reader, const struct family *family,
                                struct model_config *config)
{
    const struct gguf *gguf = reader->gguf;
    const struct gguf_tensor *embed = gguf_find_tensor(gguf, "token_embd.weight");
    if (!embed || embed->dims[1] > INT_MAX)
        return error_set(reader->error, STATUS_CORRUPT, "token_embd.weight",
                         "GGUF tensor 'token_embd.weight' is missing or too large");
    config->vocab = (int)embed->dims[1];
    config->tied_embeddings = !gguf_find_tensor(gguf, "output.weight");
    config->qkv_bias =
        family->qkv_bias || (family->attention_bias && gguf_find_tensor(gguf, "blk.0.attn_q.bias"));
    config->o_bias = family->attention_bias && gguf_find_tensor(gguf, "blk.0.attn_output.bias");
    config->mlp_bias = family->mlp_bias && gguf_find_tensor(gguf, "blk.0.ffn_gate.bias");
    config->qk_norm = family->qk_norm;
    return STATUS_OK;
}

static enum status add_eos(const struct reader *reader, const char *key, int vocab,
                           struct generation_config *generation)
{
    int64_t id;
    if (!has_key(reader->gguf, key)) return STATUS_OK;
    if (!gguf_get_int(reader->gguf, key, &id) || id < 0 || id >= vocab)
        return error_set(reader->error, STATUS_INVALID, key,
                         "GGUF key '%s' is no token of the vocabulary", key);
    for (int i = 0; i < generation->eos_count; i++)
        if (generation->eos[i] == (int32_t)id) return STATUS_OK;
    generation->eos[generation->eos_count++] = (int32_t)id;
    return STATUS_OK;
}

/* general.sampling.*: what the model's makers recommend, within what sampling accepts. */
static enum status read_sampling(const struct reader *reader, struct generation_config *generation)
{
    const struct {
        const char *key;
        float *out;
        double min, max;
    } settings[] = {
        {"general.sampling.temp", &generation->temperature, 0, 100},
        {"general.sampling.top_p", &generation->top_p, 1e-9, 1},
        {"general.sampling.min_p", &generation->min_p, 0, 1},
        {"general.sampling.penalty_repeat", &generation->repetition_penalty, 1e-3, 100},
    };
    int64_t top_k;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        double value;
        if (!gguf_get_float(reader->gguf, settings[i].key, &value)) continue;
        if (!(value >= settings[i].min && value <= settings[i].max))
            return error_set(reader->error, STATUS_INVALID, settings[i].key,
                             "GGUF key '%s' is %g, not in %g..%g", settings[i].key, value,
                             settings[i].min, settings[i].max);
        *settings[i].out = (float)value;
    }
    if (gguf_get_int(reader->gguf, "general.sampling.top_k", &top_k))
        generation->top_k = top_k > 0 && top_k <= INT_MAX ? (int)top_k : 0;
    return STATUS_OK;
}

static enum status read_generation(const struct reader *reader, int vocab,
                                   struct generation_config *generation)
{
    int64_t bos;
    bool add_bos = true;
    enum status status = STATUS_OK;
    static const char *const ends[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    *generation = GENERATION_DEFAULTS;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && status == STATUS_OK; i++)
        status = add_eos(reader, ends[i], vocab, generation);
    gguf_get_bool(reader->gguf, "tokenizer.ggml.add_bos_token", &add_bos);
    if (add_bos && gguf_get_int(reader->gguf, "tokenizer.ggml.bos_token_id", &bos) && bos >= 0 &&
        bos < vocab)
        generation->bos = (int32_t)bos;
    return status == STATUS_OK ? read_sampling(reader, generation) : status;
}

enum status gguf_config_parse(const struct gguf *gguf, const struct family **family,
                              struct model_config *config, struct generation_config *generation,
                              struct error *error)
{
    struct reader reader = {gguf, "", error};
    char architecture[32];
    *config = (struct model_config){.activation = ACTIVATION_SILU};
    enum status status = read_family(&reader, family, architecture);
    if (status == STATUS_OK) status = refuse_unhandled(&reader);
    if (status == STATUS_OK) status = read_sizes(&reader, config);
    if (status == STATUS_OK) status = read_tensors(&reader, *family, config);
    if (status == STATUS_OK) status = read_rope(&reader, config);
    if (status == STATUS_OK) status = model_config_check(config, error);
    if (status == STATUS_OK) status = read_generation(&reader, config->vocab, generation);
    if (status == STATUS_OK) config->family = (*family)->name;
    return status;
}
