/* load_options.c - the flags of `penstock bench serve`, spelled as `vllm bench serve` spells them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/load.h"

enum flag_kind { FLAG_SWITCH, FLAG_TEXT, FLAG_INT, FLAG_NUMBER, FLAG_SPECIAL };

struct flag {
    const char *name;
    enum flag_kind kind;
    size_t offset;
    const char *help;
};

#define AT(MEMBER) offsetof(struct load_options, MEMBER)
static const struct flag flags[] = {
    {"--backend", FLAG_SPECIAL, 0, "openai (completions) or openai-chat"},
    {"--base-url", FLAG_TEXT, AT(base_url), "server, http://127.0.0.1:8000"},
    {"--endpoint", FLAG_TEXT, AT(endpoint), "path; by default the backend's"},
    {"--model", FLAG_TEXT, AT(model), "name to ask for; by default the server's first"},
    {"--tokenizer", FLAG_TEXT, AT(tokenizer), "directory or file: exact lengths of text prompts"},
    {"--api-key", FLAG_TEXT, AT(api_key), "sent as a bearer token"},
    {"--dataset-name", FLAG_SPECIAL, 0, "random, sharegpt, custom or prefix_repetition"},
    {"--dataset-path", FLAG_TEXT, AT(dataset_path), "file of sharegpt or custom (JSONL)"},
    {"--num-prompts", FLAG_INT, AT(num_prompts), "requests to measure (1000)"},
    {"--num-warmups", FLAG_INT, AT(num_warmups), "requests before them, not measured (0)"},
    {"--max-concurrency", FLAG_INT, AT(max_concurrency), "at most so many at once (no limit)"},
    {"--random-input-len", FLAG_INT, AT(input_len), "prompt tokens (1024)"},
    {"--random-output-len", FLAG_INT, AT(output_len), "tokens to generate (128)"},
    {"--random-prefix-len", FLAG_INT, AT(prefix_len), "tokens that all prompts begin with (0)"},
    {"--random-range-ratio", FLAG_NUMBER, AT(range_ratio), "lengths vary by this part (0)"},
    {"--prefix-repetition-prefix-len", FLAG_INT, AT(prefix_len), "tokens of each shared prefix"},
    {"--prefix-repetition-num-prefixes", FLAG_INT, AT(prefix_count), "different prefixes (10)"},
    {"--prefix-repetition-suffix-len", FLAG_INT, AT(input_len), "tokens of each own part"},
    {"--prefix-repetition-output-len", FLAG_INT, AT(output_len), "tokens to generate"},
    {"--sharegpt-output-len", FLAG_INT, AT(output_len), "instead of the recorded answers' lengths"},
    {"--custom-output-len", FLAG_INT, AT(output_len), "where a line has no output_tokens"},
    {"--request-rate", FLAG_NUMBER, AT(request_rate), "a second; inf: all at once (inf)"},
    {"--burstiness", FLAG_NUMBER, AT(burstiness), "gamma shape; 1 is Poisson (1)"},
    {"--ramp-up-strategy", FLAG_SPECIAL, 0, "linear or exponential"},
    {"--ramp-up-start-rps", FLAG_NUMBER, AT(ramp_start), "rate at the first request"},
    {"--ramp-up-end-rps", FLAG_NUMBER, AT(ramp_end), "rate at the last"},
    {"--ignore-eos", FLAG_SWITCH, AT(ignore_eos), "always generate the full length"},
    {"--temperature", FLAG_NUMBER, AT(temperature), "(0)"},
    {"--seed", FLAG_SPECIAL, 0, "of prompts and arrivals (0)"},
    {"--percentile-metrics", FLAG_SPECIAL, 0, "of ttft,tpot,itl,e2el (ttft,tpot,itl)"},
    {"--metric-percentiles", FLAG_SPECIAL, 0, "comma separated (99)"},
    {"--goodput", FLAG_SPECIAL, 0, "ttft:ms tpot:ms e2el:ms, any of them"},
    {"--save-result", FLAG_SWITCH, AT(save_result), "write vLLM's JSON"},
    {"--save-detailed", FLAG_SWITCH, AT(save_detailed), "with every request's numbers"},
    {"--result-dir", FLAG_TEXT, AT(result_dir), "where"},
    {"--result-filename", FLAG_TEXT, AT(result_filename), "as what"},
    {"--disable-tqdm", FLAG_SWITCH, AT(disable_tqdm), "no progress line"},
};
enum { FLAG_COUNT = sizeof(flags) / sizeof(*flags) };

void load_options_help(void)
{
    printf("Usage: penstock bench serve [OPTIONS]\n\n"
           "Loads any OpenAI-compatible server and prints what `vllm bench serve` prints.\n\n"
           "  penstock bench serve --base-url http://127.0.0.1:8000 --num-prompts 200 \\\n"
           "    --random-input-len 128 --random-output-len 64 --request-rate 4\n\nOptions:\n");
    for (int i = 0; i < FLAG_COUNT; i++) printf("  %-34s %s\n", flags[i].name, flags[i].help);
}

static enum status wrong(const char *name, const char *value, const char *rule, struct error *error)
{
    return error_set(error, STATUS_INVALID, name, "%s %s: %s", name, value, rule);
}

static enum status parse_number(const char *name, const char *value, double *out,
                                struct error *error)
{
    char *end;
    *out = strtod(value, &end);
    if (end == value || *end || isnan(*out)) return wrong(name, value, "not a number", error);
    return STATUS_OK;
}

static enum status parse_percentiles(struct load_options *options, const char *value,
                                     struct error *error)
{
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", value);
    options->percentile_count = 0;
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        double number = 0;
        enum status status = parse_number("--metric-percentiles", p, &number, error);
        if (status) return status;
        if (number < 0 || number > 100 || options->percentile_count == PERCENTILES_MAX)
            return wrong("--metric-percentiles", value, "up to 16 numbers from 0 to 100", error);
        options->percentiles[options->percentile_count++] = number;
    }
    return STATUS_OK;
}

static enum status parse_metrics(struct load_options *options, const char *value,
                                 struct error *error)
{
    options->metric_ttft = options->metric_tpot = options->metric_itl = options->metric_e2el =
        false;
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", value);
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        if (!strcmp(p, "ttft"))
            options->metric_ttft = true;
        else if (!strcmp(p, "tpot"))
            options->metric_tpot = true;
        else if (!strcmp(p, "itl"))
            options->metric_itl = true;
        else if (!strcmp(p, "e2el"))
            options->metric_e2el = true;
        else
            return wrong("--percentile-metrics", p, "not one of ttft, tpot, itl, e2el", error);
    }
    return STATUS_OK;
}

static enum status parse_goodput(struct load_options *options, const char *value,
                                 struct error *error)
{
    const char *colon = strchr(value, ':');
    double ms = 0;
    if (!colon) return wrong("--goodput", value, "not of the form ttft:milliseconds", error);
    enum status status = parse_number("--goodput", colon + 1, &ms, error);
    if (status) return status;
    if (!strncmp(value, "ttft:", 5))
        options->goodput_ttft_ms = ms;
    else if (!strncmp(value, "tpot:", 5))
        options->goodput_tpot_ms = ms;
    else if (!strncmp(value, "e2el:", 5))
        options->goodput_e2el_ms = ms;
    else
        return wrong("--goodput", value, "not one of ttft, tpot, e2el", error);
    return STATUS_OK;
}

static enum status parse_special(struct load_options *options, const char *name, const char *value,
                                 struct error *error)
{
    if (!strcmp(name, "--percentile-metrics")) return parse_metrics(options, value, error);
    if (!strcmp(name, "--metric-percentiles")) return parse_percentiles(options, value, error);
    if (!strcmp(name, "--goodput")) return parse_goodput(options, value, error);
    if (!strcmp(name, "--seed")) {
        options->seed = strtoull(value, NULL, 10);
        return STATUS_OK;
    }
    if (!strcmp(name, "--backend")) {
        options->chat = !strcmp(value, "openai-chat");
        if (options->chat || !strcmp(value, "openai") || !strcmp(value, "vllm")) return STATUS_OK;
        return wrong(name, value, "not openai or openai-chat", error);
    }
    if (!strcmp(name, "--ramp-up-strategy")) {
        options->ramp = !strcmp(value, "linear") ? RAMP_LINEAR : RAMP_EXPONENTIAL;
        if (options->ramp == RAMP_LINEAR || !strcmp(value, "exponential")) return STATUS_OK;
        return wrong(name, value, "not linear or exponential", error);
    }
    static const char *const datasets[] = {"random", "sharegpt", "custom", "prefix_repetition"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(value, datasets[i]) != 0) continue;
        options->dataset = (enum load_dataset)i;
        return STATUS_OK;
    }
    return wrong(name, value, "not random, sharegpt, custom or prefix_repetition", error);
}

static enum status set_flag(struct load_options *options, const struct flag *flag,
                            const char *value, struct error *error)
{
    char *at = (char *)options + flag->offset;
    double number = 0;
    enum status status;
    switch (flag->kind) {
    case FLAG_SWITCH: *(bool *)(void *)at = true; return STATUS_OK;
    case FLAG_TEXT: *(const char **)(void *)at = value; return STATUS_OK;
    case FLAG_INT:
        status = parse_number(flag->name, value, &number, error);
        if (status) return status;
        if (number < 0 || number > 1e9 || number != floor(number))
            return wrong(flag->name, value, "not a whole number", error);
        *(int *)(void *)at = (int)number;
        return STATUS_OK;
    case FLAG_NUMBER: return parse_number(flag->name, value, (double *)(void *)at, error);
    case FLAG_SPECIAL: break;
    }
    return parse_special(options, flag->name, value, error);
}

static enum status check(struct load_options *options, struct error *error)
{
    if (options->num_prompts < 1)
        return wrong("--num-prompts", "0", "there is nothing to measure", error);
    if (options->request_rate <= 0 || options->burstiness <= 0)
        return error_set(error, STATUS_INVALID, "--request-rate",
                         "--request-rate and --burstiness must be positive");
    if (options->range_ratio < 0 || options->range_ratio >= 1)
        return error_set(error, STATUS_INVALID, "--random-range-ratio",
                         "--random-range-ratio must be in [0, 1)");
    if (options->ramp != RAMP_NONE && (options->ramp_start <= 0 || options->ramp_end <= 0))
        return error_set(error, STATUS_INVALID, "--ramp-up-start-rps",
                         "--ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps");
    if (!options->endpoint)
        options->endpoint = options->chat ? "/v1/chat/completions" : "/v1/completions";
    if (options->save_detailed || options->result_filename) options->save_result = true;
    if (options->prefix_count < 1) options->prefix_count = 1;
    return STATUS_OK;
}

enum status load_options_parse(struct load_options *options, int argc, char **argv,
                               struct error *error)
{
    *options = (struct load_options){
        .base_url = "http://127.0.0.1:8000",
        .num_prompts = 1000,
        .input_len = 1024,
        .output_len = 128,
        .prefix_count = 10,
        .request_rate = INFINITY,
        .burstiness = 1,
        .percentiles = {99},
        .percentile_count = 1,
        .metric_ttft = true,
        .metric_tpot = true,
        .metric_itl = true,
        .goodput_ttft_ms = GOODPUT_NONE,
        .goodput_tpot_ms = GOODPUT_NONE,
        .goodput_e2el_ms = GOODPUT_NONE,
    };
    for (int i = 1; i < argc; i++) {
        char name[64];
        const char *equals = strchr(argv[i], '=');
        snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - argv[i]) : 63, argv[i]);
        const struct flag *flag = NULL;
        for (int f = 0; f < FLAG_COUNT && !flag; f++)
            if (!strcmp(name, flags[f].name)) flag = &flags[f];
        if (!flag) return wrong(argv[i], "", "no such option; see --help", error);
        const char *value = equals ? equals + 1 : NULL;
        if (!value && flag->kind != FLAG_SWITCH) value = i + 1 < argc ? argv[++i] : NULL;
        if (!value && flag->kind != FLAG_SWITCH) return wrong(name, "", "needs a value", error);
        enum status status = set_flag(options, flag, value, error);
        while (!status && !strcmp(name, "--goodput") && i + 1 < argc && argv[i + 1][0] != '-')
            status = set_flag(options, flag, argv[++i], error);
        if (status) return status;
    }
    return check(options, error);
}
