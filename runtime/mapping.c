/* mapping.c - see mapping.h. */
#include "runtime/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/check.h"

static enum status refuse(struct error *error, const char *path, int reason)
{
    return error_set(error, reason == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path, "%s: %s", path,
                     strerror(reason));
}

/* Opens a regular file and tells its size. */
static enum status open_regular(const char *path, int *fd, size_t *bytes, struct error *error)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) return refuse(error, path, errno);
    if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(*fd);
        return error_set(error, STATUS_IO, path, "%s: not a regular file", path);
    }
    *bytes = (size_t)info.st_size;
    return STATUS_OK;
}

enum status mapping_open(const char *path, struct mapping *out, struct error *error)
{
    int fd;
    size_t bytes;
    enum status status = open_regular(path, &fd, &bytes, error);
    if (status != STATUS_OK) return status;
    if (bytes == 0) {
        close(fd);
        return error_set(error, STATUS_CORRUPT, path, "%s: the file is empty", path);
    }
    void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    int reason = errno;
    close(fd);
    if (data == MAP_FAILED) return refuse(error, path, reason);
    *out = (struct mapping){data, bytes};
    return STATUS_OK;
}

void mapping_close(struct mapping *mapping)
{
    if (mapping->data) munmap((void *)mapping->data, mapping->bytes);
    *mapping = (struct mapping){0};
}

void mapping_drop(const struct mapping *mapping)
{
    if (mapping->data) madvise((void *)mapping->data, mapping->bytes, MADV_DONTNEED);
}

enum status mapping_read_file(const char *path, size_t bytes_max, char **out, size_t *bytes,
                              struct error *error)
{
    int fd;
    size_t size;
    enum status status = open_regular(path, &fd, &size, error);
    if (status != STATUS_OK) return status;
    if (size > bytes_max) {
        close(fd);
        return error_set(error, STATUS_TOO_LARGE, path, "%s: %zu bytes, more than the %zu allowed",
                         path, size, bytes_max);
    }
    char *data = malloc(size + 1);
    CHECK(data);
    size_t have = 0;
    while (have < size) {
        ssize_t got = read(fd, data + have, size - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += (size_t)got;
    }
    int reason = have < size ? (errno ? errno : EIO) : 0;
    close(fd);
    if (reason) {
        free(data);
        return refuse(error, path, reason);
    }
    data[size] = 0;
    *out = data, *bytes = size;
    return STATUS_OK;
}
