/* local.c - see local.h. */
#include "bench/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/samples.h"
#include "runtime/base/check.h"
#include "runtime/base/clock.h"

static bool parse_list(struct local_list *list, const char *text)
{
    list->count = 0;
    while (*text && list->count < LOCAL_LIST_MAX) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || value < 0 || value > 10000000 || (*end && *end != ',')) return false;
        list->values[list->count++] = (int)value;
        text = *end ? end + 1 : end;
    }
    return list->count > 0 && !*text;
}

static struct local_list *own_list(struct local_options *options, const char *flag)
{
    if (!strcmp(flag, "-p")) return &options->prompt;
    if (!strcmp(flag, "-n")) return &options->generate;
    if (!strcmp(flag, "-d")) return &options->depth;
    return !strcmp(flag, "--streams") ? &options->streams : NULL;
}

bool local_parse(struct local_options *options, int argc, char **argv, const char *usage, int *code)
{
    char **rest = calloc((size_t)argc + 1, sizeof(*rest));
    struct error error = {0};
    int rest_count = 0;
    CHECK(rest);
    options_init(&options->engine);
    *code = 2;
    for (int i = 0; i < argc; i++) {
        struct local_list *list = own_list(options, argv[i]), count;
        bool repetitions = !strcmp(argv[i], "-r");
        if (!list && !repetitions) {
            rest[rest_count++] = argv[i];
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : "";
        if (parse_list(list ? list : &count, value)) {
            if (repetitions) options->repetitions = count.values[0] > 0 ? count.values[0] : 1;
            continue;
        }
        fprintf(stderr, "penstock bench: %s '%s' is no list of whole numbers\n", argv[i - 1],
                value);
        free(rest);
        return false;
    }
    enum status status = options_parse(&options->engine, OPTION_ENGINE, rest_count, rest, &error);
    free(rest);
    if (status) return fprintf(stderr, "penstock bench: %s\n", error.message), false;
    if (!options->engine.help) return true;
    fputs(usage, stdout);
    options_print_help(OPTION_ENGINE, stdout);
    *code = 0;
    return false;
}

static void on_wake(void *arg)
{
    sem_post(&((struct local *)arg)->woken);
}

static void on_failed(void *arg, const struct error *error)
{
    (void)arg;
    fprintf(stderr, "penstock bench: %s\n", error->message);
    exit(1);
}

enum status local_open(struct local *local, const struct options *options, struct error *error)
{
    struct service_hooks hooks = {.arg = local, .wake = on_wake, .failed = on_failed};
    sem_init(&local->woken, 0, 0);
    random_seed(&local->random, (uint64_t)clock_ns());
    return service_open(options, &hooks, &local->service, error);
}

void local_close(struct local *local)
{
    service_close(local->service);
    sem_destroy(&local->woken);
}

void local_random_ids(struct local *local, int32_t *ids, int count)
{
    for (int i = 0; i < count; i++)
        ids[i] = random_range(&local->random, 0, local->service->vocab - 1);
}

static void take_event(const struct engine_event *event, int64_t start_ns, int *left)
{
    struct local_times *times = event->user;
    double at = (double)(clock_ns() - start_ns) * 1e-9;
    if (event->kind == EVENT_TOKEN) {
        if (!times->tokens++) times->first_s = at;
        times->last_s = at;
    } else if (event->kind == EVENT_FINISHED) {
        (*left)--;
        if (event->finish == FINISH_ERROR) on_failed(NULL, &event->error);
        request_destroy(event->request);
    }
}

double local_run(struct local *local, const int32_t *prompts, int prompt_len, int generate,
                 int count, struct local_times *times)
{
    enum { EVENTS = 64 };
    struct engine_event events[EVENTS];
    struct error error = {0};
    int left = count;
    memset(times, 0, (size_t)count * sizeof(*times));
    struct request **requests = calloc((size_t)count, sizeof(struct request *));
    CHECK(requests);
    for (int i = 0; i < count; i++) {
        struct request_options options = {
            .prompt = prompts + (size_t)i * (size_t)prompt_len,
            .prompt_len = prompt_len,
            .sampling = {.top_p = 1,
                         .repetition_penalty = 1,
                         .max_tokens = generate,
                         .ignore_eos = true,
                         .logprobs = LOGPROBS_NONE,
                         .prompt_logprobs = LOGPROBS_NONE},
            .user = &times[i],
        };
        requests[i] = request_create(&options);
        CHECK(requests[i]);
    }
    int64_t start_ns = clock_ns();
    for (int i = 0; i < count; i++)
        if (engine_submit(local->service->engine, &requests[i], 1, &error)) on_failed(NULL, &error);
    while (left) {
        sem_wait(&local->woken);
        for (int n; (n = engine_poll(local->service->engine, events, EVENTS)) > 0;)
            for (int i = 0; i < n; i++) take_event(&events[i], start_ns, &left);
    }
    double seconds = (double)(clock_ns() - start_ns) * 1e-9;
    free(requests);
    return seconds;
}

double local_median(double *values, int count, double *low, double *high)
{
    samples_sort(values, count);
    *low = values[0], *high = values[count - 1];
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
