/* tokenizer_unicode.c - see tokenizer_unicode.h. */
#include "server/text/tokenizer_unicode.h"

#include <string.h>
#include <utf8proc.h>

#include "runtime/base/buffer.h"
#include "server/text/tokenizer_unicode_tables.h"

size_t utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F)), out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

size_t utf8_check_char(const char *text, size_t len, bool *ok, bool *cut)
{
    const unsigned char *s = (const unsigned char *)text;
    unsigned char lead = s[0], low = 0x80, high = 0xBF; /* bounds of the second byte */
    size_t need = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    *ok = *cut = false;
    if (lead > 0xF4 || !need) return 1;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    size_t i = 1;
    for (; i < need; i++) {
        if (i == len) {
            *cut = true;
            return i;
        }
        if (s[i] < low || s[i] > high) return i;
        low = 0x80, high = 0xBF;
    }
    *ok = true;
    return i;
}

size_t utf8_ascii_len(const char *text, size_t len)
{
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, text + i, 8);
        if (word & 0x8080808080808080u) break;
    }
    while (i < len && (unsigned char)text[i] < 0x80) i++;
    return i;
}

size_t utf8_valid_len(const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        at += utf8_ascii_len(text + at, len - at);
        bool ok = true, cut;
        while (at < len && (unsigned char)text[at] >= 0x80) {
            size_t n = utf8_check_char(text + at, len - at, &ok, &cut);
            if (!ok) return at;
            at += n;
        }
    }
    return len;
}

void utf8_append_lossy(struct buffer *out, const char *text, size_t len)
{
    size_t at = 0;
    while (at < len) {
        size_t valid = utf8_valid_len(text + at, len - at);
        buffer_append(out, text + at, valid);
        at += valid;
        if (at == len) break;
        bool ok, cut;
        at += utf8_check_char(text + at, len - at, &ok, &cut);
        buffer_append_string(out, UTF8_REPLACEMENT);
    }
}

static bool in_ranges(const struct unicode_range *ranges, int count, uint32_t c)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (c > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && c >= ranges[low].first;
}

uint32_t unicode_class_twin(uint32_t c)
{
    int low = 0, high = unicode_twin_range_count;
    if (c < unicode_twin_ranges[0].first) return c;
    while (low < high) {
        int middle = (low + high) / 2;
        if (c > unicode_twin_ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == unicode_twin_range_count || c < unicode_twin_ranges[low].first) return c;
    return unicode_twin_ranges[low].twin;
}

bool unicode_append_twins(struct buffer *out, const char *text, size_t len)
{
    size_t base = out->len;
    bool any = false;
    for (const char *at = text, *end = text + len; at < end;) {
        if ((unsigned char)*at < 0xE0) { /* the twins all have three or four bytes */
            at++;
            continue;
        }
        const char *start = at;
        uint32_t c = utf8_next(&at), twin = unicode_class_twin(c);
        if (c == twin) continue;
        if (!any) buffer_append(out, text, len);
        any = true;
        utf8_encode(twin, out->data + base + (start - text));
    }
    return any;
}

bool unicode_norm_inert(uint32_t c)
{
    return c >= unicode_late_ranges[0].first &&
           in_ranges(unicode_late_ranges, unicode_late_range_count, c);
}

bool unicode_is_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

static utf8proc_category_t category_of(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)unicode_class_twin(c));
}

bool unicode_is_word(uint32_t c)
{
    /* Alphabetic and not a letter or a mark; the joiners */
    static const struct unicode_range others[] = {
        {0x200C, 0x200D},   {0x24B6, 0x24E9},   {0x1F130, 0x1F149},
        {0x1F150, 0x1F169}, {0x1F170, 0x1F189},
    };
    switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return in_ranges(others, sizeof(others) / sizeof(*others), c);
    }
}

bool unicode_is_numeric(uint32_t c)
{
    if (c < 0x80) return c >= '0' && c <= '9';
    utf8proc_category_t category = category_of(c);
    if (category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
        category == UTF8PROC_CATEGORY_NO)
        return true;
    /* Unicode 17, which the library's own language already has */
    return (c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6);
}

bool unicode_is_punctuation(uint32_t c)
{
    static const struct unicode_range came_with_9[] = {
        {0x2E43, 0x2E44},   {0x1144B, 0x1144F}, {0x1145B, 0x1145B}, {0x1145D, 0x1145D},
        {0x11660, 0x1166C}, {0x11C41, 0x11C45}, {0x11C70, 0x11C71}, {0x1E95E, 0x1E95F},
    };
    if (c < 0x80)
        return (c > 32 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
               (c > 'z' && c < 127);
    if (c == 0x166D || c == 0x111C9) return true; /* which ceased to be */
    utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO &&
           !unicode_norm_inert(c) &&
           !in_ranges(came_with_9, sizeof(came_with_9) / sizeof(*came_with_9), c);
}

bool unicode_is_mark(uint32_t c)
{
    if (c == 0x1CF2 || c == 0x1CF3) return true; /* which ceased to be */
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME &&
           !unicode_norm_inert(c);
}
