/*
 * mapping.h - a file mapped read-only into memory.
 *
 * Thread: any; immutable after open. A file that shrinks while it is mapped kills the process
 * (SIGBUS), as it does every program that maps its weights.
 */
#ifndef RUNTIME_MAPPING_H
#define RUNTIME_MAPPING_H

#include <stddef.h>

#include "runtime/base/status.h"

struct mapping { /* all zero: nothing is mapped */
    const void *data;
    size_t bytes;
};

/* STATUS_NOT_FOUND, STATUS_IO or, for an empty file, STATUS_CORRUPT; the message has the path. */
enum status mapping_open(const char *path, struct mapping *out, struct error *error);
void mapping_close(struct mapping *mapping);

/* Gives the pages back to the system; they come again, from its cache or the file, when they are
 * read. */
void mapping_drop(const struct mapping *mapping);

/* Reads a file of at most `bytes_max` bytes whole, adding a zero byte; freed with free(). */
enum status mapping_read_file(const char *path, size_t bytes_max, char **out, size_t *bytes,
                              struct error *error);

#endif
