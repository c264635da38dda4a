/*
 * trace.h - where a step's time goes: a Chrome trace (Perfetto opens it) and a table per op.
 *
 * Thread: trace_open and trace_close on one thread; trace_span from any worker, one line each under
 * a lock. Times are clock_ns. A profile belongs to one worker.
 */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include <stdint.h>

#include "kernels/batch.h"
#include "kernels/ops.h"
#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

struct trace;

enum status trace_open(const char *path, struct trace **out, struct error *error);
void trace_close(struct trace *trace); /* completes the JSON; NULL is fine */

/* A step of a rank and one op of it. */
void trace_step(struct trace *trace, int rank, const struct batch *batch, int64_t start_ns,
                int64_t end_ns);
void trace_op(struct trace *trace, int rank, const struct op *op, int64_t start_ns, int64_t end_ns);

struct profile;
struct profile *profile_create(const struct program *program);
void profile_destroy(struct profile *profile); /* NULL is fine */
void profile_add(struct profile *profile, int op_index, int64_t ns);
void profile_step(struct profile *profile, const struct batch *batch, int64_t ns);
/* A line per op name: calls, time, share of the step. */
void profile_print(const struct profile *profile, struct buffer *out);

#endif
