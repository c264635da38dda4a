/* safetensors_writer.c - see safetensors_writer.h. */
#include "tests/support/safetensors_writer.h"

void safetensors_writer_entry(struct safetensors_writer *writer, const char *json)
{
    buffer_append_string(&writer->header, writer->header.len ? "," : "{");
    buffer_append_string(&writer->header, json);
}

void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name,
                               const char *dtype, int64_t rows, int64_t cols, const void *data,
                               size_t bytes)
{
    struct buffer entry = {0};
    buffer_printf(&entry, "\"%s\":{\"dtype\":\"%s\",\"shape\":[", name, dtype);
    if (rows) buffer_printf(&entry, "%lld,", (long long)rows);
    buffer_printf(&entry, "%lld],\"data_offsets\":[%zu,%zu]}", (long long)cols, writer->data.len,
                  writer->data.len + bytes);
    safetensors_writer_entry(writer, entry.data);
    buffer_append(&writer->data, data, bytes);
    buffer_free(&entry);
}

struct buffer safetensors_writer_finish(struct safetensors_writer *writer)
{
    struct buffer out = {0};
    if (!writer->header.len) buffer_append_char(&writer->header, '{');
    buffer_append_char(&writer->header, '}');
    while (writer->header.len % 8) buffer_append_char(&writer->header, ' ');
    uint64_t header = writer->header.len;
    buffer_append(&out, &header, sizeof header);
    buffer_append(&out, writer->header.data, writer->header.len);
    buffer_append(&out, writer->data.data, writer->data.len);
    buffer_free(&writer->header);
    buffer_free(&writer->data);
    *writer = (struct safetensors_writer){0};
    return out;
}
