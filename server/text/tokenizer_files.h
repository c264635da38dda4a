/*
 * tokenizer_files.h - reading the files that a tokenizer is made of.
 *
 * Thread: any; used at load time only.
 */
#ifndef SERVER_TEXT_TOKENIZER_FILES_H
#define SERVER_TEXT_TOKENIZER_FILES_H

#include <stddef.h>

#include "runtime/base/status.h"

enum {
    FILE_BYTES_MAX = 256 << 20, /* of a tokenizer; the largest known has 33 MB */
    FILE_PADDING = 8,           /* zero bytes after the contents: in-place JSON parsing needs 4 */
};

/* The whole file, to be freed; STATUS_NOT_FOUND if there is none. */
enum status tokenizer_file_read(const char *path, size_t max, char **out, size_t *len,
                                struct error *error);

#endif
