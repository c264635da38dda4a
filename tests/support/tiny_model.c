/* tiny_model.c - see tiny_model.h. */
#include "tests/support/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/safetensors_writer.h"

float tiny_value(enum weight_role role, int layer, int64_t row, int64_t col)
{
    uint32_t hash = (uint32_t)role * 2654435761U + (uint32_t)layer * 40503U +
                    (uint32_t)row * 2246822519U + (uint32_t)col * 3266489917U;
    hash ^= hash >> 15, hash *= 2246822519U, hash ^= hash >> 13;
    return (float)((int)(hash % 255) - 127) / 64;
}

static struct model_config config_of(const struct tiny_model *tiny, const struct family **family)
{
    *family = family_by_hf(NULL, tiny->family);
    CHECK(*family);
    return (struct model_config){.hidden = tiny->hidden,
                                 .layer_count = tiny->layers,
                                 .heads = tiny->heads,
                                 .kv_heads = tiny->kv_heads,
                                 .head_dim = tiny->head_dim,
                                 .ffn = tiny->ffn,
                                 .vocab = tiny->vocab,
                                 .tied_embeddings = tiny->tied,
                                 .qkv_bias = tiny->attention_bias || (*family)->qkv_bias,
                                 .o_bias = tiny->attention_bias,
                                 .mlp_bias = tiny->mlp_bias,
                                 .qk_norm = (*family)->qk_norm};
}

struct buffer tiny_config(const struct tiny_model *tiny)
{
    struct buffer out = {0};
    const struct family *family;
    config_of(tiny, &family);
    buffer_printf(&out,
                  "{\"architectures\": [\"%s\"], \"hidden_size\": %d, \"num_hidden_layers\": %d, "
                  "\"num_attention_heads\": %d, \"num_key_value_heads\": %d, \"head_dim\": %d, ",
                  family->hf_architecture, tiny->hidden, tiny->layers, tiny->heads, tiny->kv_heads,
                  tiny->head_dim);
    buffer_printf(&out,
                  "\"intermediate_size\": %d, \"vocab_size\": %d, \"rms_norm_eps\": 1e-5, "
                  "\"attention_bias\": %s, \"mlp_bias\": %s, \"eos_token_id\": 2, %s"
                  "\"tie_word_embeddings\": %s}",
                  tiny->ffn, tiny->vocab, tiny->attention_bias ? "true" : "false",
                  tiny->mlp_bias ? "true" : "false", tiny->extra ? tiny->extra : "",
                  tiny->tied ? "true" : "false");
    return out;
}

/* The row of HF's order that the GGUF converter of Llama puts at `row`. */
static int64_t converted_row(int64_t row, int head_dim)
{
    int64_t in_head = row % head_dim;
    return row - in_head + in_head % 2 * (head_dim / 2) + in_head / 2;
}

typedef void tiny_sink(void *arg, const char *name, enum dtype dtype, int64_t rows, int64_t cols,
                       const void *data, size_t bytes);

static void write_weight(const struct tiny_model *tiny, const struct family *family,
                         const struct model_config *config, enum weight_role role, int layer,
                         bool gguf, tiny_sink *sink, void *arg)
{
    const struct family_weight *weight = &family->weights[role];
    bool vector = weight->rows == SIZE_ONE;
    int rows = family_size(config, weight->rows), cols = family_size(config, weight->cols);
    enum dtype dtype = vector ? DTYPE_F32 : tiny->dtype;
    size_t row_bytes = dtype_row_bytes(dtype, cols);
    char name[FAMILY_NAME_MAX], *data = malloc(row_bytes * (size_t)rows);
    float *values = malloc((size_t)cols * sizeof *values);
    bool turned = role == ROLE_Q || role == ROLE_K || role == ROLE_Q_BIAS || role == ROLE_K_BIAS;
    turned = turned && gguf && family->gguf_interleaved;
    for (int i = 0; i < rows; i++) {
        int64_t row = turned && !vector ? converted_row(i, config->head_dim) : i;
        for (int j = 0; j < cols; j++)
            values[j] = tiny_value(role, layer, row,
                                   turned && vector ? converted_row(j, config->head_dim) : j);
        dtype_from_f32(dtype, values, cols, data + (size_t)i * row_bytes);
    }
    family_weight_name(family, role, gguf, layer, name);
    if (!tiny->skip || strcmp(tiny->skip, name) != 0)
        sink(arg, name, dtype, vector ? 0 : rows, cols, data, row_bytes * (size_t)rows);
    free(values);
    free(data);
}

static void write_weights(const struct tiny_model *tiny, bool gguf, tiny_sink *sink, void *arg)
{
    const struct family *family;
    struct model_config config = config_of(tiny, &family);
    for (int role = 0; role < ROLE_COUNT; role++) {
        if (!family_has(family, &config, (enum weight_role)role)) continue;
        int layers = family_in_layers(family, (enum weight_role)role) ? tiny->layers : 1;
        for (int layer = 0; layer < layers; layer++)
            write_weight(tiny, family, &config, (enum weight_role)role, layer, gguf, sink, arg);
    }
}

static void to_safetensors(void *arg, const char *name, enum dtype dtype, int64_t rows,
                           int64_t cols, const void *data, size_t bytes)
{
    static const char *const names[] = {
        [DTYPE_F32] = "F32", [DTYPE_F16] = "F16", [DTYPE_BF16] = "BF16"};
    CHECK(dtype <= DTYPE_BF16);
    safetensors_writer_tensor(arg, name, names[dtype], rows, cols, data, bytes);
}

struct buffer tiny_safetensors(const struct tiny_model *tiny)
{
    struct safetensors_writer writer = {0};
    write_weights(tiny, false, to_safetensors, &writer);
    return safetensors_writer_finish(&writer);
}

static void to_gguf(void *arg, const char *name, enum dtype dtype, int64_t rows, int64_t cols,
                    const void *data, size_t bytes)
{
    static const uint32_t types[] = {
        [DTYPE_F32] = 0, [DTYPE_F16] = 1, [DTYPE_BF16] = 30, [DTYPE_Q8_0] = 8, [DTYPE_Q4_0] = 2};
    gguf_writer_tensor(arg, name, types[dtype], cols, rows, data, bytes);
}

struct buffer tiny_gguf(const struct tiny_model *tiny)
{
    struct gguf_writer writer = {0};
    const struct {
        const char *name;
        int value;
    } keys[] = {{"embedding_length", tiny->hidden},
                {"block_count", tiny->layers},
                {"attention.head_count", tiny->heads},
                {"attention.head_count_kv", tiny->kv_heads},
                {"attention.key_length", tiny->head_dim},
                {"attention.value_length", tiny->head_dim},
                {"rope.dimension_count", tiny->head_dim},
                {"feed_forward_length", tiny->ffn},
                {"context_length", 2048}};
    char key[96];
    gguf_writer_string(&writer, "general.architecture", tiny->family);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        snprintf(key, sizeof key, "%s.%s", tiny->family, keys[i].name);
        gguf_writer_u32(&writer, key, (uint32_t)keys[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", tiny->family);
    gguf_writer_f32(&writer, key, 1e-5F);
    gguf_writer_u32(&writer, "tokenizer.ggml.eos_token_id", 2);
    write_weights(tiny, true, to_gguf, &writer);
    return gguf_writer_finish(&writer);
}

void tiny_write_file(const char *path, const void *data, size_t bytes)
{
    FILE *out = fopen(path, "wb");
    CHECK(out && fwrite(data, 1, bytes, out) == bytes && fclose(out) == 0);
}

const char *tiny_directory(const struct tiny_model *tiny, char path[64])
{
    char file[128];
    struct buffer config = tiny_config(tiny), weights = tiny_safetensors(tiny);
    snprintf(path, 64, "/tmp/penstock-tiny-XXXXXX");
    CHECK(mkdtemp(path));
    snprintf(file, sizeof file, "%s/config.json", path);
    tiny_write_file(file, config.data, config.len);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    tiny_write_file(file, weights.data, weights.len);
    buffer_free(&config);
    buffer_free(&weights);
    return path;
}

void tiny_remove(const char *path)
{
    char file[128];
    snprintf(file, sizeof file, "%s/config.json", path);
    unlink(file);
    snprintf(file, sizeof file, "%s/generation_config.json", path);
    unlink(file);
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    unlink(file);
    rmdir(path);
}
