/*
 * sample_choose.c - one row of logits to one token; see sample.h for the rules. A few vectorised
 * passes over the row: full sorts are for the rare rows that are almost flat. Never allocates.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/sample.h"

void sample_philox(uint64_t seed, uint32_t position, uint32_t out[4])
{
    enum { ROUNDS = 10 };
    uint32_t c[4] = {position, 0, 0, 0}, key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = (uint64_t)c[0] * 0xD2511F53u, b = (uint64_t)c[2] * 0xCD9E8D57u;
        uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b,
                            (uint32_t)(a >> 32) ^ c[3] ^ key[1], (uint32_t)a};
        memcpy(c, next, sizeof(c));
        key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof(c));
}

/* In (0, 1), 53 bits. */
static double uniform(const struct batch_sampling *sampling)
{
    uint32_t r[4];
    sample_philox(sampling->seed, (uint32_t)sampling->position, r);
    uint64_t bits = ((uint64_t)r[0] << 32 | r[1]) >> 11;
    return ((double)bits + 0.5) * 0x1p-53;
}

static bool top_k_is_on(const struct batch_sampling *sampling, int vocab)
{
    return sampling->top_k > 0 && sampling->top_k < vocab;
}

/* 1 / temperature, finite. */
static float factor_of(const struct batch_sampling *sampling)
{
    return fminf(1 / sampling->temperature, 1e30f);
}

/* ---- bias, mask, penalties ---- */

static void apply_mask(float *logits, int vocab, const uint32_t *words)
{
    for (int i = 0; i < vocab; i += 32) {
        uint32_t word = words[i / 32];
        if (word == UINT32_MAX) continue;
        for (int j = 0; j < 32 && i + j < vocab; j++) {
            if (!(word >> j & 1)) logits[i + j] = -INFINITY;
        }
    }
}

/* Bit 0 of counts[id]: seen at all; above: how often it was generated. Each token is changed once,
 * by whoever clears its count. */
static void apply_penalties(float *logits, int vocab, const struct batch_sampling *sampling,
                            const struct sample_history *history, int32_t *counts)
{
    float repetition = sampling->repetition_penalty;
    for (int i = 0; i < history->len; i++) {
        int32_t id = history->tokens[i];
        if (id < 0 || id >= vocab) continue;
        counts[id] = (counts[id] | 1) + (i >= history->prompt_len ? 2 : 0);
    }
    for (int i = 0; i < history->len; i++) {
        int32_t id = history->tokens[i];
        if (id < 0 || id >= vocab || !counts[id]) continue;
        int generated = counts[id] >> 1;
        float x = logits[id];
        x = x > 0 ? x / repetition : x * repetition;
        x -= sampling->frequency_penalty * (float)generated;
        if (generated) x -= sampling->presence_penalty;
        if (logits[id] != -INFINITY) logits[id] = x; /* forbidden stays so, whatever the factor */
        counts[id] = 0;
    }
}

void sample_modify(float *logits, int vocab, const struct batch *batch,
                   const struct batch_sampling *sampling, const struct sample_history *history,
                   int32_t *counts)
{
    for (int i = sampling->bias_start; i < sampling->bias_start + sampling->bias_count; i++) {
        int32_t id = batch->bias_ids[i];
        if (id >= 0 && id < vocab) logits[id] += batch->bias_values[i];
    }
    if (sampling->mask_start >= 0)
        apply_mask(logits, vocab, batch->mask_words + sampling->mask_start);
    if (sampling->uses_history) apply_penalties(logits, vocab, sampling, history, counts);
}

/* ---- candidates in order ---- */

static uint32_t key_of(float x)
{
    uint32_t bits;
    x += 0.f; /* -0 and 0 are tied */
    memcpy(&bits, &x, sizeof(bits));
    return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}

static void sort_few(struct sample_candidate *c, int n)
{
    for (int i = 1; i < n; i++) {
        struct sample_candidate x = c[i];
        int j = i;
        for (; j > 0 && c[j - 1].key > x.key; j--) c[j] = c[j - 1];
        c[j] = x;
    }
}

/* Stable, so that ties stay in the order of ids: digits of 11 bits, the lowest first. The result is
 * where `c` was. */
static void sort_candidates(struct sample_candidate **c, struct sample_candidate **spare, int n)
{
    enum { FEW = 48, BITS = 11, DIGITS = 1 << BITS, PASSES = 3 };
    int counts[DIGITS];
    if (n <= FEW) {
        sort_few(*c, n);
        return;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        struct sample_candidate *from = *c, *to = *spare;
        int shift = pass * BITS, at = 0;
        memset(counts, 0, sizeof(counts));
        for (int i = 0; i < n; i++) counts[from[i].key >> shift & (DIGITS - 1)]++;
        for (int i = 0; i < DIGITS; i++) {
            int count = counts[i];
            counts[i] = at, at += count;
        }
        for (int i = 0; i < n; i++) to[counts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        *c = to, *spare = from;
    }
}

static void make_candidates(struct sample_scratch *scratch, int n)
{
    for (int j = 0; j < n; j++) {
        int32_t id = scratch->ids[j];
        scratch->candidates[j] = (struct sample_candidate){key_of(scratch->logits[id]), id};
    }
}

/* A value that at least k logits reach, and few more: the k-th largest of the maxima of blocks. */
static float least_of_top_k(const struct cpu_vector *vector, struct sample_scratch *scratch,
                            int vocab, int k)
{
    int blocks = (vocab + SAMPLE_BLOCK - 1) / SAMPLE_BLOCK;
    if (k > blocks) return -FLT_MAX;
    vector->block_tops(scratch->logits, vocab, scratch->probs);
    for (int i = 0; i < blocks; i++)
        scratch->candidates[i] = (struct sample_candidate){key_of(scratch->probs[i]), i};
    sort_candidates(&scratch->candidates, &scratch->spare, blocks);
    return fmaxf(scratch->probs[scratch->candidates[k - 1].id], -FLT_MAX);
}

/* Drops the least probable of n ids (probs are theirs) that a mass of `wanted` does without: by
 * buckets of probability, an eighth of an octave each, and one more for what rounding may have put
 * into the wrong one. */
static int narrow(struct sample_scratch *scratch, int n, double wanted)
{
    enum { BUCKETS = 1024, ONE = 0x3f800000, SHIFT = 20 };
    double masses[BUCKETS] = {0}, mass = 0;
    int cut = 0, kept = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < n; i++) {
            int32_t bits;
            memcpy(&bits, &scratch->probs[i], sizeof(bits));
            int bucket = bits >= ONE ? 0 : (ONE - bits) >> SHIFT;
            if (bucket >= BUCKETS) bucket = BUCKETS - 1;
            if (!pass)
                masses[bucket] += scratch->probs[i];
            else if (bucket <= cut)
                scratch->ids[kept++] = scratch->ids[i];
        }
        while (!pass && cut < BUCKETS && mass < wanted) mass += masses[cut++];
    }
    return kept;
}

/* Enough of the largest logits that top-p's mass is among them: by distance from the largest,
 * farther until it is. Any such superset gives the same result. */
static int gather_top_p(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                        float max, const struct batch_sampling *sampling, double wanted)
{
    static const float distances[] = {6, 12, 24, INFINITY};
    enum { COUNT = sizeof(distances) / sizeof(*distances), FEW = 256 };
    int n = 0;
    for (int i = 0; i < COUNT; i++) {
        float least = fmaxf(max - distances[i] * sampling->temperature, -FLT_MAX);
        n = vector->gather(scratch->logits, vocab, least, scratch->ids);
        for (int j = 0; j < n; j++) scratch->probs[j] = scratch->logits[scratch->ids[j]];
        double mass = vector->exp_sums(scratch->probs, n, max, factor_of(sampling), 0,
                                       scratch->sums, scratch->probs);
        if (mass >= wanted) break;
    }
    return n > FEW ? narrow(scratch, n, wanted) : n;
}

int sample_keep(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                float max, const struct batch_sampling *sampling)
{
    struct batch_sampling s = *sampling;
    float factor = factor_of(&s);
    double total = 0, mass = 0;
    int n, kept = 0;
    if (!top_k_is_on(&s, vocab)) s.top_k = 0;
    if (s.top_k) {
        float least = least_of_top_k(vector, scratch, vocab, s.top_k);
        n = vector->gather(scratch->logits, vocab, least, scratch->ids);
    } else {
        total = vector->exp_sums(scratch->logits, vocab, max, factor, 0, scratch->sums, NULL);
        n = gather_top_p(vector, scratch, vocab, max, &s, s.top_p * total * (1 + 1e-6));
    }
    make_candidates(scratch, n);
    sort_candidates(&scratch->candidates, &scratch->spare, n);
    if (s.top_k && n > s.top_k) n = s.top_k;
    float *probs = scratch->probs;
    for (int i = 0; i < n; i++) probs[i] = scratch->logits[scratch->candidates[i].id];
    vector->exp_sums(probs, n, max, factor, 0, scratch->sums, probs);
    if (s.top_k) {
        for (int i = 0; i < n; i++) total += probs[i];
    }
    if (s.top_p >= 1) kept = n;
    while (kept < n && (mass < s.top_p * total || !kept)) mass += probs[kept++];
    while (kept > 1 && probs[kept - 1] < s.min_p) kept--;
    return kept;
}

/* ---- the draw ---- */

/* The first i whose sum of probs[0..i] is above `target`; the last positive one where rounding left
 * the target above them all. */
static int walk(const float *probs, int n, double target)
{
    double sum = 0;
    int last = 0;
    for (int i = 0; i < n; i++) {
        if (!(probs[i] > 0)) continue;
        sum += probs[i], last = i;
        if (sum > target) return i;
    }
    return last;
}

/* All tokens in the order of ids: the chunk by the sums of chunks, the token in it. */
static int draw_by_id(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                      float max, const struct batch_sampling *sampling)
{
    float factor = factor_of(sampling), *probs = scratch->probs;
    double total =
        vector->exp_sums(scratch->logits, vocab, max, factor, sampling->min_p, scratch->sums, NULL);
    double target = uniform(sampling) * total, before = 0;
    int chunks = (vocab + SAMPLE_CHUNK - 1) / SAMPLE_CHUNK, chunk = 0, last = 0;
    for (; chunk < chunks; chunk++) {
        if (scratch->sums[chunk] > 0) last = chunk;
        if (before + scratch->sums[chunk] > target) break;
        before += scratch->sums[chunk];
    }
    if (chunk == chunks) chunk = last, before -= scratch->sums[last];
    int begin = chunk * SAMPLE_CHUNK,
        n = vocab - begin < SAMPLE_CHUNK ? vocab - begin : SAMPLE_CHUNK;
    vector->exp_sums(scratch->logits + begin, n, max, factor, sampling->min_p, NULL, probs);
    return begin + walk(probs, n, target - before);
}

int sample_choose(const struct cpu_vector *vector, struct sample_scratch *scratch, int vocab,
                  const struct batch_sampling *sampling, int fallback)
{
    struct sample_top top = vector->top(scratch->logits, vocab);
    if (top.max == -INFINITY) return fallback;
    if (sampling->temperature == 0 || top.max == INFINITY)
        return vector->index_of(scratch->logits, vocab, top.max);
    if (!top_k_is_on(sampling, vocab) && sampling->top_p >= 1)
        return draw_by_id(vector, scratch, vocab, top.max, sampling);
    int kept = sample_keep(vector, scratch, vocab, top.max, sampling);
    double total = 0;
    for (int i = 0; i < kept; i++) total += scratch->probs[i];
    return scratch->candidates[walk(scratch->probs, kept, uniform(sampling) * total)].id;
}
