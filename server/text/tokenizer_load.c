/* tokenizer_load.c - which file a path means, and the files beside it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_core.h"
#include "server/text/tokenizer_files.h"

enum status tokenizer_file_read(const char *path, size_t max, char **out, size_t *len,
                                struct error *error)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_set(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL, "%s: %s",
                         path, strerror(errno));
    enum status status = STATUS_OK;
    char *data = NULL;
    if (fstat(fileno(file), &about) || !S_ISREG(about.st_mode)) {
        status = error_set(error, STATUS_INVALID, NULL, "%s is not a file", path);
    } else if ((size_t)about.st_size > max) {
        status = error_set(error, STATUS_TOO_LARGE, NULL, "%s is larger than %zu bytes", path, max);
    } else {
        size_t size = (size_t)about.st_size;
        data = malloc(size + FILE_PADDING);
        CHECK(data);
        if (fread(data, 1, size, file) != size)
            status = error_set(error, STATUS_IO, NULL, "%s could not be read to its end", path);
        memset(data + size, 0, FILE_PADDING);
        *len = size;
    }
    fclose(file);
    if (status)
        free(data);
    else
        *out = data;
    return status;
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Fills `file` with the tokenizer's file and `directory` with where the other files are. */
static enum status resolve(const char *path, struct buffer *file, struct buffer *directory,
                           struct error *error)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer.model"};
    struct stat about;
    if (stat(path, &about))
        return error_set(error, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, NULL, "%s: %s",
                         path, strerror(errno));
    if (!S_ISDIR(about.st_mode)) {
        const char *slash = strrchr(path, '/');
        buffer_append_string(file, path);
        buffer_append(directory, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
        return STATUS_OK;
    }
    buffer_append_string(directory, path);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        buffer_clear(file);
        buffer_printf(file, "%s/%s", path, names[i]);
        if (exists(file->data)) return STATUS_OK;
    }
    return error_set(error, STATUS_NOT_FOUND, NULL,
                     "%s has neither a tokenizer.json nor a tokenizer.model", path);
}

static enum status read_file(struct tokenizer *tokenizer, const char *path, struct error *error)
{
    char *data = NULL;
    size_t len = 0;
    enum status status = tokenizer_file_read(path, FILE_BYTES_MAX, &data, &len, error);
    if (status) return status;
    if (len >= 4 && !memcmp(data, "GGUF", 4)) {
        status = error_set(error, STATUS_INVALID, NULL, "it is a GGUF file");
    } else {
        size_t blank = strspn(data, " \t\r\n");
        status = data[blank] == '{' ? tokenizer_read_json(tokenizer, data, len, error)
                                    : tokenizer_read_sentencepiece(tokenizer, data, len, error);
    }
    free(data);
    return status ? error_prefix(error, status, "%s", path) : STATUS_OK;
}

enum status tokenizer_load(const char *path, struct tokenizer **out, struct error *error)
{
    struct buffer file = {0}, directory = {0};
    struct tokenizer *tokenizer = tokenizer_create();
    enum status status = resolve(path, &file, &directory, error);
    if (!status) status = read_file(tokenizer, file.data, error);
    if (!status) status = tokenizer_read_config(tokenizer, directory.data, error);
    if (!status && (status = tokenizer_finish(tokenizer, error)))
        error_prefix(error, status, "%s", file.data);
    buffer_free(&file);
    buffer_free(&directory);
    if (status)
        tokenizer_destroy(tokenizer);
    else
        *out = tokenizer;
    return status;
}
