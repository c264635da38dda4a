/* files.c - see files.h. */
#include "server/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status file_read(const char *path, size_t bytes_max, struct buffer *out, struct error *error)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_set(error, STATUS_IO, NULL, "cannot read %s: %s", path, strerror(errno));
    char piece[16384];
    size_t n, before = out->len;
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0 && out->len - before <= bytes_max)
        buffer_append(out, piece, n);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return error_set(error, STATUS_IO, NULL, "cannot read %s: %s", path, strerror(failed));
    if (out->len - before > bytes_max)
        return error_set(error, STATUS_TOO_LARGE, NULL, "%s is larger than %zu bytes", path,
                         bytes_max);
    return STATUS_OK;
}
