/*
 * completion.h - one completion: prompts times n choices, each a request of the engine, turned into
 * text.
 *
 * Detokenises, finds stop strings across token borders, keeps log probabilities. It knows nothing
 * of HTTP or JSON: readers take text[0..ready_len) and tokens as they grow; what was readable never
 * changes, so pieces read while it grows and the whole read at the end are the same bytes.
 *
 * Thread: the server thread. Memory: a completion lives until completion_release and until the
 * engine has given back all its requests, whichever is later.
 */
#ifndef SERVER_COMPLETION_H
#define SERVER_COMPLETION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/buffer.h"
#include "runtime/base/list.h"
#include "scheduler/request.h"
#include "server/stop.h"
#include "server/text/tokenizer.h"

struct service;
struct completion;
struct engine_event;

struct completion_prompt {
    const int32_t *ids;
    int count;
    const char *text; /* for echo; may be NULL otherwise */
    size_t text_len;
};

struct completion_params {
    struct sampling_params sampling; /* of choice 0; choice i has seed + i */
    int n;                           /* choices per prompt */
    const struct stop_string *stops;
    int stop_count;
    const int32_t *stop_tokens; /* the request's own; the model's EOS ids are added */
    int stop_token_count;
    const struct logit_bias *bias;
    int bias_count;
    bool include_stop; /* the text keeps the stop string or token */
    bool skip_special; /* special tokens are not part of the text */
    int priority;
};

struct completion_choice { /* readers read, completion.c writes */
    struct completion *completion;
    int index; /* prompt * n + i */
    const struct completion_prompt *prompt;
    struct buffer text;
    size_t ready_len; /* bytes of it that are certain; whole characters */
    struct token_list tokens;
    struct logits_result *logprobs;        /* [tokens.count]; NULL if not asked for */
    struct logits_result *prompt_logprobs; /* [prompt->count], of which [0] says nothing; or NULL */
    int prompt_logprobs_count;             /* arrived so far, [0] included */
    bool finished;
    enum finish_reason finish;
    const struct stop_string *stop_string; /* that ended it, or NULL */
    int32_t stop_token;                    /* of the request's own, that ended it; -1 */
    int cached_len;
    struct error error;
    int64_t last_token_ns; /* when its newest tokens were taken from the engine; 0: none */
    /* inside */
    struct request *request;
    struct detokenizer *detokenizer;
    int logprobs_capacity;
    bool stopped; /* by a stop string; what the engine still sends is dropped */
};

struct completion {
    struct service *service;
    struct completion_params params;
    const struct completion_prompt *prompts;
    int prompt_count, choice_count, open_count; /* open: choices not finished */
    struct completion_choice *choices;
    /* Something new can be read; called once per service_dispatch. NULL once released. */
    void (*updated)(struct completion *completion);
    void *user;
    struct list_node node, dirty; /* on the service's lists */
    struct arena arena;
    bool released;
};

/* Copies everything but the prompts' and stops' bytes, which must live until completion_release. */
struct completion *completion_create(struct service *service,
                                     const struct completion_params *params,
                                     const struct completion_prompt *prompts, int prompt_count);

/* Hands all requests to the engine, or none of them. */
enum status completion_start(struct completion *completion, struct error *error);

/* Cancels what still runs. The caller must not touch it afterwards. */
void completion_release(struct completion *completion);

/* One event of the engine for choice event->user; service_dispatch calls it. */
void completion_take_event(const struct engine_event *event);
void completion_destroy(struct completion *completion); /* service.c only */

/* Tokens of the prompts (each once) and generated ones, and prompt tokens found in the prefix
 * cache. */
struct completion_usage {
    int64_t prompt_tokens, completion_tokens, cached_tokens;
};
struct completion_usage completion_usage(const struct completion *completion);

#endif
