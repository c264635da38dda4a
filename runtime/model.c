/*
 * model.c - see model.h.
 *
 * A model is opened in two steps whatever its format: the configuration, then every weight that the
 * family's table asks for is looked up and its shape compared. Weights that nothing asks for are
 * refused too: they would change the result of a family that we know under that name.
 */
#include "runtime/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/check.h"
#include "runtime/family.h"
#include "runtime/gguf.h"
#include "runtime/gguf_config.h"
#include "runtime/hf_config.h"
#include "runtime/mapping.h"
#include "runtime/q6_k.h"
#include "runtime/safetensors.h"

enum { CONFIG_BYTES_MAX = 16 << 20, PATH_BYTES_MAX = 4096, GGML_Q6_K = 14 };

struct model {
    const struct family *family;
    struct model_config config;
    struct generation_config generation;
    struct gguf *gguf;
    struct safetensors *safetensors;
    char *path, *name;
};

static bool gguf_dtype(uint32_t ggml_type, enum dtype *out)
{
    switch (ggml_type) {
    case 0: *out = DTYPE_F32; return true;
    case 1: *out = DTYPE_F16; return true;
    case 2: *out = DTYPE_Q4_0; return true;
    case 8: *out = DTYPE_Q8_0; return true;
    case 30: *out = DTYPE_BF16; return true;
    default: return false;
    }
}

static bool safetensors_dtype(const char *name, enum dtype *out)
{
    static const char *const names[] = {
        [DTYPE_F32] = "F32", [DTYPE_F16] = "F16", [DTYPE_BF16] = "BF16"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            *out = (enum dtype)i;
            return true;
        }
    return false;
}

static bool from_gguf(const struct gguf_tensor *tensor, const char *name, struct model_tensor *out)
{
    if (!tensor || tensor->dims[2] != 1 || tensor->dims[3] != 1) return false;
    *out = (struct model_tensor){
        .name = name, .rows = tensor->dims[1], .cols = tensor->dims[0], .data = tensor->data};
    out->q6_k = tensor->ggml_type == GGML_Q6_K;
    if (out->q6_k) out->dtype = DTYPE_Q8_0;
    return out->q6_k || gguf_dtype(tensor->ggml_type, &out->dtype);
}

static bool from_safetensors(const struct safetensor *tensor, struct model_tensor *out)
{
    if (!tensor || tensor->dim_count < 1 || tensor->dim_count > 2) return false;
    *out = (struct model_tensor){.name = tensor->name,
                                 .rows = tensor->dim_count == 2 ? tensor->dims[0] : 1,
                                 .cols = tensor->dims[tensor->dim_count - 1],
                                 .data = tensor->data};
    return safetensors_dtype(tensor->dtype, &out->dtype);
}

int64_t model_tensor_bytes(const struct model_tensor *tensor, int64_t cols)
{
    int block = dtype_block(tensor->dtype);
    if (tensor->q6_k) return cols * Q6_K_BYTES / Q6_K_BLOCK;
    return cols * (int64_t)dtype_row_bytes(tensor->dtype, block) / block;
}

bool model_find_tensor(const struct model *model, const char *name, struct model_tensor *out)
{
    return model->gguf ? from_gguf(gguf_find_tensor(model->gguf, name), name, out)
                       : from_safetensors(safetensors_find(model->safetensors, name), out);
}

/* --- checking the weights ------------------------------------------------------------------- */

/* Says why model_find_tensor found nothing. */
static enum status refuse_missing(const struct model *model, const char *name, struct error *error)
{
    const char *type = NULL;
    const struct gguf_tensor *packed = model->gguf ? gguf_find_tensor(model->gguf, name) : NULL;
    const struct safetensor *plain =
        model->safetensors ? safetensors_find(model->safetensors, name) : NULL;
    enum dtype dtype;
    if (packed && !gguf_dtype(packed->ggml_type, &dtype)) type = gguf_type_name(packed->ggml_type);
    if (plain && !safetensors_dtype(plain->dtype, &dtype)) type = plain->dtype;
    if (type)
        return error_set(error, STATUS_UNSUPPORTED, name,
                         "tensor '%s' is %s, which is not supported; F32, F16, BF16%s are", name,
                         type, packed ? ", Q8_0, Q4_0 and Q6_K" : "");
    if (packed || plain)
        return error_set(error, STATUS_CORRUPT, name, "tensor '%s' is no matrix or vector", name);
    return error_set(error, STATUS_CORRUPT, name, "tensor '%s' is missing", name);
}

/* One weight: there, of a type that we have, in the shape that the configuration says. Adds its
 * bytes to those of its type. */
static enum status check_weight(const struct model *model, enum weight_role role, int layer,
                                int64_t bytes[DTYPE_COUNT], struct error *error)
{
    const struct family_weight *weight = &model->family->weights[role];
    int64_t rows = family_size(&model->config, weight->rows);
    int64_t cols = family_size(&model->config, weight->cols);
    char name[FAMILY_NAME_MAX];
    struct model_tensor tensor;
    family_weight_name(model->family, role, model->gguf != NULL, layer, name);
    if (!model_find_tensor(model, name, &tensor)) return refuse_missing(model, name, error);
    if (tensor.rows != rows || tensor.cols != cols)
        return error_set(error, STATUS_CORRUPT, name,
                         "tensor '%s' is %lld x %lld; the configuration says %lld x %lld", name,
                         (long long)tensor.rows, (long long)tensor.cols, (long long)rows,
                         (long long)cols);
    if (weight->rows == SIZE_ONE && dtype_block(tensor.dtype) != 1)
        return error_set(error, STATUS_UNSUPPORTED, name, "tensor '%s' is a vector in blocks",
                         name);
    bytes[tensor.dtype] += (int64_t)dtype_row_bytes(tensor.dtype, cols) * rows;
    return STATUS_OK;
}

static enum status check_weights(struct model *model, struct error *error)
{
    int64_t bytes[DTYPE_COUNT] = {0};
    for (int i = 0; i < ROLE_COUNT; i++) {
        if (!family_has(model->family, &model->config, (enum weight_role)i)) continue;
        int layers =
            family_in_layers(model->family, (enum weight_role)i) ? model->config.layer_count : 1;
        for (int layer = 0; layer < layers; layer++) {
            enum status status = check_weight(model, (enum weight_role)i, layer, bytes, error);
            if (status != STATUS_OK) return status;
        }
    }
    for (int i = 0; i < DTYPE_COUNT; i++)
        if (bytes[i] > bytes[model->config.dtype]) model->config.dtype = (enum dtype)i;
    return STATUS_OK;
}

/* Weights that may be there without being used: tables that follow from the configuration, and the
 * head that tied embeddings replace. */
static bool may_ignore(const struct model *model, const char *name)
{
    static const char inv_freq[] = "rotary_emb.inv_freq";
    size_t len = strlen(name), tail = sizeof inv_freq - 1;
    if (model->gguf) return strcmp(name, "rope_freqs.weight") == 0;
    return (len >= tail && strcmp(name + len - tail, inv_freq) == 0) ||
           (model->config.tied_embeddings && strcmp(name, "lm_head.weight") == 0);
}

/* Whether the family's table knows the name for one of the model's weights. */
static bool is_used(const struct model *model, const char *name)
{
    char known[FAMILY_NAME_MAX];
    const char *digits = strpbrk(name, "0123456789");
    long layer = digits ? strtol(digits, NULL, 10) : 0;
    for (int i = 0; i < ROLE_COUNT; i++)
        if (layer < model->config.layer_count &&
            family_has(model->family, &model->config, (enum weight_role)i) &&
            strcmp(family_weight_name(model->family, (enum weight_role)i, model->gguf != NULL,
                                      (int)layer, known),
                   name) == 0)
            return true;
    return false;
}

static enum status refuse_unused(const struct model *model, struct error *error)
{
    int64_t count =
        model->gguf ? gguf_tensor_count(model->gguf) : safetensors_count(model->safetensors);
    for (int64_t i = 0; i < count; i++) {
        char name[256];
        if (model->gguf) {
            const struct gguf_tensor *tensor = gguf_tensor_at(model->gguf, i);
            snprintf(name, sizeof name, "%.*s", (int)tensor->name.len, tensor->name.data);
        } else {
            snprintf(name, sizeof name, "%s", safetensors_at(model->safetensors, i)->name);
        }
        if (is_used(model, name) || may_ignore(model, name)) continue;
        for (char *c = name; *c; c++)
            if (*c < ' ' || *c > '~') *c = '?';
        return error_set(error, STATUS_UNSUPPORTED, name,
                         "tensor '%.100s' is no part of a %s model of this configuration", name,
                         model->family->name);
    }
    return STATUS_OK;
}

/* --- opening -------------------------------------------------------------------------------- */

static enum status open_gguf(struct model *model, struct error *error)
{
    size_t bytes = 0;
    enum status status;
    if (model->path) {
        status = gguf_open(model->path, &model->gguf, error);
    } else {
        const void *data = model_default_data(&bytes);
        if (!data)
            return error_set(error, STATUS_NOT_FOUND, "model",
                             "this build has no default model; name a model with --model");
        status = gguf_open_memory(data, bytes, &model->gguf, error);
    }
    if (status != STATUS_OK) return status;
    return gguf_config_parse(model->gguf, &model->family, &model->config, &model->generation,
                             error);
}

/* Reads DIRECTORY/name; STATUS_NOT_FOUND leaves `error` alone where `optional`. */
static enum status read_text(const char *directory, const char *name, bool optional, char **text,
                             size_t *bytes, struct error *error)
{
    char path[PATH_BYTES_MAX];
    struct stat info;
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return error_set(error, STATUS_INVALID, "model", "the model's path is too long");
    if (optional && stat(path, &info) != 0) return STATUS_NOT_FOUND;
    return mapping_read_file(path, CONFIG_BYTES_MAX, text, bytes, error);
}

static enum status open_directory(struct model *model, struct error *error)
{
    char *text = NULL;
    size_t bytes;
    enum status status = read_text(model->path, "config.json", false, &text, &bytes, error);
    if (status != STATUS_OK) return status;
    status =
        hf_config_parse(text, bytes, &model->family, &model->config, &model->generation, error);
    free(text);
    if (status != STATUS_OK) return status;
    status = read_text(model->path, "generation_config.json", true, &text, &bytes, error);
    if (status == STATUS_OK) {
        status = hf_generation_parse(text, bytes, model->config.vocab, &model->generation, error);
        free(text);
    }
    if (status != STATUS_OK && status != STATUS_NOT_FOUND) return status;
    return safetensors_open(model->path, &model->safetensors, error);
}

/* The path's last part, without ".gguf". */
static char *name_of(const char *path)
{
    if (!path) return strdup("default");
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    if (end - start > 5 && strncmp(path + end - 5, ".gguf", 5) == 0) end -= 5;
    return strndup(path + start, end - start);
}

static bool is_safetensors(const char *path)
{
    static const char ending[] = ".safetensors";
    size_t len = strlen(path), tail = sizeof ending - 1;
    return len > tail && strcmp(path + len - tail, ending) == 0;
}

enum status model_open(const char *path, struct model **out, struct error *error)
{
    struct stat info;
    struct model *model = calloc(1, sizeof *model);
    CHECK(model);
    model->path = path ? strdup(path) : NULL;
    model->name = name_of(path);
    CHECK(model->name && (model->path || !path));
    enum status status;
    if (path && stat(path, &info) != 0)
        status = error_set(error, STATUS_NOT_FOUND, "model", "%s: no such file or directory", path);
    else if (path && S_ISDIR(info.st_mode))
        status = open_directory(model, error);
    else if (path && is_safetensors(path))
        status = error_set(error, STATUS_INVALID, "model",
                           "%s: name the directory that holds it and config.json", path);
    else
        status = open_gguf(model, error);
    if (status == STATUS_OK) status = check_weights(model, error);
    if (status == STATUS_OK) status = refuse_unused(model, error);
    if (status != STATUS_OK) {
        model_close(model);
        return path && error && !strstr(error->message, path)
                   ? error_prefix(error, status, "%s", path)
                   : status;
    }
    *out = model;
    return STATUS_OK;
}

void model_close(struct model *model)
{
    if (!model) return;
    gguf_close(model->gguf);
    safetensors_close(model->safetensors);
    free(model->path);
    free(model->name);
    free(model);
}

void model_drop_pages(const struct model *model)
{
    if (model->gguf) gguf_drop_pages(model->gguf);
    if (model->safetensors) safetensors_drop_pages(model->safetensors);
}

const struct family *model_family(const struct model *model)
{
    return model->family;
}

const struct model_config *model_config(const struct model *model)
{
    return &model->config;
}

const struct generation_config *model_generation(const struct model *model)
{
    return &model->generation;
}

const char *model_name(const struct model *model)
{
    return model->name;
}

const char *model_path(const struct model *model)
{
    return model->path;
}

const struct gguf *model_gguf(const struct model *model)
{
    return model->gguf;
}
