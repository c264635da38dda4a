/*
 * safetensors.c - see safetensors.h.
 *
 * The header of each file is JSON; names live in an arena because yyjson's document is freed after
 * parsing. Tensors of all files end in one array sorted by name.
 */
#include "runtime/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "runtime/base/arena.h"
#include "runtime/base/check.h"
#include "runtime/mapping.h"

enum {
    HEADER_BYTES_MAX = 100 << 20, /* the format's own limit */
    INDEX_BYTES_MAX = 100 << 20,
    FILES_MAX = 1 << 10,
    TENSORS_MAX = 1 << 18,
    PATH_BYTES_MAX = 4096,
    NAME_SHOWN_MAX = 60, /* of a tensor's name in a message */
};

struct file {
    const char *name; /* inside the directory; NULL from memory */
    struct mapping mapping;
};

struct safetensors {
    struct arena arena;
    struct file *files;
    int file_count;
    struct safetensor *tensors;
    int64_t count;
};

static const struct {
    const char *name;
    int bits;
} TYPES[] = {{"F32", 32}, {"F16", 16},    {"BF16", 16},   {"F64", 64},   {"I64", 64}, {"I32", 32},
             {"I16", 16}, {"I8", 8},      {"U64", 64},    {"U32", 32},   {"U16", 16}, {"U8", 8},
             {"BOOL", 8}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8}};

/* A name as it may be shown on a terminal. */
static const char *shown(const char *name, char out[NAME_SHOWN_MAX + 1])
{
    size_t len = strnlen(name, NAME_SHOWN_MAX);
    for (size_t i = 0; i < len; i++) out[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
    out[len] = 0;
    return out;
}

static enum status corrupt(struct error *error, const char *tensor, const char *what)
{
    char name[NAME_SHOWN_MAX + 1];
    shown(tensor, name);
    return error_set(error, STATUS_CORRUPT, name, "safetensors tensor '%s': %s", name, what);
}

static enum status parse_shape(yyjson_val *shape, const char *name, struct safetensor *tensor,
                               uint64_t *count, struct error *error)
{
    if (!yyjson_is_arr(shape)) return corrupt(error, name, "'shape' is missing or not an array");
    if (yyjson_arr_size(shape) > SAFETENSORS_DIMS_MAX)
        return corrupt(error, name, "more than 8 dimensions");
    size_t i, dims;
    yyjson_val *dim;
    *count = 1;
    yyjson_arr_foreach(shape, i, dims, dim)
    {
        if (!yyjson_is_uint(dim) || yyjson_get_uint(dim) > INT64_MAX)
            return corrupt(error, name, "a dimension is not a count");
        if (__builtin_mul_overflow(*count, yyjson_get_uint(dim), count))
            return corrupt(error, name, "the size overflows");
        tensor->dims[i] = (int64_t)yyjson_get_uint(dim);
    }
    tensor->dim_count = (int)dims;
    return STATUS_OK;
}

static enum status parse_tensor(yyjson_val *value, const uint8_t *data, uint64_t data_bytes,
                                struct safetensor *tensor, struct error *error)
{
    uint64_t count = 0, bits = 0;
    const char *dtype = yyjson_get_str(yyjson_obj_get(value, "dtype"));
    yyjson_val *offsets = yyjson_obj_get(value, "data_offsets");
    if (!dtype) return corrupt(error, tensor->name, "'dtype' is missing or not a string");
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(dtype, TYPES[i].name) == 0)
            bits = (uint64_t)TYPES[i].bits, tensor->dtype = TYPES[i].name;
    if (!bits) {
        char type[NAME_SHOWN_MAX + 1], name[NAME_SHOWN_MAX + 1];
        shown(tensor->name, name);
        return error_set(error, STATUS_UNSUPPORTED, name,
                         "safetensors tensor '%s': unknown dtype '%s'", name, shown(dtype, type));
    }
    enum status status =
        parse_shape(yyjson_obj_get(value, "shape"), tensor->name, tensor, &count, error);
    if (status != STATUS_OK) return status;
    yyjson_val *first = yyjson_arr_get(offsets, 0), *last = yyjson_arr_get(offsets, 1);
    if (yyjson_arr_size(offsets) != 2 || !yyjson_is_uint(first) || !yyjson_is_uint(last))
        return corrupt(error, tensor->name, "'data_offsets' is missing or not two counts");
    uint64_t begin = yyjson_get_uint(first), end = yyjson_get_uint(last);
    if (begin > end || end > data_bytes)
        return corrupt(error, tensor->name, "lies beyond the end of the file");
    tensor->data = data + begin, tensor->bytes = end - begin;
    if (__builtin_mul_overflow(count, bits / 8, &count) || count != tensor->bytes)
        return corrupt(error, tensor->name, "'data_offsets' contradict shape and dtype");
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct safetensor *)a)->name, ((const struct safetensor *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* The data section is tiled by the tensors exactly: no hole, no overlap, nothing behind. */
static enum status check_tiling(struct safetensor *tensors, int64_t count, const uint8_t *data,
                                uint64_t data_bytes, struct error *error)
{
    uint64_t at = 0;
    qsort(tensors, (size_t)count, sizeof *tensors, compare_places);
    for (int64_t i = 0; i < count; i++) {
        uint64_t begin = (uint64_t)((const uint8_t *)tensors[i].data - data);
        if (begin < at) return corrupt(error, tensors[i].name, "overlaps another tensor");
        if (begin > at) return corrupt(error, tensors[i].name, "leaves a hole before it");
        at = begin + tensors[i].bytes;
    }
    if (at != data_bytes)
        return error_set(error, STATUS_CORRUPT, NULL,
                         "safetensors: %llu bytes behind the last tensor",
                         (unsigned long long)(data_bytes - at));
    return STATUS_OK;
}

static enum status add_tensors(struct safetensors *all, yyjson_val *root, const uint8_t *data,
                               uint64_t data_bytes, struct error *error)
{
    int64_t first = all->count, more = (int64_t)yyjson_obj_size(root);
    if (first + more > TENSORS_MAX)
        return error_set(error, STATUS_TOO_LARGE, NULL, "safetensors: more than %d tensors",
                         TENSORS_MAX);
    all->tensors = realloc(all->tensors, (size_t)(first + more + 1) * sizeof *all->tensors);
    CHECK(all->tensors);
    size_t i, keys;
    yyjson_val *key, *value;
    yyjson_obj_foreach(root, i, keys, key, value)
    {
        const char *name = yyjson_get_str(key);
        size_t len = yyjson_get_len(key);
        if (strcmp(name, "__metadata__") == 0) continue;
        if (len == 0 || strlen(name) != len)
            return corrupt(error, name, "the name is empty or holds a zero byte");
        struct safetensor *tensor = &all->tensors[all->count];
        *tensor = (struct safetensor){.name = arena_strndup(&all->arena, name, len)};
        enum status status = parse_tensor(value, data, data_bytes, tensor, error);
        if (status != STATUS_OK) return status;
        all->count++;
    }
    return check_tiling(all->tensors + first, all->count - first, data, data_bytes, error);
}

/* Reads one file's header and adds its tensors. */
static enum status parse_file(struct safetensors *all, const uint8_t *file, size_t bytes,
                              struct error *error)
{
    uint64_t header;
    if (bytes < sizeof header)
        return error_set(error, STATUS_CORRUPT, NULL, "safetensors: the file is too short");
    memcpy(&header, file, sizeof header);
    if (header > HEADER_BYTES_MAX || header > bytes - sizeof header)
        return error_set(error, STATUS_CORRUPT, NULL,
                         "safetensors: claims a header of %llu bytes in a file of %zu",
                         (unsigned long long)header, bytes);
    yyjson_read_err reason;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)(file + sizeof header), header,
                                       YYJSON_READ_NOFLAG, NULL, &reason);
    if (!doc)
        return error_set(error, STATUS_CORRUPT, NULL,
                         "safetensors: the header is no JSON: %s at byte %zu", reason.msg,
                         reason.pos);
    yyjson_val *root = yyjson_doc_get_root(doc);
    enum status status;
    if (yyjson_is_obj(root))
        status = add_tensors(all, root, file + sizeof header + header,
                             bytes - sizeof header - header, error);
    else
        status = error_set(error, STATUS_CORRUPT, NULL, "safetensors: the header is no object");
    yyjson_doc_free(doc);
    return status;
}

static enum status sort_names(struct safetensors *all, struct error *error)
{
    if (all->count) qsort(all->tensors, (size_t)all->count, sizeof *all->tensors, compare_names);
    for (int64_t i = 1; i < all->count; i++)
        if (strcmp(all->tensors[i - 1].name, all->tensors[i].name) == 0)
            return corrupt(error, all->tensors[i].name, "occurs twice");
    return STATUS_OK;
}

static struct safetensors *alloc_files(size_t count)
{
    struct safetensors *all = calloc(1, sizeof *all);
    CHECK(all);
    all->files = calloc(count + 1, sizeof *all->files);
    CHECK(all->files);
    return all;
}

enum status safetensors_open_memory(const void *data, size_t bytes, struct safetensors **out,
                                    struct error *error)
{
    struct safetensors *all = alloc_files(0);
    enum status status = parse_file(all, data, bytes, error);
    if (status == STATUS_OK) status = sort_names(all, error);
    if (status == STATUS_OK)
        *out = all;
    else
        safetensors_close(all);
    return status;
}

/* Maps DIRECTORY/name and adds its tensors. */
static enum status open_file(struct safetensors *all, const char *directory, const char *name,
                             struct error *error)
{
    char path[PATH_BYTES_MAX];
    struct file *file = &all->files[all->file_count];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return error_set(error, STATUS_INVALID, name, "the path of '%.200s' is too long", name);
    enum status status = mapping_open(path, &file->mapping, error);
    if (status != STATUS_OK) return status;
    file->name = arena_strndup(&all->arena, name, strlen(name));
    all->file_count++;
    status = parse_file(all, file->mapping.data, file->mapping.bytes, error);
    return status == STATUS_OK ? status : error_prefix(error, status, "%s", path);
}

/* A file of the same directory: no separators, so an index cannot name files elsewhere. */
static bool plain_name(const char *name, size_t len)
{
    return len > 0 && len < 256 && strlen(name) == len && !strchr(name, '/') && name[0] != '.';
}

static const struct file *file_by_name(const struct safetensors *all, const char *name)
{
    for (int i = 0; i < all->file_count; i++)
        if (strcmp(all->files[i].name, name) == 0) return &all->files[i];
    return NULL;
}

static enum status open_indexed(struct safetensors *all, const char *directory, yyjson_val *map,
                                struct error *error)
{
    size_t i, count;
    yyjson_val *key, *value;
    enum status status;
    if (!yyjson_is_obj(map))
        return error_set(error, STATUS_CORRUPT, "weight_map", "'weight_map' is missing");
    yyjson_obj_foreach(map, i, count, key, value)
    {
        const char *name = yyjson_get_str(value);
        if (!name || !plain_name(name, yyjson_get_len(value)))
            return corrupt(error, yyjson_get_str(key), "its entry in the index is no file name");
        if (file_by_name(all, name)) continue;
        if (all->file_count == FILES_MAX)
            return error_set(error, STATUS_TOO_LARGE, "weight_map", "more than %d files",
                             FILES_MAX);
        status = open_file(all, directory, name, error);
        if (status != STATUS_OK) return status;
    }
    status = sort_names(all, error);
    if (status != STATUS_OK) return status;
    yyjson_obj_foreach(map, i, count, key, value)
    {
        const struct safetensor *tensor = safetensors_find(all, yyjson_get_str(key));
        const struct file *file = file_by_name(all, yyjson_get_str(value));
        const char *start = file->mapping.data;
        if (!tensor || (const char *)tensor->data < start ||
            (const char *)tensor->data > start + file->mapping.bytes)
            return corrupt(error, yyjson_get_str(key), "is not in the file that the index names");
    }
    return STATUS_OK;
}

static enum status open_index(const char *directory, const char *path, struct safetensors **out,
                              struct error *error)
{
    char *text;
    size_t bytes;
    enum status status = mapping_read_file(path, INDEX_BYTES_MAX, &text, &bytes, error);
    if (status != STATUS_OK) return status;
    struct safetensors *all = alloc_files(FILES_MAX);
    yyjson_doc *doc = yyjson_read(text, bytes, YYJSON_READ_NOFLAG);
    free(text);
    if (doc)
        status = open_indexed(all, directory,
                              yyjson_obj_get(yyjson_doc_get_root(doc), "weight_map"), error);
    else
        status = error_set(error, STATUS_CORRUPT, NULL, "not JSON");
    yyjson_doc_free(doc);
    if (status != STATUS_OK) {
        safetensors_close(all);
        return error_prefix(error, status, "%s", path);
    }
    *out = all;
    return STATUS_OK;
}

enum status safetensors_open(const char *directory, struct safetensors **out, struct error *error)
{
    char path[PATH_BYTES_MAX];
    static const char single[] = "model.safetensors", index[] = "model.safetensors.index.json";
    if (snprintf(path, sizeof path, "%s/%s", directory, single) >= (int)sizeof path - 16)
        return error_set(error, STATUS_INVALID, NULL, "the path is too long");
    if (access(path, F_OK) != 0) {
        snprintf(path, sizeof path, "%s/%s", directory, index);
        if (access(path, F_OK) == 0) return open_index(directory, path, out, error);
        return error_set(error, STATUS_NOT_FOUND, single,
                         "%s: neither %s nor %s is there; other weight formats are not read",
                         directory, single, index);
    }
    struct safetensors *all = alloc_files(1);
    enum status status = open_file(all, directory, single, error);
    if (status == STATUS_OK) status = sort_names(all, error);
    if (status == STATUS_OK)
        *out = all;
    else
        safetensors_close(all);
    return status;
}

void safetensors_close(struct safetensors *tensors)
{
    if (!tensors) return;
    for (int i = 0; i < tensors->file_count; i++) mapping_close(&tensors->files[i].mapping);
    free(tensors->files);
    free(tensors->tensors);
    arena_free(&tensors->arena);
    free(tensors);
}

void safetensors_drop_pages(const struct safetensors *tensors)
{
    for (int i = 0; i < tensors->file_count; i++) mapping_drop(&tensors->files[i].mapping);
}

int64_t safetensors_count(const struct safetensors *tensors)
{
    return tensors->count;
}

const struct safetensor *safetensors_at(const struct safetensors *tensors, int64_t index)
{
    CHECK(index >= 0 && index < tensors->count);
    return &tensors->tensors[index];
}

const struct safetensor *safetensors_find(const struct safetensors *tensors, const char *name)
{
    struct safetensor wanted = {.name = name};
    if (!tensors->count) return NULL;
    return bsearch(&wanted, tensors->tensors, (size_t)tensors->count, sizeof wanted, compare_names);
}
