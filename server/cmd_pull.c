/* cmd_pull.c - `penstock pull org/repo[:quant]`. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "server/commands.h"
#include "server/hub.h"

static const char usage[] =
    "Usage: penstock pull ORG/REPO[:QUANT] [OPTIONS]\n\n"
    "Downloads a model from the Hugging Face Hub into its standard cache, resuming what was begun "
    "and\n"
    "checking every file, and prints the path to serve.\n\n"
    "  penstock pull Qwen/Qwen3-0.6B              safetensors, configuration and tokenizer\n"
    "  penstock pull Qwen/Qwen3-0.6B-GGUF:Q8_0    the .gguf with Q8_0 in its name\n\n"
    "Options:\n"
    "  --revision NAME   branch, tag or commit (main)\n"
    "  --token TOKEN     for gated and private models (or HF_TOKEN in the environment)\n"
    "  --endpoint URL    a mirror (or HF_ENDPOINT in the environment)\n"
    "  --cache-dir DIR   instead of HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub\n"
    "  --quiet           no progress bar\n";

struct bar {
    int64_t started_ns, shown_ns, first; /* first: bytes that were there already */
    bool used;
};

static void show(void *arg, const char *name, int64_t done, int64_t total)
{
    enum { WIDTH = 24, EVERY_NS = 100000000 };
    struct bar *bar = arg;
    int64_t now = clock_ns();
    if (!bar->used) bar->started_ns = now, bar->first = done, bar->used = true;
    if (now - bar->shown_ns < EVERY_NS && done < total) return;
    bar->shown_ns = now;
    double part = total > 0 ? (double)done / (double)total : 1,
           seconds = (double)(now - bar->started_ns) * 1e-9;
    char fill[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) fill[i] = i < part * WIDTH ? '#' : '.';
    fill[WIDTH] = 0;
    fprintf(stderr, "\r[%s] %3.0f%%  %.1f of %.1f MB  %.1f MB/s  %.40s\033[K", fill, part * 100,
            (double)done * 1e-6, (double)total * 1e-6,
            seconds > 0.1 ? (double)(done - bar->first) * 1e-6 / seconds : 0, name);
}

int command_pull(int argc, char **argv)
{
    struct hub_options options = {.token = getenv("HF_TOKEN"), .endpoint = getenv("HF_ENDPOINT")};
    const char *name = NULL;
    bool quiet = !isatty(STDERR_FILENO);
    for (int i = 1; i < argc; i++) {
        const char **value = NULL;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return fputs(usage, stdout), 0;
        if (!strcmp(argv[i], "--quiet")) {
            quiet = true;
            continue;
        }
        if (!strcmp(argv[i], "--revision")) value = &options.revision;
        if (!strcmp(argv[i], "--token")) value = &options.token;
        if (!strcmp(argv[i], "--endpoint")) value = &options.endpoint;
        if (!strcmp(argv[i], "--cache-dir")) value = &options.cache;
        if (value && i + 1 < argc) {
            *value = argv[++i];
        } else if (!value && argv[i][0] != '-' && !name) {
            name = argv[i];
        } else {
            fprintf(stderr, "penstock pull: %s %s; see 'penstock pull --help'\n", argv[i],
                    value ? "needs a value" : "is not understood");
            return 2;
        }
    }
    if (!name) return fputs(usage, stderr), 2;
    struct bar bar = {0};
    struct buffer path = {0};
    struct error error = {0};
    if (options.token && !*options.token) options.token = NULL;
    if (options.endpoint && !*options.endpoint) options.endpoint = NULL;
    if (!quiet) options.progress = show, options.progress_arg = &bar;
    enum status status = hub_pull(name, &options, &path, &error);
    if (bar.used) fputc('\n', stderr);
    if (status)
        fprintf(stderr, "penstock pull: %s\n", error.message);
    else
        printf("%s\n", path.data);
    buffer_free(&path);
    return status ? 1 : 0;
}
