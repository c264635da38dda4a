/* trace.c - see trace.h. */
#include "runtime/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

struct trace {
    FILE *file;
    pthread_mutex_t lock;
    int64_t origin_ns; /* the first event's start: small numbers keep Perfetto exact */
    int event_count;
};

enum status trace_open(const char *path, struct trace **out, struct error *error)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return error_set(error, STATUS_IO, "--trace", "cannot write the trace %s: %s", path,
                         strerror(errno));
    struct trace *trace = calloc(1, sizeof(*trace));
    CHECK(trace);
    trace->file = file;
    pthread_mutex_init(&trace->lock, NULL);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", file);
    *out = trace;
    return STATUS_OK;
}

void trace_close(struct trace *trace)
{
    if (!trace) return;
    fputs("\n]}\n", trace->file);
    fclose(trace->file);
    pthread_mutex_destroy(&trace->lock);
    free(trace);
}

/* `args` is a JSON object. */
static void write_span(struct trace *trace, int rank, const char *name, const char *category,
                       int64_t start_ns, int64_t end_ns, const char *args)
{
    pthread_mutex_lock(&trace->lock);
    if (!trace->event_count) trace->origin_ns = start_ns;
    fprintf(trace->file,
            "%s\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,"
            "\"dur\":%.3f,\"args\":%s}",
            trace->event_count++ ? "," : "", name, category, rank,
            (double)(start_ns - trace->origin_ns) * 1e-3, (double)(end_ns - start_ns) * 1e-3, args);
    pthread_mutex_unlock(&trace->lock);
}

void trace_step(struct trace *trace, int rank, const struct batch *batch, int64_t start_ns,
                int64_t end_ns)
{
    char args[160];
    snprintf(args, sizeof(args),
             "{\"step\":%lld,\"rows\":%d,\"decode\":%d,\"tokens\":%d,\"logits\":%d}",
             (long long)batch->step, batch->row_count, batch->decode_count, batch->token_count,
             batch->logits_count);
    write_span(trace, rank, "step", "step", start_ns, end_ns, args);
}

void trace_op(struct trace *trace, int rank, const struct op *op, int64_t start_ns, int64_t end_ns)
{
    char args[64];
    snprintf(args, sizeof(args), "{\"layer\":%d,\"kind\":\"%s\"}", op->layer,
             op_kind_name(op->kind));
    write_span(trace, rank, op->name, "op", start_ns, end_ns, args);
}

struct profile {
    const struct program *program;
    int64_t *op_ns;
    int64_t step_ns, step_count, token_count;
};

struct profile *profile_create(const struct program *program)
{
    struct profile *profile = calloc(1, sizeof(*profile));
    CHECK(profile);
    profile->program = program;
    profile->op_ns = calloc((size_t)program->op_count, sizeof(*profile->op_ns));
    CHECK(profile->op_ns);
    return profile;
}

void profile_destroy(struct profile *profile)
{
    if (!profile) return;
    free(profile->op_ns);
    free(profile);
}

void profile_add(struct profile *profile, int op_index, int64_t ns)
{
    profile->op_ns[op_index] += ns;
}

void profile_step(struct profile *profile, const struct batch *batch, int64_t ns)
{
    profile->step_ns += ns, profile->step_count++, profile->token_count += batch->token_count;
}

/* Layers repeat the same names: an op is printed at its first occurrence, with the sum of all. */
void profile_print(const struct profile *profile, struct buffer *out)
{
    const struct op *ops = profile->program->ops;
    double total = profile->step_ns > 0 ? (double)profile->step_ns : 1;
    buffer_printf(out, "%-16s %-12s %8s %12s %10s %7s\n", "op", "kind", "per step", "total ms",
                  "us/step", "share");
    for (int i = 0; i < profile->program->op_count; i++) {
        int64_t ns = 0;
        int count = 0, first = i;
        for (int j = 0; j < profile->program->op_count; j++) {
            if (strcmp(ops[j].name, ops[i].name) != 0) continue;
            if (j < first) first = j;
            ns += profile->op_ns[j], count++;
        }
        if (first < i) continue;
        double steps = profile->step_count ? (double)profile->step_count : 1;
        buffer_printf(out, "%-16s %-12s %8d %12.2f %10.1f %6.1f%%\n", ops[i].name,
                      op_kind_name(ops[i].kind), count, (double)ns * 1e-6,
                      (double)ns * 1e-3 / steps, 100 * (double)ns / total);
    }
    buffer_printf(out, "%lld steps, %lld tokens, %.2f ms\n", (long long)profile->step_count,
                  (long long)profile->token_count, (double)profile->step_ns * 1e-6);
}
