/*
 * executor.h - the ranks that run a model: loads weights, sizes the KV cache, runs batches in
 * order.
 *
 * One worker thread per rank (or one process per rank under MPI) runs the program on its device;
 * two batches may be in flight. Thread: executor_create on any thread (it takes long: progress is
 * reported by callback); submit, wait and destroy on the engine thread; executor_abort from any
 * thread.
 */
#ifndef RUNTIME_EXECUTOR_H
#define RUNTIME_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/batch.h"
#include "runtime/base/status.h"
#include "runtime/model.h"

struct executor;

enum { EXECUTOR_IN_FLIGHT_MAX = 2 };
enum dtype_choice { DTYPE_AUTO = -1 };

struct executor_options {
    const char *device;     /* "cpu", "cuda", "auto" */
    int tensor_parallel;    /* ranks; 0: one, or all of mpirun's */
    int threads;            /* CPU compute threads over all ranks; 0: one per available core */
    int dtype;              /* enum dtype F32/F16/BF16 or DTYPE_AUTO (as stored) */
    int quantization;       /* enum dtype Q8_0/Q4_0, or DTYPE_AUTO: as stored */
    int kv_dtype;           /* F32, BF16 or DTYPE_AUTO (F32 with dtype F32, else BF16) */
    int64_t kv_cache_bytes; /* over all ranks; 0: from memory_utilization of what is free */
    double memory_utilization;
    int page_tokens;   /* --block-size */
    int max_model_len; /* 0: what the model says, as far as one sequence fits the cache */
    int max_num_seqs,
        max_num_batched_tokens; /* 0: 256 and 2048, never more sequences than tokens */
    int stall_timeout_ms;       /* a rank silent for so long ends everything; 4000 */
    const char *trace_path;     /* Chrome trace of steps and ops, or NULL */
    bool profile;               /* keep a per-op table */
    const char *fault;          /* for tests: "stall:RANK:STEP" or "die:RANK:STEP"; NULL: none */
    const char *isa;            /* see device_options */
    /* May be called from loader threads of every rank: bytes read since the last call, and
     * what that rank reads in all. NULL: no reports. */
    void (*progress)(void *arg, int64_t done, int64_t total);
    void *progress_arg;
    /* Called once, from any thread, when a rank failed: rank, op and step are in the message. NULL:
     * log and exit(1). */
    void (*failed)(void *arg, const struct error *error);
    void *failed_arg;
};

struct executor_info {
    struct batch_limits limits;
    int page_tokens, max_model_len, rank_count, threads;
    int world_rank;     /* of this process under MPI; only rank 0 may submit, the others follow */
    int64_t page_count; /* page 0 included */
    size_t weight_bytes, kv_bytes, workspace_bytes; /* all ranks */
    const char *device_name;
};

enum status executor_create(const struct executor_options *options, const struct model *model,
                            struct executor **out, struct error *error);
void executor_destroy(struct executor *executor); /* after every submitted batch was waited for */
const struct executor_info *executor_info(const struct executor *executor);

/* For world_rank > 0: runs what rank 0 submits until its executor is destroyed (STATUS_OK) or a
 * rank failed. */
enum status executor_follow(struct executor *executor, struct error *error);

/* Takes the batch to all ranks. It must not be touched until executor_wait returned its result.
 * At most EXECUTOR_IN_FLIGHT_MAX are in flight (CHECK). */
void executor_submit(struct executor *executor, const struct batch *batch);

/* Blocks for the result of the oldest batch in flight; valid until the next but one submit. NULL
 * and `error` when a rank failed. */
const struct batch_result *executor_wait(struct executor *executor, struct error *error);

/* Whether executor_wait would return at once. */
bool executor_ready(const struct executor *executor);

/* The per-op table of --profile, for people. */
struct buffer;
void executor_print_profile(const struct executor *executor, struct buffer *out);

#endif
