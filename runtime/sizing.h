/*
 * sizing.h - how many tokens, sequences and KV pages a model gets on the memory there is.
 *
 * Thread: executor_create's. Pure apart from asking the devices.
 */
#ifndef RUNTIME_SIZING_H
#define RUNTIME_SIZING_H

#include "runtime/executor.h"
#include "runtime/worker.h"

/* Fills crew->shape (all but the program) for workers whose weights are loaded, from crew->options.
 * STATUS_NO_MEMORY and STATUS_INVALID say which option to change. */
enum status sizing_plan(struct crew *crew, struct worker *workers, int worker_count,
                        struct error *error);

/* The served length before memory is known: the option, else what the model declares.
 * STATUS_INVALID where the option exceeds the model. */
enum status sizing_model_len(const struct executor_options *options, const struct model *model,
                             int *out, struct error *error);

#endif
