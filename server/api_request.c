/* api_request.c - what completions and chat share, and the body of /v1/completions. */
#include "server/api_request.h"

#include <string.h>

#include "server/json.h"
#include "server/service.h"

static const struct json_refusal common_refusals[] = {
    {"response_format", HARMLESS_NULL, NULL, "only {\"type\": \"text\"} is supported"},
    {"structured_outputs", HARMLESS_EMPTY, NULL, "structured output is not supported"},
    {"guided_json", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"guided_regex", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"guided_choice", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"guided_grammar", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"grammar", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"json_schema", HARMLESS_NULL, NULL, "structured output is not supported"},
    {"use_beam_search", HARMLESS_FALSE, NULL, "beam search is not supported"},
    {"logits_processors", HARMLESS_EMPTY, NULL, "logits processors are not supported"},
    {"allowed_token_ids", HARMLESS_EMPTY, NULL, "not supported; use logit_bias"},
    {"bad_words", HARMLESS_EMPTY, NULL, "not supported; use logit_bias"},
    {"kv_transfer_params", HARMLESS_EMPTY, NULL, "KV transfer between servers is not supported"},
    {"vllm_xargs", HARMLESS_EMPTY, NULL, "there are no such extensions here"},
    {"cache_salt", HARMLESS_NULL, NULL, "the prefix cache cannot be split by salt"},
    {"lora_request", HARMLESS_NULL, NULL, "LoRA adapters are not supported"},
    {"mm_processor_kwargs", HARMLESS_EMPTY, NULL, "only text goes in and out"},
};

static const struct json_refusal completion_refusals[] = {
    {"suffix", HARMLESS_NULL, NULL, "filling in the middle is not supported"},
    {"prompt_embeds", HARMLESS_NULL, NULL, "prompts are text or token ids"},
};

static enum status parse_stream(yyjson_val *root, struct api_request *out, struct error *error)
{
    enum status status = json_bool(root, "stream", &out->stream, error);
    yyjson_val *options = json_field(root, "stream_options");
    if (status || !options) return status;
    if (!yyjson_is_obj(options))
        return error_set(error, STATUS_INVALID, "stream_options",
                         "stream_options must be an object");
    if (!out->stream)
        return error_set(error, STATUS_INVALID, "stream_options",
                         "stream_options may only be given with stream: true");
    status = json_bool(options, "include_usage", &out->include_usage, error);
    return status ? status
                  : json_bool(options, "continuous_usage_stats", &out->continuous_usage, error);
}

static enum status parse_model(const struct service *service, yyjson_val *root, struct arena *arena,
                               struct api_request *out, struct error *error)
{
    const char *name = NULL;
    size_t len = 0;
    enum status status = json_string(root, "model", &name, &len, error);
    if (status) return status;
    if (!name || !len) return out->model = service_model_name(service->options), STATUS_OK;
    if (!service_serves(service->options, name))
        return error_set(error, STATUS_NOT_FOUND, "model",
                         "The model `%.200s` does not exist; /v1/models lists what is served",
                         name);
    out->model = arena_strndup(arena, name, len);
    return STATUS_OK;
}

static enum status parse_prompt_logprobs(const struct service *service, yyjson_val *root,
                                         struct api_request *out, struct error *error)
{
    int64_t count = LOGPROBS_NONE;
    enum status status =
        json_int(root, "prompt_logprobs", 0, service->options->max_logprobs, &count, error);
    if (status) return status;
    if (count != LOGPROBS_NONE && out->stream)
        return error_set(error, STATUS_INVALID, "prompt_logprobs",
                         "prompt_logprobs cannot be streamed; use stream: false, or echo with "
                         "logprobs");
    out->prompt_logprobs = (int)count;
    return STATUS_OK;
}

enum status api_parse_common(const struct service *service, yyjson_val *root, struct arena *arena,
                             struct api_request *out, struct error *error)
{
    yyjson_val *format = json_field(root, "response_format");
    const char *type = yyjson_get_str(yyjson_obj_get(format, "type"));
    bool plain = type && !strcmp(type, "text");
    enum status status = parse_model(service, root, arena, out, error);
    if (!status) {
        size_t skip = plain ? 1 : 0;
        status =
            json_refuse_fields(root, common_refusals + skip,
                               sizeof(common_refusals) / sizeof(*common_refusals) - skip, error);
    }
    if (!status) status = parse_stream(root, out, error);
    if (!status) status = api_parse_sampling(service, root, arena, out, error);
    if (!status) status = parse_prompt_logprobs(service, root, out, error);
    if (!status) status = json_bool(root, "return_token_ids", &out->return_token_ids, error);
    if (!status) status = json_bool(root, "return_tokens_as_token_ids", &out->tokens_as_ids, error);
    out->params.sampling.logprobs = LOGPROBS_NONE;
    return status;
}

/* Cuts every prompt to its last tokens, if the request wants that. */
static enum status truncate_prompts(const struct service *service, yyjson_val *root, int reserved,
                                    struct api_request *request, struct error *error)
{
    int64_t keep = 0;
    enum status status =
        json_int(root, "truncate_prompt_tokens", -1, service->max_model_len, &keep, error);
    if (status || !json_field(root, "truncate_prompt_tokens")) return status;
    if (!keep)
        return error_set(error, STATUS_INVALID, "truncate_prompt_tokens",
                         "truncate_prompt_tokens must be -1 or at least 1");
    if (keep < 0) keep = service->max_model_len > reserved ? service->max_model_len - reserved : 1;
    for (int i = 0; i < request->prompt_count; i++) {
        struct completion_prompt *prompt = &request->prompts[i];
        if (prompt->count <= keep) continue;
        prompt->ids += prompt->count - keep;
        prompt->count = (int)keep;
    }
    return STATUS_OK;
}

enum status api_check_lengths(const struct service *service, yyjson_val *root,
                              struct api_request *request, struct error *error)
{
    const char *name = request->chat && json_field(root, "max_completion_tokens")
                           ? "max_completion_tokens"
                           : "max_tokens";
    struct sampling_params *sampling = &request->params.sampling;
    bool given = json_field(root, name) != NULL;
    int64_t wanted = request->chat ? INT32_MAX : 16;
    enum status status = json_int(root, name, request->echo ? 0 : 1, INT32_MAX, &wanted, error);
    int reserved = wanted < service->max_model_len && wanted > 0 ? (int)wanted : 1;
    if (!status) status = truncate_prompts(service, root, reserved, request, error);
    if (status) return status;
    int longest = 0;
    for (int i = 0; i < request->prompt_count; i++)
        if (request->prompts[i].count > longest) longest = request->prompts[i].count;
    int room = service->max_model_len - longest;
    const char *prompt_name = request->chat ? "messages" : "prompt";
    if (room < 1 && !(wanted == 0 && room == 0))
        return error_set(error, STATUS_INVALID, prompt_name,
                         "This model's maximum context length is %d tokens; the %s has %d, which "
                         "leaves none to generate",
                         service->max_model_len, prompt_name, longest);
    if (given && wanted > room)
        return error_set(error, STATUS_INVALID, name,
                         "%s is too large: %lld; this model's maximum context length is %d tokens "
                         "and the request has %d input tokens",
                         name, (long long)wanted, service->max_model_len, longest);
    sampling->max_tokens = wanted < room ? (int)wanted : room;
    if (sampling->min_tokens > sampling->max_tokens)
        return error_set(error, STATUS_INVALID, "min_tokens",
                         "min_tokens (%d) is more than max_tokens (%d)", sampling->min_tokens,
                         sampling->max_tokens);
    if ((int64_t)request->prompt_count * request->params.n > API_CHOICES_MAX)
        return error_set(error, STATUS_INVALID, "n",
                         "n times the number of prompts is more than %d", API_CHOICES_MAX);
    return STATUS_OK;
}

enum status api_encode(const struct service *service, const char *text, size_t len,
                       bool add_special, struct arena *arena, struct completion_prompt *out,
                       struct error *error)
{
    struct token_list list = {0};
    enum status status =
        tokenizer_encode(service->tokenizer, text, len, add_special, true, &list, error);
    if (!status) {
        int32_t *ids = arena_alloc(arena, ((size_t)list.count + 1) * sizeof(*ids));
        if (list.count) memcpy(ids, list.ids, (size_t)list.count * sizeof(*ids));
        out->ids = ids;
        out->count = list.count;
    }
    token_list_free(&list);
    return status;
}

/* An array of token ids; with echo also their text. */
static enum status take_ids(const struct service *service, yyjson_val *array, struct arena *arena,
                            bool want_text, struct completion_prompt *out, struct error *error)
{
    int32_t *ids = arena_alloc(arena, (yyjson_arr_size(array) + 1) * sizeof(*ids));
    size_t index, max;
    yyjson_val *item;
    yyjson_arr_foreach(array, index, max, item)
    {
        int64_t id;
        if (!json_whole(item, &id) || id < 0 || id >= service->vocab)
            return error_set(error, STATUS_INVALID, "prompt",
                             "prompt: item %zu is no token id of the model (0 to %d)", index,
                             service->vocab - 1);
        ids[index] = (int32_t)id;
    }
    out->ids = ids;
    out->count = (int)yyjson_arr_size(array);
    if (!want_text) return STATUS_OK;
    struct buffer text = {0};
    enum status status = tokenizer_decode(service->tokenizer, ids, out->count, false, &text, error);
    if (!status) {
        out->text = arena_strndup(arena, text.len ? text.data : "", text.len);
        out->text_len = text.len;
    }
    buffer_free(&text);
    return status;
}

static enum status take_prompt(const struct service *service, yyjson_val *value, bool add_special,
                               bool want_text, struct arena *arena, struct completion_prompt *out,
                               struct error *error)
{
    enum status status;
    if (yyjson_is_str(value)) {
        size_t len = yyjson_get_len(value);
        out->text = arena_strndup(arena, yyjson_get_str(value), len);
        out->text_len = len;
        status = api_encode(service, out->text, len, add_special, arena, out, error);
    } else if (yyjson_is_arr(value)) {
        status = take_ids(service, value, arena, want_text, out, error);
    } else {
        return error_set(error, STATUS_INVALID, "prompt",
                         "prompt must be a string, an array of token ids, or an array of those");
    }
    if (!status && !out->count)
        return error_set(error, STATUS_INVALID, "prompt", "the prompt has no tokens");
    return status;
}

static enum status parse_prompts(const struct service *service, yyjson_val *root,
                                 struct arena *arena, struct api_request *out, struct error *error)
{
    bool add_special = true;
    enum status status = json_bool(root, "add_special_tokens", &add_special, error);
    if (status) return status;
    yyjson_val *prompt = json_field(root, "prompt");
    if (!prompt) return error_set(error, STATUS_INVALID, "prompt", "prompt is missing");
    yyjson_val *first = yyjson_arr_get_first(prompt);
    bool many = yyjson_is_str(first) || yyjson_is_arr(first);
    size_t count = many ? yyjson_arr_size(prompt) : 1;
    if (count > API_PROMPTS_MAX)
        return error_set(error, STATUS_INVALID, "prompt", "there are more than %d prompts",
                         API_PROMPTS_MAX);
    out->prompts = arena_zalloc(arena, count * sizeof(*out->prompts));
    out->prompt_count = (int)count;
    if (!many)
        return take_prompt(service, prompt, add_special, out->echo, arena, out->prompts, error);
    size_t index, max;
    yyjson_val *item;
    yyjson_arr_foreach(prompt, index, max, item)
    {
        status =
            take_prompt(service, item, add_special, out->echo, arena, &out->prompts[index], error);
        if (status) return status;
    }
    return STATUS_OK;
}

static enum status parse_completion_logprobs(const struct service *service, yyjson_val *root,
                                             struct api_request *out, struct error *error)
{
    int64_t count = LOGPROBS_NONE;
    enum status status =
        json_int(root, "logprobs", 0, service->options->max_logprobs, &count, error);
    if (status) return status;
    out->logprobs = count != LOGPROBS_NONE;
    out->top_logprobs = out->logprobs ? (int)count : 0;
    out->params.sampling.logprobs = (int)count;
    int prompt_count = out->prompt_logprobs;
    if (out->echo && out->logprobs && (int)count > prompt_count) prompt_count = (int)count;
    out->params.sampling.prompt_logprobs = prompt_count;
    return STATUS_OK;
}

/* best_of sampled more choices than it returned; with best_of == n it means nothing. */
static enum status check_best_of(yyjson_val *root, const struct api_request *out,
                                 struct error *error)
{
    int64_t best_of = out->params.n;
    enum status status = json_int(root, "best_of", 1, INT32_MAX, &best_of, error);
    if (status || best_of == out->params.n) return status;
    return error_set(error, STATUS_UNSUPPORTED, "best_of",
                     "best_of: choosing among more choices than n is not supported");
}

enum status api_parse_completion(const struct service *service, const char *body, size_t len,
                                 struct arena *arena, struct api_request *out, struct error *error)
{
    yyjson_doc *doc;
    *out = (struct api_request){0};
    enum status status = json_read_object(body, len, &doc, error);
    if (status) return status;
    yyjson_val *root = yyjson_doc_get_root(doc);
    status = api_parse_common(service, root, arena, out, error);
    if (!status)
        status =
            json_refuse_fields(root, completion_refusals,
                               sizeof(completion_refusals) / sizeof(*completion_refusals), error);
    if (!status) status = check_best_of(root, out, error);
    if (!status) status = json_bool(root, "echo", &out->echo, error);
    if (!status) status = parse_completion_logprobs(service, root, out, error);
    if (!status) status = parse_prompts(service, root, arena, out, error);
    if (!status) status = api_check_lengths(service, root, out, error);
    yyjson_doc_free(doc);
    return status;
}
