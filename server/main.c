/*
 * main.c - the program: picks the subcommand. It owns nothing else.
 */
#include <stdio.h>
#include <string.h>

#include "server/commands.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
};

static const struct command commands[] = {
    {"serve", command_serve, "serve a model over OpenAI's HTTP API"},
    {"run", command_run, "chat with a model in the terminal"},
    {"bench", command_bench, "measure: load a server, time steps and ops"},
    {"pull", command_pull, "download a model from the Hugging Face Hub"},
    {"tokenize", command_tokenize, "turn text into token ids and back"},
    {"render", command_render, "show what a chat template makes of conversations"},
    {"version", command_version, "print the version and what this build and machine can do"},
};

static void print_usage(FILE *to)
{
    fprintf(to, "Usage: penstock COMMAND [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n`penstock COMMAND --help` explains each.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) return print_usage(stderr), 2;
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return print_usage(stdout), 0;
    const char *name = !strcmp(argv[1], "--version") ? "version" : argv[1];
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (!strcmp(name, commands[i].name)) return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "penstock: there is no command '%s'; 'penstock --help' lists them\n", name);
    return 2;
}
