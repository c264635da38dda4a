/*
 * program_weights.c - which weights a rank holds, in which element type, made of which parts of
 * which tensors.
 *
 * q, k and v become one matrix, gate and up another, so that a step runs one product for each. The
 * element type of a matrix follows from these rules, in order:
 *   1. --quantization: float matrices are quantised, the embedding and the head too;
 *   2. --dtype: the matrix is converted, quantised ones included (whoever asks for that means it);
 *   3. it stays as stored; parts of one matrix that are stored differently meet in F32, and Q6_K,
 *      which no kernel reads, becomes Q8_0.
 * Where a rank's share of a row is no whole number of blocks the rule yields F32 in place of a
 * block type: for stored weights the same values exactly, for --quantization the unquantised ones.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "runtime/program_parts.h"

enum { PLANS_OUTSIDE = 3, PLANS_PER_LAYER = 12 };

static bool is_block(int dtype)
{
    return dtype >= 0 && dtype_block((enum dtype)dtype) > 1;
}

/* The type as stored of a plan's parts together. */
static enum dtype stored_dtype(const struct weight_plan *plan)
{
    enum dtype dtype = plan->sources[0].tensor.dtype;
    for (int i = 1; i < plan->source_count; i++)
        if (plan->sources[i].tensor.dtype != dtype) return DTYPE_F32;
    return dtype;
}

static enum status choose_dtype(struct builder *builder, struct weight_plan *plan)
{
    const struct program_options *options = &builder->parts->options;
    enum dtype stored = stored_dtype(plan), float_dtype = stored;
    const char *name = plan->sources[0].tensor.name;
    if (options->dtype >= 0) float_dtype = (enum dtype)options->dtype;
    if (is_block(float_dtype)) float_dtype = DTYPE_F32;
    int dtype = options->dtype >= 0 ? options->dtype : (int)stored;
    if (options->quantization >= 0) {
        for (int i = 0; i < plan->source_count; i++) {
            enum dtype is = plan->sources[i].tensor.dtype;
            if (is_block(is) && (int)is != options->quantization)
                return error_set(builder->error, STATUS_INVALID, "quantization",
                                 "--quantization %s: tensor '%s' is quantised as %s already",
                                 dtype_name((enum dtype)options->quantization),
                                 plan->sources[i].tensor.name, dtype_name(is));
        }
        dtype = options->quantization;
    }
    plan->dtype = (enum dtype)dtype;
    if (plan->cols % dtype_block(plan->dtype) == 0) return STATUS_OK;
    builder->parts->unblocked = arena_strndup(&builder->parts->arena, name, strlen(name));
    plan->dtype = float_dtype;
    return STATUS_OK;
}

static struct weight_plan *add_plan(struct builder *builder, enum weight_kind kind)
{
    struct program_parts *parts = builder->parts;
    CHECK(parts->plan_count < parts->plan_max);
    struct weight_plan *plan = &parts->plans[parts->plan_count++];
    *plan = (struct weight_plan){.kind = kind, .dtype = DTYPE_F32};
    return plan;
}

/* The rank's part of the role's tensor, along the side that its rule splits. */
static void add_source(struct builder *builder, struct weight_plan *plan, enum weight_role role,
                       int layer)
{
    const struct family *family = model_family(builder->model);
    const struct shard *shard = &builder->parts->shard;
    const struct model_config *config = builder->config;
    char name[FAMILY_NAME_MAX];
    bool gguf = model_gguf(builder->model) != NULL;
    struct weight_source *source = &plan->sources[plan->source_count++];
    family_weight_name(family, role, gguf, layer, name);
    CHECK(model_find_tensor(builder->model, name, &source->tensor)); /* model_open saw it */
    source->tensor.name = arena_strndup(&builder->parts->arena, name, strlen(name));
    source->rows = source->tensor.rows, source->cols = source->tensor.cols;

    int64_t first = 0, count = -1;
    bool columns = plan->kind == WEIGHT_VECTOR;
    switch (family->weights[role].shard) {
    case SHARD_NONE:
    case SHARD_FIRST: break;
    case SHARD_VOCAB:
        first = (int64_t)shard->vocab * shard->rank;
        count = config->vocab - first < shard->vocab ? config->vocab - first : shard->vocab;
        if (count < 0) first = count = 0; /* all padding */
        break;
    case SHARD_HEADS_K: columns = true; /* fall through */
    case SHARD_HEADS:
        first = (int64_t)shard->head_first * config->head_dim;
        count = (int64_t)shard->heads * config->head_dim;
        break;
    case SHARD_KV:
        first = (int64_t)shard->kv_first * config->head_dim;
        count = (int64_t)shard->kv_heads * config->head_dim;
        break;
    case SHARD_FFN_K: columns = true; /* fall through */
    case SHARD_FFN: first = (int64_t)shard->ffn * shard->rank, count = shard->ffn; break;
    }
    if (count >= 0 && columns) source->col = first, source->cols = count;
    if (count >= 0 && !columns) source->row = first, source->rows = count;
    bool turned = role == ROLE_Q || role == ROLE_K || role == ROLE_Q_BIAS || role == ROLE_K_BIAS;
    if (gguf && family->gguf_interleaved && turned) source->interleaved = config->head_dim;
}

/* Creates the plan's weight on the device; `rows` 0: as many as its sources have. */
static enum status finish_plan(struct builder *builder, struct weight_plan *plan, int64_t rows,
                               struct weight **out)
{
    bool vector = plan->kind == WEIGHT_VECTOR;
    plan->rows = vector ? 1 : rows, plan->cols = vector ? 0 : plan->sources[0].cols;
    for (int i = 0; i < plan->source_count; i++) {
        const struct weight_source *source = &plan->sources[i];
        if (vector) plan->cols += source->cols;
        if (!vector && !rows) plan->rows += source->rows;
        builder->parts->load_bytes +=
            source->rows * model_tensor_bytes(&source->tensor, source->cols);
    }
    enum status status = vector ? STATUS_OK : choose_dtype(builder, plan);
    if (status != STATUS_OK) return status;
    struct weight_desc desc = {plan->sources[0].tensor.name, plan->kind, plan->dtype, plan->rows,
                               plan->cols};
    status = builder->ops->weight_create(builder->device, &desc, &plan->weight, builder->error);
    *out = plan->weight;
    return status;
}

/* A weight of up to three roles, one after another; none where the model has not the first. */
static enum status create(struct builder *builder, enum weight_kind kind, int layer,
                          const enum weight_role *roles, int count, struct weight **out)
{
    const struct family *family = model_family(builder->model);
    *out = NULL;
    if (!family_has(family, builder->config, roles[0])) return STATUS_OK;
    if (family->weights[roles[0]].shard == SHARD_FIRST && builder->parts->shard.rank != 0)
        return STATUS_OK;
    struct weight_plan *plan = add_plan(builder, kind);
    for (int i = 0; i < count; i++) add_source(builder, plan, roles[i], layer);
    int64_t rows = family->weights[roles[0]].shard == SHARD_VOCAB ? builder->parts->shard.vocab : 0;
    return finish_plan(builder, plan, rows, out);
}

static enum status create_layer(struct builder *builder, int layer)
{
    struct layer_weights *w = &builder->parts->layers[layer];
    const struct {
        enum weight_kind kind;
        enum weight_role roles[SOURCES_MAX];
        int count;
        struct weight **out;
    } wanted[] = {
        {WEIGHT_VECTOR, {ROLE_ATTENTION_NORM}, 1, &w->attention_norm},
        {WEIGHT_MATRIX, {ROLE_Q, ROLE_K, ROLE_V}, 3, &w->qkv},
        {WEIGHT_VECTOR, {ROLE_Q_BIAS, ROLE_K_BIAS, ROLE_V_BIAS}, 3, &w->qkv_bias},
        {WEIGHT_VECTOR, {ROLE_Q_NORM}, 1, &w->q_norm},
        {WEIGHT_VECTOR, {ROLE_K_NORM}, 1, &w->k_norm},
        {WEIGHT_MATRIX, {ROLE_O}, 1, &w->o},
        {WEIGHT_VECTOR, {ROLE_O_BIAS}, 1, &w->o_bias},
        {WEIGHT_VECTOR, {ROLE_MLP_NORM}, 1, &w->mlp_norm},
        {WEIGHT_MATRIX, {ROLE_GATE, ROLE_UP}, 2, &w->gate_up},
        {WEIGHT_VECTOR, {ROLE_GATE_BIAS, ROLE_UP_BIAS}, 2, &w->gate_up_bias},
        {WEIGHT_MATRIX, {ROLE_DOWN}, 1, &w->down},
        {WEIGHT_VECTOR, {ROLE_DOWN_BIAS}, 1, &w->down_bias},
    };
    _Static_assert(sizeof wanted / sizeof *wanted == PLANS_PER_LAYER, "room for every plan");
    enum status status = STATUS_OK;
    for (int i = 0; i < PLANS_PER_LAYER && status == STATUS_OK; i++)
        status =
            create(builder, wanted[i].kind, layer, wanted[i].roles, wanted[i].count, wanted[i].out);
    return status;
}

enum status program_weights_create(struct builder *builder)
{
    struct program_parts *parts = builder->parts;
    int layers = builder->config->layer_count;
    parts->plan_max = PLANS_OUTSIDE + PLANS_PER_LAYER * layers;
    parts->plans = arena_zalloc(&parts->arena, (size_t)parts->plan_max * sizeof *parts->plans);
    parts->layers = arena_zalloc(&parts->arena, (size_t)layers * sizeof *parts->layers);
    enum status status =
        create(builder, WEIGHT_MATRIX, 0, &(enum weight_role){ROLE_EMBED}, 1, &parts->embed);
    for (int i = 0; i < layers && status == STATUS_OK; i++) status = create_layer(builder, i);
    if (status == STATUS_OK)
        status = create(builder, WEIGHT_VECTOR, 0, &(enum weight_role){ROLE_FINAL_NORM}, 1,
                        &parts->final_norm);
    if (status == STATUS_OK)
        status = create(builder, WEIGHT_MATRIX, 0, &(enum weight_role){ROLE_HEAD}, 1, &parts->head);
    if (status == STATUS_OK && !parts->head) parts->head = parts->embed; /* tied */
    if (status == STATUS_OK && parts->unblocked && parts->shard.rank == 0)
        log_warning("model",
                    "rows of some matrices (%s), split for %d ranks, are no whole blocks: they are "
                    "kept as floating point",
                    parts->unblocked, parts->shard.rank_count);
    return status;
}
