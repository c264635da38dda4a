/*
 * fake_model.h - a model without numbers, to test everything above it.
 *
 * The "K and V" of a token are a hash of its id, its position and the K and V before it, read
 * through the row's pages, and a position's output is a hash of all of them. So a page that is
 * wrong, stale, lost, doubled or used after it was given away changes the tokens that come out, and
 * fake_model_expect says which should. Every batch is checked against the contract of
 * kernels/batch.h (CHECK). Thread: one at a time.
 */
#ifndef TESTS_SUPPORT_FAKE_MODEL_H
#define TESTS_SUPPORT_FAKE_MODEL_H

#include "kernels/batch.h"
#include "scheduler/request.h"

struct fake_model_options {
    struct batch_limits limits;
    int page_tokens, page_count, max_model_len, vocab;
};

struct fake_model {
    struct fake_model_options options;
    uint64_t *kv;          /* [page_count][page_tokens] */
    int32_t *written;      /* [page_count][page_tokens] 1 + row that wrote it in this step */
    int32_t *slot_last;    /* [rows_max] */
    int32_t *slot_history; /* [rows_max][max_model_len + 1] */
    int32_t *slot_history_len, *slot_prompt_len;
    int64_t steps;
};

struct fake_model *fake_model_create(const struct fake_model_options *options);
void fake_model_destroy(struct fake_model *model);

/* Runs one step; `result` has room for limits.logits_max. */
void fake_model_run(struct fake_model *model, const struct batch *batch,
                    struct batch_result *result);

/* What a request alone must give: tokens up to its end, and that end. tokens[] has room for
 * context_max. Returns how many; prompt_logprobs[i] (NULL: not wanted) is of prompt token i. */
int fake_model_expect(const struct request_options *options, int context_max, int vocab,
                      int32_t *tokens, float *token_logprobs, float *prompt_logprobs,
                      enum finish_reason *finish);

/* Random numbers for tests: the next of the stream, and one in [low, high]. */
uint64_t fake_random(uint64_t *state);
int fake_random_in(uint64_t *state, int low, int high);

#endif
