/*
 * gguf.c - see gguf.h.
 *
 * Parsing walks a cursor over the mapping; every read is checked against its end, so a truncated or
 * lying file ends in a status. Lookups are binary searches in sorted indexes: unlike a hash table
 * they cannot be slowed down by names chosen to collide.
 */
#include "runtime/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/mapping.h"

enum {
    KEY_BYTES_MAX = 65535, /* the format's own limit */
    NAME_BYTES_MAX = 255,
    KEYS_MAX = 1 << 16,
    TENSORS_MAX = 1 << 17,
    PARTS_MAX = 1 << 10,
    ALIGNMENT_DEFAULT = 32,
    ALIGNMENT_MAX = 1 << 20,
    PRINTABLE_MAX = 60, /* of a name in a message */
};

struct cursor {
    const uint8_t *at, *end;
};

struct entry { /* a key and its value */
    struct gguf_string key;
    enum gguf_type type;
    const uint8_t *value;    /* of a scalar: packed, unaligned */
    struct gguf_string text; /* GGUF_STRING */
    struct gguf_array array; /* GGUF_ARRAY */
};

struct part {
    struct mapping mapping; /* not of memory models */
    const uint8_t *data;
    size_t bytes;
    struct entry *entries; /* sorted by key */
    int64_t entry_count;
    struct gguf_tensor *tensors; /* as in the file */
    int64_t tensor_count;
};

struct gguf {
    struct part *parts; /* metadata are the first part's */
    int part_count;
    struct gguf_tensor *tensors; /* of all parts, in their order */
    struct gguf_tensor **by_name;
    int64_t tensor_count;
};

struct type_info {
    const char *name;
    uint16_t block, bytes; /* values in a block, bytes of a block; 0: no such type */
};

static const struct type_info TYPES[] = {
    [0] = {"F32", 1, 4},         [1] = {"F16", 1, 2},         [2] = {"Q4_0", 32, 18},
    [3] = {"Q4_1", 32, 20},      [6] = {"Q5_0", 32, 22},      [7] = {"Q5_1", 32, 24},
    [8] = {"Q8_0", 32, 34},      [9] = {"Q8_1", 32, 36},      [10] = {"Q2_K", 256, 84},
    [11] = {"Q3_K", 256, 110},   [12] = {"Q4_K", 256, 144},   [13] = {"Q5_K", 256, 176},
    [14] = {"Q6_K", 256, 210},   [15] = {"Q8_K", 256, 292},   [16] = {"IQ2_XXS", 256, 66},
    [17] = {"IQ2_XS", 256, 74},  [18] = {"IQ3_XXS", 256, 98}, [19] = {"IQ1_S", 256, 50},
    [20] = {"IQ4_NL", 32, 18},   [21] = {"IQ3_S", 256, 110},  [22] = {"IQ2_S", 256, 82},
    [23] = {"IQ4_XS", 256, 136}, [24] = {"I8", 1, 1},         [25] = {"I16", 1, 2},
    [26] = {"I32", 1, 4},        [27] = {"I64", 1, 8},        [28] = {"F64", 1, 8},
    [29] = {"IQ1_M", 256, 56},   [30] = {"BF16", 1, 2},       [34] = {"TQ1_0", 256, 54},
    [35] = {"TQ2_0", 256, 66},   [39] = {"MXFP4", 32, 17},
};

static const struct type_info *type_find(uint32_t ggml_type)
{
    if (ggml_type >= sizeof TYPES / sizeof *TYPES || !TYPES[ggml_type].block) return NULL;
    return &TYPES[ggml_type];
}

const char *gguf_type_name(uint32_t ggml_type)
{
    const struct type_info *info = type_find(ggml_type);
    return info ? info->name : "unknown";
}

/* Bytes of a scalar in the metadata; 0 for strings, arrays and what is no type. */
static size_t scalar_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof bytes ? bytes[type] : 0;
}

/* --- messages ------------------------------------------------------------------------------- */

struct printable {
    char text[PRINTABLE_MAX + 1];
};

/* A name as it may be shown on a terminal: cut, control bytes and non-ASCII replaced. */
static struct printable printable(struct gguf_string name)
{
    struct printable out;
    size_t len = name.len < PRINTABLE_MAX ? (size_t)name.len : PRINTABLE_MAX;
    for (size_t i = 0; i < len; i++)
        out.text[i] = name.data[i] >= ' ' && name.data[i] <= '~' ? name.data[i] : '?';
    out.text[len] = 0;
    return out;
}

static enum status corrupt(struct error *error, const char *what)
{
    return error_set(error, STATUS_CORRUPT, NULL, "GGUF: %s", what);
}

static enum status corrupt_key(struct error *error, struct gguf_string key, const char *what)
{
    struct printable name = printable(key);
    return error_set(error, STATUS_CORRUPT, name.text, "GGUF key '%s': %s", name.text, what);
}

static enum status corrupt_tensor(struct error *error, struct gguf_string tensor, const char *what)
{
    struct printable name = printable(tensor);
    return error_set(error, STATUS_CORRUPT, name.text, "GGUF tensor '%s': %s", name.text, what);
}

/* --- reading -------------------------------------------------------------------------------- */

static bool read_bytes(struct cursor *in, void *out, size_t bytes)
{
    if ((size_t)(in->end - in->at) < bytes) return false;
    memcpy(out, in->at, bytes);
    in->at += bytes;
    return true;
}

static bool read_u32(struct cursor *in, uint32_t *out)
{
    return read_bytes(in, out, sizeof *out);
}

static bool read_u64(struct cursor *in, uint64_t *out)
{
    return read_bytes(in, out, sizeof *out);
}

static bool read_string(struct cursor *in, struct gguf_string *out)
{
    if (!read_u64(in, &out->len) || out->len > (size_t)(in->end - in->at)) return false;
    out->data = (const char *)in->at;
    in->at += out->len;
    return true;
}

static bool bools_valid(const uint8_t *data, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (data[i] > 1) return false;
    return true;
}

static enum status parse_array(struct cursor *in, struct entry *entry, struct error *error)
{
    uint32_t type;
    struct gguf_array *array = &entry->array;
    if (!read_u32(in, &type) || !read_u64(in, &array->count))
        return corrupt_key(error, entry->key, "the file ends inside the array's header");
    array->type = (enum gguf_type)type;
    array->data = in->at;
    if (type == GGUF_ARRAY) return corrupt_key(error, entry->key, "arrays of arrays are refused");
    if (type == GGUF_STRING) {
        struct gguf_string text;
        if (array->count > (size_t)(in->end - in->at) / sizeof text.len)
            return corrupt_key(error, entry->key, "more strings than the file can hold");
        for (uint64_t i = 0; i < array->count; i++)
            if (!read_string(in, &text))
                return corrupt_key(error, entry->key, "the file ends inside a string of the array");
        array->bytes = (uint64_t)(in->at - array->data);
        return STATUS_OK;
    }
    size_t bytes = scalar_bytes(type);
    if (!bytes) return corrupt_key(error, entry->key, "the array's element type is unknown");
    if (array->count > (size_t)(in->end - in->at) / bytes)
        return corrupt_key(error, entry->key, "the array is longer than the file");
    if (type == GGUF_BOOL && !bools_valid(in->at, array->count))
        return corrupt_key(error, entry->key, "a boolean is neither 0 nor 1");
    array->bytes = array->count * bytes;
    in->at += array->bytes;
    return STATUS_OK;
}

static enum status parse_entry(struct cursor *in, struct entry *entry, struct error *error)
{
    uint32_t type;
    if (!read_string(in, &entry->key)) return corrupt(error, "the file ends inside a key's name");
    if (entry->key.len == 0 || entry->key.len > KEY_BYTES_MAX)
        return corrupt_key(error, entry->key, "the key's length is not in 1..65535");
    if (!read_u32(in, &type))
        return corrupt_key(error, entry->key, "the file ends before the type");
    entry->type = (enum gguf_type)type;
    if (type == GGUF_ARRAY) return parse_array(in, entry, error);
    if (type == GGUF_STRING) {
        if (read_string(in, &entry->text)) return STATUS_OK;
        return corrupt_key(error, entry->key, "the string is longer than the file");
    }
    size_t bytes = scalar_bytes(type);
    if (!bytes) return corrupt_key(error, entry->key, "the value's type is unknown");
    if ((size_t)(in->end - in->at) < bytes)
        return corrupt_key(error, entry->key, "the file ends inside the value");
    if (type == GGUF_BOOL && *in->at > 1)
        return corrupt_key(error, entry->key, "a boolean is neither 0 nor 1");
    entry->value = in->at;
    in->at += bytes;
    return STATUS_OK;
}

/* Name, shape, type and, in `bytes`, the size; `data` is the offset until place_tensors. */
static enum status parse_tensor(struct cursor *in, struct gguf_tensor *tensor, uint64_t *offset,
                                struct error *error)
{
    uint32_t dim_count;
    if (!read_string(in, &tensor->name))
        return corrupt(error, "the file ends inside a tensor's name");
    if (tensor->name.len == 0 || tensor->name.len > NAME_BYTES_MAX)
        return corrupt_tensor(error, tensor->name, "the name's length is not in 1..255");
    if (!read_u32(in, &dim_count))
        return corrupt_tensor(error, tensor->name, "the file ends before the shape");
    if (dim_count < 1 || dim_count > GGUF_DIMS_MAX)
        return corrupt_tensor(error, tensor->name, "the number of dimensions is not in 1..4");
    tensor->dim_count = (int)dim_count;
    int64_t count = 1;
    for (int i = 0; i < GGUF_DIMS_MAX; i++) {
        uint64_t dim = 1;
        if (i < tensor->dim_count && !read_u64(in, &dim))
            return corrupt_tensor(error, tensor->name, "the file ends inside the shape");
        if (dim < 1 || dim > INT64_MAX || __builtin_mul_overflow(count, (int64_t)dim, &count))
            return corrupt_tensor(error, tensor->name, "a dimension is zero or too large");
        tensor->dims[i] = (int64_t)dim;
    }
    if (!read_u32(in, &tensor->ggml_type) || !read_u64(in, offset))
        return corrupt_tensor(error, tensor->name, "the file ends before the offset");
    const struct type_info *info = type_find(tensor->ggml_type);
    if (!info) return STATUS_OK;
    if (tensor->dims[0] % info->block)
        return corrupt_tensor(error, tensor->name, "a row is not a whole number of blocks");
    if (__builtin_mul_overflow((uint64_t)(count / info->block), (uint64_t)info->bytes,
                               &tensor->bytes))
        return corrupt_tensor(error, tensor->name, "the size overflows");
    return STATUS_OK;
}

/* --- indexes -------------------------------------------------------------------------------- */

static int compare_strings(struct gguf_string a, struct gguf_string b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_strings(((const struct entry *)a)->key, ((const struct entry *)b)->key);
}

static int compare_names(const void *a, const void *b)
{
    return compare_strings((*(struct gguf_tensor *const *)a)->name,
                           (*(struct gguf_tensor *const *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
    const struct gguf_tensor *x = *(struct gguf_tensor *const *)a;
    const struct gguf_tensor *y = *(struct gguf_tensor *const *)b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static const struct entry *find_entry(const struct part *part, const char *key)
{
    struct entry wanted = {.key = {key, strlen(key)}};
    if (!part->entry_count) return NULL;
    return bsearch(&wanted, part->entries, (size_t)part->entry_count, sizeof wanted,
                   compare_entries);
}

static bool entry_int(const struct entry *entry, int64_t *out)
{
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    int32_t i32;
    int16_t i16;
    if (!entry) return false;
    switch (entry->type) {
    case GGUF_U8: *out = *entry->value; return true;
    case GGUF_I8: *out = (int8_t)*entry->value; return true;
    case GGUF_U16: memcpy(&u16, entry->value, sizeof u16), *out = u16; return true;
    case GGUF_I16: memcpy(&i16, entry->value, sizeof i16), *out = i16; return true;
    case GGUF_U32: memcpy(&u32, entry->value, sizeof u32), *out = u32; return true;
    case GGUF_I32: memcpy(&i32, entry->value, sizeof i32), *out = i32; return true;
    case GGUF_I64: memcpy(out, entry->value, sizeof *out); return true;
    case GGUF_U64:
        memcpy(&u64, entry->value, sizeof u64);
        if (u64 > INT64_MAX) return false;
        *out = (int64_t)u64;
        return true;
    default: return false;
    }
}

/* --- opening -------------------------------------------------------------------------------- */

static enum status parse_header(struct cursor *in, uint64_t *tensors, uint64_t *keys,
                                struct error *error)
{
    uint8_t magic[4];
    uint32_t version;
    if (!read_bytes(in, magic, sizeof magic) || memcmp(magic, "GGUF", sizeof magic) != 0)
        return corrupt(error, "the file does not begin with 'GGUF'");
    if (!read_u32(in, &version) || !read_u64(in, tensors) || !read_u64(in, keys))
        return corrupt(error, "the file ends inside its header");
    if (version == 0x02000000 || version == 0x03000000)
        return error_set(error, STATUS_UNSUPPORTED, "version",
                         "GGUF: a big-endian file; only little-endian ones are supported");
    if (version != 2 && version != 3)
        return error_set(error, STATUS_UNSUPPORTED, "version",
                         "GGUF: version %u is not supported; 2 and 3 are", version);
    if (*keys > KEYS_MAX || *tensors > TENSORS_MAX)
        return error_set(error, STATUS_CORRUPT, NULL,
                         "GGUF: claims %llu keys and %llu tensors; at most %d and %d are accepted",
                         (unsigned long long)*keys, (unsigned long long)*tensors, KEYS_MAX,
                         TENSORS_MAX);
    return STATUS_OK;
}

static enum status part_alignment(const struct part *part, uint64_t *out, struct error *error)
{
    const struct entry *entry = find_entry(part, "general.alignment");
    int64_t alignment = ALIGNMENT_DEFAULT;
    if (entry && (!entry_int(entry, &alignment) || alignment < 8 || alignment > ALIGNMENT_MAX ||
                  (alignment & (alignment - 1))))
        return corrupt_key(error, entry->key, "not a power of two from 8 to 1048576");
    *out = (uint64_t)alignment;
    return STATUS_OK;
}

/* Turns offsets into pointers, and refuses what lies outside the file or over another tensor. */
static enum status place_tensors(struct part *part, const uint64_t *offsets, const uint8_t *end,
                                 struct error *error)
{
    uint64_t alignment = 0, start = (uint64_t)(end - part->data);
    enum status status = part_alignment(part, &alignment, error);
    if (status != STATUS_OK) return status;
    start = (start + alignment - 1) / alignment * alignment;
    struct gguf_tensor **placed = malloc(((size_t)part->tensor_count + 1) * sizeof *placed);
    CHECK(placed);
    int64_t count = 0;
    for (int64_t i = 0; i < part->tensor_count && status == STATUS_OK; i++) {
        struct gguf_tensor *tensor = &part->tensors[i];
        if (!type_find(tensor->ggml_type)) continue;
        if (offsets[i] % alignment)
            status = corrupt_tensor(error, tensor->name, "the offset is not aligned");
        else if (start > part->bytes || offsets[i] > part->bytes - start ||
                 tensor->bytes > part->bytes - start - offsets[i])
            status = corrupt_tensor(error, tensor->name, "lies beyond the end of the file");
        else {
            tensor->data = part->data + start + offsets[i];
            placed[count++] = tensor;
        }
    }
    if (status == STATUS_OK) qsort(placed, (size_t)count, sizeof *placed, compare_places);
    for (int64_t i = 1; i < count && status == STATUS_OK; i++)
        if ((const uint8_t *)placed[i - 1]->data + placed[i - 1]->bytes >
            (const uint8_t *)placed[i]->data)
            status = corrupt_tensor(error, placed[i]->name, "overlaps another tensor");
    free(placed);
    return status;
}

static enum status parse_part(struct part *part, int index, struct error *error)
{
    struct cursor in = {part->data, part->data + part->bytes};
    uint64_t tensors = 0, keys = 0, *offsets = NULL;
    enum status status = parse_header(&in, &tensors, &keys, error);
    if (status != STATUS_OK) return status;
    part->entries = calloc(keys + 1, sizeof *part->entries);
    part->tensors = calloc(tensors + 1, sizeof *part->tensors);
    offsets = calloc(tensors + 1, sizeof *offsets);
    CHECK(part->entries && part->tensors && offsets);
    for (uint64_t i = 0; i < keys && status == STATUS_OK; i++, part->entry_count++)
        status = parse_entry(&in, &part->entries[i], error);
    if (status != STATUS_OK) goto done;
    qsort(part->entries, keys, sizeof *part->entries, compare_entries);
    for (uint64_t i = 1; i < keys; i++)
        if (compare_entries(&part->entries[i - 1], &part->entries[i]) == 0) {
            status = corrupt_key(error, part->entries[i].key, "occurs twice");
            goto done;
        }
    for (uint64_t i = 0; i < tensors && status == STATUS_OK; i++, part->tensor_count++) {
        status = parse_tensor(&in, &part->tensors[i], &offsets[i], error);
        part->tensors[i].part = index;
    }
    if (status == STATUS_OK) status = place_tensors(part, offsets, in.at, error);
done:
    free(offsets);
    return status;
}

/* One list of all parts' tensors and its index by name. */
static enum status merge_parts(struct gguf *gguf, struct error *error)
{
    for (int i = 0; i < gguf->part_count; i++) gguf->tensor_count += gguf->parts[i].tensor_count;
    size_t count = (size_t)gguf->tensor_count;
    gguf->tensors = malloc((count + 1) * sizeof *gguf->tensors);
    gguf->by_name = malloc((count + 1) * sizeof *gguf->by_name);
    CHECK(gguf->tensors && gguf->by_name);
    size_t at = 0;
    for (int i = 0; i < gguf->part_count; i++)
        for (int64_t j = 0; j < gguf->parts[i].tensor_count; j++)
            gguf->tensors[at++] = gguf->parts[i].tensors[j];
    for (size_t i = 0; i < count; i++) gguf->by_name[i] = &gguf->tensors[i];
    qsort(gguf->by_name, count, sizeof *gguf->by_name, compare_names);
    for (size_t i = 1; i < count; i++)
        if (compare_names(&gguf->by_name[i - 1], &gguf->by_name[i]) == 0)
            return corrupt_tensor(error, gguf->by_name[i]->name, "occurs twice");
    return STATUS_OK;
}

static struct gguf *gguf_alloc(int parts)
{
    struct gguf *gguf = calloc(1, sizeof *gguf);
    CHECK(gguf);
    gguf->parts = calloc((size_t)parts, sizeof *gguf->parts);
    CHECK(gguf->parts);
    gguf->part_count = parts;
    return gguf;
}

static int64_t split_count(const struct part *part)
{
    int64_t count = 1;
    entry_int(find_entry(part, "split.count"), &count);
    return count < 1 ? 1 : count;
}

enum status gguf_open_memory(const void *data, size_t bytes, struct gguf **out, struct error *error)
{
    struct gguf *gguf = gguf_alloc(1);
    gguf->parts[0].data = data, gguf->parts[0].bytes = bytes;
    enum status status = parse_part(&gguf->parts[0], 0, error);
    if (status == STATUS_OK && split_count(&gguf->parts[0]) != 1)
        status = error_set(error, STATUS_UNSUPPORTED, "split.count",
                           "GGUF: one part of a split model; all of its files are needed");
    if (status == STATUS_OK) status = merge_parts(gguf, error);
    if (status != STATUS_OK)
        gguf_close(gguf);
    else
        *out = gguf;
    return status;
}

static enum status open_part(const char *path, struct part *part, int index, struct error *error)
{
    enum status status = mapping_open(path, &part->mapping, error);
    if (status != STATUS_OK) return status;
    part->data = part->mapping.data, part->bytes = part->mapping.bytes;
    status = parse_part(part, index, error);
    return status == STATUS_OK ? status : error_prefix(error, status, "%s", path);
}

static void part_close(struct part *part)
{
    free(part->entries);
    free(part->tensors);
    mapping_close(&part->mapping);
}

/* Length of NAME in "NAME-00002-of-00003.gguf" where the path is so; 0 else. */
static size_t split_prefix(const char *path, int64_t count)
{
    char expected[32];
    size_t len = strlen(path), suffix = strlen("-00001-of-00003.gguf");
    if (len <= suffix || path[len - suffix] != '-') return 0;
    for (size_t i = 1; i <= 5; i++)
        if (path[len - suffix + i] < '0' || path[len - suffix + i] > '9') return 0;
    snprintf(expected, sizeof expected, "-of-%05lld.gguf", (long long)count);
    return strcmp(path + len - suffix + 6, expected) == 0 ? len - suffix : 0;
}

/* All parts of the split model that `path` is one of. */
static enum status open_split(const char *path, int64_t count, struct gguf **out,
                              struct error *error)
{
    size_t prefix = split_prefix(path, count);
    if (count > PARTS_MAX || !prefix)
        return error_set(error, STATUS_INVALID, "split.count",
                         "%s: one of %lld parts, but the file is not named "
                         "NAME-00001-of-%05lld.gguf",
                         path, (long long)count, (long long)count);
    struct gguf *gguf = gguf_alloc((int)count);
    size_t capacity = prefix + 32;
    char *name = malloc(capacity);
    CHECK(name);
    enum status status = STATUS_OK;
    int64_t tensors = 0, expected;
    for (int i = 0; i < (int)count && status == STATUS_OK; i++) {
        struct part *part = &gguf->parts[i];
        int64_t number = -1;
        snprintf(name, capacity, "%.*s-%05d-of-%05d.gguf", (int)prefix, path, i + 1, (int)count);
        status = open_part(name, part, i, error);
        if (status != STATUS_OK) break;
        if (!entry_int(find_entry(part, "split.no"), &number) || number != i ||
            split_count(part) != count)
            status =
                error_set(error, STATUS_CORRUPT, "split.no",
                          "%s: says it is part %lld of %lld, its name says %d of %d", name,
                          (long long)number + 1, (long long)split_count(part), i + 1, (int)count);
        tensors += part->tensor_count;
    }
    if (status == STATUS_OK &&
        entry_int(find_entry(&gguf->parts[0], "split.tensors.count"), &expected) &&
        expected != tensors)
        status = error_set(error, STATUS_CORRUPT, "split.tensors.count",
                           "%s: %lld tensors are announced, the parts hold %lld", path,
                           (long long)expected, (long long)tensors);
    free(name);
    if (status == STATUS_OK) status = merge_parts(gguf, error);
    if (status != STATUS_OK)
        gguf_close(gguf);
    else
        *out = gguf;
    return status;
}

enum status gguf_open(const char *path, struct gguf **out, struct error *error)
{
    struct gguf *gguf = gguf_alloc(1);
    enum status status = open_part(path, &gguf->parts[0], 0, error);
    int64_t count = status == STATUS_OK ? split_count(&gguf->parts[0]) : 1;
    if (count > 1) {
        gguf_close(gguf);
        return open_split(path, count, out, error);
    }
    if (status == STATUS_OK) {
        status = merge_parts(gguf, error);
        if (status != STATUS_OK) error_prefix(error, status, "%s", path);
    }
    if (status != STATUS_OK)
        gguf_close(gguf);
    else
        *out = gguf;
    return status;
}

void gguf_close(struct gguf *gguf)
{
    if (!gguf) return;
    for (int i = 0; i < gguf->part_count; i++) part_close(&gguf->parts[i]);
    free(gguf->parts);
    free(gguf->tensors);
    free(gguf->by_name);
    free(gguf);
}

void gguf_drop_pages(const struct gguf *gguf)
{
    for (int i = 0; i < gguf->part_count; i++) mapping_drop(&gguf->parts[i].mapping);
}

/* --- access --------------------------------------------------------------------------------- */

bool gguf_get_int(const struct gguf *gguf, const char *key, int64_t *out)
{
    return entry_int(find_entry(&gguf->parts[0], key), out);
}

bool gguf_get_float(const struct gguf *gguf, const char *key, double *out)
{
    const struct entry *entry = find_entry(&gguf->parts[0], key);
    int64_t integer;
    float f32;
    if (!entry) return false;
    if (entry->type == GGUF_F32) {
        memcpy(&f32, entry->value, sizeof f32), *out = f32;
        return true;
    }
    if (entry->type == GGUF_F64) {
        memcpy(out, entry->value, sizeof *out);
        return true;
    }
    if (!entry_int(entry, &integer)) return false;
    *out = (double)integer;
    return true;
}

bool gguf_get_bool(const struct gguf *gguf, const char *key, bool *out)
{
    const struct entry *entry = find_entry(&gguf->parts[0], key);
    if (!entry || entry->type != GGUF_BOOL) return false;
    *out = *entry->value;
    return true;
}

bool gguf_get_string(const struct gguf *gguf, const char *key, struct gguf_string *out)
{
    const struct entry *entry = find_entry(&gguf->parts[0], key);
    if (!entry || entry->type != GGUF_STRING) return false;
    *out = entry->text;
    return true;
}

bool gguf_get_array(const struct gguf *gguf, const char *key, struct gguf_array *out)
{
    const struct entry *entry = find_entry(&gguf->parts[0], key);
    if (!entry || entry->type != GGUF_ARRAY) return false;
    *out = entry->array;
    return true;
}

bool gguf_array_next_string(const struct gguf_array *array, size_t *offset, struct gguf_string *out)
{
    CHECK(array->type == GGUF_STRING);
    if (*offset >= array->bytes) return false;
    struct cursor in = {array->data + *offset, array->data + array->bytes};
    CHECK(read_string(&in, out)); /* the array was walked when the file was opened */
    *offset = (size_t)(in.at - array->data);
    return true;
}

int64_t gguf_tensor_count(const struct gguf *gguf)
{
    return gguf->tensor_count;
}

const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, int64_t index)
{
    CHECK(index >= 0 && index < gguf->tensor_count);
    return &gguf->tensors[index];
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name)
{
    struct gguf_tensor wanted = {.name = {name, strlen(name)}}, *key = &wanted;
    if (!gguf->tensor_count) return NULL;
    struct gguf_tensor **found =
        bsearch(&key, gguf->by_name, (size_t)gguf->tensor_count, sizeof key, compare_names);
    return found ? *found : NULL;
}
