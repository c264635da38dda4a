/*
 * offline.c - `penstock bench offline` and `bench latency`: throughput and single-stream speed of
 * the engine in this process, with the share of what the machine's memory and arithmetic could
 * give.
 *
 * A decode step must read every weight once and the KV cache once: bytes / time against the read
 * bandwidth measured in the same run. A prefill multiplies every weight of the layers by every
 * token: 2 x weights x tokens / time against the measured peak of the instruction for their type.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ceilings.h"
#include "bench/local.h"
#include "runtime/base/check.h"

static const char offline_usage[] =
    "Usage: penstock bench offline [MODEL] [-p LIST] [-n LIST] [-d LIST] [--streams LIST] [-r N] "
    "[ENGINE OPTIONS]\n\n"
    "Times prefill of -p tokens, decode of -n tokens, each behind -d tokens that are in the cache, "
    "and\n"
    "--streams requests of -p + -n tokens at once; medians of -r repetitions.\n\n"
    "  penstock bench offline model.gguf -p 512 -n 128 -d 0,8192 --streams 16 -r 5\n\n";
static const char latency_usage[] =
    "Usage: penstock bench latency [MODEL] [-p LIST] [-n LIST] [-r N] [ENGINE OPTIONS]\n\n"
    "One request at a time: time to first token of -p tokens, then the time of each of -n "
    "tokens.\n\n";

struct bench {
    struct local local;
    const struct local_options *options;
    struct ceilings ceilings;
    size_t weight_bytes;
    double weights; /* how many */
};

static int fail(const struct error *error)
{
    fprintf(stderr, "penstock bench: %s\n", error->message);
    return 1;
}

static int32_t *make_ids(struct bench *bench, int count)
{
    int32_t *ids = calloc((size_t)count + 1, sizeof(*ids));
    CHECK(ids);
    local_random_ids(&bench->local, ids, count);
    return ids;
}

static void print_row(const char *test, double *rates, int count, const char *share)
{
    double low, high, middle = local_median(rates, count, &low, &high);
    printf("| %-22s | %10.2f | %10.2f - %-10.2f | %-28s |\n", test, middle, low, high, share);
    fflush(stdout);
}

/* `len` new tokens behind `depth` cached ones; the cached part is computed first, unmeasured. */
static void measure_prefill(struct bench *bench, int len, int depth)
{
    int count = bench->options->repetitions;
    double *rates = calloc((size_t)count, sizeof(*rates)), low, high;
    struct local_times times;
    CHECK(rates);
    int32_t *ids = make_ids(bench, depth + len);
    if (depth) local_run(&bench->local, ids, depth, 1, 1, &times);
    for (int i = -1; i < count; i++) { /* -1: warm-up */
        local_random_ids(&bench->local, ids + depth, len);
        local_run(&bench->local, ids, depth + len, 1, 1, &times);
        if (i >= 0) rates[i] = len / times.first_s;
    }
    char test[40], share[48];
    double rate = local_median(rates, count, &low, &high) * 2 * bench->weights * 1e-9;
    snprintf(test, sizeof(test), depth ? "pp%d @ d%d" : "pp%d", len, depth);
    snprintf(share, sizeof(share), "%.0f of %.0f GOPS, %.0f%%", rate, bench->ceilings.peak_gops,
             100 * rate / bench->ceilings.peak_gops);
    print_row(test, rates, count, share);
    free(rates), free(ids);
}

static void measure_decode(struct bench *bench, int len, int depth)
{
    int count = bench->options->repetitions, prompt = depth + 1;
    double *rates = calloc((size_t)count, sizeof(*rates)), low, high;
    struct local_times times;
    CHECK(rates);
    int32_t *ids = make_ids(bench, prompt);
    if (depth) local_run(&bench->local, ids, prompt, 1, 1, &times);
    for (int i = -1; i < count; i++) {
        local_random_ids(&bench->local, ids + depth, 1);
        local_run(&bench->local, ids, prompt, len + 1, 1, &times);
        if (i >= 0) rates[i] = (times.tokens - 1) / (times.last_s - times.first_s);
    }
    const struct executor_info *info = executor_info(bench->local.service->executor);
    double per_token = (double)info->kv_bytes / ((double)info->page_count * info->page_tokens);
    double bytes = (double)bench->weight_bytes + per_token * (depth + len / 2.0);
    double rate = local_median(rates, count, &low, &high) * bytes * 1e-9;
    char test[40], share[48];
    snprintf(test, sizeof(test), depth ? "tg%d @ d%d" : "tg%d", len, depth);
    snprintf(share, sizeof(share), "%.1f of %.1f GB/s, %.0f%%", rate, bench->ceilings.read_gbs,
             100 * rate / bench->ceilings.read_gbs);
    print_row(test, rates, count, share);
    free(rates), free(ids);
}

static void measure_streams(struct bench *bench, int prompt, int generate, int streams)
{
    int count = bench->options->repetitions;
    double *rates = calloc((size_t)count, sizeof(*rates));
    struct local_times *times = calloc((size_t)streams, sizeof(*times));
    int32_t *ids = make_ids(bench, prompt * streams);
    CHECK(rates && times);
    for (int i = -1; i < count; i++) {
        local_random_ids(&bench->local, ids, prompt * streams);
        double seconds = local_run(&bench->local, ids, prompt, generate, streams, times);
        if (i >= 0) rates[i] = (double)streams * (prompt + generate) / seconds;
    }
    char test[40];
    snprintf(test, sizeof(test), "%d x (%d + %d)", streams, prompt, generate);
    print_row(test, rates, count, "prompt and new tokens");
    free(rates), free(times), free(ids);
}

static enum status open_bench(struct bench *bench, const struct local_options *options,
                              struct error *error)
{
    bench->options = options;
    enum status status = local_open(&bench->local, &options->engine, error);
    if (status) return status;
    const struct executor_info *info = executor_info(bench->local.service->executor);
    bench->weight_bytes = info->weight_bytes;
    enum dtype dtype = model_config(bench->local.service->model)->dtype;
    bench->weights =
        (double)info->weight_bytes / ((double)dtype_row_bytes(dtype, QUANT_BLOCK) / QUANT_BLOCK);
    ceilings_measure(&bench->ceilings, info->threads, dtype);
    printf("%s, %s, %d threads, %d ranks; ceilings measured now: read %.1f GB/s, %s %.0f GOPS\n\n",
           model_name(bench->local.service->model), dtype_name(dtype), info->threads,
           info->rank_count, bench->ceilings.read_gbs, bench->ceilings.peak_name,
           bench->ceilings.peak_gops);
    return STATUS_OK;
}

int command_bench_offline(int argc, char **argv)
{
    struct local_options options = {.repetitions = 5};
    struct bench bench = {0};
    struct error error = {0};
    int code;
    if (!local_parse(&options, argc, argv, offline_usage, &code)) return code;
    if (!options.prompt.count) options.prompt = (struct local_list){{512}, 1};
    if (!options.generate.count) options.generate = (struct local_list){{128}, 1};
    if (!options.depth.count) options.depth = (struct local_list){{0}, 1};
    if (open_bench(&bench, &options, &error)) return fail(&error);
    printf("| %-22s | %10s | %-23s | %-28s |\n|---|---|---|---|\n", "test", "tokens/s",
           "smallest - largest", "of the ceiling");
    for (int d = 0; d < options.depth.count; d++) {
        int depth = options.depth.values[d];
        for (int i = 0; i < options.prompt.count; i++)
            if (options.prompt.values[i]) measure_prefill(&bench, options.prompt.values[i], depth);
        for (int i = 0; i < options.generate.count; i++)
            if (options.generate.values[i])
                measure_decode(&bench, options.generate.values[i], depth);
    }
    for (int i = 0; i < options.streams.count; i++)
        measure_streams(&bench, options.prompt.values[0], options.generate.values[0],
                        options.streams.values[i]);
    struct buffer profile = {0};
    if (options.engine.profile) executor_print_profile(bench.local.service->executor, &profile);
    if (profile.len) printf("\n%s", profile.data);
    buffer_free(&profile);
    local_close(&bench.local);
    options_free(&options.engine);
    return 0;
}

int command_bench_latency(int argc, char **argv)
{
    struct local_options options = {.repetitions = 5};
    struct bench bench = {0};
    struct error error = {0};
    int code;
    if (!local_parse(&options, argc, argv, latency_usage, &code)) return code;
    int prompt = options.prompt.count ? options.prompt.values[0] : 128;
    int generate = options.generate.count ? options.generate.values[0] : 128,
        count = options.repetitions;
    if (open_bench(&bench, &options, &error)) return fail(&error);
    double *first = calloc((size_t)count, sizeof(*first)),
           *each = calloc((size_t)count, sizeof(*each));
    int32_t *ids = make_ids(&bench, prompt);
    CHECK(first && each);
    for (int i = -1; i < count; i++) {
        struct local_times times;
        local_random_ids(&bench.local, ids, prompt);
        local_run(&bench.local, ids, prompt, generate, 1, &times);
        if (i < 0) continue;
        first[i] = times.first_s * 1e3;
        each[i] = times.tokens > 1 ? (times.last_s - times.first_s) / (times.tokens - 1) * 1e3 : 0;
    }
    double low, high, middle = local_median(first, count, &low, &high);
    printf("time to first token of %d: %.2f ms (%.2f - %.2f)\n", prompt, middle, low, high);
    middle = local_median(each, count, &low, &high);
    printf("time per token of %d: %.3f ms (%.3f - %.3f), %.1f tokens/s\n", generate, middle, low,
           high, middle > 0 ? 1e3 / middle : 0);
    free(first), free(each), free(ids);
    local_close(&bench.local);
    options_free(&options.engine);
    return 0;
}
