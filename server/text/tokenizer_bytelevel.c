/* tokenizer_bytelevel.c - see tokenizer_bytelevel.h. */
#include "server/text/tokenizer_bytelevel.h"

#include "runtime/base/buffer.h"
#include "server/text/tokenizer_unicode.h"

enum { SHIFTED_START = 0x100, SHIFTED_COUNT = 68 };

static bool stands_for_itself(uint32_t c)
{
    return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD);
}

uint32_t bytelevel_char(unsigned char byte)
{
    if (stands_for_itself(byte)) return byte;
    if (byte <= 0x20) return SHIFTED_START + byte;
    if (byte <= 0xA0) return SHIFTED_START + 0x21u + byte - 0x7Fu;
    return SHIFTED_START + SHIFTED_COUNT - 1;
}

int bytelevel_byte(uint32_t c)
{
    if (c <= 0xFF) return stands_for_itself(c) ? (int)c : -1;
    if (c >= SHIFTED_START + SHIFTED_COUNT) return -1;
    uint32_t order = c - SHIFTED_START;
    return order <= 0x20                ? (int)order
           : order == SHIFTED_COUNT - 1 ? 0xAD
                                        : (int)order - 0x21 + 0x7F;
}

bool bytelevel_append_bytes(struct buffer *out, const char *text, size_t len)
{
    size_t before = out->len;
    buffer_reserve(out, len);
    for (const char *at = text, *end = text + len; at < end;) {
        int byte = bytelevel_byte(utf8_next(&at));
        if (byte < 0) {
            out->len = before;
            out->data[before] = 0;
            return false;
        }
        out->data[out->len++] = (char)byte;
    }
    out->data[out->len] = 0;
    return true;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int bytelevel_hex_token(const char *text, size_t len)
{
    if (len != 6 || text[0] != '<' || text[1] != '0' || text[2] != 'x' || text[5] != '>') return -1;
    int high = hex_digit(text[3]), low = hex_digit(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}
