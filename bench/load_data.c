/*
 * load_data.c - the requests of a run: random token ids or words, ShareGPT, JSONL, shared prefixes.
 *
 * Random prompts for the completions API are arrays of token ids, so their length is exact on any
 * server that takes ids. Chat prompts are words; their length is exact only where --tokenizer is
 * given.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "bench/load.h"
#include "bench/random.h"
#include "runtime/base/check.h"
#include "server/text/tokenizer.h"

enum {
    FIRST_ID = 1000,
    ID_RANGE = 2000
}; /* past control tokens, inside every vocabulary we know */

struct maker {
    const struct load_options *options;
    struct random random;
    struct tokenizer *tokenizer; /* NULL: none was given */
    int first_id, id_range;
};

static const char *const words[] = {
    "water", "river",  "gate",   "pipe",  "wheel", "stone", "mill",   "light", "north",  "green",
    "table", "window", "letter", "music", "paper", "horse", "garden", "cloud", "silver", "bread",
};
enum { WORD_COUNT = sizeof(words) / sizeof(*words) };

/* ---- one request ---- */

/* What both APIs share, written after the prompt or messages. */
static void close_body(const struct maker *maker, struct buffer *body, int output_len)
{
    const struct load_options *options = maker->options;
    buffer_printf(body, ",\"%s\":%d,\"temperature\":%g,\"stream\":true,",
                  options->chat ? "max_completion_tokens" : "max_tokens", output_len,
                  options->temperature);
    buffer_append_string(body, "\"stream_options\":{\"include_usage\":true}");
    if (options->ignore_eos) buffer_append_string(body, ",\"ignore_eos\":true");
    buffer_append_char(body, '}');
}

static void append_json_string(struct buffer *body, const char *text, size_t len)
{
    yyjson_mut_doc *document = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = yyjson_mut_strn(document, text, len);
    size_t size;
    char *json = yyjson_mut_val_write(value, 0, &size);
    if (json)
        buffer_append(body, json, size);
    else
        buffer_append_string(body, "\"\"");
    free(json);
    yyjson_mut_doc_free(document);
}

static void open_body(const struct maker *maker, struct buffer *body)
{
    buffer_append_string(body, "{\"model\":");
    append_json_string(body, maker->options->model, strlen(maker->options->model));
}

static void make_text(const struct maker *maker, struct load_request *request, const char *text,
                      size_t len, int prompt_len, int output_len)
{
    struct buffer body = {0};
    open_body(maker, &body);
    buffer_append_string(&body, maker->options->chat
                                    ? ",\"messages\":[{\"role\":\"user\",\"content\":"
                                    : ",\"prompt\":");
    append_json_string(&body, text, len);
    if (maker->options->chat) buffer_append_string(&body, "}]");
    close_body(maker, &body, output_len);
    *request = (struct load_request){.body = body.data,
                                     .body_len = body.len,
                                     .prompt_len = prompt_len,
                                     .output_len = output_len};
}

static void make_ids(const struct maker *maker, struct load_request *request, const int32_t *ids,
                     int count, int output_len)
{
    struct buffer body = {0};
    open_body(maker, &body);
    buffer_append_string(&body, ",\"prompt\":[");
    for (int i = 0; i < count; i++) buffer_printf(&body, i ? ",%d" : "%d", ids[i]);
    buffer_append_char(&body, ']');
    close_body(maker, &body, output_len);
    *request = (struct load_request){
        .body = body.data, .body_len = body.len, .prompt_len = count, .output_len = output_len};
}

/* ---- random and shared prefixes ---- */

static int random_len(struct maker *maker, int len)
{
    double ratio = maker->options->range_ratio;
    int low = (int)((double)len * (1 - ratio)), high = (int)((double)len * (1 + ratio));
    return random_range(&maker->random, low < 1 ? 1 : low, high < 1 ? 1 : high);
}

static void random_ids(struct maker *maker, int32_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        ids[i] = maker->first_id + random_range(&maker->random, 0, maker->id_range - 1);
}

/* Words for ids: a word each, or the tokenizer's own text of them. */
static void ids_to_text(const struct maker *maker, const int32_t *ids, int count,
                        struct buffer *text)
{
    if (maker->tokenizer &&
        tokenizer_decode(maker->tokenizer, ids, count, true, text, NULL) == STATUS_OK)
        return;
    for (int i = 0; i < count; i++)
        buffer_printf(text, i ? " %s" : "%s", words[ids[i] % WORD_COUNT]);
}

static void make_from_ids(struct maker *maker, struct load_request *request, const int32_t *ids,
                          int count, int output_len)
{
    if (!maker->options->chat) return make_ids(maker, request, ids, count, output_len);
    struct buffer text = {0};
    ids_to_text(maker, ids, count, &text);
    make_text(maker, request, text.data, text.len, count, output_len);
    buffer_free(&text);
}

static void make_random(struct maker *maker, struct load_request *requests, int count)
{
    const struct load_options *options = maker->options;
    bool shared = options->dataset == DATASET_PREFIX;
    int prefix_len = options->prefix_len, kinds = shared ? options->prefix_count : 1;
    int most = prefix_len + (int)((double)options->input_len * (1 + options->range_ratio)) + 1;
    int32_t *ids = calloc((size_t)most, sizeof(*ids));
    int32_t *prefixes = calloc((size_t)prefix_len * (size_t)kinds + 1, sizeof(*prefixes));
    CHECK(ids && prefixes);
    random_ids(maker, prefixes, prefix_len * kinds);
    for (int i = 0; i < count; i++) {
        memcpy(ids, prefixes + (size_t)(i % kinds) * (size_t)prefix_len,
               (size_t)prefix_len * sizeof(*ids));
        int own = random_len(maker, options->input_len);
        random_ids(maker, ids + prefix_len, own);
        make_from_ids(maker, &requests[i], ids, prefix_len + own,
                      random_len(maker, options->output_len));
    }
    free(ids), free(prefixes);
}

/* ---- files ---- */

static enum status read_file(const char *path, struct buffer *out, struct error *error)
{
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file)
        return error_set(error, STATUS_NOT_FOUND, "--dataset-path",
                         "cannot read the dataset %s: %s",
                         path ? path : "(--dataset-path is missing)", path ? strerror(errno) : "");
    char part[1 << 16];
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;) buffer_append(out, part, n);
    fclose(file);
    return STATUS_OK;
}

static int count_tokens(const struct maker *maker, const char *text)
{
    struct token_list list = {0};
    size_t len = strlen(text);
    if (!maker->tokenizer) return (int)(len / 4) + 1; /* a guess: the usual ratio of English */
    tokenizer_encode(maker->tokenizer, text, len, false, false, &list, NULL);
    int count = list.count;
    token_list_free(&list);
    return count;
}

/* ShareGPT: the first human turn is the prompt, the length of the answer is what is asked for. */
static bool take_sharegpt(struct maker *maker, yyjson_val *entry, struct load_request *request)
{
    yyjson_val *turns = yyjson_obj_get(entry, "conversations");
    const char *prompt = yyjson_get_str(yyjson_obj_get(yyjson_arr_get(turns, 0), "value"));
    const char *answer = yyjson_get_str(yyjson_obj_get(yyjson_arr_get(turns, 1), "value"));
    if (!prompt || !answer) return false;
    int prompt_len = count_tokens(maker, prompt), output_len = count_tokens(maker, answer);
    if (prompt_len < 4 || output_len < 4 || prompt_len > 1024 || prompt_len + output_len > 2048)
        return false; /* vLLM's rule, so that results compare */
    if (maker->options->output_len > 0) output_len = maker->options->output_len;
    make_text(maker, request, prompt, strlen(prompt), prompt_len, output_len);
    return true;
}

/* JSONL: {"prompt": ..., "output_tokens": n}. */
static bool take_custom(struct maker *maker, yyjson_val *entry, struct load_request *request)
{
    const char *prompt = yyjson_get_str(yyjson_obj_get(entry, "prompt"));
    if (!prompt) return false;
    int asked = yyjson_get_int(yyjson_obj_get(entry, "output_tokens"));
    int output_len = asked > 0                        ? asked
                     : maker->options->output_len > 0 ? maker->options->output_len
                                                      : 256;
    make_text(maker, request, prompt, strlen(prompt), count_tokens(maker, prompt), output_len);
    return true;
}

static int take_all(struct maker *maker, yyjson_doc *document, struct load_request *requests,
                    int count)
{
    yyjson_val *root = yyjson_doc_get_root(document);
    size_t entries = yyjson_arr_size(root), tried = 0;
    int made = 0;
    while (made < count && entries && tried < entries) {
        yyjson_val *entry = yyjson_arr_get(root, tried++);
        made += take_sharegpt(maker, entry, &requests[made]);
    }
    return made;
}

static enum status make_from_file(struct maker *maker, struct load_request *requests, int count,
                                  struct error *error)
{
    struct buffer text = {0};
    const char *path = maker->options->dataset_path;
    enum status status = read_file(path, &text, error);
    if (status) return status;
    int made = 0;
    if (maker->options->dataset == DATASET_SHAREGPT) {
        yyjson_doc *document = yyjson_read(text.data ? text.data : "", text.len, 0);
        if (document) made = take_all(maker, document, requests, count);
        yyjson_doc_free(document);
    } else {
        char *save = NULL, *line = text.data ? strtok_r(text.data, "\n", &save) : NULL;
        for (; line && made < count; line = strtok_r(NULL, "\n", &save)) {
            yyjson_doc *document = yyjson_read(line, strlen(line), 0);
            made += document && take_custom(maker, yyjson_doc_get_root(document), &requests[made]);
            yyjson_doc_free(document);
        }
    }
    buffer_free(&text);
    if (made == count) return STATUS_OK;
    return error_set(error, STATUS_INVALID, "--dataset-path",
                     "%s has %d usable prompts, %d are needed (--num-prompts and --num-warmups)",
                     path, made, count);
}

/* ---- when ---- */

static double rate_at(const struct load_options *options, int index, int count)
{
    double part = count > 1 ? (double)index / (count - 1) : 0;
    if (options->ramp == RAMP_LINEAR)
        return options->ramp_start + (options->ramp_end - options->ramp_start) * part;
    if (options->ramp == RAMP_EXPONENTIAL)
        return options->ramp_start * pow(options->ramp_end / options->ramp_start, part);
    return options->request_rate;
}

static void set_due_times(struct maker *maker, struct load_request *requests, int count)
{
    double at = 0;
    for (int i = 0; i < count; i++) {
        requests[i].due_ns = (int64_t)(at * 1e9);
        double rate = rate_at(maker->options, i, count), shape = maker->options->burstiness;
        if (rate > 0 && rate < 1e9) at += random_gamma(&maker->random, shape, 1 / (rate * shape));
    }
}

enum status load_data_make(const struct load_options *options, struct load_request **out,
                           int *count, struct error *error)
{
    struct maker maker = {.options = options, .first_id = FIRST_ID, .id_range = ID_RANGE};
    enum status status = STATUS_OK;
    random_seed(&maker.random, options->seed);
    if (options->tokenizer) status = tokenizer_load(options->tokenizer, &maker.tokenizer, error);
    if (status) return status;
    if (maker.tokenizer && tokenizer_vocab_size(maker.tokenizer) < FIRST_ID + ID_RANGE) {
        int vocab = tokenizer_vocab_size(maker.tokenizer);
        maker.first_id = vocab / 2, maker.id_range = vocab - vocab / 2;
    }
    *count = options->num_prompts + options->num_warmups;
    *out = calloc((size_t)*count, sizeof(**out));
    CHECK(*out);
    if (options->dataset == DATASET_RANDOM || options->dataset == DATASET_PREFIX)
        make_random(&maker, *out, *count);
    else
        status = make_from_file(&maker, *out, *count, error);
    if (!status)
        set_due_times(&maker, *out + options->num_warmups, options->num_prompts);
    else
        load_requests_free(*out, *count), *out = NULL;
    tokenizer_destroy(maker.tokenizer);
    return status;
}

void load_requests_free(struct load_request *requests, int count)
{
    for (int i = 0; i < count && requests; i++) free(requests[i].body);
    free(requests);
}
