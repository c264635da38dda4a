/* test_cpu_sample.c - the sampler on every instruction set of this machine: the kept sets against a
 * plain sort, the distribution of what is drawn by chi-square, log probabilities against float64,
 * penalties, the state of slots, and what happens to logits that are no numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu/sample.h"
#include "runtime/batch.h"

enum { VOCAB_MAX = 5000 };

static const enum cpu_isa isas[] = {CPU_SCALAR, CPU_AVX2, CPU_AVX512, CPU_NEON};

static uint64_t random_bits(void)
{
    static uint64_t s = 88172645463325252u;
    return s ^= s << 13, s ^= s >> 7, s ^= s << 17;
}

static float random_value(void) /* about normal */
{
    float s = -6;
    for (int i = 0; i < 12; i++) s += (float)(random_bits() >> 40) / (1 << 24);
    return s;
}

static struct batch_sampling plain(void)
{
    return (struct batch_sampling){
        .temperature = 1, .top_p = 1, .repetition_penalty = 1, .mask_start = -1, .seed = 42};
}

static struct sample_scratch *scratch(void)
{
    static float logits[VOCAB_MAX], probs[VOCAB_MAX];
    static int32_t ids[VOCAB_MAX], counts[VOCAB_MAX];
    static struct sample_candidate candidates[VOCAB_MAX], spare[VOCAB_MAX];
    static double sums[VOCAB_MAX / SAMPLE_CHUNK + 1];
    static struct sample_scratch s;
    s = (struct sample_scratch){logits, probs, ids, counts, candidates, spare, sums};
    return &s;
}

static void test_philox(void **state)
{
    uint32_t
        out[4]; /* the first known answer of the paper's authors, then the high half of a seed */
    static const uint32_t zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    sample_philox(0, 0, out);
    assert_memory_equal(out, zero, sizeof(zero));
    uint32_t other[4];
    sample_philox((uint64_t)1 << 40, 0, other);
    assert_true(other[0] != out[0] && other[1] != out[1]);
    sample_philox(0, 1, other);
    assert_true(other[0] != out[0] && other[1] != out[1]);
}

/* ---- kept sets ---- */

static const float *sort_logits;

static int by_logit(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    if (sort_logits[i] != sort_logits[j]) return sort_logits[i] > sort_logits[j] ? -1 : 1;
    return i - j;
}

/* The rules of sample.h, said plainly. `slack`: set where a sum is too close to call. */
static int naive_keep(const float *logits, int vocab, const struct batch_sampling *s, int32_t *ids,
                      bool *is_close)
{
    int n = 0, kept;
    double total = 0, mass = 0;
    for (int i = 0; i < vocab; i++) {
        if (logits[i] > -INFINITY) ids[n++] = i;
    }
    sort_logits = logits;
    qsort(ids, (size_t)n, sizeof(*ids), by_logit);
    if (s->top_k > 0 && s->top_k < n) n = s->top_k;
#define P(i) exp(((double)logits[ids[i]] - logits[ids[0]]) / s->temperature)
    for (int i = 0; i < n; i++) total += P(i);
    *is_close = false;
    for (kept = 0; kept < n; kept++) {
        *is_close |= fabs(mass / total - s->top_p) < 1e-5 && s->top_p < 1;
        if (kept && s->top_p < 1 && mass >= s->top_p * total) break;
        mass += P(kept);
    }
    for (int i = 0; i < kept; i++) *is_close |= fabs(P(i) - s->min_p) < 1e-5 * s->min_p;
    while (kept > 1 && P(kept - 1) < s->min_p) kept--;
#undef P
    return kept;
}

static void check_keep(const struct cpu_vector *vector, int vocab, float spread, float grain)
{
    static int32_t want[VOCAB_MAX];
    struct sample_scratch *s = scratch();
    struct batch_sampling sampling = plain();
    bool is_close;
    for (int i = 0; i < vocab; i++) {
        s->logits[i] = random_value() * spread;
        if (grain > 0) s->logits[i] = roundf(s->logits[i] / grain) * grain; /* ties */
        if (random_bits() % 16 == 0) s->logits[i] = -INFINITY;
    }
    s->logits[random_bits() % (unsigned)vocab] = 0.5f; /* something is left */
    unsigned on = 1 + (unsigned)(random_bits() % 3);
    sampling.temperature = 0.3f + (float)(random_bits() % 100) * 0.02f;
    if (on & 1)
        sampling.top_k = 1 + (int)(random_bits() % (unsigned)(random_bits() % 2 ? 20 : vocab));
    if (on & 2) sampling.top_p = (float)(1 + random_bits() % 999) / 1000;
    if (random_bits() % 2) sampling.min_p = (float)(random_bits() % 100) / 300;
    int n = naive_keep(s->logits, vocab, &sampling, want, &is_close);
    int kept = sample_keep(vector, s, vocab, vector->top(s->logits, vocab).max, &sampling);
    if (is_close) return;
    assert_int_equal(kept, n);
    for (int i = 0; i < n; i++) assert_int_equal(s->candidates[i].id, want[i]);
}

static void test_keep(void **state)
{
    static const int vocabs[] = {2, 7, 64, 1000, 4999};
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        const struct cpu_vector *vector = cpu_vector_of(isas[i]);
        for (int j = 0; j < 200; j++) {
            int vocab = vocabs[j % 5];
            check_keep(vector, vocab, 3, 0);
            check_keep(vector, vocab, 3, 0.5f);
            check_keep(vector, vocab, 0.01f, 0); /* almost flat */
            check_keep(vector, vocab, 20, 4);
        }
    }
}

/* ---- distributions ---- */

/* Chi-square over its degrees of freedom, in standard deviations above what is expected. Draws at
 * `sampling`; expects the kept set of `expected`. */
static double chi_square(const struct cpu_vector *vector, const float *logits, int vocab,
                         const struct batch_sampling *sampling,
                         const struct batch_sampling *expected)
{
    enum { DRAWS = 20000, BINS = 50 };
    static int32_t ids[VOCAB_MAX];
    double total = 0, want[BINS] = {0}, chi = 0;
    int seen[BINS] = {0}, used = 0;
    bool is_close;
    int n = naive_keep(logits, vocab, expected, ids, &is_close);
    static double p[VOCAB_MAX];
    memset(p, 0, sizeof(p));
    for (int i = 0; i < n; i++)
        total += p[ids[i]] = exp((double)(logits[ids[i]] - logits[ids[0]]) / expected->temperature);
    for (int i = 0; i < vocab; i++) want[i % BINS] += p[i] / total * DRAWS;
    struct batch_sampling s = *sampling;
    for (s.position = 0; s.position < DRAWS; s.position++) {
        memcpy(scratch()->logits, logits, (size_t)vocab * sizeof(float));
        int token = sample_choose(vector, scratch(), vocab, &s, -1);
        assert_true(token >= 0 && token < vocab);
        if (sampling == expected) assert_true(p[token] > 0);
        seen[token % BINS]++;
    }
    for (int i = 0; i < BINS; i++) {
        if (want[i] < 1e-9) continue;
        chi += (seen[i] - want[i]) * (seen[i] - want[i]) / want[i];
        used++;
    }
    return used < 2 ? 0 : (chi - (used - 1)) / sqrt(2.0 * (used - 1));
}

static void test_distribution(void **state)
{
    static float small[50], large[VOCAB_MAX];
    const struct cpu_vector *vector = cpu_vector_of(cpu_isa_best());
    for (int i = 0; i < 50; i++) small[i] = random_value();
    for (int i = 0; i < VOCAB_MAX; i++) large[i] = random_value() * 0.5f;
    for (int i = 0; i < 10; i++) small[i] = small[i + 10]; /* ties */
    struct batch_sampling s = plain(), other;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    other = s, other.temperature = 1.2f;
    assert_true(chi_square(vector, small, 50, &s, &other) > 8); /* the test can fail */
    s.seed = 1, s.temperature = 0.6f;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    s.temperature = 1, s.top_k = 12;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    s.top_p = 0.8f;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    s.top_k = 0;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    s.top_p = 1, s.min_p = 0.2f;
    assert_true(chi_square(vector, small, 50, &s, &s) < 4);
    s = plain(), s.seed = (uint64_t)7 << 33;
    assert_true(chi_square(vector, large, VOCAB_MAX, &s, &s) < 4);
}

/* Every instruction set draws the same tokens but where a number is on an edge. */
static void test_isas_agree(void **state)
{
    static float logits[VOCAB_MAX];
    int differ = 0;
    for (int i = 0; i < VOCAB_MAX; i++) logits[i] = random_value() * 3;
    for (int j = 0; j < 300; j++) {
        struct batch_sampling s = plain();
        s.position = j, s.top_p = j % 3 ? 1 : 0.9f, s.top_k = j % 2 ? 0 : 50;
        int tokens[2];
        for (int i = 0; i < 2; i++) {
            memcpy(scratch()->logits, logits, sizeof(logits));
            tokens[i] = sample_choose(cpu_vector_of(i ? cpu_isa_best() : CPU_SCALAR), scratch(),
                                      VOCAB_MAX, &s, -1);
        }
        differ += tokens[0] != tokens[1];
    }
    assert_true(differ <= 2);
}

/* ---- log probabilities ---- */

static void check_logprobs(const struct cpu_vector *vector, int vocab, float grain)
{
    static float logits[VOCAB_MAX];
    static int32_t ids[VOCAB_MAX];
    double sum = 0, norm;
    for (int i = 0; i < vocab; i++) {
        logits[i] = random_value() * 4;
        if (grain > 0) logits[i] = roundf(logits[i] / grain) * grain;
        ids[i] = i;
        sum += exp(logits[i]);
    }
    norm = log(sum), sort_logits = logits;
    qsort(ids, (size_t)vocab, sizeof(*ids), by_logit);
    for (int rank = 1; rank <= vocab; rank += 1 + vocab / 7) {
        struct logits_result out;
        int token = ids[rank - 1], wanted = vocab < LOGPROBS_MAX ? vocab : LOGPROBS_MAX;
        sample_logprobs(vector, logits, vocab, token, LOGPROBS_MAX, &out);
        assert_true(fabs(out.logprob - (logits[token] - norm)) < 3e-6);
        assert_int_equal(out.rank, rank);
        assert_int_equal(out.top_count, wanted);
        for (int i = 0; i < wanted; i++) {
            assert_int_equal(out.top_ids[i], ids[i]);
            assert_true(fabs(out.top_logprobs[i] - (logits[ids[i]] - norm)) < 3e-6);
        }
    }
}

static void test_logprobs(void **state)
{
    for (size_t i = 0; i < sizeof(isas) / sizeof(*isas); i++) {
        if (!cpu_isa_available(isas[i])) continue;
        for (int j = 0; j < 10; j++) {
            check_logprobs(cpu_vector_of(isas[i]), j % 2 ? VOCAB_MAX : 3 + j * 11, 0);
            check_logprobs(cpu_vector_of(isas[i]), 700 + j, 1);
        }
    }
}

/* ---- bias, mask, penalties ---- */

static void test_modify(void **state)
{
    enum { N = 70 };
    int32_t bias_ids[] = {3, 5, 69, 1000, -1}, tokens[] = {1, 2, 2, 5, 3, 3, 7, 1, 99};
    float bias_values[] = {2, -INFINITY, 0.5f, 9, 9}, logits[N], want[N];
    uint32_t mask[] = {0xfffffffe, 0xffffffff, 0x3f};
    int32_t counts[N] = {0};
    struct batch batch = {.bias_ids = bias_ids, .bias_values = bias_values, .mask_words = mask};
    struct batch_sampling s = plain();
    struct sample_history history = {tokens, 9, 4}; /* 1 2 2 5 | 3 3 7 1 99 */
    s.bias_count = 5, s.mask_start = 0, s.uses_history = 1;
    s.repetition_penalty = 2, s.frequency_penalty = 0.25f, s.presence_penalty = 0.5f;
    for (int i = 0; i < N; i++) want[i] = logits[i] = (float)(i % 5) - 2;
    sample_modify(logits, N, &batch, &s, &history, counts);
    want[0] = -INFINITY, want[5] = -INFINITY, want[69] += 0.5f;
    want[3] += 2; /* 3: 1 + 2, then halved, generated twice */
    want[3] = want[3] / 2 - 2 * 0.25f - 0.5f;
    want[7] = want[7] > 0 ? want[7] / 2 : want[7] * 2;
    want[7] -= 0.75f;
    want[1] = want[1] * 2 - 0.75f;                     /* in the prompt and generated once */
    want[2] = want[2] > 0 ? want[2] / 2 : want[2] * 2; /* in the prompt only */
    for (int i = 70 - 6; i < N; i++) {
        if (!(mask[2] >> (i - 64) & 1)) want[i] = -INFINITY;
    }
    for (int i = 0; i < N; i++) assert_true(logits[i] == want[i]);
    for (int i = 0; i < N; i++) assert_int_equal(counts[i], 0);
}

/* ---- the op ---- */

struct rig {
    struct program program;
    struct device *device;
    struct batch *batch;
    struct batch_result *result;
    struct op op;
};

static void rig_open(struct rig *rig, int vocab, int threads)
{
    *rig = (struct rig){.program = {.vocab = vocab, .buffer_count = 1}};
    struct batch_limits limits = {16, 16, 16, 16, 16, 64, 1000};
    rig->program.buffers[0] = (struct program_buffer){"logits", BUFFER_PER_LOGITS, vocab + 3};
    rig->op = (struct op){.kind = OP_SAMPLE, .in = 0, .sample = {vocab}};
    struct device_options options = {.threads = threads, .first_cpu = -1};
    struct device_shape shape = {.program = &rig->program,
                                 .limits = limits,
                                 .page_tokens = 16,
                                 .page_count = 2,
                                 .kv_dtype = DTYPE_F32,
                                 .max_model_len = 64};
    assert_int_equal(device_cpu.open(&options, &rig->device, NULL), STATUS_OK);
    assert_int_equal(device_cpu.prepare(rig->device, &shape, NULL), STATUS_OK);
    rig->batch = batch_create(&limits), rig->result = batch_result_create(&limits);
}

static void rig_close(struct rig *rig)
{
    batch_result_destroy(rig->result);
    batch_destroy(rig->batch);
    device_cpu.close(rig->device);
}

/* A decode row of `slot` whose token is sampled by `s`; its logits are returned, to be filled. */
static float *add_row(struct rig *rig, int slot, struct batch_sampling s, int top_count)
{
    struct batch *b = rig->batch;
    int row = b->row_count++, at = b->logits_count++;
    b->rows[row] = (struct batch_row){.slot = slot,
                                      .q_start = row,
                                      .q_len = 1,
                                      .kv_len = 1,
                                      .logits_start = at,
                                      .logits_count = 1,
                                      .history_len = HISTORY_KEEP};
    b->tokens[row] = TOKEN_FROM_SLOT, b->token_rows[row] = row, b->token_count++;
    b->sampling[b->sampling_count] = s;
    b->logits[at] = (struct batch_logits){row, TARGET_SAMPLE, top_count, row, b->sampling_count++};
    return (float *)device_cpu.buffer(rig->device, 0) +
           (size_t)at * (size_t)(rig->program.vocab + 3);
}

static void set_history(struct rig *rig, int row, const int32_t *tokens, int len, int prompt_len)
{
    struct batch *b = rig->batch;
    b->rows[row].history_start = b->history_count, b->rows[row].history_len = len;
    b->rows[row].history_prompt_len = prompt_len;
    memcpy(b->history + b->history_count, tokens, (size_t)len * sizeof(*tokens));
    b->history_count += len;
}

static const struct logits_result *run(struct rig *rig)
{
    device_cpu.begin(rig->device, rig->batch);
    device_cpu.run(rig->device, &rig->op);
    assert_int_equal(device_cpu.end(rig->device, rig->result, NULL), STATUS_OK);
    batch_clear(rig->batch);
    return rig->result->logits;
}

static void fill(float *logits, int vocab)
{
    for (int i = 0; i < vocab; i++) logits[i] = random_value();
    for (int i = vocab; i < vocab + 3; i++) logits[i] = 1e30f; /* padding is not looked at */
}

/* Slots remember their last token and grow their history; a new slot starts over. */
static void test_slots(void **state)
{
    enum { N = 40 };
    struct rig rig;
    struct batch_sampling greedy = plain();
    int32_t prompt[] = {4, 9};
    greedy.temperature = 0, greedy.presence_penalty = 100, greedy.uses_history = 1;
    rig_open(&rig, N, 2);
    for (int step = 0; step < 5; step++) { /* the penalty forbids what was generated */
        float *logits = add_row(&rig, 3, greedy, LOGPROBS_NONE);
        for (int i = 0; i < N + 3; i++) logits[i] = (float)-i;
        if (!step) set_history(&rig, 0, prompt, 2, 2);
        device_cpu.begin(rig.device, rig.batch);
        if (step) assert_int_equal(rig.device->tokens[0], step - 1);
        assert_int_equal(run(&rig)->token, step);
    }
    float *logits = add_row(&rig, 3, greedy, 0);
    for (int i = 0; i < N + 3; i++) logits[i] = (float)-i;
    set_history(&rig, 0, (int32_t[]){0, 1, 2}, 3, 2); /* of these only 2 was generated */
    const struct logits_result *out = run(&rig);
    assert_int_equal(out->token, 0);
    assert_int_equal(out->rank, 1);
    assert_true(fabsf(out->logprob + 0.458675f) < 1e-5f); /* 1 / (1 - 1/e) */
    assert_int_equal(out->top_count, 0);
    rig_close(&rig);
}

static void test_edges(void **state)
{
    enum { N = 100 };
    struct rig rig;
    struct batch_sampling s = plain(), greedy = plain(), masked = plain(), biased = plain();
    greedy.temperature = 0, masked.mask_start = 0, masked.top_p = 0.9f, biased.bias_count = 1;
    biased.temperature = 0;
    rig_open(&rig, N, 2);
    rig.batch->bias_ids[0] = 17, rig.batch->bias_values[0] = 100, rig.batch->bias_count = 1;
    memset(rig.batch->mask_words, 0, 16), rig.batch->mask_count = 4;
    float *logits[7];
    for (int i = 0; i < 7; i++) {
        logits[i] = add_row(&rig, i, i < 2 ? greedy : i == 2 ? masked : i == 3 ? biased : s, 3);
        fill(logits[i], N);
    }
    for (int i = 0; i < N; i++) logits[0][i] = i == 30 || i == 60 ? 5 : 1; /* tied */
    for (int i = 0; i < N; i++) logits[1][i] = NAN;
    logits[2][55] = 9;
    for (int i = 0; i < N; i += 2) logits[4][i] = NAN;
    for (int i = 0; i < N; i++) logits[5][i] = -INFINITY;
    logits[6][42] = INFINITY;
    const struct logits_result *out = run(&rig);
    assert_int_equal(out[0].token, 30);
    assert_int_equal(out[0].top_ids[1], 60);
    assert_int_equal(out[1].token, 0);
    assert_int_equal(out[1].top_count, 0);
    assert_int_equal(out[2].token, 55); /* all forbidden: the best of the raw ones */
    assert_int_equal(out[3].token, 17);
    assert_int_equal(out[4].token % 2, 1);
    assert_int_equal(out[5].token, 0);
    assert_int_equal(out[6].token, 42);
    rig_close(&rig);
}

/* A row's result is the same alone and in a batch, on one thread and on three; targets too. */
static void test_batches(void **state)
{
    enum { N = 3000, ROWS = 9 };
    static float logits[ROWS][N + 3];
    struct logits_result want[ROWS];
    struct batch_sampling s[ROWS];
    struct rig rig;
    memset(want, 0, sizeof(want));
    for (int i = 0; i < ROWS; i++) {
        fill(logits[i], N);
        s[i] = plain(), s[i].seed = 5 + (unsigned)i, s[i].position = 100 * i;
        s[i].top_k = i % 3 ? 0 : 40, s[i].top_p = i % 2 ? 0.9f : 1, s[i].temperature = i ? 0.8f : 0;
    }
    rig_open(&rig, N, 1);
    for (int i = 0; i < ROWS; i++) {
        memcpy(add_row(&rig, i, s[i], 5), logits[i], sizeof(logits[i]));
        if (i == 4) rig.batch->logits[0].target = 77;
        want[i] = *run(&rig);
    }
    assert_int_equal(want[4].token, 77);
    rig_close(&rig);
    rig_open(&rig, N, 3);
    for (int i = 0; i < ROWS; i++) memcpy(add_row(&rig, i, s[i], 5), logits[i], sizeof(logits[i]));
    rig.batch->logits[4].target = 77;
    assert_memory_equal(run(&rig), want, sizeof(want));
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_philox),       cmocka_unit_test(test_keep),
        cmocka_unit_test(test_distribution), cmocka_unit_test(test_isas_agree),
        cmocka_unit_test(test_logprobs),     cmocka_unit_test(test_modify),
        cmocka_unit_test(test_slots),        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
