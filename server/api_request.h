/*
 * api_request.h - the bodies of /v1/completions and /v1/chat/completions, parsed and validated.
 *
 * Thread: any; reads only the immutable parts of the service. Memory: everything lives in the arena
 * given.
 */
#ifndef SERVER_API_REQUEST_H
#define SERVER_API_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "server/completion.h"

struct service;
struct yyjson_val;

enum { API_PROMPTS_MAX = 1024, API_CHOICES_MAX = 1024 };

struct api_request {
    bool chat;
    const char *model; /* as the request spelled it, or the server's name */
    struct completion_params params;
    struct completion_prompt *prompts;
    int prompt_count;
    bool stream, include_usage, continuous_usage;
    bool echo, logprobs, return_token_ids, tokens_as_ids;
    int top_logprobs;    /* alternatives shown per token */
    int prompt_logprobs; /* shown as prompt_logprobs; LOGPROBS_NONE: not asked for */
};

enum status api_parse_completion(const struct service *service, const char *body, size_t len,
                                 struct arena *arena, struct api_request *out, struct error *error);
enum status api_parse_chat(const struct service *service, const char *body, size_t len,
                           struct arena *arena, struct api_request *out, struct error *error);

/* What both share, and /tokenize. `messages` and the template fields of `root` -> the prompt's
 * text. */
enum status api_render_chat(const struct service *service, struct yyjson_val *root,
                            struct buffer *out, struct error *error);
/* Text -> ids in the arena. */
enum status api_encode(const struct service *service, const char *text, size_t len,
                       bool add_special, struct arena *arena, struct completion_prompt *out,
                       struct error *error);
/* The fields of both bodies but for prompts; after it api_check_lengths, once the prompts are
 * there. */
enum status api_parse_common(const struct service *service, struct yyjson_val *root,
                             struct arena *arena, struct api_request *out, struct error *error);
enum status api_parse_sampling(const struct service *service, struct yyjson_val *root,
                               struct arena *arena, struct api_request *out, struct error *error);
enum status api_check_lengths(const struct service *service, struct yyjson_val *root,
                              struct api_request *request, struct error *error);

#endif
