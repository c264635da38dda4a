/*
 * safetensors_writer.h - builds a safetensors file in memory, for tests. Thread: its owner's.
 *
 * Nothing is checked: tests also write files that lie.
 */
#ifndef TESTS_SUPPORT_SAFETENSORS_WRITER_H
#define TESTS_SUPPORT_SAFETENSORS_WRITER_H

#include <stdint.h>

#include "runtime/base/buffer.h"

struct safetensors_writer { /* all zero: empty */
    struct buffer header, data;
};

/* rows 0: one dimension. */
void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name,
                               const char *dtype, int64_t rows, int64_t cols, const void *data,
                               size_t bytes);
/* An entry as it is, without data. */
void safetensors_writer_entry(struct safetensors_writer *writer, const char *json);
/* The file; frees the writer's parts and zeroes it. */
struct buffer safetensors_writer_finish(struct safetensors_writer *writer);

#endif
