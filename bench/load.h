/*
 * load.h - the load generator: what is asked of a server, when, and what came back.
 *
 * Thread: everything runs on the main thread's libuv loop. Times are clock_ns. Options, requests
 * and records live until the run is reported.
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

enum load_dataset { DATASET_RANDOM, DATASET_SHAREGPT, DATASET_CUSTOM, DATASET_PREFIX };
enum load_ramp { RAMP_NONE, RAMP_LINEAR, RAMP_EXPONENTIAL };
enum { PERCENTILES_MAX = 16, GOODPUT_NONE = -1 };

struct load_options {
    bool chat; /* --backend openai-chat */
    const char *base_url, *endpoint, *model, *tokenizer, *api_key;
    enum load_dataset dataset;
    const char *dataset_path;
    int num_prompts, num_warmups, max_concurrency; /* max_concurrency 0: no limit */
    int input_len, output_len, prefix_len, prefix_count;
    double range_ratio;
    double request_rate; /* a second; INFINITY: all at once */
    double burstiness;   /* gamma's shape: 1 is Poisson */
    enum load_ramp ramp;
    double ramp_start, ramp_end;
    bool ignore_eos, disable_tqdm;
    double temperature;
    uint64_t seed;
    double percentiles[PERCENTILES_MAX];
    int percentile_count;
    bool metric_ttft, metric_tpot, metric_itl, metric_e2el;   /* --percentile-metrics */
    double goodput_ttft_ms, goodput_tpot_ms, goodput_e2el_ms; /* GOODPUT_NONE: not asked */
    bool save_result, save_detailed;
    const char *result_dir, *result_filename;
};

struct load_request {
    char *body; /* JSON; owned */
    size_t body_len;
    int prompt_len; /* tokens, as far as the generator knows */
    int output_len; /* asked for */
    int64_t due_ns; /* after the start of the run */
};

struct load_record { /* of one request, same index */
    bool success;
    int64_t start_ns, first_ns,
        end_ns;                 /* start: when it was due, or when a slot was free (closed loop) */
    int prompt_len, output_len; /* as the server's usage says, else as counted */
    int64_t *gaps_ns;           /* between chunks with text */
    int gap_count, gap_capacity;
    char error[128];
};

/* Parses `penstock bench serve` arguments. */
enum status load_options_parse(struct load_options *options, int argc, char **argv,
                               struct error *error);
void load_options_help(void);

/* Makes options->num_prompts (+ num_warmups first) requests; free with load_requests_free. */
enum status load_data_make(const struct load_options *options, struct load_request **out,
                           int *count, struct error *error);
void load_requests_free(struct load_request *requests, int count);

/* Sends requests [0, count) as they are due; records[count] zeroed by the caller. Returns the
 * duration. */
enum status load_run(const struct load_options *options, const struct load_request *requests,
                     int count, struct load_record *records, int64_t *duration_ns,
                     struct error *error);

/* vLLM's table to stdout, its JSON to the result file where asked. */
enum status load_report(const struct load_options *options, const struct load_request *requests,
                        const struct load_record *records, int count, int64_t duration_ns,
                        struct error *error);

/* GET or POST (body not NULL) with a whole answer, blocking. STATUS_IO where there is no 2xx. */
enum status load_fetch(const char *url, const char *api_key, const char *body, struct buffer *out,
                       struct error *error);

int command_bench_serve(int argc, char **argv);
int command_bench_once(int argc, char **argv);

#endif
