/*
 * mutate.h - the inputs of our fuzzers: valid files, damaged at random.
 *
 * Thread: the test's. Everything follows from the seed, so a failure is repeated with the seed that
 * was printed. A fuzzer runs in the suite for a few seconds; `test_fuzz_NAME SECONDS [SEED]`
 * longer.
 */
#ifndef TESTS_SUPPORT_MUTATE_H
#define TESTS_SUPPORT_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"

struct mutate {
    uint64_t state, seed;
    int64_t deadline_ns;
    long long runs, accepted;
};

/* From the fuzzer's arguments; prints the seed. */
struct mutate mutate_begin(int argc, char **argv);
/* Whether there is time for one more run. */
bool mutate_more(struct mutate *mutate);
void mutate_end(const struct mutate *mutate); /* prints the counts */

uint32_t mutate_below(struct mutate *mutate, uint32_t bound); /* uniform in [0, bound) */

/* A copy of `valid` with one to eight places damaged: bytes and words overwritten with telling
 * values, pieces cut, repeated or moved, the end cut off. Mostly within its first `head` bytes,
 * where the structure is. In exactly as much memory as it has bytes, so that a sanitizer sees every
 * read beyond. Freed with free(). */
char *mutate_copy(struct mutate *mutate, const struct buffer *valid, size_t head, size_t *bytes);

/* The same for text: tokens of JSON are put in as well. */
char *mutate_json(struct mutate *mutate, const struct buffer *valid, size_t *bytes);

#endif
