/* program.c - see program.h: shares of a rank, and the life of a program. */
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/program_parts.h"

enum status program_check(const struct model_config *config, int rank_count, struct error *error)
{
    static const char param[] = "tensor_parallel";
    CHECK(rank_count >= 1);
    if (config->heads % rank_count)
        return error_set(error, STATUS_INVALID, param,
                         "%d attention heads do not divide by %d tensor-parallel ranks",
                         config->heads, rank_count);
    if (config->kv_heads % rank_count && rank_count % config->kv_heads)
        return error_set(error, STATUS_INVALID, param,
                         "%d KV heads neither divide by %d tensor-parallel ranks nor divide them",
                         config->kv_heads, rank_count);
    if (config->ffn % rank_count)
        return error_set(error, STATUS_INVALID, param,
                         "intermediate size %d does not divide by %d tensor-parallel ranks",
                         config->ffn, rank_count);
    if (rank_count > config->vocab)
        return error_set(error, STATUS_INVALID, param,
                         "a vocabulary of %d is less than one token per rank", config->vocab);
    return STATUS_OK;
}

static struct shard shard_of(const struct model_config *config, int rank, int rank_count)
{
    struct shard shard = {.rank = rank, .rank_count = rank_count};
    shard.heads = config->heads / rank_count;
    shard.head_first = shard.heads * rank;
    if (rank_count <= config->kv_heads) {
        shard.kv_heads = config->kv_heads / rank_count;
        shard.kv_first = shard.kv_heads * rank;
    } else {
        shard.kv_heads = 1;
        shard.kv_first = rank / (rank_count / config->kv_heads);
    }
    shard.ffn = config->ffn / rank_count;
    shard.vocab = (config->vocab + rank_count - 1) / rank_count;
    return shard;
}

static enum status check_options(const struct program_options *options, struct error *error)
{
    CHECK(options->rank >= 0 && options->rank < options->rank_count);
    if (options->dtype > DTYPE_BF16)
        return error_set(error, STATUS_INVALID, "dtype", "--dtype takes f32, f16 or bf16");
    if (options->quantization >= 0 && options->quantization != DTYPE_Q8_0 &&
        options->quantization != DTYPE_Q4_0)
        return error_set(error, STATUS_INVALID, "quantization",
                         "--quantization takes q8_0 or q4_0");
    return STATUS_OK;
}

enum status program_create(const struct model *model, const struct program_options *options,
                           const struct device_ops *ops, struct device *device,
                           struct program **out, struct error *error)
{
    const struct model_config *config = model_config(model);
    enum status status = check_options(options, error);
    if (status == STATUS_OK) status = program_check(config, options->rank_count, error);
    if (status != STATUS_OK) return status;
    struct program_parts *parts = calloc(1, sizeof *parts);
    CHECK(parts);
    parts->options = *options;
    parts->shard = shard_of(config, options->rank, options->rank_count);
    struct builder builder = {parts, model, config, ops, device, error};
    status = program_weights_create(&builder);
    if (status == STATUS_OK) status = program_ops_create(&builder);
    if (status != STATUS_OK) {
        program_destroy(&parts->program);
        return status;
    }
    *out = &parts->program;
    return STATUS_OK;
}

int64_t program_load_bytes(const struct program *program)
{
    return ((const struct program_parts *)program)->load_bytes;
}

size_t program_weight_bytes(const struct program *program, const struct device_ops *ops)
{
    const struct program_parts *parts = (const struct program_parts *)program;
    size_t bytes = 0;
    for (int i = 0; i < parts->plan_count; i++) bytes += ops->weight_bytes(parts->plans[i].weight);
    return bytes;
}

void program_destroy(struct program *program)
{
    if (!program) return;
    struct program_parts *parts = (struct program_parts *)program;
    arena_free(&parts->arena);
    free(parts);
}
