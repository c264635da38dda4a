/*
 * load_report.c - the numbers of a run: vLLM's table, vLLM's JSON keys.
 *
 * TTFT: first text minus start. TPOT: (end - first text) / (tokens - 1). ITL: gaps between chunks
 * with text. E2EL: end minus start. Percentiles interpolate linearly, as numpy's do.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "bench/load.h"
#include "bench/samples.h"
#include "runtime/base/check.h"

struct series { /* milliseconds, sorted */
    double *values;
    int count, capacity;
};

struct report {
    struct series ttft, tpot, itl, e2el;
    int completed, failed, good;
    int64_t input_tokens, output_tokens;
    double duration_s;
    const char *first_error;
};

static void add(struct series *series, double value)
{
    if (series->count == series->capacity) {
        series->capacity = series->capacity ? series->capacity * 2 : 256;
        series->values = realloc(series->values, (size_t)series->capacity * sizeof(double));
        CHECK(series->values);
    }
    series->values[series->count++] = value;
}

static double percentile(const struct series *series, double p)
{
    if (!series->count) return 0;
    double at = p / 100 * (series->count - 1);
    int low = (int)at, high = low + 1 < series->count ? low + 1 : low;
    return series->values[low] + (series->values[high] - series->values[low]) * (at - low);
}

static double mean(const struct series *series)
{
    double sum = 0;
    for (int i = 0; i < series->count; i++) sum += series->values[i];
    return series->count ? sum / series->count : 0;
}

static double deviation(const struct series *series)
{
    double sum = 0, middle = mean(series);
    for (int i = 0; i < series->count; i++)
        sum += (series->values[i] - middle) * (series->values[i] - middle);
    return series->count ? sqrt(sum / series->count) : 0;
}

static bool is_good(const struct load_options *options, double ttft, double tpot, double e2el)
{
    return (options->goodput_ttft_ms < 0 || ttft <= options->goodput_ttft_ms) &&
           (options->goodput_tpot_ms < 0 || tpot <= options->goodput_tpot_ms) &&
           (options->goodput_e2el_ms < 0 || e2el <= options->goodput_e2el_ms);
}

static void collect(struct report *report, const struct load_options *options,
                    const struct load_request *requests, const struct load_record *records,
                    int count)
{
    for (int i = 0; i < count; i++) {
        const struct load_record *r = &records[i];
        if (!r->success) {
            report->failed++;
            if (!report->first_error) report->first_error = r->error;
            continue;
        }
        int64_t first = r->first_ns ? r->first_ns : r->end_ns;
        double ttft = (double)(first - r->start_ns) * 1e-6;
        double e2el = (double)(r->end_ns - r->start_ns) * 1e-6, tpot = 0;
        report->completed++;
        report->input_tokens += r->prompt_len > 0 ? r->prompt_len : requests[i].prompt_len;
        report->output_tokens += r->output_len;
        add(&report->ttft, ttft);
        add(&report->e2el, e2el);
        if (r->output_len > 1) {
            tpot = (e2el - ttft) / (r->output_len - 1);
            add(&report->tpot, tpot);
        }
        for (int g = 0; g < r->gap_count; g++) add(&report->itl, (double)r->gaps_ns[g] * 1e-6);
        report->good += is_good(options, ttft, tpot, e2el);
    }
    samples_sort(report->ttft.values, report->ttft.count);
    samples_sort(report->tpot.values, report->tpot.count);
    samples_sort(report->itl.values, report->itl.count);
    samples_sort(report->e2el.values, report->e2el.count);
}

static double rate(const struct report *report, double amount)
{
    return report->duration_s > 0 ? amount / report->duration_s : 0;
}

static bool has_goodput(const struct load_options *options)
{
    return options->goodput_ttft_ms >= 0 || options->goodput_tpot_ms >= 0 ||
           options->goodput_e2el_ms >= 0;
}

static void print_heading(const char *text, char fill)
{
    int left = (50 - (int)strlen(text)) / 2;
    for (int i = 0; i < left; i++) putchar(fill);
    fputs(text, stdout);
    for (int i = left + (int)strlen(text); i < 50; i++) putchar(fill);
    putchar('\n');
}

static void print_series(const struct load_options *options, const struct series *series,
                         const char *title, const char *label)
{
    char text[64];
    print_heading(title, '-');
    snprintf(text, sizeof(text), "Mean %s (ms):", label);
    printf("%-40s %-10.2f\n", text, mean(series));
    snprintf(text, sizeof(text), "Median %s (ms):", label);
    printf("%-40s %-10.2f\n", text, percentile(series, 50));
    for (int i = 0; i < options->percentile_count; i++) {
        snprintf(text, sizeof(text), "P%g %s (ms):", options->percentiles[i], label);
        printf("%-40s %-10.2f\n", text, percentile(series, options->percentiles[i]));
    }
}

static void print_table(const struct load_options *options, const struct report *report)
{
    print_heading(" Serving Benchmark Result ", '=');
    printf("%-40s %-10d\n", "Successful requests:", report->completed);
    printf("%-40s %-10d\n", "Failed requests:", report->failed);
    if (options->max_concurrency)
        printf("%-40s %-10d\n", "Maximum request concurrency:", options->max_concurrency);
    if (isfinite(options->request_rate))
        printf("%-40s %-10.2f\n", "Request rate configured (RPS):", options->request_rate);
    printf("%-40s %-10.2f\n", "Benchmark duration (s):", report->duration_s);
    printf("%-40s %-10lld\n", "Total input tokens:", (long long)report->input_tokens);
    printf("%-40s %-10lld\n", "Total generated tokens:", (long long)report->output_tokens);
    printf("%-40s %-10.2f\n", "Request throughput (req/s):", rate(report, report->completed));
    if (has_goodput(options))
        printf("%-40s %-10.2f\n", "Request goodput (req/s):", rate(report, report->good));
    printf("%-40s %-10.2f\n",
           "Output token throughput (tok/s):", rate(report, (double)report->output_tokens));
    printf("%-40s %-10.2f\n", "Total token throughput (tok/s):",
           rate(report, (double)(report->input_tokens + report->output_tokens)));
    if (options->metric_ttft) print_series(options, &report->ttft, "Time to First Token", "TTFT");
    if (options->metric_tpot)
        print_series(options, &report->tpot, "Time per Output Token (excl. 1st token)", "TPOT");
    if (options->metric_itl) print_series(options, &report->itl, "Inter-token Latency", "ITL");
    if (options->metric_e2el) print_series(options, &report->e2el, "End-to-end Latency", "E2EL");
    print_heading("", '=');
    if (report->first_error) printf("The first failure: %s\n", report->first_error);
}

/* ---- JSON ---- */

static void put_number(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *prefix,
                       const char *name, double value)
{
    char key[64];
    snprintf(key, sizeof(key), "%s%s_ms", prefix, name);
    yyjson_mut_obj_put(root, yyjson_mut_strcpy(doc, key), yyjson_mut_real(doc, value));
}

static void put_series(const struct load_options *options, yyjson_mut_doc *doc,
                       yyjson_mut_val *root, const struct series *series, const char *name)
{
    put_number(doc, root, "mean_", name, mean(series));
    put_number(doc, root, "median_", name, percentile(series, 50));
    put_number(doc, root, "std_", name, deviation(series));
    for (int i = 0; i < options->percentile_count; i++) {
        char prefix[32];
        snprintf(prefix, sizeof(prefix), "p%g_", options->percentiles[i]);
        put_number(doc, root, prefix, name, percentile(series, options->percentiles[i]));
    }
}

static void put_detail(yyjson_mut_doc *doc, yyjson_mut_val *root,
                       const struct load_request *requests, const struct load_record *records,
                       int count)
{
    yyjson_mut_val *inputs = yyjson_mut_obj_add_arr(doc, root, "input_lens");
    yyjson_mut_val *outputs = yyjson_mut_obj_add_arr(doc, root, "output_lens");
    yyjson_mut_val *ttfts = yyjson_mut_obj_add_arr(doc, root, "ttfts");
    yyjson_mut_val *itls = yyjson_mut_obj_add_arr(doc, root, "itls");
    yyjson_mut_val *errors = yyjson_mut_obj_add_arr(doc, root, "errors");
    for (int i = 0; i < count; i++) {
        const struct load_record *r = &records[i];
        yyjson_mut_arr_add_int(doc, inputs,
                               r->prompt_len > 0 ? r->prompt_len : requests[i].prompt_len);
        yyjson_mut_arr_add_int(doc, outputs, r->output_len);
        yyjson_mut_arr_add_real(doc, ttfts,
                                r->first_ns ? (double)(r->first_ns - r->start_ns) * 1e-9 : 0);
        yyjson_mut_val *gaps = yyjson_mut_arr_add_arr(doc, itls);
        for (int g = 0; g < r->gap_count; g++)
            yyjson_mut_arr_add_real(doc, gaps, (double)r->gaps_ns[g] * 1e-9);
        yyjson_mut_arr_add_str(doc, errors, r->error);
    }
}

static void put_summary(const struct load_options *options, const struct report *report,
                        yyjson_mut_doc *doc, yyjson_mut_val *root)
{
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof(date), "%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    yyjson_mut_obj_add_strcpy(doc, root, "date", date);
    yyjson_mut_obj_add_str(doc, root, "backend", options->chat ? "openai-chat" : "openai");
    yyjson_mut_obj_add_str(doc, root, "model_id", options->model);
    yyjson_mut_obj_add_int(doc, root, "num_prompts", options->num_prompts);
    if (isfinite(options->request_rate))
        yyjson_mut_obj_add_real(doc, root, "request_rate", options->request_rate);
    else
        yyjson_mut_obj_add_str(doc, root, "request_rate", "inf");
    yyjson_mut_obj_add_real(doc, root, "burstiness", options->burstiness);
    if (options->max_concurrency)
        yyjson_mut_obj_add_int(doc, root, "max_concurrency", options->max_concurrency);
    yyjson_mut_obj_add_real(doc, root, "duration", report->duration_s);
    yyjson_mut_obj_add_int(doc, root, "completed", report->completed);
    yyjson_mut_obj_add_int(doc, root, "failed", report->failed);
    yyjson_mut_obj_add_int(doc, root, "total_input_tokens", report->input_tokens);
    yyjson_mut_obj_add_int(doc, root, "total_output_tokens", report->output_tokens);
    yyjson_mut_obj_add_real(doc, root, "request_throughput", rate(report, report->completed));
    if (has_goodput(options))
        yyjson_mut_obj_add_real(doc, root, "request_goodput", rate(report, report->good));
    yyjson_mut_obj_add_real(doc, root, "output_throughput",
                            rate(report, (double)report->output_tokens));
    yyjson_mut_obj_add_real(doc, root, "total_token_throughput",
                            rate(report, (double)(report->input_tokens + report->output_tokens)));
    put_series(options, doc, root, &report->ttft, "ttft");
    put_series(options, doc, root, &report->tpot, "tpot");
    put_series(options, doc, root, &report->itl, "itl");
    put_series(options, doc, root, &report->e2el, "e2el");
}

static enum status save(const struct load_options *options, const struct report *report,
                        const struct load_request *requests, const struct load_record *records,
                        int count, struct error *error)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", options->result_dir ? options->result_dir : ".",
             options->result_filename ? options->result_filename : "penstock-bench.json");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    put_summary(options, report, doc, root);
    if (options->save_detailed) put_detail(doc, root, requests, records, count);
    bool written = yyjson_mut_write_file(path, doc, YYJSON_WRITE_PRETTY, NULL, NULL);
    yyjson_mut_doc_free(doc);
    if (!written)
        return error_set(error, STATUS_IO, "--result-filename", "cannot write %s: %s", path,
                         strerror(errno));
    return STATUS_OK;
}

enum status load_report(const struct load_options *options, const struct load_request *requests,
                        const struct load_record *records, int count, int64_t duration_ns,
                        struct error *error)
{
    struct report report = {.duration_s = (double)duration_ns * 1e-9};
    collect(&report, options, requests, records, count);
    print_table(options, &report);
    enum status status =
        options->save_result ? save(options, &report, requests, records, count, error) : STATUS_OK;
    free(report.ttft.values), free(report.tpot.values);
    free(report.itl.values), free(report.e2el.values);
    return status;
}
