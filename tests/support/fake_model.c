/* fake_model.c - see fake_model.h. */
#include "tests/support/fake_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t h = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 29) * 0x94d049bb133111ebu;
    return h ^ h >> 32;
}

uint64_t fake_random(uint64_t *state)
{
    return mix(++*state, 0x5851f42d4c957f2du);
}

int fake_random_in(uint64_t *state, int low, int high)
{
    return low + (int)(fake_random(state) % (uint64_t)(high - low + 1));
}

struct fake_model *fake_model_create(const struct fake_model_options *options)
{
    struct fake_model *model = calloc(1, sizeof(*model));
    CHECK(model);
    model->options = *options;
    size_t places = (size_t)options->page_count * (size_t)options->page_tokens;
    size_t rows = (size_t)options->limits.rows_max;
    model->kv = calloc(places, sizeof(*model->kv));
    model->written = calloc(places, sizeof(*model->written));
    model->slot_last = calloc(rows, sizeof(int32_t));
    model->slot_history = calloc(rows * (size_t)(options->max_model_len + 1), sizeof(int32_t));
    model->slot_history_len = calloc(rows, sizeof(int32_t));
    model->slot_prompt_len = calloc(rows, sizeof(int32_t));
    CHECK(model->kv && model->written && model->slot_last && model->slot_history &&
          model->slot_history_len && model->slot_prompt_len);
    return model;
}

void fake_model_destroy(struct fake_model *model)
{
    if (!model) return;
    free(model->kv);
    free(model->written);
    free(model->slot_last);
    free(model->slot_history);
    free(model->slot_history_len);
    free(model->slot_prompt_len);
    free(model);
}

/* The parts of the model that the reference shares: nothing here knows of pages or batches. */

static uint64_t kv_of(uint64_t before, int32_t token, int position)
{
    return mix(before, (uint64_t)(uint32_t)token << 32 | (uint32_t)position);
}

struct sampling_inputs {
    const struct batch_sampling *sampling;
    const int32_t *bias_ids;
    const float *bias_values;
    const int32_t *history;
    int history_len, prompt_len;
};

static bool forbidden(const struct sampling_inputs *in, int32_t token)
{
    for (int i = 0; i < in->sampling->bias_count; i++)
        if (in->bias_ids[i] == token && isinf(in->bias_values[i])) return true;
    return false;
}

static int32_t sample(uint64_t output, int vocab, const struct sampling_inputs *in)
{
    uint64_t h = mix(output, in->sampling->seed);
    h = mix(h, (uint64_t)in->sampling->position);
    for (int i = 0; i < in->sampling->bias_count; i++)
        if (!isinf(in->bias_values[i]))
            h = mix(h, (uint64_t)in->bias_ids[i] + (uint64_t)(int64_t)in->bias_values[i]);
    if (in->sampling->uses_history)
        for (int i = 0; i < in->history_len; i++)
            h = mix(h, (uint64_t)in->history[i] * 2 + (i < in->prompt_len));
    int32_t token = (int32_t)(h % (uint64_t)vocab);
    for (int i = 0; i < vocab && forbidden(in, token); i++) token = (token + 1) % vocab;
    return token;
}

static float logprob_of(uint64_t output, int32_t token)
{
    return -(float)(mix(output, (uint64_t)token) % 4096) / 64;
}

/* A batch. */

static size_t place(const struct fake_model *model, const struct batch *batch,
                    const struct batch_row *row, int position)
{
    int page_tokens = model->options.page_tokens;
    int32_t page = batch->pages[row->page_start + position / page_tokens];
    return (size_t)page * (size_t)page_tokens + (size_t)(position % page_tokens);
}

static void check_row(const struct fake_model *model, const struct batch *batch, int index)
{
    const struct fake_model_options *o = &model->options;
    const struct batch_row *row = &batch->rows[index];
    CHECK(row->slot >= 0 && row->slot < o->limits.rows_max);
    for (int i = 0; i < index; i++) CHECK(batch->rows[i].slot != row->slot);
    CHECK(row->q_len >= 1 && row->kv_len >= row->q_len && row->kv_len <= o->max_model_len);
    CHECK(index >= batch->decode_count || row->q_len == 1);
    CHECK(row->page_count == (row->kv_len + o->page_tokens - 1) / o->page_tokens);
    for (int i = 0; i < row->page_count; i++) {
        int32_t page = batch->pages[row->page_start + i];
        CHECK(page > PAGE_SCRAP && page < o->page_count);
        for (int j = 0; j < i; j++) CHECK(batch->pages[row->page_start + j] != page);
    }
    for (int i = 0; i < row->q_len; i++) {
        CHECK(batch->positions[row->q_start + i] == row->kv_len - row->q_len + i);
        CHECK(batch->token_rows[row->q_start + i] == index);
        int32_t token = batch->tokens[row->q_start + i];
        CHECK(token >= 0 ? token < o->vocab : token == TOKEN_FROM_SLOT);
        CHECK(token != TOKEN_FROM_SLOT || row->q_len == 1);
    }
}

static void check_batch(const struct fake_model *model, const struct batch *batch)
{
    const struct batch_limits *limits = &model->options.limits;
    CHECK(batch->step == model->steps);
    CHECK(batch->row_count >= 1 && batch->row_count <= limits->rows_max);
    CHECK(batch->decode_count >= 0 && batch->decode_count <= batch->row_count);
    CHECK(batch->token_count <= limits->tokens_max && batch->page_count <= limits->pages_max);
    CHECK(batch->logits_count <= limits->logits_max && batch->bias_count <= limits->bias_max);
    CHECK(batch->history_count <= limits->history_max && batch->mask_count == 0);
    int tokens = 0, pages = 0, logits = 0, history = 0, sampling = 0, bias = 0;
    for (int i = 0; i < batch->row_count; i++) {
        const struct batch_row *row = &batch->rows[i];
        CHECK(row->q_start == tokens && row->page_start == pages && row->logits_start == logits);
        check_row(model, batch, i);
        tokens += row->q_len, pages += row->page_count, logits += row->logits_count;
        if (row->history_len == HISTORY_KEEP) continue;
        CHECK(row->history_start == history && row->history_len >= 0);
        CHECK(row->history_prompt_len <= row->history_len);
        history += row->history_len;
    }
    CHECK(tokens == batch->token_count && pages == batch->page_count);
    CHECK(logits == batch->logits_count && history == batch->history_count);
    for (int i = 0; i < batch->logits_count; i++) {
        const struct batch_logits *wanted = &batch->logits[i];
        CHECK(wanted->token >= 0 && wanted->token < batch->token_count);
        CHECK(i == 0 || batch->logits[i - 1].token < wanted->token);
        CHECK(batch->token_rows[wanted->token] == wanted->row);
        const struct batch_row *row = &batch->rows[wanted->row];
        CHECK(i >= row->logits_start && i < row->logits_start + row->logits_count);
        if (wanted->target != TARGET_SAMPLE) {
            CHECK(wanted->sampling == -1 && wanted->target < model->options.vocab);
            continue;
        }
        CHECK(wanted->sampling == sampling++ && i == row->logits_start + row->logits_count - 1);
        CHECK(wanted->token == row->q_start + row->q_len - 1);
        CHECK(batch->sampling[wanted->sampling].position == row->kv_len);
        CHECK(batch->sampling[wanted->sampling].bias_start == bias);
        bias += batch->sampling[wanted->sampling].bias_count;
    }
    CHECK(sampling == batch->sampling_count && bias == batch->bias_count);
}

static void write_row(struct fake_model *model, const struct batch *batch, int index)
{
    const struct batch_row *row = &batch->rows[index];
    int first = row->kv_len - row->q_len;
    int32_t *history =
        model->slot_history + (size_t)row->slot * (size_t)(model->options.max_model_len + 1);
    if (row->history_len != HISTORY_KEEP) {
        memcpy(history, batch->history + row->history_start,
               (size_t)row->history_len * sizeof(*history));
        model->slot_history_len[row->slot] = row->history_len;
        model->slot_prompt_len[row->slot] = row->history_prompt_len;
        model->slot_last[row->slot] = -1;
    }
    for (int i = 0; i < row->q_len; i++) {
        int32_t token = batch->tokens[row->q_start + i];
        if (token == TOKEN_FROM_SLOT) token = model->slot_last[row->slot];
        CHECK(token >= 0);
        int position = first + i;
        uint64_t before = position ? model->kv[place(model, batch, row, position - 1)] : 0;
        size_t at = place(model, batch, row, position);
        CHECK(model->written[at] == 0); /* by two rows in one step */
        model->written[at] = 1 + index;
        model->kv[at] = kv_of(before, token, position);
    }
}

static uint64_t output_at(const struct fake_model *model, const struct batch *batch,
                          const struct batch_row *row, int position)
{
    uint64_t output = 0;
    for (int i = 0; i <= position; i++)
        output = mix(output, model->kv[place(model, batch, row, i)]);
    return output;
}

static void run_logits(struct fake_model *model, const struct batch *batch,
                       const struct batch_logits *wanted, struct logits_result *out)
{
    const struct batch_row *row = &batch->rows[wanted->row];
    uint64_t output = output_at(model, batch, row, batch->positions[wanted->token]);
    int32_t token = wanted->target, slot = row->slot;
    if (token == TARGET_SAMPLE) {
        const struct batch_sampling *sampling = &batch->sampling[wanted->sampling];
        int32_t *history =
            model->slot_history + (size_t)slot * (size_t)(model->options.max_model_len + 1);
        token = sample(
            output, model->options.vocab,
            &(struct sampling_inputs){.sampling = sampling,
                                      .bias_ids = batch->bias_ids + sampling->bias_start,
                                      .bias_values = batch->bias_values + sampling->bias_start,
                                      .history = history,
                                      .history_len = model->slot_history_len[slot],
                                      .prompt_len = model->slot_prompt_len[slot]});
        model->slot_last[slot] = token;
        CHECK(model->slot_history_len[slot] <= model->options.max_model_len);
        history[model->slot_history_len[slot]++] = token;
    }
    *out = (struct logits_result){.token = token};
    if (wanted->top_count == LOGPROBS_NONE) return;
    out->logprob = logprob_of(output, token);
    out->rank = 1;
    out->top_count = wanted->top_count;
}

void fake_model_run(struct fake_model *model, const struct batch *batch,
                    struct batch_result *result)
{
    check_batch(model, batch);
    size_t places = (size_t)model->options.page_count * (size_t)model->options.page_tokens;
    memset(model->written, 0, places * sizeof(*model->written));
    for (int i = 0; i < batch->row_count; i++) write_row(model, batch, i);
    for (int i = 0; i < batch->logits_count; i++)
        run_logits(model, batch, &batch->logits[i], &result->logits[i]);
    result->step = batch->step;
    result->logits_count = batch->logits_count;
    model->steps++;
}

/* The reference: one sequence, no batch. */

static int expect_bias(const struct request_options *options, int generated, int32_t *ids,
                       float *values)
{
    int count = 0;
    for (int i = 0; i < options->bias_count; i++)
        ids[count] = options->bias[i].token, values[count++] = options->bias[i].value;
    if (generated < options->sampling.min_tokens)
        for (int i = 0; i < options->stop_token_count; i++)
            ids[count] = options->stop_tokens[i], values[count++] = -INFINITY;
    return count;
}

static bool stops(const struct request_options *options, int32_t token)
{
    for (int i = 0; i < options->stop_token_count; i++)
        if (options->stop_tokens[i] == token) return true;
    return false;
}

int fake_model_expect(const struct request_options *options, int context_max, int vocab,
                      int32_t *tokens, float *token_logprobs, float *prompt_logprobs,
                      enum finish_reason *finish)
{
    const struct sampling_params *params = &options->sampling;
    int prompt_len = options->prompt_len, generated = 0;
    int32_t ids[64];
    float values[64];
    CHECK(options->bias_count + options->stop_token_count <= 64);
    uint64_t kv = 0, output = 0;
    int32_t *all = malloc((size_t)(context_max + 1) * sizeof(*all));
    CHECK(all);
    memcpy(all, options->prompt, (size_t)prompt_len * sizeof(*all));
    *finish = FINISH_LENGTH;
    for (int i = 0;; i++) {
        int len = prompt_len + generated;
        kv = kv_of(kv, all[i], i);
        output = mix(output, kv);
        if (i + 1 < prompt_len) {
            if (prompt_logprobs) prompt_logprobs[i + 1] = logprob_of(output, all[i + 1]);
            continue;
        }
        if (generated == params->max_tokens || len >= context_max) break;
        struct batch_sampling sampling = {
            .seed = params->seed,
            .position = len,
            .uses_history = params->presence_penalty != 0 || params->frequency_penalty != 0 ||
                            params->repetition_penalty != 1,
            .bias_count = expect_bias(options, generated, ids, values)};
        int32_t token = sample(output, vocab,
                               &(struct sampling_inputs){.sampling = &sampling,
                                                         .bias_ids = ids,
                                                         .bias_values = values,
                                                         .history = all,
                                                         .history_len = len,
                                                         .prompt_len = prompt_len});
        token_logprobs[generated] = logprob_of(output, token);
        tokens[generated++] = all[len] = token;
        if (generated > params->min_tokens && stops(options, token)) {
            *finish = FINISH_STOP;
            break;
        }
        if (generated == params->max_tokens || len + 1 >= context_max) break;
    }
    free(all);
    return generated;
}
