/*
 * service.h - a model ready to answer: model, tokenizer, chat template, executor and engine, opened
 * from the options. What `serve` and `run` stand on.
 *
 * Thread: service_open on any thread (it takes long); afterwards everything but the immutable parts
 * (model, tokenizer, template, defaults) belongs to the server thread. Parsing on other threads may
 * read the immutable parts.
 */
#ifndef SERVER_SERVICE_H
#define SERVER_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/list.h"
#include "runtime/base/status.h"
#include "runtime/executor.h"
#include "runtime/model.h"
#include "scheduler/engine.h"
#include "server/options.h"
#include "server/text/chat_template.h"
#include "server/text/tokenizer.h"

struct completion_choice;

struct service_hooks {
    void *arg;
    /* From loader threads: bytes read since the last call, and all there are; or NULL. */
    void (*progress)(void *arg, int64_t bytes, int64_t total);
    void (*wake)(void *arg); /* from the engine thread: call service_dispatch soon; only signals */
    void (*failed)(void *arg, const struct error *error); /* from any thread; a rank failed */
    /* Every event before it is taken; for metrics; or NULL. */
    void (*observe)(void *arg, const struct completion_choice *choice,
                    const struct engine_event *event);
};

struct service {
    const struct options *options;
    struct service_hooks hooks;
    struct model *model;
    struct tokenizer *tokenizer;
    struct chat_template *chat_template; /* NULL: there is none, or it cannot be used */
    struct error chat_template_error;    /* why not */
    struct executor *executor;
    struct engine *engine;
    struct generation_config defaults; /* of the sampling fields a request leaves out */
    int32_t eos[MODEL_EOS_MAX];
    int eos_count;
    int vocab, max_model_len;
    struct list_node completions; /* with requests in the engine */
    struct list_node dirty;       /* with something new for their reader */
};

enum status service_open(const struct options *options, const struct service_hooks *hooks,
                         struct service **out, struct error *error);
/* A rank of an MPI world above 0: holds its share of the model and runs rank 0's steps until that
 * is done (STATUS_OK) or a rank failed. Blocks; needs no server thread. */
enum status service_follow(const struct options *options, struct error *error);

/* Cancels and frees what still runs. */
void service_close(struct service *service);

/* Takes the engine's events and calls `updated` of each completion that has something new. */
void service_dispatch(struct service *service);

/* The name that answers show: the first --served-model-name, else the model as given. */
const char *service_model_name(const struct options *options);
bool service_serves(const struct options *options, const char *model_name);

/* A seed for a request that brings none. */
uint64_t service_random_seed(const struct service *service);

#endif
