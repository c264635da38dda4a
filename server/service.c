/* service.c - see service.h. */
#include "server/service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "runtime/base/check.h"
#include "runtime/base/log.h"
#include "server/completion.h"
#include "server/files.h"
#include "server/hub.h"

const char *service_model_name(const struct options *options)
{
    if (options->served_model_names.count) return options->served_model_names.items[0];
    return options->model ? options->model : "default";
}

bool service_serves(const struct options *options, const char *model_name)
{
    for (int i = 0; i < options->served_model_names.count; i++)
        if (!strcmp(options->served_model_names.items[i], model_name)) return true;
    return !options->served_model_names.count && !strcmp(service_model_name(options), model_name);
}

uint64_t service_random_seed(const struct service *service)
{
    uint64_t seed;
    if (service->options->seed >= 0) return (uint64_t)service->options->seed;
    CHECK(getrandom(&seed, sizeof(seed), 0) == sizeof(seed));
    return seed;
}

static int dtype_from_flag(const char *name)
{
    if (!strcmp(name, "float32") || !strcmp(name, "float")) return DTYPE_F32;
    if (!strcmp(name, "bfloat16")) return DTYPE_BF16;
    if (!strcmp(name, "float16") || !strcmp(name, "half")) return DTYPE_F16;
    if (!strcmp(name, "q8_0")) return DTYPE_Q8_0;
    if (!strcmp(name, "q4_0")) return DTYPE_Q4_0;
    return DTYPE_AUTO;
}

static enum status open_tokenizer(struct service *service, struct error *error)
{
    const char *path = service->options->tokenizer;
    const struct gguf *gguf = model_gguf(service->model);
    if (path) return tokenizer_load(path, &service->tokenizer, error);
    if (gguf) return tokenizer_load_gguf(gguf, &service->tokenizer, error);
    return tokenizer_load(model_path(service->model), &service->tokenizer, error);
}

/* A template that cannot be used is no reason not to serve completions: chat says why when asked.
 */
static enum status open_chat_template(struct service *service, struct error *error)
{
    const char *given = service->options->chat_template;
    struct buffer text = {0};
    struct error *why = &service->chat_template_error;
    if (given && strpbrk(given, "{\n")) {
        buffer_append_string(&text, given);
    } else if (given) {
        enum status status = file_read(given, 1 << 20, &text, error);
        if (status) return error_prefix(error, status, "--chat-template");
    } else if (tokenizer_chat_template(service->tokenizer, NULL)) {
        buffer_append_string(&text, tokenizer_chat_template(service->tokenizer, NULL));
    } else {
        error_set(why, STATUS_INVALID, "messages",
                  "the model has no chat template; start the server with --chat-template");
        return STATUS_OK;
    }
    enum status status = chat_template_parse(text.data, text.len, &service->chat_template, why);
    buffer_free(&text);
    if (!status) return STATUS_OK;
    error_prefix(why, status, "the chat template cannot be used");
    if (!given) {
        log_warning("server", "%s; only completions are served", why->message);
        return STATUS_OK;
    }
    *error = *why;
    return error_prefix(error, STATUS_INVALID, "--chat-template");
}

static void set_defaults(struct service *service)
{
    const struct generation_config *found = model_generation(service->model);
    service->defaults = *found;
    if (!strcmp(service->options->generation_config, "vllm")) {
        service->defaults.temperature = 1, service->defaults.top_p = 1;
        service->defaults.min_p = 0, service->defaults.repetition_penalty = 1;
        service->defaults.top_k = 0;
    }
    memcpy(service->eos, found->eos, sizeof(service->eos));
    service->eos_count = found->eos_count;
    int32_t eos = tokenizer_eos(service->tokenizer);
    bool known = eos < 0 || service->eos_count == MODEL_EOS_MAX;
    for (int i = 0; i < service->eos_count; i++) known = known || service->eos[i] == eos;
    if (!known) service->eos[service->eos_count++] = eos;
}

static enum status open_executor(struct service *service, struct error *error)
{
    const struct options *options = service->options;
    bool gpu = !strcmp(options->device, "cuda");
    struct executor_options wanted = {
        .device = options->device,
        .tensor_parallel = options->tensor_parallel_size,
        .threads = options->threads,
        .dtype = dtype_from_flag(options->dtype),
        .quantization = dtype_from_flag(options->quantization),
        .kv_dtype = dtype_from_flag(options->kv_cache_dtype),
        .kv_cache_bytes = options->kv_cache_memory_bytes,
        .memory_utilization = options->gpu_memory_utilization,
        .page_tokens = options->block_size,
        .max_model_len = options->max_model_len > 0 ? options->max_model_len : 0,
        .max_num_seqs = options->max_num_seqs ? options->max_num_seqs
                        : gpu                 ? 256
                                              : 64,
        .max_num_batched_tokens = options->max_num_batched_tokens ? options->max_num_batched_tokens
                                  : gpu                           ? 8192
                                                                  : 512,
        .trace_path = options->trace,
        .profile = options->profile,
        .fault = options->inject_fault,
        .stall_timeout_ms = options->stall_timeout,
        .isa = options->isa,
        .progress = service->hooks.progress,
        .progress_arg = service->hooks.arg,
        .failed = service->hooks.failed,
        .failed_arg = service->hooks.arg,
    };
    if (wanted.max_num_batched_tokens < wanted.max_num_seqs)
        wanted.max_num_batched_tokens = wanted.max_num_seqs;
    return executor_create(&wanted, service->model, &service->executor, error);
}

static enum status open_engine(struct service *service, struct error *error)
{
    struct engine_options wanted = {
        .queue_max = service->options->max_num_queued_reqs,
        .prefix_caching = service->options->enable_prefix_caching,
        .priority_policy = !strcmp(service->options->scheduling_policy, "priority"),
        .wake = service->hooks.wake,
        .wake_arg = service->hooks.arg,
    };
    service->max_model_len = executor_info(service->executor)->max_model_len;
    return engine_create(&wanted, service->executor, &service->engine, error);
}

/* A path, or org/repo[:quant] that was pulled before. */
static enum status open_model(struct service *service, struct error *error)
{
    const char *name = service->options->model;
    if (!hub_is_name(name)) return model_open(name, &service->model, error);
    struct buffer path = {0};
    enum status status = hub_find(name, &(struct hub_options){0}, &path, error);
    if (!status) status = model_open(path.data, &service->model, error);
    buffer_free(&path);
    return status;
}

enum status service_open(const struct options *options, const struct service_hooks *hooks,
                         struct service **out, struct error *error)
{
    struct service *service = calloc(1, sizeof(*service));
    CHECK(service);
    service->options = options;
    service->hooks = *hooks;
    list_init(&service->completions);
    list_init(&service->dirty);
    enum status status = open_model(service, error);
    if (!status) status = open_tokenizer(service, error);
    if (!status) status = open_chat_template(service, error);
    if (!status) {
        service->vocab = model_config(service->model)->vocab;
        set_defaults(service);
        status = open_executor(service, error);
    }
    if (!status) status = open_engine(service, error);
    if (status) {
        service_close(service);
        return status;
    }
    *out = service;
    return STATUS_OK;
}

enum status service_follow(const struct options *options, struct error *error)
{
    struct service service = {.options = options};
    enum status status = open_model(&service, error);
    if (!status) status = open_executor(&service, error);
    if (!status) status = executor_follow(service.executor, error);
    executor_destroy(service.executor);
    model_close(service.model);
    return status;
}

void service_close(struct service *service)
{
    if (!service) return;
    if (service->engine) engine_destroy(service->engine);
    struct list_node *node;
    while ((node = list_pop_front(&service->completions))) {
        struct completion *completion = LIST_ITEM(node, struct completion, node);
        /* The engine took the requests of open choices with it. */
        for (int i = 0; i < completion->choice_count; i++) completion->choices[i].request = NULL;
        completion_destroy(completion);
    }
    if (service->executor) executor_destroy(service->executor);
    if (service->chat_template) chat_template_destroy(service->chat_template);
    if (service->tokenizer) tokenizer_destroy(service->tokenizer);
    if (service->model) model_close(service->model);
    free(service);
}

void service_dispatch(struct service *service)
{
    enum { EVENTS = 128 };
    static _Thread_local struct engine_event events[EVENTS];
    int count;
    do {
        count = engine_poll(service->engine, events, EVENTS);
        for (int i = 0; i < count; i++) completion_take_event(&events[i]);
        struct list_node *node;
        while ((node = list_pop_front(&service->dirty))) {
            struct completion *completion = LIST_ITEM(node, struct completion, dirty);
            if (completion->updated) completion->updated(completion);
        }
    } while (count == EVENTS);
}
