/* tokenizer_protobuf.c - see tokenizer_protobuf.h. */
#include "server/text/tokenizer_protobuf.h"

#include <string.h>

static uint64_t read_varint(struct protobuf_reader *reader)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (reader->at == reader->end) break;
        unsigned char byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    reader->broken = true;
    return 0;
}

static uint64_t read_fixed(struct protobuf_reader *reader, size_t bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->broken = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) value |= (uint64_t)reader->at[i] << 8 * i;
    reader->at += bytes;
    return value;
}

bool protobuf_next(struct protobuf_reader *reader)
{
    if (reader->broken || reader->at == reader->end) return false;
    uint64_t tag = read_varint(reader);
    reader->field = (uint32_t)(tag >> 3);
    reader->wire = (int)(tag & 7);
    switch (reader->wire) {
    case 0: reader->number = read_varint(reader); break;
    case 1: reader->number = read_fixed(reader, 8); break;
    case 2: {
        uint64_t len = read_varint(reader);
        if (len > (uint64_t)(reader->end - reader->at)) {
            reader->broken = true;
            break;
        }
        reader->data = (const char *)reader->at;
        reader->len = (size_t)len;
        reader->at += len;
        break;
    }
    case 5: reader->number = read_fixed(reader, 4); break;
    default: reader->broken = true;
    }
    return !reader->broken;
}

float protobuf_float(const struct protobuf_reader *reader)
{
    uint32_t bits = (uint32_t)reader->number;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}
