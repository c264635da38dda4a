/*
 * options.h - every setting of the serving program in one struct, filled from the command line.
 *
 * Flags are spelled as `vllm serve` spells them: `--flag value`, `--flag=value`, `--no-flag`. A
 * flag that is unknown, malformed or known and not supported is refused by name with the reason.
 * Nothing reads the environment. Thread: main parses; immutable afterwards. Memory: strings point
 * into argv, or into `arena`.
 */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"

enum { OPTION_LIST_MAX = 16 };

struct option_list {
    const char *items[OPTION_LIST_MAX];
    int count;
};

struct options {
    /* model */
    const char *model; /* NULL: the embedded default */
    const char *tokenizer, *chat_template, *generation_config, *reasoning_parser;
    struct option_list served_model_names;
    bool trust_request_chat_template;
    /* HTTP */
    const char *host, *uds, *ssl_keyfile, *ssl_certfile;
    int port;
    struct option_list api_keys, allowed_origins, allowed_methods, allowed_headers;
    bool allow_credentials, access_log;
    int64_t max_body_bytes;
    double shutdown_timeout; /* seconds */
    /* engine */
    const char *device, *dtype, *quantization, *kv_cache_dtype, *scheduling_policy, *isa, *trace;
    const char *inject_fault; /* for tests; see executor_options.fault */
    int stall_timeout;        /* milliseconds */
    int tensor_parallel_size; /* 0: one rank, or all of mpirun's */
    int threads, block_size, max_model_len, max_num_seqs;
    int max_num_batched_tokens, max_num_queued_reqs, max_logprobs;
    double gpu_memory_utilization;
    int64_t kv_cache_memory_bytes;
    bool enable_prefix_caching, deterministic, enforce_eager, profile;
    int64_t seed; /* -1: a new random one for each request that brings none */
    /* log */
    const char *log_level;
    bool log_json;

    bool help;
    struct arena arena;
};

/* Which flags a subcommand takes; the others of the table are refused by name. */
enum option_scope { OPTION_ENGINE = 1, OPTION_SERVER = 2 };

void options_init(struct options *options);
void options_free(struct options *options);

/* argv[0] is skipped. Flags that may be repeated or take several values take them up to the next
 * flag. One positional argument: the model. STATUS_INVALID or STATUS_UNSUPPORTED name the flag in
 * `param`. */
enum status options_parse(struct options *options, int scope, int argc, char **argv,
                          struct error *error);

/* The flags of a scope with what they do and their defaults. */
void options_print_help(int scope, FILE *to);

#endif
