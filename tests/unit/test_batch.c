/* test_batch.c - a batch survives its encoding, and uses no more than it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/batch.h"

static const struct batch_limits limits = {.rows_max = 5,
                                           .tokens_max = 33,
                                           .pages_max = 17,
                                           .logits_max = 9,
                                           .bias_max = 3,
                                           .history_max = 21,
                                           .mask_words_max = 4};

static void fill(void *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)data)[i] = (unsigned char)(seed += 37);
}

static struct batch *make(int part) /* 1: full; 2: half full; ... */
{
    struct batch *b = batch_create(&limits);
    b->step = 77;
    b->row_count = limits.rows_max / part, b->decode_count = 1;
    b->token_count = limits.tokens_max / part, b->page_count = limits.pages_max / part;
    b->logits_count = limits.logits_max / part, b->sampling_count = limits.logits_max / part;
    b->bias_count = limits.bias_max / part, b->history_count = limits.history_max / part;
    b->mask_count = limits.mask_words_max / part;
    fill(b->rows, sizeof(*b->rows) * b->row_count, 1);
    fill(b->tokens, sizeof(*b->tokens) * b->token_count, 2);
    fill(b->positions, sizeof(*b->positions) * b->token_count, 3);
    fill(b->token_rows, sizeof(*b->token_rows) * b->token_count, 4);
    fill(b->pages, sizeof(*b->pages) * b->page_count, 5);
    fill(b->logits, sizeof(*b->logits) * b->logits_count, 6);
    fill(b->sampling, sizeof(*b->sampling) * b->sampling_count, 7);
    fill(b->bias_ids, sizeof(*b->bias_ids) * b->bias_count, 8);
    fill(b->bias_values, sizeof(*b->bias_values) * b->bias_count, 9);
    fill(b->history, sizeof(*b->history) * b->history_count, 10);
    fill(b->mask_words, sizeof(*b->mask_words) * b->mask_count, 11);
    return b;
}

static void test_round_trip(void **state)
{
    char *data = malloc(batch_encoded_max(&limits)), *again = malloc(batch_encoded_max(&limits));
    for (int part = 1; part <= 4; part++) {
        struct batch *from = make(part), *to = batch_create(&limits);
        size_t bytes = batch_encode(from, data);
        assert_true(bytes <= batch_encoded_max(&limits));
        batch_decode(data, bytes, &limits, to);
        assert_int_equal(to->step, 77);
        assert_int_equal(to->decode_count, 1);
        assert_memory_equal(to->rows, from->rows, sizeof(*from->rows) * from->row_count);
        assert_memory_equal(to->mask_words, from->mask_words, 4 * from->mask_count);
        assert_memory_equal(to->logits, from->logits, sizeof(*from->logits) * from->logits_count);
        assert_int_equal(batch_encode(to, again), bytes);
        assert_int_equal(to->token_count, from->token_count);
        assert_memory_equal(to->history, from->history, 4 * from->history_count);
        batch_clear(to);
        assert_int_equal(to->token_count + to->row_count + to->mask_count, 0);
        batch_destroy(from), batch_destroy(to);
    }
    free(data), free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
