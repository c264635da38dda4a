/*
 * engine_backend.h - what the engine needs of whoever runs batches: the executor, or a test's fake.
 *
 * Thread: create on any; submit and wait are called by the engine thread.
 */
#ifndef SCHEDULER_ENGINE_BACKEND_H
#define SCHEDULER_ENGINE_BACKEND_H

#include "scheduler/engine.h"

struct engine_backend {
    void *self;
    void (*submit)(void *self, const struct batch *batch);
    /* The oldest batch's result, valid until the next but one submit; NULL: failed, see error. */
    const struct batch_result *(*wait)(void *self, struct error *error);
    struct batch_limits limits;
    int page_tokens, max_model_len;
    int64_t page_count;
};

/* engine_create with another backend; it is copied, its `self` must outlive the engine. */
enum status engine_create_on(const struct engine_options *options,
                             const struct engine_backend *backend, struct engine **out,
                             struct error *error);

#endif
