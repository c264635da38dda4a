/* sizing.c - see sizing.h. */
#include "runtime/sizing.h"

#include "runtime/base/log.h"

enum {
    DEFAULT_SEQS = 256,
    DEFAULT_TOKENS = 2048,
    BIAS_PER_ROW = 128,  /* on average: a row may have more where others have none */
    LOGITS_MIN = 64,     /* so that prompt_logprobs advance by more than a token a step */
    ROW_BIAS_MAX = 2048, /* what one row may have: logit_bias and forbidden stop tokens */
};

static const int64_t MIB = 1 << 20;
/* Without --kv-cache-memory-bytes a CPU serves beside other programs: it takes what so many
 * sequences of full length need, but no more than a gigabyte unless one alone needs more. */
enum { CPU_KV_SEQUENCES = 16 };
static const int64_t CPU_KV_BYTES = 1 << 30;

enum status sizing_model_len(const struct executor_options *options, const struct model *model,
                             int *out, struct error *error)
{
    int declared = model_config(model)->max_position;
    if (options->max_model_len > declared && model_config(model)->rope.scaling != ROPE_DYNAMIC)
        return error_set(error, STATUS_INVALID, "--max-model-len",
                         "--max-model-len %d is more than the %d positions that the model was made "
                         "for",
                         options->max_model_len, declared);
    *out = options->max_model_len > 0 ? options->max_model_len : declared;
    return STATUS_OK;
}

static int pages_for(int tokens, int page_tokens)
{
    return (tokens + page_tokens - 1) / page_tokens;
}

static void set_limits(struct device_shape *shape, int seqs, int tokens)
{
    shape->limits = (struct batch_limits){
        .rows_max = seqs,
        .tokens_max = tokens,
        .pages_max = seqs * pages_for(shape->max_model_len, shape->page_tokens),
        .logits_max = seqs > LOGITS_MIN ? seqs : LOGITS_MIN,
        .bias_max = seqs * BIAS_PER_ROW > ROW_BIAS_MAX ? seqs * BIAS_PER_ROW : ROW_BIAS_MAX,
        .history_max = shape->max_model_len + tokens,
    };
}

/* Bytes for pages on this worker: what was asked for, or what is sensible and free. */
static int64_t kv_budget(const struct executor_options *options, struct worker *worker,
                         const struct device_shape *shape, int64_t page_bytes, int worker_count)
{
    if (options->kv_cache_bytes > 0) return options->kv_cache_bytes / worker->rank_count;
    double free_bytes =
        (double)worker->ops->memory_free(worker->device) * options->memory_utilization;
    int64_t most = (int64_t)free_bytes / worker_count -
                   (int64_t)worker->ops->workspace_bytes(worker->device, shape);
    int64_t sequence = pages_for(shape->max_model_len, shape->page_tokens) * page_bytes;
    int64_t wanted = sequence * (shape->limits.rows_max < CPU_KV_SEQUENCES ? shape->limits.rows_max
                                                                           : CPU_KV_SEQUENCES);
    if (wanted > CPU_KV_BYTES / worker->rank_count) wanted = CPU_KV_BYTES / worker->rank_count;
    if (wanted < sequence) wanted = sequence;
    wanted += page_bytes; /* the scrap page */
    return wanted < most ? wanted : most;
}

static enum status plan_pages(struct crew *crew, struct worker *workers, int worker_count,
                              struct error *error)
{
    struct device_shape *shape = &crew->shape;
    shape->page_count = INT32_MAX;
    int64_t page_bytes = 0;
    for (int i = 0; i < worker_count; i++) {
        struct device_shape own = *shape;
        own.program = workers[i].program;
        page_bytes = (int64_t)workers[i].ops->page_bytes(workers[i].device, &own);
        int64_t pages =
            kv_budget(crew->options, &workers[i], &own, page_bytes, worker_count) / page_bytes;
        if (pages < shape->page_count) shape->page_count = pages;
    }
    int needed = pages_for(shape->max_model_len, shape->page_tokens) + 1;
    if (shape->page_count >= needed) return STATUS_OK;
    int64_t fits = (shape->page_count - 1) * shape->page_tokens;
    if (crew->options->max_model_len > 0 || fits < shape->page_tokens * 2)
        return error_set(error, STATUS_NO_MEMORY, "--max-model-len",
                         "the KV cache has room for %lld tokens and one sequence of %d needs %lld "
                         "MiB: lower --max-model-len or raise --kv-cache-memory-bytes",
                         (long long)(fits > 0 ? fits : 0), shape->max_model_len,
                         (long long)(needed * page_bytes * workers[0].rank_count / MIB + 1));
    log_warning("runtime",
                "the model could serve %d tokens a sequence, memory allows %lld: that is the limit "
                "now (--max-model-len, --kv-cache-memory-bytes)",
                shape->max_model_len, (long long)fits);
    shape->max_model_len = (int)fits;
    set_limits(shape, shape->limits.rows_max, shape->limits.tokens_max);
    return STATUS_OK;
}

enum status sizing_plan(struct crew *crew, struct worker *workers, int worker_count,
                        struct error *error)
{
    const struct executor_options *options = crew->options;
    struct device_shape *shape = &crew->shape;
    int tokens =
        options->max_num_batched_tokens > 0 ? options->max_num_batched_tokens : DEFAULT_TOKENS;
    int seqs = options->max_num_seqs > 0 ? options->max_num_seqs
               : tokens < DEFAULT_SEQS   ? tokens
                                         : DEFAULT_SEQS;
    if (seqs > tokens)
        return error_set(error, STATUS_INVALID, "--max-num-seqs",
                         "--max-num-seqs %d exceeds --max-num-batched-tokens %d: every running "
                         "sequence decodes one token a step",
                         seqs, tokens);
    shape->page_tokens = options->page_tokens > 0 ? options->page_tokens : 32;
    if (shape->page_tokens % 16)
        return error_set(error, STATUS_INVALID, "--block-size",
                         "--block-size %d is not a multiple of 16", shape->page_tokens);
    enum status status = sizing_model_len(options, crew->model, &shape->max_model_len, error);
    if (status) return status;
    bool exact = options->dtype == DTYPE_F32 ||
                 (options->dtype == DTYPE_AUTO && model_config(crew->model)->dtype == DTYPE_F32);
    shape->kv_dtype = options->kv_dtype != DTYPE_AUTO ? (enum dtype)options->kv_dtype
                      : exact                         ? DTYPE_F32
                                                      : DTYPE_BF16;
    set_limits(shape, seqs, tokens);
    return plan_pages(crew, workers, worker_count, error);
}
