/* engine_executor.c - the engine over a real executor. See engine.h and engine_backend.h. */
#include "runtime/executor.h"
#include "scheduler/engine.h"
#include "scheduler/engine_backend.h"

static void submit(void *self, const struct batch *batch)
{
    executor_submit(self, batch);
}

static const struct batch_result *wait_oldest(void *self, struct error *error)
{
    return executor_wait(self, error);
}

enum status engine_create(const struct engine_options *options, struct executor *executor,
                          struct engine **out, struct error *error)
{
    const struct executor_info *info = executor_info(executor);
    struct engine_backend backend = {
        .self = executor,
        .submit = submit,
        .wait = wait_oldest,
        .limits = info->limits,
        .page_tokens = info->page_tokens,
        .max_model_len = info->max_model_len,
        .page_count = info->page_count,
    };
    return engine_create_on(options, &backend, out, error);
}
