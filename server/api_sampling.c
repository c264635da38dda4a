/* api_sampling.c - the sampling fields of a request: defaults, ranges, stop conditions, biases. */
#include <stdlib.h>
#include <string.h>

#include "server/api_request.h"
#include "server/json.h"
#include "server/service.h"

enum { CHOICES_MAX = 128, STOP_TOKEN_IDS_MAX = STOP_TOKENS_MAX - MODEL_EOS_MAX };

static enum status parse_floats(const struct service *service, yyjson_val *root,
                                struct sampling_params *sampling, struct error *error)
{
    double temperature = service->defaults.temperature, top_p = service->defaults.top_p;
    double min_p = service->defaults.min_p, repetition = service->defaults.repetition_penalty;
    double presence = 0, frequency = 0;
    enum status status = json_float(root, "temperature", 0, 1e6, &temperature, error);
    if (!status) status = json_float(root, "top_p", 0, 1, &top_p, error);
    if (!status) status = json_float(root, "min_p", 0, 1, &min_p, error);
    if (!status) status = json_float(root, "presence_penalty", -2, 2, &presence, error);
    if (!status) status = json_float(root, "frequency_penalty", -2, 2, &frequency, error);
    if (!status) status = json_float(root, "repetition_penalty", 0, 1e6, &repetition, error);
    if (status) return status;
    if (top_p <= 0)
        return error_set(error, STATUS_INVALID, "top_p", "top_p must be above 0 and at most 1");
    if (repetition <= 0)
        return error_set(error, STATUS_INVALID, "repetition_penalty",
                         "repetition_penalty must be above 0; 1 means none");
    /* As vLLM: what is next to zero is greedy, and the smallest other temperature is 0.01. */
    if (temperature < 1e-5)
        temperature = 0;
    else if (temperature < 0.01)
        temperature = 0.01;
    sampling->temperature = (float)temperature, sampling->top_p = (float)top_p;
    sampling->min_p = (float)min_p, sampling->repetition_penalty = (float)repetition;
    sampling->presence_penalty = (float)presence, sampling->frequency_penalty = (float)frequency;
    return STATUS_OK;
}

static enum status parse_numbers(const struct service *service, yyjson_val *root,
                                 struct api_request *out, struct error *error)
{
    struct sampling_params *sampling = &out->params.sampling;
    int64_t top_k = service->defaults.top_k, n = 1, seed = 0, min_tokens = 0, priority = 0;
    enum status status = json_int(root, "top_k", -1, INT32_MAX, &top_k, error);
    if (!status) status = json_int(root, "n", 1, CHOICES_MAX, &n, error);
    if (!status) status = json_int(root, "seed", INT64_MIN, INT64_MAX, &seed, error);
    if (!status) status = json_int(root, "min_tokens", 0, INT32_MAX, &min_tokens, error);
    if (!status) status = json_int(root, "priority", INT32_MIN, INT32_MAX, &priority, error);
    if (!status) status = json_bool(root, "ignore_eos", &sampling->ignore_eos, error);
    if (status) return status;
    sampling->top_k = top_k < 0 ? 0 : (int)top_k;
    sampling->seed = json_field(root, "seed") ? (uint64_t)seed : service_random_seed(service);
    sampling->min_tokens = (int)min_tokens;
    out->params.n = (int)n;
    out->params.priority = (int)priority;
    return STATUS_OK;
}

static enum status parse_stop(yyjson_val *root, struct arena *arena, struct api_request *out,
                              struct error *error)
{
    yyjson_val *stop = json_field(root, "stop");
    if (!stop) return STATUS_OK;
    size_t count = yyjson_is_arr(stop) ? yyjson_arr_size(stop) : 1;
    if (!yyjson_is_arr(stop) && !yyjson_is_str(stop))
        return error_set(error, STATUS_INVALID, "stop",
                         "stop must be a string or an array of strings");
    if (count > STOP_STRINGS_MAX)
        return error_set(error, STATUS_INVALID, "stop", "stop has more than %d strings",
                         STOP_STRINGS_MAX);
    struct stop_string *stops = arena_zalloc(arena, (count + 1) * sizeof(*stops));
    for (size_t i = 0; i < count; i++) {
        yyjson_val *item = yyjson_is_arr(stop) ? yyjson_arr_get(stop, i) : stop;
        size_t len = yyjson_get_len(item);
        if (!yyjson_is_str(item))
            return error_set(error, STATUS_INVALID, "stop",
                             "stop must be a string or an array of strings");
        if (!len || len > STOP_STRING_BYTES_MAX)
            return error_set(error, STATUS_INVALID, "stop",
                             "a stop string must have between 1 and %d bytes",
                             STOP_STRING_BYTES_MAX);
        stops[i] = (struct stop_string){arena_strndup(arena, yyjson_get_str(item), len), len};
    }
    out->params.stops = stops;
    out->params.stop_count = (int)count;
    return STATUS_OK;
}

static enum status parse_stop_tokens(const struct service *service, yyjson_val *root,
                                     struct arena *arena, struct api_request *out,
                                     struct error *error)
{
    static const char name[] = "stop_token_ids";
    yyjson_val *ids = json_field(root, name), *item;
    if (!ids) return STATUS_OK;
    if (!yyjson_is_arr(ids) || yyjson_arr_size(ids) > STOP_TOKEN_IDS_MAX)
        return error_set(error, STATUS_INVALID, name, "%s must be an array of at most %d ids", name,
                         STOP_TOKEN_IDS_MAX);
    int32_t *tokens = arena_alloc(arena, (yyjson_arr_size(ids) + 1) * sizeof(*tokens));
    size_t index, max;
    yyjson_arr_foreach(ids, index, max, item)
    {
        int64_t id;
        if (!json_whole(item, &id) || id < 0 || id >= service->vocab)
            return error_set(error, STATUS_INVALID, name,
                             "%s[%zu] is no token id of the model (0 to %d)", name, index,
                             service->vocab - 1);
        tokens[index] = (int32_t)id;
    }
    out->params.stop_tokens = tokens;
    out->params.stop_token_count = (int)yyjson_arr_size(ids);
    return STATUS_OK;
}

static bool parse_token_key(const char *text, int vocab, int32_t *out)
{
    char *end;
    if (*text < '0' || *text > '9' || strlen(text) > 9) return false;
    long id = strtol(text, &end, 10);
    if (*end || id >= vocab) return false;
    return *out = (int32_t)id, true;
}

static enum status parse_bias(const struct service *service, yyjson_val *root, struct arena *arena,
                              struct api_request *out, struct error *error)
{
    static const char name[] = "logit_bias";
    yyjson_val *map = json_field(root, name), *key, *value;
    if (!map) return STATUS_OK;
    if (!yyjson_is_obj(map) || yyjson_obj_size(map) > LOGIT_BIAS_MAX)
        return error_set(error, STATUS_INVALID, name,
                         "%s must be an object of at most %d token ids", name, LOGIT_BIAS_MAX);
    struct logit_bias *bias = arena_alloc(arena, (yyjson_obj_size(map) + 1) * sizeof(*bias));
    size_t index, max;
    yyjson_obj_foreach(map, index, max, key, value)
    {
        if (!parse_token_key(yyjson_get_str(key), service->vocab, &bias[index].token))
            return error_set(error, STATUS_INVALID, name,
                             "%s: '%.20s' is no token id of the model (0 to %d)", name,
                             yyjson_get_str(key), service->vocab - 1);
        double number = yyjson_get_num(value);
        if (!yyjson_is_num(value) || !(number >= -100 && number <= 100))
            return error_set(error, STATUS_INVALID, name,
                             "%s of token %s must be a number between -100 and 100", name,
                             yyjson_get_str(key));
        bias[index].value = (float)number;
    }
    out->params.bias = bias;
    out->params.bias_count = (int)yyjson_obj_size(map);
    return STATUS_OK;
}

enum status api_parse_sampling(const struct service *service, yyjson_val *root, struct arena *arena,
                               struct api_request *out, struct error *error)
{
    struct completion_params *params = &out->params;
    params->skip_special = true;
    bool spaces = true; /* means nothing to today's tokenizers, and is accepted as vLLM does */
    enum status status = parse_floats(service, root, &params->sampling, error);
    if (!status) status = parse_numbers(service, root, out, error);
    if (!status) status = parse_stop(root, arena, out, error);
    if (!status) status = parse_stop_tokens(service, root, arena, out, error);
    if (!status) status = parse_bias(service, root, arena, out, error);
    if (!status) status = json_bool(root, "skip_special_tokens", &params->skip_special, error);
    if (!status) status = json_bool(root, "spaces_between_special_tokens", &spaces, error);
    if (!status)
        status = json_bool(root, "include_stop_str_in_output", &params->include_stop, error);
    return status;
}
