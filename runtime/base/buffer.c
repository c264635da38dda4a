/* buffer.c - see buffer.h. */
#include "runtime/base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

void buffer_free(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->len = 0;
    if (buffer->data) buffer->data[0] = 0;
}

void buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t need = buffer->len + more + 1;
    CHECK(need > buffer->len);
    if (need <= buffer->capacity) return;
    size_t capacity = buffer->capacity ? buffer->capacity : 64;
    while (capacity < need) capacity *= 2;
    buffer->data = realloc(buffer->data, capacity);
    CHECK(buffer->data);
    buffer->capacity = capacity;
}

void buffer_append(struct buffer *buffer, const void *data, size_t len)
{
    buffer_reserve(buffer, len);
    if (len) memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
    buffer->data[buffer->len] = 0;
}

void buffer_append_string(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_char(struct buffer *buffer, char c)
{
    buffer_append(buffer, &c, 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    CHECK(len >= 0);
    buffer_reserve(buffer, (size_t)len);
    vsnprintf(buffer->data + buffer->len, (size_t)len + 1, format, again);
    va_end(again);
    buffer->len += (size_t)len;
}
