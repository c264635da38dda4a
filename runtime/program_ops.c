/*
 * program_ops.c - the forward pass of the dense families as ops.
 *
 * The embedding writes the residual stream itself; every later contribution is a buffer that the
 * next norm adds to it. With more than one rank, what ranks compute in part (embedding, o, down) is
 * summed before it is used, and logits are gathered.
 */
#include <math.h>

#include "runtime/base/check.h"
#include "runtime/program_parts.h"
#include "runtime/rope.h"

enum { OPS_OUTSIDE = 10, OPS_PER_LAYER = 11 };

enum buffer_id {
    BUFFER_RESIDUAL,
    BUFFER_HIDDEN, /* normed */
    BUFFER_ROPE,
    BUFFER_QKV,
    BUFFER_ATTENTION,
    BUFFER_DELTA, /* to be added to the residual */
    BUFFER_GATE_UP,
    BUFFER_ACTIVATED,
    BUFFER_LOGITS,
    BUFFER_LOGITS_SHARD, /* with more than one rank */
};

static void create_buffers(struct builder *builder)
{
    struct program *program = &builder->parts->program;
    const struct model_config *config = builder->config;
    const struct shard *shard = &builder->parts->shard;
    int head_dim = config->head_dim;
    const struct program_buffer buffers[] = {
        [BUFFER_RESIDUAL] = {"residual", BUFFER_PER_TOKEN, config->hidden},
        [BUFFER_HIDDEN] = {"hidden", BUFFER_PER_TOKEN, config->hidden},
        [BUFFER_ROPE] = {"rope", BUFFER_PER_TOKEN, config->rope.rotary_dim},
        [BUFFER_QKV] = {"qkv", BUFFER_PER_TOKEN, (shard->heads + 2 * shard->kv_heads) * head_dim},
        [BUFFER_ATTENTION] = {"attention", BUFFER_PER_TOKEN, shard->heads * head_dim},
        [BUFFER_DELTA] = {"delta", BUFFER_PER_TOKEN, config->hidden},
        [BUFFER_GATE_UP] = {"gate_up", BUFFER_PER_TOKEN, 2 * shard->ffn},
        [BUFFER_ACTIVATED] = {"activated", BUFFER_PER_TOKEN, shard->ffn},
        [BUFFER_LOGITS] = {"logits", BUFFER_PER_LOGITS, shard->vocab * shard->rank_count},
        [BUFFER_LOGITS_SHARD] = {"logits_shard", BUFFER_PER_LOGITS, shard->vocab},
    };
    program->buffer_count = shard->rank_count > 1 ? BUFFER_LOGITS_SHARD + 1 : BUFFER_LOGITS + 1;
    for (int i = 0; i < program->buffer_count; i++) program->buffers[i] = buffers[i];
    program->vocab = config->vocab;
    program->kv_layer_count = config->layer_count;
    program->kv_layers = arena_alloc(&builder->parts->arena,
                                     (size_t)config->layer_count * sizeof *program->kv_layers);
    for (int i = 0; i < config->layer_count; i++)
        program->kv_layers[i] = (struct kv_layer_shape){shard->kv_heads, head_dim};
}

static struct op *emit(struct builder *builder, enum op_kind kind, int layer, const char *name,
                       int in, int out)
{
    struct program *program = &builder->parts->program;
    CHECK(program->op_count < OPS_OUTSIDE + OPS_PER_LAYER * builder->config->layer_count);
    struct op *op = &program->ops[program->op_count++];
    *op = (struct op){
        .kind = kind, .layer = layer, .name = name, .in = (int8_t)in, .out = (int8_t)out};
    return op;
}

static void emit_norm(struct builder *builder, int layer, const char *name, int in,
                      struct weight *weight)
{
    struct op *op = emit(builder, OP_NORM, layer, name, in, BUFFER_HIDDEN);
    op->norm.weight = weight, op->norm.residual = BUFFER_RESIDUAL;
    op->norm.eps = builder->config->norm_eps, op->norm.cols = builder->config->hidden;
}

static void emit_linear(struct builder *builder, int layer, const char *name, int in, int out,
                        struct weight *weight, struct weight *bias)
{
    struct op *op = emit(builder, OP_LINEAR, layer, name, in, out);
    op->linear.weight = weight, op->linear.bias = bias;
}

/* Sums what every rank has of `buffer`. */
static void emit_reduce(struct builder *builder, int layer, const char *name, int buffer)
{
    if (builder->parts->shard.rank_count == 1) return;
    struct op *op = emit(builder, OP_ALL_REDUCE, layer, name, buffer, buffer);
    op->reduce.cols = builder->config->hidden;
}

static void emit_attention(struct builder *builder, int layer)
{
    const struct model_config *config = builder->config;
    const struct shard *shard = &builder->parts->shard;
    const struct layer_weights *weights = &builder->parts->layers[layer];
    struct op *op = emit(builder, OP_ROPE_KV, layer, "rope_kv", BUFFER_QKV, BUFFER_QKV);
    op->rope_kv.q_norm = weights->q_norm, op->rope_kv.k_norm = weights->k_norm;
    op->rope_kv.eps = config->norm_eps, op->rope_kv.table = BUFFER_ROPE;
    op->rope_kv.heads = shard->heads, op->rope_kv.kv_heads = shard->kv_heads;
    op->rope_kv.head_dim = config->head_dim, op->rope_kv.rotary_dim = config->rope.rotary_dim;
    op->rope_kv.kv_layer = layer;
    op = emit(builder, OP_ATTENTION, layer, "attention", BUFFER_QKV, BUFFER_ATTENTION);
    op->attention.heads = shard->heads, op->attention.kv_heads = shard->kv_heads;
    op->attention.head_dim = config->head_dim, op->attention.kv_layer = layer;
    op->attention.window = layer >= config->sliding_window_start ? config->sliding_window : 0;
    op->attention.scale = (float)(1 / sqrt(config->head_dim));
}

static void emit_layer(struct builder *builder, int layer)
{
    const struct layer_weights *weights = &builder->parts->layers[layer];
    struct op *op;
    emit_norm(builder, layer, "attention_norm", layer == 0 ? BUFFER_NONE : BUFFER_DELTA,
              weights->attention_norm);
    emit_linear(builder, layer, "qkv", BUFFER_HIDDEN, BUFFER_QKV, weights->qkv, weights->qkv_bias);
    emit_attention(builder, layer);
    emit_linear(builder, layer, "o", BUFFER_ATTENTION, BUFFER_DELTA, weights->o, weights->o_bias);
    emit_reduce(builder, layer, "o_reduce", BUFFER_DELTA);
    emit_norm(builder, layer, "mlp_norm", BUFFER_DELTA, weights->mlp_norm);
    emit_linear(builder, layer, "gate_up", BUFFER_HIDDEN, BUFFER_GATE_UP, weights->gate_up,
                weights->gate_up_bias);
    op = emit(builder, OP_MLP_ACT, layer, "mlp_act", BUFFER_GATE_UP, BUFFER_ACTIVATED);
    op->mlp_act.activation = builder->config->activation;
    op->mlp_act.n = builder->parts->shard.ffn;
    emit_linear(builder, layer, "down", BUFFER_ACTIVATED, BUFFER_DELTA, weights->down,
                weights->down_bias);
    emit_reduce(builder, layer, "down_reduce", BUFFER_DELTA);
}

static void emit_begin(struct builder *builder)
{
    const struct model_config *config = builder->config;
    struct program_parts *parts = builder->parts;
    float *inv_freq = arena_alloc(&parts->arena, (size_t)config->rope.rotary_dim * sizeof(float));
    struct op *op = emit(builder, OP_EMBED, -1, "embed", BUFFER_NONE, BUFFER_RESIDUAL);
    op->embed.table = parts->embed, op->embed.scale = 1;
    op->embed.vocab_start = parts->shard.vocab * parts->shard.rank;
    emit_reduce(builder, -1, "embed_reduce", BUFFER_RESIDUAL);
    op = emit(builder, OP_ROPE_TABLE, -1, "rope_table", BUFFER_NONE, BUFFER_ROPE);
    rope_frequencies(&config->rope, config->max_position, parts->options.max_model_len, inv_freq,
                     &op->rope_table.scale);
    op->rope_table.inv_freq = inv_freq, op->rope_table.rotary_dim = config->rope.rotary_dim;
}

static void emit_end(struct builder *builder)
{
    struct program_parts *parts = builder->parts;
    bool gather = parts->shard.rank_count > 1;
    emit_norm(builder, -1, "final_norm", BUFFER_DELTA, parts->final_norm);
    struct op *op = emit(builder, OP_LOGITS, -1, "logits", BUFFER_HIDDEN,
                         gather ? BUFFER_LOGITS_SHARD : BUFFER_LOGITS);
    op->logits.weight = parts->head, op->logits.scale = 1;
    if (gather) {
        op = emit(builder, OP_ALL_GATHER, -1, "logits_gather", BUFFER_LOGITS_SHARD, BUFFER_LOGITS);
        op->gather.cols = parts->shard.vocab;
    }
    op = emit(builder, OP_SAMPLE, -1, "sample", BUFFER_LOGITS, BUFFER_NONE);
    op->sample.vocab = builder->config->vocab;
}

enum status program_ops_create(struct builder *builder)
{
    struct program *program = &builder->parts->program;
    int layers = builder->config->layer_count;
    program->ops =
        arena_zalloc(&builder->parts->arena,
                     (size_t)(OPS_OUTSIDE + OPS_PER_LAYER * layers) * sizeof *program->ops);
    create_buffers(builder);
    emit_begin(builder);
    for (int i = 0; i < layers; i++) emit_layer(builder, i);
    emit_end(builder);
    for (int i = 0; i < program->op_count; i++) {
        const struct op *op = &program->ops[i];
        if (op->kind == OP_ALL_REDUCE || op->kind == OP_ALL_GATHER)
            continue; /* the communicator's */
        enum status status = builder->ops->supports(builder->device, op, builder->error);
        if (status != STATUS_OK)
            return error_prefix(builder->error, status, "device %s, op %s", builder->ops->name,
                                op->name);
    }
    return STATUS_OK;
}
