/*
 * commands.h - the subcommands of the program: penstock NAME ARGUMENTS.
 *
 * Thread: main. Each takes the arguments after its own name (argv[0] is the subcommand's name),
 * answers
 * --help itself, writes results to stdout and one clear sentence per failure to stderr, and returns
 * the exit status: 0 done, 1 failed, 2 used wrongly.
 */
#ifndef SERVER_COMMANDS_H
#define SERVER_COMMANDS_H

int command_serve(int argc, char **argv);
int command_run(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_pull(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_render(int argc, char **argv);
int command_version(int argc, char **argv);

#endif
