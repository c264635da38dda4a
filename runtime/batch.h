/*
 * batch.h (runtime) - allocation and serialisation of kernels/batch.h's batches.
 *
 * Thread: the batch's owner.
 */
#ifndef RUNTIME_BATCH_H
#define RUNTIME_BATCH_H

#include <stddef.h>

#include "kernels/batch.h"

struct batch *
batch_create(const struct batch_limits *limits); /* arrays sized for the limits; empty */
void batch_destroy(struct batch *batch);
void batch_clear(struct batch *batch); /* counts to 0 */

/* Bytes batch_encode needs at most for these limits; bytes it used; and the way back. The encoding
 * is for ranks of one run of one build only. batch_decode CHECKs that it fits. */
size_t batch_encoded_max(const struct batch_limits *limits);
size_t batch_encode(const struct batch *batch, void *out);
void batch_decode(const void *data, size_t bytes, const struct batch_limits *limits,
                  struct batch *out);

struct batch_result *batch_result_create(const struct batch_limits *limits);
void batch_result_destroy(struct batch_result *result);

#endif
