/* options.c - see options.h. */
#include "server/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "server/options_table.h"

void options_init(struct options *options)
{
    *options = (struct options){
        .generation_config = "auto",
        .host = "0.0.0.0",
        .port = 8000,
        .allowed_origins = {{"*"}, 1},
        .allowed_methods = {{"*"}, 1},
        .allowed_headers = {{"*"}, 1},
        .max_body_bytes = 32 << 20,
        .shutdown_timeout = 30,
        .device = "auto",
        .dtype = "auto",
        .quantization = "none",
        .kv_cache_dtype = "auto",
        .scheduling_policy = "fcfs",
        .stall_timeout = 4000,
        .block_size = 16,
        .max_num_queued_reqs = 1024,
        .max_logprobs = 20,
        .gpu_memory_utilization = 0.92,
        .enable_prefix_caching = true,
        .seed = -1,
        .log_level = "info",
    };
}

void options_free(struct options *options)
{
    arena_free(&options->arena);
}

struct parser {
    struct options *options;
    int scope, argc, at;
    char **argv;
    struct option_list *replaced[OPTION_LIST_MAX]; /* lists whose default is already gone */
    int replaced_count;
    struct error *error;
};

static bool is_flag(const char *arg)
{
    return arg[0] == '-' && arg[1] && !(arg[1] >= '0' && arg[1] <= '9') && arg[1] != '.';
}

static bool in_choice(const char *choices, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = choices; len && at; at = strchr(at, '|'), at += at != NULL)
        if (!strncmp(at, word, len) && (at[len] == '|' || !at[len])) return true;
    return false;
}

/* "8000", "1e6" for floats, "4k" = 4000, "4K" = 4096, ... */
static bool parse_number(const char *text, bool integral, double *out)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno == ERANGE || !isfinite(value)) return false;
    static const struct {
        char suffix;
        double factor;
    } suffixes[] = {{'k', 1e3}, {'K', 1024.0},       {'m', 1e6},  {'M', 1048576.0},
                    {'g', 1e9}, {'G', 1073741824.0}, {'t', 1e12}, {'T', 1099511627776.0}};
    for (size_t i = 0; integral && *end && i < sizeof(suffixes) / sizeof(*suffixes); i++)
        if (*end == suffixes[i].suffix && !end[1]) value *= suffixes[i].factor, end++;
    if (*end || (integral && value != floor(value))) return false;
    *out = value;
    return true;
}

static enum status refuse(struct parser *parser, const char *flag, const char *format,
                          const char *detail)
{
    char message[ERROR_MESSAGE_MAX];
    snprintf(message, sizeof(message), format, detail);
    return error_set(parser->error, STATUS_INVALID, flag, "%s: %s", flag, message);
}

static enum status set_number(struct parser *parser, const struct option_spec *spec,
                              const char *text)
{
    double value;
    bool integral = spec->kind != OPTION_FLOAT;
    if (!parse_number(text, integral, &value))
        return refuse(parser, spec->name,
                      integral ? "'%s' is not a whole number" : "'%s' is not a number", text);
    if (value < spec->min || value > spec->max)
        return error_set(parser->error, STATUS_INVALID, spec->name,
                         "%s: %s is not between %.10g and %.10g", spec->name, text, spec->min,
                         spec->max);
    void *at = (char *)parser->options + spec->offset;
    if (spec->kind == OPTION_INT) *(int *)at = (int)value;
    if (spec->kind == OPTION_INT64) *(int64_t *)at = (int64_t)value;
    if (spec->kind == OPTION_FLOAT) *(double *)at = value;
    return STATUS_OK;
}

static enum status list_add(struct parser *parser, const struct option_spec *spec, const char *item)
{
    struct option_list *list =
        (struct option_list *)(void *)((char *)parser->options + spec->offset);
    int i = 0;
    while (i < parser->replaced_count && parser->replaced[i] != list) i++;
    if (i == parser->replaced_count && i < OPTION_LIST_MAX) {
        parser->replaced[parser->replaced_count++] = list;
        list->count = 0;
    }
    if (list->count == OPTION_LIST_MAX)
        return error_set(parser->error, STATUS_INVALID, spec->name, "%s: more than %d values",
                         spec->name, OPTION_LIST_MAX);
    list->items[list->count++] = item;
    return STATUS_OK;
}

static enum status list_add_json(struct parser *parser, const struct option_spec *spec,
                                 const char *text)
{
    if (text[0] != '[') return list_add(parser, spec, text);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *item;
    enum status status = STATUS_OK;
    size_t index, max;
    if (!yyjson_is_arr(root))
        status = refuse(parser, spec->name, "'%s' is not a JSON array of strings", text);
    else
        yyjson_arr_foreach(root, index, max, item)
        {
            if (status) break;
            status = yyjson_is_str(item)
                         ? list_add(parser, spec,
                                    arena_strndup(&parser->options->arena, yyjson_get_str(item),
                                                  yyjson_get_len(item)))
                         : refuse(parser, spec->name, "'%s' is not a JSON array of strings", text);
        }
    yyjson_doc_free(doc);
    return status;
}

static enum status set_value(struct parser *parser, const struct option_spec *spec,
                             const char *text)
{
    const char **string = (const char **)(void *)((char *)parser->options + spec->offset);
    switch (spec->kind) {
    case OPTION_STRING:
        if (!*text) return refuse(parser, spec->name, "the value is empty%s", "");
        return *string = text, STATUS_OK;
    case OPTION_CHOICE:
        if (!in_choice(spec->argument, text))
            return error_set(parser->error, STATUS_INVALID, spec->name,
                             "%s: '%.100s' is none of %s", spec->name, text, spec->argument);
        return *string = text, STATUS_OK;
    case OPTION_STRINGS:
        if (!*text) return refuse(parser, spec->name, "the value is empty%s", "");
        return list_add(parser, spec, text);
    case OPTION_JSON_LIST: return list_add_json(parser, spec, text);
    default: return set_number(parser, spec, text);
    }
}

/* Whether `arg` (up to its '=') is this flag; `negated` for --no-NAME of a switch. Underscores
 * count as dashes, as in vLLM. */
static bool matches(const struct option_spec *spec, const char *arg, size_t len, bool *negated)
{
    if (spec->kind == OPTION_GROUP) return false;
    *negated = false;
    if (spec->alias && strlen(spec->alias) == len && !strncmp(spec->alias, arg, len)) return true;
    if (strlen(spec->name) == len && !strncmp(spec->name, arg, len)) return true;
    if (spec->kind != OPTION_BOOL || len < 5 || strncmp(arg, "--no-", 5)) return false;
    *negated = strlen(spec->name + 2) == len - 5 && !strncmp(spec->name + 2, arg + 5, len - 5);
    return *negated;
}

static enum status take_flag(struct parser *parser, const struct option_spec *spec, bool negated,
                             const char *inline_value)
{
    if (spec->kind == OPTION_BOOL) {
        if (inline_value)
            return refuse(parser, spec->name, "takes no value, and got '%s'", inline_value);
        *(bool *)((char *)parser->options + spec->offset) = !negated;
        return STATUS_OK;
    }
    if (inline_value) return set_value(parser, spec, inline_value);
    int count = 0;
    bool many = spec->kind == OPTION_STRINGS || spec->kind == OPTION_JSON_LIST;
    while (parser->at < parser->argc && !is_flag(parser->argv[parser->at]) && (!count || many)) {
        enum status status = set_value(parser, spec, parser->argv[parser->at++]);
        if (status) return status;
        count++;
    }
    return count ? STATUS_OK : refuse(parser, spec->name, "needs a value: %s", spec->argument);
}

static enum status refuse_unknown(struct parser *parser, const char *arg, size_t len)
{
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)len, arg);
    for (int i = 0; i < option_refusal_count; i++)
        if (!strcmp(option_refusals[i].name, name))
            return error_set(parser->error, STATUS_UNSUPPORTED, name, "%s: %s", name,
                             option_refusals[i].reason);
    return error_set(parser->error, STATUS_INVALID, name,
                     "there is no flag %s; --help lists them all", name);
}

static enum status take_argument(struct parser *parser)
{
    const char *arg = parser->argv[parser->at++];
    if (!strcmp(arg, "--help") || !strcmp(arg, "-h"))
        return parser->options->help = true, STATUS_OK;
    if (!is_flag(arg)) {
        if (parser->options->model)
            return error_set(parser->error, STATUS_INVALID, "model",
                             "'%s': the model is already given as '%s'", arg,
                             parser->options->model);
        return parser->options->model = arg, STATUS_OK;
    }
    const char *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    char spelled[96];
    if (len >= sizeof(spelled)) return refuse_unknown(parser, arg, 40);
    memcpy(spelled, arg, len), spelled[len] = 0;
    for (char *c = spelled; *c; c++)
        if (*c == '_') *c = '-';
    for (int i = 0; i < option_spec_count; i++) {
        bool negated = false;
        if (!(option_specs[i].scope & parser->scope)) continue;
        if (matches(&option_specs[i], spelled, len, &negated))
            return take_flag(parser, &option_specs[i], negated, equals ? equals + 1 : NULL);
    }
    return refuse_unknown(parser, spelled, len);
}

/* What only shows when all flags are known. */
static enum status check_together(const struct options *options, struct error *error)
{
    if (!options->ssl_keyfile != !options->ssl_certfile)
        return error_set(error, STATUS_INVALID,
                         options->ssl_keyfile ? "--ssl-certfile" : "--ssl-keyfile",
                         "--ssl-keyfile and --ssl-certfile go together");
    if (strcmp(options->generation_config, "auto") && strcmp(options->generation_config, "vllm"))
        return error_set(error, STATUS_INVALID, "--generation-config",
                         "--generation-config: '%s' is neither auto nor vllm",
                         options->generation_config);
    if (options->reasoning_parser && strcmp(options->reasoning_parser, "deepseek_r1") &&
        strcmp(options->reasoning_parser, "qwen3"))
        return error_set(error, STATUS_INVALID, "--reasoning-parser",
                         "--reasoning-parser: '%s' is neither deepseek_r1 nor qwen3",
                         options->reasoning_parser);
    if (options->max_num_batched_tokens && options->max_num_seqs > options->max_num_batched_tokens)
        return error_set(error, STATUS_INVALID, "--max-num-batched-tokens",
                         "--max-num-batched-tokens: %d is less than --max-num-seqs %d",
                         options->max_num_batched_tokens, options->max_num_seqs);
    return STATUS_OK;
}

enum status options_parse(struct options *options, int scope, int argc, char **argv,
                          struct error *error)
{
    struct parser parser = {
        .options = options, .scope = scope, .argc = argc, .argv = argv, .at = 1, .error = error};
    while (parser.at < argc) {
        enum status status = take_argument(&parser);
        if (status || options->help) return status;
    }
    return check_together(options, error);
}

/* Wraps `text` at 98 columns behind an indent. */
static void print_wrapped(FILE *to, const char *text, int indent)
{
    int column = indent;
    while (*text) {
        int len = (int)strcspn(text, " ");
        if (column > indent && column + 1 + len > 98) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", len, text);
        column += len;
        text += len;
        while (*text == ' ') text++;
    }
    fputc('\n', to);
}

void options_print_help(int scope, FILE *to)
{
    for (int i = 0; i < option_spec_count; i++) {
        const struct option_spec *spec = &option_specs[i];
        if (!(spec->scope & scope)) continue;
        if (spec->kind == OPTION_GROUP) {
            fprintf(to, "\n%s\n", spec->name);
            continue;
        }
        fprintf(to, "  %s", spec->name);
        if (spec->kind == OPTION_BOOL) fprintf(to, ", --no-%s", spec->name + 2);
        if (spec->alias) fprintf(to, ", %s", spec->alias);
        fprintf(to, "%s%s\n      ", spec->argument ? " " : "",
                spec->argument ? spec->argument : "");
        print_wrapped(to, spec->help, 6);
    }
}
