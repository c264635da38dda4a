/* base64.c - see base64.h. */
#include "server/text/base64.h"

#include <stdint.h>
#include <string.h>

#include "runtime/base/buffer.h"

bool base64_append_decoded(struct buffer *out, const char *text, size_t len)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int held = 0; /* bits not yet put out */
    while (len && text[len - 1] == '=') len--;
    for (size_t i = 0; i < len; i++) {
        const char *digit = text[i] ? strchr(alphabet, text[i]) : NULL;
        if (!digit) return false;
        bits = bits << 6 | (uint32_t)(digit - alphabet);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        buffer_append_char(out, (char)(bits >> held & 0xFF));
    }
    return held < 6;
}
