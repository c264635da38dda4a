/*
 * gguf.h - reader of GGUF v2 and v3 files, also split ones (NAME-00001-of-00003.gguf), mapped
 * read-only.
 *
 * Everything a file says is checked when it is opened: counts, offsets, sizes, types, overlaps, key
 * lengths, UTF-8 not required. A file that lies is refused with the key or tensor at fault.
 * Thread: immutable after open. Memory: all pointers into the mapping, valid until gguf_close.
 */
#ifndef RUNTIME_GGUF_H
#define RUNTIME_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct gguf;

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
};

struct gguf_string {
    const char *data; /* not zero-terminated */
    uint64_t len;
};

struct gguf_array {
    enum gguf_type type; /* never GGUF_ARRAY: nested arrays are refused */
    uint64_t count, bytes;
    const uint8_t *data; /* packed and unaligned; strings are length-prefixed one after another */
};

enum { GGUF_DIMS_MAX = 4 };
struct gguf_tensor {
    struct gguf_string name;
    uint32_t ggml_type; /* ggml's number: 0 F32, 1 F16, 2 Q4_0, 8 Q8_0, 30 BF16, ... */
    int dim_count;
    int64_t dims[GGUF_DIMS_MAX]; /* dims[0] is the contiguous one (columns) */
    const void *data;            /* NULL where the type is unknown to us */
    uint64_t bytes;
    int part; /* file of a split model that holds it, from 0 */
};

/* "Q4_K", ...; "type 77" is printed as "unknown". */
const char *gguf_type_name(uint32_t ggml_type);

enum status gguf_open(const char *path, struct gguf **out, struct error *error);
/* From memory that outlives the handle: the embedded model. */
enum status gguf_open_memory(const void *data, size_t bytes, struct gguf **out,
                             struct error *error);
void gguf_close(struct gguf *gguf);
void gguf_drop_pages(const struct gguf *gguf); /* see mapping_drop; nothing of a memory model */

/* Metadata by key; false where it is absent or of another type. Integers of any width and sign that
 * fit are accepted by gguf_get_int; floats by gguf_get_float (integers too). */
bool gguf_get_int(const struct gguf *gguf, const char *key, int64_t *out);
bool gguf_get_float(const struct gguf *gguf, const char *key, double *out);
bool gguf_get_bool(const struct gguf *gguf, const char *key, bool *out);
bool gguf_get_string(const struct gguf *gguf, const char *key, struct gguf_string *out);
bool gguf_get_array(const struct gguf *gguf, const char *key, struct gguf_array *out);

/* Walks an array of strings: call with *offset = 0 first; false at its end. */
bool gguf_array_next_string(const struct gguf_array *array, size_t *offset,
                            struct gguf_string *out);

int64_t gguf_tensor_count(const struct gguf *gguf);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, int64_t index);
const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name); /* or NULL */

#endif
