/* cmd_load.c - `penstock bench serve` and `penstock bench once`: the two that talk to a server. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "bench/load.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"

static size_t take_part(char *data, size_t size, size_t count, void *arg)
{
    buffer_append(arg, data, size * count);
    return size * count;
}

enum status load_fetch(const char *url, const char *api_key, const char *body, struct buffer *out,
                       struct error *error)
{
    CURL *curl = curl_easy_init();
    CHECK(curl);
    char key[512];
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    snprintf(key, sizeof(key), "Authorization: Bearer %s", api_key ? api_key : "");
    if (api_key) headers = curl_slist_append(headers, key);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_part);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    if (body) curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    CURLcode code = curl_easy_perform(curl);
    long http = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &http);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code) return error_set(error, STATUS_IO, NULL, "%s: %s", url, curl_easy_strerror(code));
    if (http / 100 == 2) return STATUS_OK;
    return error_set(error, STATUS_IO, NULL, "%s: HTTP %ld: %.200s", url, http,
                     out->data ? out->data : "");
}

/* The first model that the server lists; owned by the caller. */
static char *find_model(const char *base_url, const char *api_key, struct error *error)
{
    char url[1024], *name = NULL;
    struct buffer answer = {0};
    snprintf(url, sizeof(url), "%s/v1/models", base_url);
    if (load_fetch(url, api_key, NULL, &answer, error) == STATUS_OK) {
        yyjson_doc *document = yyjson_read(answer.data, answer.len, 0);
        yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(document), "data");
        const char *id = yyjson_get_str(yyjson_obj_get(yyjson_arr_get_first(list), "id"));
        if (id)
            name = strdup(id);
        else
            error_set(error, STATUS_INVALID, "--model", "%s lists no model; name one", url);
        yyjson_doc_free(document);
    }
    buffer_free(&answer);
    return name;
}

static int fail(const struct error *error)
{
    fprintf(stderr, "penstock bench: %s\n", error->message);
    return error->status == STATUS_INVALID ? 2 : 1;
}

static enum status measure(const struct load_options *options, struct error *error)
{
    struct load_request *requests = NULL;
    int count = 0, warmups = options->num_warmups;
    int64_t duration_ns = 0;
    enum status status = load_data_make(options, &requests, &count, error);
    if (status) return status;
    struct load_record *records = calloc((size_t)count, sizeof(*records));
    CHECK(records);
    if (warmups) {
        struct load_options quiet = *options;
        quiet.disable_tqdm = true;
        status = load_run(&quiet, requests, warmups, records, &duration_ns, error);
    }
    if (!status)
        status = load_run(options, requests + warmups, count - warmups, records + warmups,
                          &duration_ns, error);
    if (!status)
        status = load_report(options, requests + warmups, records + warmups, count - warmups,
                             duration_ns, error);
    int failed = 0;
    for (int i = 0; i < count; i++) {
        failed += !records[i].success;
        free(records[i].gaps_ns);
    }
    if (!status && failed == count)
        status = error_set(error, STATUS_IO, NULL, "every request failed");
    free(records);
    load_requests_free(requests, count);
    return status;
}

int command_bench_serve(int argc, char **argv)
{
    struct load_options options;
    struct error error = {0};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return load_options_help(), 0;
    if (load_options_parse(&options, argc, argv, &error)) return fail(&error);
    char *found = NULL;
    if (!options.model) {
        options.model = found = find_model(options.base_url, options.api_key, &error);
        if (!found) return fail(&error);
    }
    enum status status = measure(&options, &error);
    free(found);
    return status ? fail(&error) : 0;
}

/* ---- once ---- */

/* Until /ready says yes; a server that just started needs a moment. */
static bool wait_until_ready(const char *base_url, double seconds)
{
    char url[1024];
    snprintf(url, sizeof(url), "%s/ready", base_url);
    for (int64_t start = clock_ns(); (double)(clock_ns() - start) < seconds * 1e9;) {
        struct buffer answer = {0};
        enum status status = load_fetch(url, NULL, NULL, &answer, NULL);
        buffer_free(&answer);
        if (!status) return true;
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    }
    return false;
}

struct stream { /* of one chat answer */
    struct buffer line;
    int64_t start_ns, first_ns, end_ns;
    int tokens;
};

static void take_line(struct stream *stream, const char *data, size_t len)
{
    yyjson_doc *document = yyjson_read(data, len, 0);
    yyjson_val *root = yyjson_doc_get_root(document);
    yyjson_val *choice = yyjson_arr_get_first(yyjson_obj_get(root, "choices"));
    const char *text = yyjson_get_str(yyjson_obj_get(yyjson_obj_get(choice, "delta"), "content"));
    if (text && *text) {
        stream->end_ns = clock_ns();
        if (!stream->first_ns) stream->first_ns = stream->end_ns;
        fputs(text, stdout);
        fflush(stdout);
    }
    yyjson_val *usage = yyjson_obj_get(root, "usage");
    if (yyjson_is_obj(usage))
        stream->tokens = yyjson_get_int(yyjson_obj_get(usage, "completion_tokens"));
    yyjson_doc_free(document);
}

static size_t take_stream(char *data, size_t size, size_t count, void *arg)
{
    struct stream *stream = arg;
    for (size_t i = 0; i < size * count; i++) {
        if (data[i] != '\n') {
            buffer_append_char(&stream->line, data[i]);
            continue;
        }
        if (stream->line.len > 6 && !memcmp(stream->line.data, "data: ", 6))
            take_line(stream, stream->line.data + 6, stream->line.len - 6);
        buffer_clear(&stream->line);
    }
    return size * count;
}

static int ask(const char *base_url, const char *model, const char *prompt)
{
    char url[1024];
    snprintf(url, sizeof(url), "%s/v1/chat/completions", base_url);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "model", model);
    yyjson_mut_val *messages = yyjson_mut_obj_add_arr(doc, root, "messages");
    yyjson_mut_val *message = yyjson_mut_arr_add_obj(doc, messages);
    yyjson_mut_obj_add_str(doc, message, "role", "user");
    yyjson_mut_obj_add_str(doc, message, "content", prompt);
    yyjson_mut_obj_add_real(doc, root, "temperature", 0);
    yyjson_mut_obj_add_bool(doc, root, "stream", true);
    yyjson_mut_val *stream_options = yyjson_mut_obj_add_obj(doc, root, "stream_options");
    yyjson_mut_obj_add_bool(doc, stream_options, "include_usage", true);
    char *body = yyjson_mut_write(doc, 0, NULL);

    struct stream stream = {.start_ns = clock_ns()};
    CURL *curl = curl_easy_init();
    CHECK(curl && body);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_stream);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &stream);
    CURLcode code = curl_easy_perform(curl);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    free(body);
    yyjson_mut_doc_free(doc);
    buffer_free(&stream.line);
    if (code || !stream.first_ns) {
        fprintf(stderr, "penstock bench once: %s\n", code ? curl_easy_strerror(code) : "no answer");
        return 1;
    }
    double rest = (double)(stream.end_ns - stream.first_ns) * 1e-9;
    printf("\n\ntime to first token %.1f ms", (double)(stream.first_ns - stream.start_ns) * 1e-6);
    if (stream.tokens > 1 && rest > 0) printf(", then %.1f tokens/s", (stream.tokens - 1) / rest);
    printf(" (%d tokens)\n", stream.tokens);
    return 0;
}

int command_bench_once(int argc, char **argv)
{
    const char *base_url = "http://127.0.0.1:8000", *prompt = "What is the capital of France?";
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--base-url") && i + 1 < argc)
            base_url = argv[++i];
        else if (!strcmp(argv[i], "--prompt") && i + 1 < argc)
            prompt = argv[++i];
        else {
            bool help = !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
            fprintf(help ? stdout : stderr,
                    "Usage: penstock bench once [--base-url URL] [--prompt TEXT]\n\nWaits for a "
                    "server, asks it one thing over chat completions, prints the answer, the time "
                    "to\nfirst token and the tokens per second after it.\n");
            return help ? 0 : 2;
        }
    }
    struct error error = {0};
    if (!wait_until_ready(base_url, 60)) {
        fprintf(stderr, "penstock bench once: %s is not ready after 60 s\n", base_url);
        return 1;
    }
    char *model = find_model(base_url, NULL, &error);
    if (!model) return fail(&error);
    printf("> %s\n", prompt);
    int code = ask(base_url, model, prompt);
    free(model);
    return code;
}
