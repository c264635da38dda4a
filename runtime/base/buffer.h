/*
 * buffer.h - a byte string that grows.
 *
 * Thread: its owner's. `data` is always followed by a zero byte once something was appended, and is
 * NULL before. Allocation failure ends the process (CHECK): sizes from outside are bounded before
 * they get here.
 */
#ifndef RUNTIME_BASE_BUFFER_H
#define RUNTIME_BASE_BUFFER_H

#include <stddef.h>

struct buffer {
    char *data;
    size_t len, capacity;
};

void buffer_free(struct buffer *buffer);  /* and zero it */
void buffer_clear(struct buffer *buffer); /* length 0, capacity kept */
void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_append(struct buffer *buffer, const void *data, size_t len);
void buffer_append_string(struct buffer *buffer, const char *text);
void buffer_append_char(struct buffer *buffer, char c);
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
