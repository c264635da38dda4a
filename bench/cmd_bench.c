/* cmd_bench.c - `penstock bench NAME`: picks the benchmark. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench/load.h"
#include "bench/local.h"
#include "bench/scheduler_bench.h"
#include "server/commands.h"

struct benchmark {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct benchmark benchmarks[] = {
    {"serve", command_bench_serve, "load an OpenAI-compatible server, print vLLM's table and JSON"},
    {"offline", command_bench_offline,
     "prefill, decode and batches in this process, of the ceilings"},
    {"latency", command_bench_latency, "one stream: time to first token, time per token"},
    {"ops", command_bench_ops, "each op by itself, against counted bytes and operations"},
    {"once", command_bench_once, "one chat request: its answer, time to first token, tokens/s"},
    {"scheduler", command_bench_scheduler, "what planning a step costs, with a long queue too"},
};

int command_bench(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(benchmarks) / sizeof(*benchmarks); i++)
        if (!strcmp(argv[1], benchmarks[i].name)) return benchmarks[i].run(argc - 1, argv + 1);
    bool help = argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"));
    FILE *to = help ? stdout : stderr;
    if (argc > 1 && !help) fprintf(to, "penstock bench: there is no benchmark '%s'\n\n", argv[1]);
    fprintf(to, "Usage: penstock bench NAME [OPTIONS]\n\n");
    for (size_t i = 0; i < sizeof(benchmarks) / sizeof(*benchmarks); i++)
        fprintf(to, "  %-10s %s\n", benchmarks[i].name, benchmarks[i].summary);
    fprintf(to, "\n`penstock bench NAME --help` explains each.\n");
    return help ? 0 : 2;
}
