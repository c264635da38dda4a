/*
 * gguf_writer.h - builds a GGUF file in memory, for tests. Thread: its owner's.
 *
 * Keys come first, then tensors; gguf_writer_finish puts header, keys, tensor table and data
 * together. Nothing is checked: tests also write files that lie.
 */
#ifndef TESTS_SUPPORT_GGUF_WRITER_H
#define TESTS_SUPPORT_GGUF_WRITER_H

#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/gguf.h"

struct gguf_writer { /* all zero: empty */
    struct buffer keys, tensors, data;
    uint64_t key_count, tensor_count;
    uint32_t alignment; /* 0: 32 */
};

void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value);
void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value);
void gguf_writer_bool(struct gguf_writer *writer, const char *key, int value);
void gguf_writer_string(struct gguf_writer *writer, const char *key, const char *value);
void gguf_writer_strings(struct gguf_writer *writer, const char *key, const char *const *values,
                         uint64_t count);
void gguf_writer_raw(struct gguf_writer *writer, const char *key, uint32_t type, const void *value,
                     size_t bytes);
/* cols is ggml's dims[0]; rows 0: one dimension. Copies `bytes` of data and aligns what follows. */
void gguf_writer_tensor(struct gguf_writer *writer, const char *name, uint32_t ggml_type,
                        int64_t cols, int64_t rows, const void *data, size_t bytes);
/* The file; frees the writer's parts and zeroes it. */
struct buffer gguf_writer_finish(struct gguf_writer *writer);

#endif
