/*
 * cmd_tokenize.c - `penstock tokenize`: text to token ids and back, a line at a time.
 *
 * Thread: main. It reads stdin to its end and holds one line at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "runtime/gguf.h"
#include "server/commands.h"
#include "server/text/tokenizer.h"

enum { BENCHMARK_MIN_MS = 1500 };

struct tokenize_options {
    const char *model;
    const char *benchmark; /* a text file */
    bool decode, add_special, keep_special;
    int parse_special; /* -1: as the published library */
};

static void print_usage(FILE *to)
{
    fprintf(
        to,
        "Usage: penstock tokenize MODEL [OPTIONS]\n\n"
        "Reads JSON strings from stdin, one a line, and writes a JSON array of token ids for\n"
        "each. MODEL is a directory with a tokenizer.json or tokenizer.model, one of these files,\n"
        "or a .gguf file.\n\n"
        "Options:\n"
        "  --decode             the other way: arrays of ids in, strings out\n"
        "  --add-special        put the model's own BOS and EOS around each text\n"
        "  --parse-special      special tokens written in a text become their ids (what the\n"
        "                       `tokenizers` library does, and the default for its files)\n"
        "  --no-parse-special   they are plain text (what `sentencepiece` does, and the default\n"
        "                       for a tokenizer.model)\n"
        "  --keep-special       with --decode: write special tokens out, do not skip them\n"
        "  --benchmark FILE     encode FILE's lines again and again on one core and print MB/s\n");
}

static int parse_options(int argc, char **argv, struct tokenize_options *options)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (!strcmp(arg, "--decode")) {
            options->decode = true;
        } else if (!strcmp(arg, "--add-special")) {
            options->add_special = true;
        } else if (!strcmp(arg, "--parse-special")) {
            options->parse_special = 1;
        } else if (!strcmp(arg, "--no-parse-special")) {
            options->parse_special = 0;
        } else if (!strcmp(arg, "--keep-special")) {
            options->keep_special = true;
        } else if (!strcmp(arg, "--benchmark") && i + 1 < argc) {
            options->benchmark = argv[++i];
        } else if (arg[0] == '-' || options->model) {
            fprintf(stderr, "penstock tokenize: '%s' is not understood; see --help\n", arg);
            return 2;
        } else {
            options->model = arg;
        }
    }
    if (options->model) return 0;
    fprintf(stderr, "penstock tokenize: no MODEL given; see --help\n");
    return 2;
}

static enum status encode_line(const struct tokenizer *tokenizer,
                               const struct tokenize_options *options, yyjson_val *value,
                               struct buffer *out, struct error *error)
{
    struct token_list ids = {0};
    if (!yyjson_is_str(value))
        return error_set(error, STATUS_INVALID, NULL, "it is not a JSON string");
    enum status status =
        tokenizer_encode(tokenizer, yyjson_get_str(value), yyjson_get_len(value),
                         options->add_special, options->parse_special, &ids, error);
    buffer_append_char(out, '[');
    for (int i = 0; i < ids.count; i++) buffer_printf(out, i ? ", %d" : "%d", ids.ids[i]);
    buffer_append_string(out, "]\n");
    token_list_free(&ids);
    return status;
}

static enum status decode_line(const struct tokenizer *tokenizer,
                               const struct tokenize_options *options, yyjson_val *value,
                               struct buffer *out, struct error *error)
{
    struct token_list ids = {0};
    struct buffer text = {0};
    size_t i, count;
    yyjson_val *item;
    enum status status = STATUS_OK;
    if (!yyjson_is_arr(value))
        return error_set(error, STATUS_INVALID, NULL, "it is not a JSON array");
    yyjson_arr_foreach(value, i, count, item)
    {
        if (!yyjson_is_uint(item) || yyjson_get_uint(item) > INT32_MAX) {
            status = error_set(error, STATUS_INVALID, NULL, "item %zu is not a token id", i);
            break;
        }
        token_list_append(&ids, (int32_t)yyjson_get_uint(item));
    }
    if (!status)
        status =
            tokenizer_decode(tokenizer, ids.ids, ids.count, !options->keep_special, &text, error);
    if (!status) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_doc_set_root(doc, yyjson_mut_strn(doc, text.data ? text.data : "", text.len));
        size_t len = 0;
        char *json = yyjson_mut_write(doc, 0, &len);
        buffer_append(out, json, json ? len : 0);
        buffer_append_char(out, '\n');
        free(json);
        yyjson_mut_doc_free(doc);
    }
    buffer_free(&text);
    token_list_free(&ids);
    return status;
}

static int convert_stdin(const struct tokenizer *tokenizer, const struct tokenize_options *options)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    struct buffer out = {0};
    int result = 0;
    for (long number = 1; !result && (len = getline(&line, &capacity, stdin)) >= 0; number++) {
        struct error error = {0};
        yyjson_read_err reason;
        yyjson_doc *doc = yyjson_read_opts(line, (size_t)len, 0, NULL, &reason);
        yyjson_val *root = yyjson_doc_get_root(doc);
        enum status status;
        buffer_clear(&out);
        if (!doc)
            status =
                error_set(&error, STATUS_INVALID, NULL, "it is not valid JSON: %s", reason.msg);
        else
            status = options->decode ? decode_line(tokenizer, options, root, &out, &error)
                                     : encode_line(tokenizer, options, root, &out, &error);
        yyjson_doc_free(doc);
        if (status) {
            fflush(stdout);
            fprintf(stderr, "penstock tokenize: line %ld: %s\n", number, error.message);
            result = 1;
        } else if (fwrite(out.data, 1, out.len, stdout) != out.len) {
            fprintf(stderr, "penstock tokenize: writing: %s\n", strerror(errno));
            result = 1;
        }
    }
    free(line);
    buffer_free(&out);
    if (fflush(stdout) && !result) result = 1;
    return result;
}

/* Nanoseconds of this thread on a core: the machine may have other work. */
static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Encodes the file's lines until BENCHMARK_MIN_MS have passed and prints the best round. */
static int run_benchmark(const struct tokenizer *tokenizer, const struct tokenize_options *options,
                         int64_t load_ns)
{
    FILE *file = fopen(options->benchmark, "rb");
    struct buffer text = {0};
    char chunk[1 << 16];
    struct token_list ids = {0};
    struct error error;
    enum status status = STATUS_OK;
    if (!file) {
        fprintf(stderr, "penstock tokenize: %s: %s\n", options->benchmark, strerror(errno));
        return 1;
    }
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), file)) > 0;) buffer_append(&text, chunk, n);
    fclose(file);
    double best = 0;
    int rounds = 0;
    for (int64_t start = cpu_ns(); !status && cpu_ns() - start < BENCHMARK_MIN_MS * 1000000LL;
         rounds++) {
        int64_t round = cpu_ns();
        ids.count = 0;
        for (size_t at = 0, end; at < text.len && !status; at = end) {
            const char *newline = memchr(text.data + at, '\n', text.len - at);
            end = newline ? (size_t)(newline - text.data) + 1 : text.len;
            status = tokenizer_encode(tokenizer, text.data + at, end - at, false,
                                      options->parse_special, &ids, &error);
        }
        double rate = (double)text.len / (double)(cpu_ns() - round) * 1e3;
        if (rate > best) best = rate;
    }
    if (status)
        fprintf(stderr, "penstock tokenize: %s\n", error.message);
    else
        printf("%s: loaded in %.1f ms; %zu bytes, %d tokens, %.2f MB/s (best of %d rounds)\n",
               options->model, (double)load_ns * 1e-6, text.len, ids.count, best, rounds);
    buffer_free(&text);
    token_list_free(&ids);
    return status != STATUS_OK;
}

/* MODEL is what tokenizer_load takes, or a GGUF file, known by its first bytes. */
static enum status load_any(const char *path, struct tokenizer **out, struct error *error)
{
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(magic, 1, sizeof(magic), file) : 0;
    if (file) fclose(file);
    if (n < sizeof(magic) || memcmp(magic, "GGUF", 4) != 0) return tokenizer_load(path, out, error);
    struct gguf *gguf;
    enum status status = gguf_open(path, &gguf, error);
    if (status) return status;
    status = tokenizer_load_gguf(gguf, out, error);
    gguf_close(gguf);
    return status ? error_prefix(error, status, "%s", path) : STATUS_OK;
}

int command_tokenize(int argc, char **argv)
{
    struct tokenize_options options = {.parse_special = -1};
    struct tokenizer *tokenizer = NULL;
    struct error error = {0};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return print_usage(stdout), 0;
    int result = parse_options(argc, argv, &options);
    if (result) return result;
    int64_t start = cpu_ns();
    if (load_any(options.model, &tokenizer, &error)) {
        fprintf(stderr, "penstock tokenize: %s\n", error.message);
        return 1;
    }
    if (options.parse_special < 0) options.parse_special = tokenizer_parses_special(tokenizer);
    result = options.benchmark ? run_benchmark(tokenizer, &options, cpu_ns() - start)
                               : convert_stdin(tokenizer, &options);
    tokenizer_destroy(tokenizer);
    return result;
}
