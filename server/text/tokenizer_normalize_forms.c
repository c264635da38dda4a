/*
 * tokenizer_normalize_forms.c - see tokenizer_normalize_forms.h.
 *
 * The text is cut into segments that normalise independently: at characters that the form never
 * changes and that never combine with what comes before them. utf8proc does the segments.
 */
#include "server/text/tokenizer_normalize_forms.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_unicode.h"

/* True only of characters that are starters, are left alone by the form and never combine with one
 * before them; not of all such. */
static bool is_settled(enum normalize_kind form, uint32_t c)
{
    if (c < 0x80) return true;
    if (form == NORMALIZE_NFC) {
        if (c < 0x300) return true;
        if (c >= 0x400 && c < 0x483) return true;   /* Cyrillic */
        if (c >= 0x3041 && c < 0x3097) return true; /* Hiragana */
        if (c >= 0x30A0 && c < 0x3100) return true; /* Katakana */
        if (c >= 0xAC00 && c < 0xD7A4) return true; /* Hangul syllables */
    }
    if (c >= 0x4E00 && c < 0x9FD6) return true;   /* Han */
    if (c >= 0x1F300 && c < 0x1F5FF) return true; /* emoji */
    return unicode_norm_inert(c);
}

bool normalize_form_is(enum normalize_kind form, const char *text, size_t len)
{
    const char *end = text + len;
    text += utf8_ascii_len(text, len);
    while (text < end)
        if (!is_settled(form, utf8_next(&text))) return false;
    return true;
}

/* Hangul aside, the settled characters of NFC may decompose: they are part of their segment, which
 * begins with them. Inert ones must not be shown to utf8proc, which may know more of them. */
static void append_segment(enum normalize_kind form, struct normalize_scratch *scratch,
                           const char *text, size_t len, struct buffer *out)
{
    static const int options[] = {
        [NORMALIZE_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [NORMALIZE_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [NORMALIZE_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [NORMALIZE_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    utf8proc_ssize_t count = utf8proc_decompose(
        (const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, scratch->points,
        (utf8proc_ssize_t)scratch->point_capacity, (utf8proc_option_t)options[form]);
    CHECK(count >= 0);
    if ((size_t)count > scratch->point_capacity) {
        scratch->point_capacity = 2 * (size_t)count;
        scratch->points =
            realloc(scratch->points, scratch->point_capacity * sizeof(*scratch->points));
        CHECK(scratch->points);
        append_segment(form, scratch, text, len, out);
        return;
    }
    count = utf8proc_normalize_utf32(scratch->points, count, (utf8proc_option_t)options[form]);
    CHECK(count >= 0);
    for (utf8proc_ssize_t i = 0; i < count; i++) {
        char bytes[4];
        buffer_append(out, bytes, utf8_encode((uint32_t)scratch->points[i], bytes));
    }
}

void normalize_form(enum normalize_kind form, struct normalize_scratch *scratch, const char *text,
                    size_t len, struct buffer *out)
{
    const char *end = text + len, *segment = text; /* not appended yet */
    bool changes = false;                          /* the segment has an unsettled character */
    for (const char *at = text; at < end;) {
        const char *start = at;
        uint32_t c = utf8_next(&at);
        if (!is_settled(form, c)) {
            changes = true;
            continue;
        }
        if (changes) {
            append_segment(form, scratch, segment, (size_t)(start - segment), out);
            segment = start, changes = false;
        }
        /* a settled character begins a segment with what follows, unless it is inert */
        const char *begin = unicode_norm_inert(c) ? at : start;
        buffer_append(out, segment, (size_t)(begin - segment));
        segment = begin;
    }
    if (changes)
        append_segment(form, scratch, segment, (size_t)(end - segment), out);
    else
        buffer_append(out, segment, (size_t)(end - segment));
}

/* What Unicode 16 and 17 made lower-case letters of. */
static uint32_t new_lowercase(uint32_t c)
{
    if (c == 0xA7CB) return 0x264;
    if (c == 0xA7DC) return 0x19B;
    if (c >= 0x10D50 && c <= 0x10D65) return c + 0x20;
    if (c >= 0x16EA0 && c <= 0x16EB8) return c + 0x1B;
    if (c == 0x1C89 || c == 0xA7CC || c == 0xA7CE || c == 0xA7D2 || c == 0xA7D4 || c == 0xA7DA)
        return c + 1;
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

size_t normalize_lowercase(uint32_t c, char out[16])
{
    if (c == 0x130) { /* the one that becomes two: i and a dot above */
        out[0] = 'i', out[1] = '\xCC', out[2] = '\x87';
        return 3;
    }
    return utf8_encode(new_lowercase(c), out);
}
