/* pace.c - see pace.h. */
#include "scheduler/pace.h"

#include <stdbool.h>

enum {
    PROBE_EVERY = 32,  /* mixed steps before one without prompt tokens is asked for */
    CHUNK_MIN = 4,     /* less would hardly come forward */
    CHUNK_ROUND = 16,  /* larger ones are whole tiles of the kernels */
    CHUNK_FIRST = 64,  /* while costs are not known */
    SAMPLE_MIN = 4,    /* prompt tokens below which a step says nothing about their cost, */
    SAMPLE_ALONE = 64, /* and without decode rows, where the step's own cost is in it */
    PENDING_FEW = 1,   /* up to so many pending requests the streams are spared fully */
};

static const double SHARE = 0.8; /* of the decode rows' time that prompt tokens may add */
/* Growth of that share per request pending beyond PENDING_FEW, for each stream. In a model of a
 * burst of 1,000 requests 16 keeps 95 to 100% of the throughput without a bound, and a constant
 * share 50 to 97%. */
static const double SHARE_PER_PENDING = 16;
static const double WEIGHT = 0.2, WEIGHT_SPARING = 0.4; /* of the newest observation */

static double share_for(int decoding, int pending)
{
    double crowd = decoding > 0 ? SHARE_PER_PENDING * (pending - PENDING_FEW) / decoding : 0;
    return SHARE * (crowd > 1 ? crowd : 1);
}

int pace_prefill_max(const struct pace *pace, int decoding, int pending, int tokens_max)
{
    if (pace->decode_ns == 0 || pace->mixed_steps >= PROBE_EVERY) return 0;
    double chunk = CHUNK_FIRST;
    if (pace->token_ns > 0) chunk = pace->decode_ns * share_for(decoding, pending) / pace->token_ns;
    if (chunk >= tokens_max) return tokens_max;
    int whole = chunk < CHUNK_ROUND ? (int)chunk : (int)chunk / CHUNK_ROUND * CHUNK_ROUND;
    if (whole < CHUNK_MIN) whole = CHUNK_MIN;
    return whole < tokens_max ? whole : tokens_max;
}

/* Follows `sample`, and more readily to the side that spares the streams. */
static void blend(double *value, double sample, bool spares)
{
    if (*value == 0) {
        *value = sample;
        return;
    }
    if (sample > 2 * *value) sample = 2 * *value; /* one hiccup of the machine is not a trend */
    *value += (spares ? WEIGHT_SPARING : WEIGHT) * (sample - *value);
}

void pace_observe(struct pace *pace, int decode_count, int prefill_tokens, int64_t step_ns)
{
    double ns = step_ns > 0 ? (double)step_ns : 1;
    if (prefill_tokens == 0) {
        if (decode_count == 0) return;
        blend(&pace->decode_ns, ns, ns < pace->decode_ns);
        pace->mixed_steps = 0;
        return;
    }
    if (decode_count > 0) pace->mixed_steps++;
    if (prefill_tokens < SAMPLE_MIN || (decode_count > 0 && pace->decode_ns == 0)) return;
    if (decode_count == 0 && prefill_tokens < SAMPLE_ALONE && pace->token_ns > 0) return;
    double base = decode_count > 0 ? pace->decode_ns : 0;
    double least = 0.05 * ns; /* the rows cannot have taken it all: the estimate is old */
    double token_ns = (ns - base > least ? ns - base : least) / prefill_tokens;
    blend(&pace->token_ns, token_ns, token_ns > pace->token_ns);
}
