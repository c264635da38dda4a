/* logits_run.c - see logits_run.h. */
#include "tests/support/logits_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/check.h"
#include "runtime/batch.h"

enum { CHUNK_MAX = 512, SEQS_MAX = 64, PAGE_TOKENS = 32 };

struct executor_options logits_options(int max_model_len)
{
    return (struct executor_options){.device = "cpu",
                                     .tensor_parallel = 1,
                                     .threads = 1,
                                     .dtype = DTYPE_AUTO,
                                     .quantization = DTYPE_AUTO,
                                     .kv_dtype = DTYPE_AUTO,
                                     .kv_cache_bytes = 64 << 20,
                                     .page_tokens = PAGE_TOKENS,
                                     .max_model_len = max_model_len,
                                     .max_num_seqs = SEQS_MAX,
                                     .max_num_batched_tokens = CHUNK_MAX,
                                     .stall_timeout_ms = 60000};
}

struct logits_model logits_open(const char *path, const struct executor_options *options)
{
    struct logits_model opened = {NULL, NULL};
    struct error error = {0};
    if (model_open(path, &opened.model, &error) != STATUS_OK) fail_msg("%s", error.message);
    if (executor_create(options, opened.model, &opened.executor, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return opened;
}

void logits_close(struct logits_model *opened)
{
    executor_destroy(opened->executor);
    model_close(opened->model);
}

/* A batch of tokens [start, start + count) of the one sequence, in slot 0, pages from 1 on. */
static void fill_batch(struct batch *batch, const int32_t *ids, int start, int count)
{
    int pages = (start + count + PAGE_TOKENS - 1) / PAGE_TOKENS;
    batch_clear(batch);
    batch->step++;
    batch->row_count = 1, batch->decode_count = start > 0 && count == 1;
    batch->token_count = count, batch->page_count = pages;
    batch->rows[0] = (struct batch_row){.q_len = count,
                                        .kv_len = start + count,
                                        .page_count = pages,
                                        .history_len = start ? HISTORY_KEEP : 0};
    for (int i = 0; i < pages; i++) batch->pages[i] = i + 1;
    for (int i = 0; i < count; i++) {
        batch->tokens[i] = ids[start + i];
        batch->positions[i] = start + i;
        batch->token_rows[i] = 0;
    }
}

static const struct batch_result *run_batch(struct executor *executor, struct batch *batch)
{
    struct error error = {0};
    batch->rows[0].logits_count = batch->logits_count;
    executor_submit(executor, batch);
    const struct batch_result *result = executor_wait(executor, &error);
    if (!result) fail_msg("%s", error.message);
    assert_int_equal(result->logits_count, batch->logits_count);
    return result;
}

void logits_run(struct executor *executor, const int32_t *ids, int len, int chunk,
                const int *positions, int count, struct logits_result *results)
{
    struct batch *batch = batch_create(&executor_info(executor)->limits);
    CHECK(chunk <= CHUNK_MAX);
    int done = 0;
    for (int start = 0; start < len; start += chunk) {
        fill_batch(batch, ids, start, len - start < chunk ? len - start : chunk);
        for (int i = done; i < count && positions[i] < start + batch->token_count; i++)
            batch->logits[batch->logits_count++] =
                (struct batch_logits){.token = positions[i] - start,
                                      .target = ids[positions[i] + 1],
                                      .top_count = LOGPROBS_MAX,
                                      .sampling = -1};
        const struct batch_result *result = run_batch(executor, batch);
        memcpy(results + done, result->logits,
               (size_t)result->logits_count * sizeof *result->logits);
        done += result->logits_count;
    }
    assert_int_equal(done, count);
    batch_destroy(batch);
}

void logits_greedy(struct executor *executor, const int32_t *ids, int len, int count, int32_t *out)
{
    struct batch *batch = batch_create(&executor_info(executor)->limits);
    for (int i = 0; i < count; i++) {
        if (i == 0)
            fill_batch(batch, ids, 0, len);
        else
            fill_batch(batch, out - len, len + i - 1, 1);
        batch->sampling[0] =
            (struct batch_sampling){.top_p = 1, .repetition_penalty = 1, .mask_start = -1};
        batch->sampling[0].position = len + i;
        batch->sampling_count = 1, batch->logits_count = 1;
        batch->logits[0] = (struct batch_logits){
            .token = batch->token_count - 1, .target = TARGET_SAMPLE, .top_count = LOGPROBS_NONE};
        out[i] = run_batch(executor, batch)->logits[0].token;
    }
    batch_destroy(batch);
}
