/* files.h - whole small files. Thread: any. */
#ifndef SERVER_FILES_H
#define SERVER_FILES_H

#include <stddef.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

/* Appends the file's bytes; STATUS_IO with the reason, STATUS_TOO_LARGE above `bytes_max`. */
enum status file_read(const char *path, size_t bytes_max, struct buffer *out, struct error *error);

#endif
