/* gguf_writer.c - see gguf_writer.h. */
#include "tests/support/gguf_writer.h"

#include <string.h>

static void put_u32(struct buffer *out, uint32_t value)
{
    buffer_append(out, &value, sizeof value);
}

static void put_u64(struct buffer *out, uint64_t value)
{
    buffer_append(out, &value, sizeof value);
}

static void put_string(struct buffer *out, const char *text)
{
    put_u64(out, strlen(text));
    buffer_append(out, text, strlen(text));
}

static void pad(struct buffer *out, size_t alignment)
{
    while (out->len % alignment) buffer_append_char(out, 0);
}

static size_t alignment_of(const struct gguf_writer *writer)
{
    return writer->alignment ? writer->alignment : 32;
}

void gguf_writer_raw(struct gguf_writer *writer, const char *key, uint32_t type, const void *value,
                     size_t bytes)
{
    put_string(&writer->keys, key);
    put_u32(&writer->keys, type);
    buffer_append(&writer->keys, value, bytes);
    writer->key_count++;
}

void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value)
{
    gguf_writer_raw(writer, key, GGUF_U32, &value, sizeof value);
}

void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value)
{
    gguf_writer_raw(writer, key, GGUF_F32, &value, sizeof value);
}

void gguf_writer_bool(struct gguf_writer *writer, const char *key, int value)
{
    uint8_t byte = (uint8_t)value;
    gguf_writer_raw(writer, key, GGUF_BOOL, &byte, sizeof byte);
}

void gguf_writer_string(struct gguf_writer *writer, const char *key, const char *value)
{
    struct buffer text = {0};
    put_string(&text, value);
    gguf_writer_raw(writer, key, GGUF_STRING, text.data, text.len);
    buffer_free(&text);
}

void gguf_writer_strings(struct gguf_writer *writer, const char *key, const char *const *values,
                         uint64_t count)
{
    struct buffer array = {0};
    put_u32(&array, GGUF_STRING);
    put_u64(&array, count);
    for (uint64_t i = 0; i < count; i++) put_string(&array, values[i]);
    gguf_writer_raw(writer, key, GGUF_ARRAY, array.data, array.len);
    buffer_free(&array);
}

void gguf_writer_tensor(struct gguf_writer *writer, const char *name, uint32_t ggml_type,
                        int64_t cols, int64_t rows, const void *data, size_t bytes)
{
    put_string(&writer->tensors, name);
    put_u32(&writer->tensors, rows ? 2 : 1);
    put_u64(&writer->tensors, (uint64_t)cols);
    if (rows) put_u64(&writer->tensors, (uint64_t)rows);
    put_u32(&writer->tensors, ggml_type);
    put_u64(&writer->tensors, writer->data.len);
    buffer_append(&writer->data, data, bytes);
    pad(&writer->data, alignment_of(writer));
    writer->tensor_count++;
}

struct buffer gguf_writer_finish(struct gguf_writer *writer)
{
    struct buffer out = {0};
    if (writer->alignment) gguf_writer_u32(writer, "general.alignment", writer->alignment);
    buffer_append(&out, "GGUF", 4);
    put_u32(&out, 3);
    put_u64(&out, writer->tensor_count);
    put_u64(&out, writer->key_count);
    buffer_append(&out, writer->keys.data, writer->keys.len);
    buffer_append(&out, writer->tensors.data, writer->tensors.len);
    pad(&out, alignment_of(writer));
    buffer_append(&out, writer->data.data, writer->data.len);
    buffer_free(&writer->keys);
    buffer_free(&writer->tensors);
    buffer_free(&writer->data);
    *writer = (struct gguf_writer){0};
    return out;
}
