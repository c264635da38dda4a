/*
 * batch.c - see batch.h. Owns the layout of a batch's single allocation and of its encoding.
 *
 * Both follow from one table of arrays, so that a new array is one line.
 */
#include "runtime/batch.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

struct array {
    size_t pointer;  /* offset of the pointer in struct batch */
    size_t count;    /* offset of the used count in struct batch */
    size_t capacity; /* offset of the size in struct batch_limits */
    size_t item_bytes;
};

#define ARRAY(POINTER, COUNT, CAPACITY)                                                            \
    {                                                                                              \
        offsetof(struct batch, POINTER), offsetof(struct batch, COUNT),                            \
            offsetof(struct batch_limits, CAPACITY), sizeof(*((struct batch *)0)->POINTER)         \
    }

static const struct array arrays[] = {
    ARRAY(rows, row_count, rows_max),
    ARRAY(sampling, sampling_count, logits_max),
    ARRAY(tokens, token_count, tokens_max),
    ARRAY(positions, token_count, tokens_max),
    ARRAY(token_rows, token_count, tokens_max),
    ARRAY(pages, page_count, pages_max),
    ARRAY(logits, logits_count, logits_max),
    ARRAY(bias_ids, bias_count, bias_max),
    ARRAY(bias_values, bias_count, bias_max),
    ARRAY(history, history_count, history_max),
    ARRAY(mask_words, mask_count, mask_words_max),
};
enum { ARRAY_COUNT = sizeof(arrays) / sizeof(*arrays), ALIGN_BYTES = 64 };

struct header { /* what an encoding begins with */
    int64_t step;
    int32_t row_count, decode_count, token_count, page_count, logits_count, sampling_count;
    int32_t bias_count, history_count, mask_count, reserved;
};

static size_t align(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static void **pointer_of(struct batch *batch, const struct array *array)
{
    return (void **)(void *)((char *)batch + array->pointer);
}

static size_t used_bytes(const struct batch *batch, const struct array *array)
{
    int count = *(const int *)(const void *)((const char *)batch + array->count);
    CHECK(count >= 0);
    return (size_t)count * array->item_bytes;
}

static size_t capacity_bytes(const struct batch_limits *limits, const struct array *array)
{
    int count = *(const int *)(const void *)((const char *)limits + array->capacity);
    CHECK(count >= 0);
    return (size_t)count * array->item_bytes;
}

struct batch *batch_create(const struct batch_limits *limits)
{
    size_t bytes = align(sizeof(struct batch));
    for (int i = 0; i < ARRAY_COUNT; i++) bytes += align(capacity_bytes(limits, &arrays[i]));
    struct batch *batch = aligned_alloc(ALIGN_BYTES, bytes);
    CHECK(batch);
    memset(batch, 0, bytes);
    char *at = (char *)batch + align(sizeof(struct batch));
    for (int i = 0; i < ARRAY_COUNT; i++) {
        *pointer_of(batch, &arrays[i]) = at;
        at += align(capacity_bytes(limits, &arrays[i]));
    }
    return batch;
}

void batch_destroy(struct batch *batch)
{
    free(batch);
}

void batch_clear(struct batch *batch)
{
    batch->step = 0;
    batch->row_count = batch->decode_count = batch->token_count = batch->page_count = 0;
    batch->logits_count = batch->sampling_count = batch->bias_count = 0;
    batch->history_count = batch->mask_count = 0;
}

size_t batch_encoded_max(const struct batch_limits *limits)
{
    size_t bytes = align(sizeof(struct header));
    for (int i = 0; i < ARRAY_COUNT; i++) bytes += align(capacity_bytes(limits, &arrays[i]));
    return bytes;
}

size_t batch_encode(const struct batch *batch, void *out)
{
    struct header header = {
        .step = batch->step,
        .row_count = batch->row_count,
        .decode_count = batch->decode_count,
        .token_count = batch->token_count,
        .page_count = batch->page_count,
        .logits_count = batch->logits_count,
        .sampling_count = batch->sampling_count,
        .bias_count = batch->bias_count,
        .history_count = batch->history_count,
        .mask_count = batch->mask_count,
    };
    char *at = out;
    memcpy(at, &header, sizeof(header));
    at += align(sizeof(header));
    for (int i = 0; i < ARRAY_COUNT; i++) {
        size_t bytes = used_bytes(batch, &arrays[i]);
        memcpy(at, *pointer_of((struct batch *)(uintptr_t)batch, &arrays[i]), bytes);
        at += align(bytes);
    }
    return (size_t)(at - (char *)out);
}

void batch_decode(const void *data, size_t bytes, const struct batch_limits *limits,
                  struct batch *out)
{
    struct header header;
    const char *at = data, *end = at + bytes;
    CHECK(bytes >= align(sizeof(header)));
    memcpy(&header, at, sizeof(header));
    at += align(sizeof(header));
    out->step = header.step;
    out->row_count = header.row_count;
    out->decode_count = header.decode_count;
    out->token_count = header.token_count;
    out->page_count = header.page_count;
    out->logits_count = header.logits_count;
    out->sampling_count = header.sampling_count;
    out->bias_count = header.bias_count;
    out->history_count = header.history_count;
    out->mask_count = header.mask_count;
    for (int i = 0; i < ARRAY_COUNT; i++) {
        size_t used = used_bytes(out, &arrays[i]);
        CHECK(used <= capacity_bytes(limits, &arrays[i]) && align(used) <= (size_t)(end - at));
        memcpy(*pointer_of(out, &arrays[i]), at, used);
        at += align(used);
    }
}

struct batch_result *batch_result_create(const struct batch_limits *limits)
{
    struct batch_result *result = calloc(1, sizeof(*result));
    CHECK(result);
    result->logits = calloc((size_t)limits->logits_max, sizeof(*result->logits));
    CHECK(result->logits);
    return result;
}

void batch_result_destroy(struct batch_result *result)
{
    if (!result) return;
    free(result->logits);
    free(result);
}
