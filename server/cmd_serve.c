/* cmd_serve.c - `penstock serve`: options, limits of the process, then the server. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "parallel/comm.h"
#include "runtime/base/log.h"
#include "server/commands.h"
#include "server/server.h"
#include "server/service.h"

static void print_help(void)
{
    printf(
        "Usage: penstock serve [MODEL] [FLAGS]\n\n"
        "Serves a model over HTTP with OpenAI's API: /v1/chat/completions, /v1/completions,\n"
        "/v1/models, /tokenize, /detokenize, /health, /ready, /metrics, /openapi.json.\n"
        "MODEL is a directory (Hugging Face layout) or a .gguf file; without one the small model\n"
        "inside the program is served. Flags are spelled as those of `vllm serve`.\n\n"
        "  penstock serve --host 127.0.0.1\n"
        "  penstock serve ./Qwen3-0.6B --port 8000 --served-model-name qwen --api-key secret\n");
    options_print_help(OPTION_ENGINE | OPTION_SERVER, stdout);
}

static enum log_level level_from_flag(const char *name)
{
    if (!strcmp(name, "debug")) return LOG_DEBUG;
    if (!strcmp(name, "warning")) return LOG_WARNING;
    if (!strcmp(name, "error")) return LOG_ERROR;
    return LOG_INFO;
}

/* A parent may have closed them; a socket in their place would be written to by accident. */
static void fill_standard_descriptors(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) close(fd);
}

/* Every connection is a descriptor: take as many as the system grants. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Signals are rank 0's business: it drains, then lets the others go. */
static int follow(const struct options *options)
{
    struct error error = {0};
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    if (!service_follow(options, &error)) return 0;
    log_error("rank", "%s", error.message);
    return 1;
}

int command_serve(int argc, char **argv)
{
    struct options options;
    struct error error;
    options_init(&options);
    if (options_parse(&options, OPTION_ENGINE | OPTION_SERVER, argc, argv, &error)) {
        fprintf(stderr, "penstock serve: %s\n", error.message);
        options_free(&options);
        return 2;
    }
    if (options.help) {
        print_help();
        options_free(&options);
        return 0;
    }
    fill_standard_descriptors();
    signal(SIGPIPE, SIG_IGN);
    raise_descriptor_limit();
    log_configure(level_from_flag(options.log_level), options.log_json);
    int status = comm_mpi_world_rank() > 0 ? follow(&options) : server_run(&options);
    options_free(&options);
    return status;
}
