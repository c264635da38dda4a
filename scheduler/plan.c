/*
 * plan.c - fills a batch: decode rows, chunks of prompts already begun, new requests. See
 * scheduler.h.
 *
 * A step costs O(running sequences + what it puts into the batch); the queue is only looked at from
 * its front. A row that does not fit the batch's limits waits for the next step, and nothing junior
 * of its kind that starts anew overtakes it.
 */
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/batch.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_state.h"

struct filling { /* one plan while it is made */
    struct scheduler *scheduler;
    const struct batch_limits *limits;
    struct batch *batch;
    struct plan *plan;
    int prefill_left;
    int64_t now_ns;
};

static int pages_for(const struct scheduler *s, int token_count)
{
    return (token_count + s->options.page_tokens - 1) / s->options.page_tokens;
}

/* Tokens still to be computed; 0 too when the last one to generate is on its way. */
static int remaining(const struct sequence *sequence)
{
    const struct request *request = sequence->request;
    int len = sequence_len(sequence);
    if (request->sampling.max_tokens > 0 && len >= request->token_max) return 0;
    return len - sequence->planned;
}

static bool decodes(const struct sequence *sequence)
{
    return sequence_len(sequence) > sequence->request->prompt_len && remaining(sequence) <= 1;
}

static bool forbids_stop(const struct sequence *sequence)
{
    const struct request *request = sequence->request;
    return sequence_len(sequence) - request->prompt_len < request->sampling.min_tokens;
}

static int bias_needed(const struct sequence *sequence)
{
    const struct request *request = sequence->request;
    return request->bias_count + (forbids_stop(sequence) ? request->stop_token_count : 0);
}

static bool sampling_fits(const struct filling *f, const struct sequence *sequence, int logits_used)
{
    return f->batch->logits_count + logits_used < f->limits->logits_max &&
           f->batch->bias_count + bias_needed(sequence) <= f->limits->bias_max;
}

static bool row_fits(const struct filling *f, const struct sequence *sequence, int kv_len)
{
    const struct request *request = sequence->request;
    int history = sequence->fresh && request_uses_history(request) ? request->token_count : 0;
    return f->batch->row_count < f->limits->rows_max &&
           f->batch->page_count + pages_for(f->scheduler, kv_len) <= f->limits->pages_max &&
           f->batch->history_count + history <= f->limits->history_max;
}

static void put_bias(struct batch *batch, int32_t id, float value)
{
    batch->bias_ids[batch->bias_count] = id;
    batch->bias_values[batch->bias_count++] = value;
}

static void put_sampling(struct batch *batch, const struct sequence *sequence)
{
    const struct request *request = sequence->request;
    const struct sampling_params *sampling = &request->sampling;
    int bias_start = batch->bias_count;
    for (int i = 0; i < request->bias_count; i++)
        put_bias(batch, request->bias[i].token, request->bias[i].value);
    if (forbids_stop(sequence))
        for (int i = 0; i < request->stop_token_count; i++)
            put_bias(batch, request->stop_tokens[i], -__builtin_inff());
    batch->sampling[batch->sampling_count++] = (struct batch_sampling){
        .temperature = sampling->temperature,
        .top_p = sampling->top_p,
        .min_p = sampling->min_p,
        .top_k = sampling->top_k > 0 ? sampling->top_k : 0,
        .presence_penalty = sampling->presence_penalty,
        .frequency_penalty = sampling->frequency_penalty,
        .repetition_penalty = sampling->repetition_penalty,
        .bias_start = bias_start,
        .bias_count = batch->bias_count - bias_start,
        .mask_start = -1,
        .seed = sampling->seed,
        .position = sequence_len(sequence),
        .uses_history = request_uses_history(request),
    };
}

/* The row's entries of logits[]: prompt tokens whose probability is asked, then the sampled one. */
static void put_logits(struct batch *batch, const struct sequence *sequence,
                       const struct batch_row *row, int row_index, bool samples)
{
    const struct request *request = sequence->request;
    int first = row->kv_len - row->q_len; /* position of the row's first token */
    if (request->sampling.prompt_logprobs != LOGPROBS_NONE) {
        int from = request->prompt_logprobs_next - 1; /* a token's logits are its predecessor's */
        int end = row->kv_len < request->prompt_len - 1 ? row->kv_len : request->prompt_len - 1;
        for (int i = from > first ? from : first; i < end; i++)
            batch->logits[batch->logits_count++] =
                (struct batch_logits){.token = row->q_start + i - first,
                                      .target = request->tokens[i + 1],
                                      .top_count = request->sampling.prompt_logprobs,
                                      .row = row_index,
                                      .sampling = -1};
    }
    if (!samples) return;
    batch->logits[batch->logits_count++] =
        (struct batch_logits){.token = row->q_start + row->q_len - 1,
                              .target = TARGET_SAMPLE,
                              .top_count = request->sampling.logprobs,
                              .row = row_index,
                              .sampling = batch->sampling_count};
    put_sampling(batch, sequence);
}

static void put_tokens(struct batch *batch, const struct sequence *sequence, int row_index,
                       int q_len)
{
    const struct request *request = sequence->request;
    for (int i = 0; i < q_len; i++) {
        int position = sequence->planned + i, at = batch->token_count++;
        batch->tokens[at] =
            position < request->token_count ? request->tokens[position] : TOKEN_FROM_SLOT;
        batch->positions[at] = position;
        batch->token_rows[at] = row_index;
    }
}

static void put_history(struct batch *batch, struct sequence *sequence, struct batch_row *row)
{
    const struct request *request = sequence->request;
    row->history_start = batch->history_count;
    row->history_len = HISTORY_KEEP;
    if (!sequence->fresh) return;
    row->history_len = request_uses_history(request) ? request->token_count : 0;
    row->history_prompt_len = row->history_len ? request->prompt_len : 0;
    memcpy(batch->history + batch->history_count, request->tokens,
           (size_t)row->history_len * sizeof(*batch->history));
    batch->history_count += row->history_len;
    sequence->fresh = false;
}

/* Appends a row for the next q_len tokens of the sequence, whose table holds them. */
static void put_row(struct filling *f, struct sequence *sequence, int q_len)
{
    struct scheduler *s = f->scheduler;
    struct batch *batch = f->batch;
    struct request *request = sequence->request;
    int kv_len = sequence->planned + q_len, index = batch->row_count++;
    bool samples = kv_len == sequence_len(sequence) && request->sampling.max_tokens > 0;
    struct batch_row *row = &batch->rows[index];
    *row = (struct batch_row){
        .slot = sequence->slot,
        .q_start = batch->token_count,
        .q_len = q_len,
        .kv_len = kv_len,
        .page_start = batch->page_count,
        .page_count = pages_for(s, kv_len),
        .logits_start = batch->logits_count,
    };
    CHECK(row->page_count <= sequence->table.page_count);
    memcpy(batch->pages + batch->page_count, sequence->table.pages,
           (size_t)row->page_count * sizeof(*batch->pages));
    batch->page_count += row->page_count;
    put_tokens(batch, sequence, index, q_len);
    put_history(batch, sequence, row);
    put_logits(batch, sequence, row, index, samples);
    row->logits_count = batch->logits_count - row->logits_start;
    f->plan->rows[index] = (struct plan_row){.sequence = sequence,
                                             .kv_len = kv_len,
                                             .logits_start = row->logits_start,
                                             .logits_count = row->logits_count,
                                             .samples = samples};
    sequence->planned = kv_len;
    sequence->in_flight++;
    sequence->sampling += samples;
    /* Batches run in order, and within one all writes of a layer precede its reads: whatever is
     * planned from here on may read these pages. */
    scheduler_index(s, sequence);
}

static void preempt(struct scheduler *s, struct sequence *sequence)
{
    sequence->request->preempted_count++;
    s->preemptions++;
    scheduler_leave(s, sequence);
}

/* Grows the table to kv_len, at the cost of sequences more junior or of this one. False when it
 * lost its pages itself, or when pages are on their way back, which is cheaper to wait for. */
static bool make_room(struct scheduler *s, struct sequence *sequence, int kv_len)
{
    while (!kv_table_reserve(s->cache, &sequence->table, kv_len)) {
        if (!list_empty(&s->leaving)) return false;
        struct sequence *junior = LIST_ITEM(s->running.prev, struct sequence, node);
        CHECK(s->running_count > 1); /* alone, everything fits: scheduler_check */
        preempt(s, junior);
        if (junior == sequence) return false;
    }
    return true;
}

static void put_decode_rows(struct filling *f)
{
    struct scheduler *s = f->scheduler;
    struct list_node *node = s->running.next, *next;
    for (; node != &s->running && f->batch->token_count < f->limits->tokens_max; node = next) {
        struct sequence *sequence = LIST_ITEM(node, struct sequence, node);
        int kv_len = sequence->planned + 1;
        if (decodes(sequence) && remaining(sequence) == 1 && row_fits(f, sequence, kv_len) &&
            sampling_fits(f, sequence, 0)) {
            if (make_room(s, sequence, kv_len)) put_row(f, sequence, 1);
            if (sequence->leaving || !sequence->request) break; /* it was the last of the list */
        }
        next = node->next; /* only now: the next one may just have lost its pages */
    }
    f->batch->decode_count = f->batch->row_count;
}

/* Tokens of the sequence's prompt (or of what it must recompute) that fit into the batch; 0: none.
 */
static int chunk_len(const struct filling *f, const struct sequence *sequence)
{
    const struct request *request = sequence->request;
    int chunk = remaining(sequence), tokens_left = f->limits->tokens_max - f->batch->token_count;
    if (chunk > tokens_left) chunk = tokens_left;
    if (chunk > f->prefill_left) chunk = f->prefill_left;
    int end = sequence->planned + chunk, asked = 0;
    if (request->sampling.prompt_logprobs != LOGPROBS_NONE) {
        int from = request->prompt_logprobs_next - 1;
        if (from < sequence->planned) from = sequence->planned;
        int logits_left = f->limits->logits_max - f->batch->logits_count;
        if (from < request->prompt_len - 1 && end > from + logits_left) end = from + logits_left;
        asked = (end < request->prompt_len - 1 ? end : request->prompt_len - 1) - from;
        if (asked < 0) asked = 0;
    }
    if (end == sequence_len(sequence) && request->sampling.max_tokens > 0 &&
        !sampling_fits(f, sequence, asked))
        end--; /* its last token waits for a step with room for its logits */
    if (end <= sequence->planned || !row_fits(f, sequence, end)) return 0;
    return end - sequence->planned;
}

static bool put_chunk(struct filling *f, struct sequence *sequence)
{
    int chunk = chunk_len(f, sequence);
    if (chunk == 0) return false;
    put_row(f, sequence, chunk);
    f->prefill_left -= chunk;
    return true;
}

/* False when one of them had to stand back: then nothing new begins. */
static bool put_begun_chunks(struct filling *f)
{
    struct scheduler *s = f->scheduler;
    bool all = true;
    for (struct list_node *node = s->running.next; node != &s->running; node = node->next) {
        struct sequence *sequence = LIST_ITEM(node, struct sequence, node);
        if (!decodes(sequence) && remaining(sequence) > 0 && !put_chunk(f, sequence)) all = false;
    }
    return all;
}

/* Pages that an admission leaves alone: without a reserve the newcomer would be preempted by the
 * next page that anyone needs. */
static int64_t pages_to_spare(const struct scheduler *s)
{
    if (s->running_count == 0) return 0;
    int64_t hundredth = (s->options.page_count - 1) / 100;
    return hundredth > s->running_count ? hundredth : s->running_count;
}

/* Most tokens of a prefix that may come from the cache: something must be left to compute, and log
 * probabilities of the prompt come only from computing it. */
static int hit_max(const struct request *request)
{
    int most = request->token_count - 1;
    if (request->sampling.prompt_logprobs != LOGPROBS_NONE &&
        request->prompt_logprobs_next < request->prompt_len &&
        request->prompt_logprobs_next - 1 < most)
        most = request->prompt_logprobs_next - 1;
    return most;
}

static void count_first_admission(struct scheduler *s, struct request *request, int found,
                                  int64_t now_ns)
{
    if (request->admitted) return;
    request->admitted = true;
    request->scheduled_ns = now_ns;
    request->cached_len = found;
    s->prompt_tokens += (uint64_t)request->prompt_len;
    if (!s->options.prefix_caching) return;
    s->prefix_queries += (uint64_t)request->prompt_len;
    s->prefix_hits += (uint64_t)found;
}

/* Gives the request a sequence with pages for all it knows; NULL when there is no room. */
static struct sequence *admit(struct filling *f, struct request *request)
{
    struct scheduler *s = f->scheduler;
    uint64_t releases = kv_cache_releases(s->cache);
    if (list_empty(&s->idle)) return NULL;
    if (s->blocked == request && s->blocked_releases == releases && s->running_count > 0)
        return NULL; /* nothing has changed for it; looking up its prefix again costs its length */
    struct sequence *sequence = LIST_ITEM(s->idle.next, struct sequence, node);
    int found = kv_table_open(s->cache, &sequence->table, request->tokens, request->hashes,
                              hit_max(request), request->token_count, pages_to_spare(s));
    if (found < 0) {
        s->blocked = request, s->blocked_releases = releases;
        return NULL;
    }
    s->blocked = NULL;
    queue_remove(&s->waiting, request);
    request->state = REQUEST_RUNNING;
    request->sequence = sequence;
    sequence->request = request;
    sequence->planned = found;
    sequence->fresh = true;
    list_remove(&sequence->node);
    struct list_node *after = &s->running; /* nearly always the end */
    while (after->prev != &s->running &&
           request_is_senior(request, LIST_ITEM(after->prev, struct sequence, node)->request,
                             s->options.priority_policy))
        after = after->prev;
    list_insert_before(after, &sequence->node);
    s->running_count++;
    count_first_admission(s, request, found, f->now_ns);
    return sequence;
}

/* Whether a preempted request is on its way back to the queue, ahead of those in it. */
static bool returns_pending(const struct scheduler *s)
{
    for (struct list_node *node = s->leaving.next; node != &s->leaving; node = node->next)
        if (LIST_ITEM(node, struct sequence, node)->request) return true;
    return false;
}

static void put_new_requests(struct filling *f)
{
    struct scheduler *s = f->scheduler;
    if (returns_pending(s)) return;
    while (f->prefill_left > 0 && f->batch->token_count < f->limits->tokens_max &&
           f->batch->row_count < f->limits->rows_max) {
        struct request *request = queue_first(&s->waiting);
        struct sequence *sequence = request ? admit(f, request) : NULL;
        if (!sequence || !put_chunk(f, sequence)) return;
    }
}

void scheduler_pressure(const struct scheduler *s, int *decoding, int *pending)
{
    *decoding = 0;
    for (struct list_node *node = s->running.next; node != &s->running; node = node->next)
        *decoding += decodes(LIST_ITEM(node, struct sequence, node));
    int free_slots = s->options.limits.rows_max - s->running_count;
    int could = s->waiting.count < free_slots ? s->waiting.count : free_slots;
    bool blocked = s->blocked && s->blocked_releases == kv_cache_releases(s->cache);
    *pending = s->running_count - *decoding + (blocked ? 0 : could);
}

bool scheduler_plan(struct scheduler *s, struct batch *batch, int prefill_max, int64_t now_ns)
{
    CHECK(s->in_flight < SCHEDULER_IN_FLIGHT_MAX);
    struct plan *plan = &s->plans[(s->plan_first + s->in_flight) % SCHEDULER_IN_FLIGHT_MAX];
    struct filling f = {.scheduler = s,
                        .limits = &s->options.limits,
                        .batch = batch,
                        .plan = plan,
                        .prefill_left = s->options.limits.tokens_max,
                        .now_ns = now_ns};
    batch_clear(batch);
    put_decode_rows(&f);
    if (batch->decode_count > 0) f.prefill_left = prefill_max;
    if (put_begun_chunks(&f)) put_new_requests(&f);
    if (batch->row_count == 0) return false;
    batch->step = plan->step = s->steps++;
    plan->row_count = batch->row_count;
    plan->logits_count = batch->logits_count;
    s->in_flight++;
    return true;
}
