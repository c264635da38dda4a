/*
 * tokenizer_protobuf.h - walks the fields of a protocol-buffers message.
 *
 * Thread: any; a reader belongs to its caller. Lengths are checked: a hostile message ends the walk
 * with `broken` set.
 */
#ifndef SERVER_TEXT_TOKENIZER_PROTOBUF_H
#define SERVER_TEXT_TOKENIZER_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf_reader {
    const unsigned char *at, *end;
    bool broken;
    /* the field that protobuf_next found */
    uint32_t field;
    int wire;         /* 0 varint, 1 eight bytes, 2 bytes, 5 four bytes */
    uint64_t number;  /* wire 0, 1, 5 */
    const char *data; /* wire 2 */
    size_t len;
};

static inline struct protobuf_reader protobuf_open(const char *data, size_t len)
{
    const unsigned char *start = (const unsigned char *)data;
    return (struct protobuf_reader){.at = start, .end = start + len};
}

/* False at the end or when the message is broken. */
bool protobuf_next(struct protobuf_reader *reader);

/* The field as a float (wire 5). */
float protobuf_float(const struct protobuf_reader *reader);

#endif
