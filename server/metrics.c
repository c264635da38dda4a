/* metrics.c - see metrics.h. */
#include "server/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "scheduler/engine.h"
#include "server/histogram.h"
#include "server/memory_stats.h"
#include "server/service.h"

/* vLLM's bounds; below its first ones the finer ones that small models and fast steps need. */
static const double first_token_bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08,
                                            0.1,   0.25,   0.5,   0.75, 1,    2.5,  5,    7.5,
                                            10,    20,     40,    80,   160,  640,  2560};
static const double token_bounds[] = {0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02,
                                      0.025,  0.05,  0.075, 0.1,   0.15,  0.2,    0.3,  0.4,   0.5,
                                      0.75,   1,     2.5,   5,     7.5,   10,     20,   40,    80};
static const double request_bounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5,  0.8,
                                        1,     1.5,  2,     2.5,  5,   10,  15,  20,   30,
                                        40,    50,   60,    120,  240, 480, 960, 1920, 7680};
static const double length_bounds[] = {1,     2,      5,      10,     20,     50,    100,
                                       200,   500,    1000,   2000,   5000,   10000, 20000,
                                       50000, 100000, 200000, 500000, 1000000};
static const double choice_bounds[] = {1, 2, 5, 10, 20};

#define BOUNDS(name) name, sizeof(name) / sizeof(*name)

enum { REASONS = 4, HTTP_CODES = 600 };
static const char *const reason_names[REASONS] = {"stop", "length", "abort", "error"};

enum series {
    FIRST_TOKEN,
    INTER_TOKEN,
    PER_OUTPUT_TOKEN,
    E2E,
    QUEUE,
    INFERENCE,
    PREFILL,
    DECODE,
    PROMPT_LENGTH,
    GENERATED_LENGTH,
    MAX_TOKENS,
    CHOICES,
    SERIES_COUNT
};

static const struct {
    const char *name, *help;
    const double *bounds;
    int bound_count;
} series_specs[SERIES_COUNT] = {
    [FIRST_TOKEN] = {"vllm:time_to_first_token_seconds", "Time to the first token.",
                     BOUNDS(first_token_bounds)},
    [INTER_TOKEN] = {"vllm:inter_token_latency_seconds", "Time between tokens.",
                     BOUNDS(token_bounds)},
    [PER_OUTPUT_TOKEN] = {"vllm:request_time_per_output_token_seconds",
                          "Mean time per output token of a request, after the first.",
                          BOUNDS(token_bounds)},
    [E2E] = {"vllm:e2e_request_latency_seconds", "From arrival to the last token.",
             BOUNDS(request_bounds)},
    [QUEUE] = {"vllm:request_queue_time_seconds", "Time spent waiting.", BOUNDS(request_bounds)},
    [INFERENCE] = {"vllm:request_inference_time_seconds", "Time spent running.",
                   BOUNDS(request_bounds)},
    [PREFILL] = {"vllm:request_prefill_time_seconds", "From running to the first token.",
                 BOUNDS(request_bounds)},
    [DECODE] = {"vllm:request_decode_time_seconds", "From the first token to the last.",
                BOUNDS(request_bounds)},
    [PROMPT_LENGTH] = {"vllm:request_prompt_tokens", "Prompt tokens of a request.",
                       BOUNDS(length_bounds)},
    [GENERATED_LENGTH] = {"vllm:request_generation_tokens", "Generated tokens of a request.",
                          BOUNDS(length_bounds)},
    [MAX_TOKENS] = {"vllm:request_params_max_tokens", "max_tokens of requests.",
                    BOUNDS(length_bounds)},
    [CHOICES] = {"vllm:request_params_n", "n of requests.", BOUNDS(choice_bounds)},
};

struct metrics {
    char labels[512], label_name[400];
    struct histogram series[SERIES_COUNT];
    uint64_t finished[REASONS];
    uint64_t http_codes[HTTP_CODES];
    int64_t started_unix_s;
};

struct metrics *metrics_create(const char *model_name)
{
    struct metrics *metrics = calloc(1, sizeof(*metrics));
    CHECK(metrics);
    char *out = metrics->label_name, *end = out + sizeof(metrics->label_name) - 3;
    for (const char *c = model_name; *c && out < end; c++) {
        if (*c == '"' || *c == '\\' || *c == '\n') *out++ = '\\';
        *out++ = *c == '\n' ? 'n' : *c;
    }
    snprintf(metrics->labels, sizeof(metrics->labels), "model_name=\"%s\",engine=\"0\"",
             metrics->label_name);
    for (int i = 0; i < SERIES_COUNT; i++)
        histogram_init(&metrics->series[i], series_specs[i].bounds, series_specs[i].bound_count);
    metrics->started_unix_s = clock_unix_s();
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    free(metrics);
}

void metrics_request_started(struct metrics *metrics, const struct completion *completion)
{
    for (int i = 0; i < completion->choice_count; i++)
        histogram_add(&metrics->series[MAX_TOKENS], completion->params.sampling.max_tokens);
    histogram_add(&metrics->series[CHOICES], completion->params.n);
}

static void add_span(struct metrics *metrics, enum series series, int64_t from_ns, int64_t to_ns)
{
    if (from_ns && to_ns) histogram_add(&metrics->series[series], (double)(to_ns - from_ns) / 1e9);
}

static void observe_finish(struct metrics *metrics, const struct completion_choice *choice,
                           const struct engine_event *event)
{
    int64_t first = event->first_token_ns, last = event->finished_ns;
    /* What a stop string ended was cancelled for the engine only. */
    enum finish_reason finish = choice->stopped ? FINISH_STOP : event->finish;
    if (finish != FINISH_NONE) metrics->finished[finish - FINISH_STOP]++;
    add_span(metrics, FIRST_TOKEN, event->submitted_ns, first);
    add_span(metrics, E2E, event->submitted_ns, last);
    add_span(metrics, QUEUE, event->submitted_ns, event->scheduled_ns);
    add_span(metrics, INFERENCE, event->scheduled_ns, last);
    add_span(metrics, PREFILL, event->scheduled_ns, first);
    add_span(metrics, DECODE, first, last);
    if (event->generated_len > 1 && first)
        histogram_add(&metrics->series[PER_OUTPUT_TOKEN],
                      (double)(last - first) / 1e9 / (event->generated_len - 1));
    histogram_add(&metrics->series[PROMPT_LENGTH], event->prompt_len);
    histogram_add(&metrics->series[GENERATED_LENGTH], event->generated_len);
}

void metrics_observe(struct metrics *metrics, const struct completion_choice *choice,
                     const struct engine_event *event)
{
    if (event->kind == EVENT_TOKEN && choice->last_token_ns)
        add_span(metrics, INTER_TOKEN, choice->last_token_ns, clock_ns());
    if (event->kind == EVENT_FINISHED) observe_finish(metrics, choice, event);
}

void metrics_http_finished(struct metrics *metrics, int status)
{
    if (status > 0 && status < HTTP_CODES) metrics->http_codes[status]++;
}

/* ---- text ---- */

static void write_number(const struct metrics *metrics, struct buffer *out, const char *name,
                         const char *type, const char *help, double value)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s{%s} %.15g\n", name, help, name, type, name,
                  metrics->labels, value);
}

static void write_engine(const struct metrics *metrics, const struct engine_stats *stats,
                         struct buffer *out)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"vllm:num_requests_running", "gauge", "Sequences being computed.", stats->running},
        {"vllm:num_requests_waiting", "gauge", "Sequences waiting.", stats->waiting},
        {"vllm:kv_cache_usage_perc", "gauge", "Share of the KV pages in use, 0 to 1.",
         stats->pages_total > 0 ? (double)stats->pages_used / (double)stats->pages_total : 0},
        {"vllm:prefix_cache_queries_total", "counter",
         "Prompt tokens looked up in the prefix cache.", (double)stats->prefix_queries},
        {"vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.",
         (double)stats->prefix_hits},
        {"vllm:num_preemptions_total", "counter", "Sequences put back to waiting.",
         (double)stats->preemptions},
        {"vllm:prompt_tokens_total", "counter", "Prompt tokens computed.",
         (double)stats->prompt_tokens},
        {"vllm:generation_tokens_total", "counter", "Tokens generated.",
         (double)stats->generated_tokens},
        {"penstock:steps_total", "counter", "Iterations of the engine.", (double)stats->steps},
        {"penstock:kv_pages_used", "gauge", "KV pages referenced by live sequences.",
         (double)stats->pages_used},
        {"penstock:kv_pages", "gauge", "KV pages there are.", (double)stats->pages_total},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        write_number(metrics, out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
}

/* The engine counts its steps' sizes itself: 1, 2, 4, ... */
static void write_step_tokens(const struct metrics *metrics, const struct engine_stats *stats,
                              struct buffer *out)
{
    double bounds[STEP_TOKENS_BOUNDS];
    struct histogram histogram;
    for (int i = 0; i < STEP_TOKENS_BOUNDS; i++) bounds[i] = (double)(1 << i);
    histogram_init(&histogram, bounds, STEP_TOKENS_BOUNDS);
    for (int i = 0; i <= STEP_TOKENS_BOUNDS; i++)
        histogram.counts[i] = stats->step_tokens_counts[i];
    histogram.sum = (double)stats->step_tokens_sum;
    histogram_write(&histogram, "vllm:iteration_tokens_total", "Tokens per engine step.",
                    metrics->labels, out);
}

static void write_cache_config(const struct metrics *metrics, const struct service *service,
                               struct buffer *out)
{
    const struct executor_info *info = executor_info(service->executor);
    static const char name[] = "vllm:cache_config_info";
    buffer_printf(out,
                  "# HELP %s The KV cache's settings.\n# TYPE %s gauge\n"
                  "%s{%s,block_size=\"%d\",num_gpu_blocks=\"%" PRId64 "\",num_cpu_blocks=\"0\","
                  "cache_dtype=\"%s\",enable_prefix_caching=\"%s\",gpu_memory_utilization=\"%g\"} "
                  "1\n",
                  name, name, name, metrics->labels, info->page_tokens, info->page_count - 1,
                  service->options->kv_cache_dtype,
                  service->options->enable_prefix_caching ? "True" : "False",
                  service->options->gpu_memory_utilization);
}

static void write_counters(const struct metrics *metrics, struct buffer *out)
{
    static const char success[] = "vllm:request_success_total";
    static const char http[] = "penstock:http_responses_total";
    buffer_printf(out, "# HELP %s Sequences finished, by reason.\n# TYPE %s counter\n", success,
                  success);
    for (int i = 0; i < REASONS; i++)
        buffer_printf(out, "%s{%s,finished_reason=\"%s\"} %" PRIu64 "\n", success, metrics->labels,
                      reason_names[i], metrics->finished[i]);
    buffer_printf(out, "# HELP %s HTTP responses by status.\n# TYPE %s counter\n", http, http);
    for (int i = 0; i < HTTP_CODES; i++)
        if (metrics->http_codes[i])
            buffer_printf(out, "%s{code=\"%d\"} %" PRIu64 "\n", http, i, metrics->http_codes[i]);
}

static void write_process(const struct metrics *metrics, struct buffer *out)
{
    struct memory_stats memory;
    memory_stats_read(&memory);
    const struct {
        const char *name, *help;
        int64_t value;
    } rows[] = {
        {"penstock:allocator_allocated_bytes", "Bytes in live allocations (jemalloc).",
         memory.allocated_bytes},
        {"penstock:allocator_resident_bytes", "Bytes the allocator holds (jemalloc).",
         memory.resident_bytes},
        {"process_resident_memory_bytes", "Resident memory of the process.", memory.process_bytes},
        {"process_start_time_seconds", "Start, seconds since the epoch.", metrics->started_unix_s},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].value >= 0)
            buffer_printf(out, "# HELP %s %s\n# TYPE %s gauge\n%s %" PRId64 "\n", rows[i].name,
                          rows[i].help, rows[i].name, rows[i].name, rows[i].value);
}

void metrics_write(const struct metrics *metrics, struct service *service, struct buffer *out)
{
    struct engine_stats stats = {0};
    if (service) engine_stats(service->engine, &stats);
    write_engine(metrics, &stats, out);
    write_step_tokens(metrics, &stats, out);
    write_counters(metrics, out);
    for (int i = 0; i < SERIES_COUNT; i++)
        histogram_write(&metrics->series[i], series_specs[i].name, series_specs[i].help,
                        metrics->labels, out);
    if (service) write_cache_config(metrics, service, out);
    write_process(metrics, out);
}
