/* tokenizer_charsmap.c - see tokenizer_charsmap.h. */
#include "server/text/tokenizer_charsmap.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_unicode.h"

/* A unit of the double array (the layout of the darts-clone library). */
static bool unit_has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}
static uint32_t unit_value(uint32_t unit)
{
    return unit & 0x7FFFFFFFu;
}
static uint32_t unit_label(uint32_t unit)
{
    return unit & 0x800000FFu; /* a leaf's never equals a byte */
}
static uint32_t unit_offset(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

enum status charsmap_open(struct charsmap *map, const void *blob, size_t len, struct error *error)
{
    uint32_t trie_bytes = 0;
    *map = (struct charsmap){0};
    if (len == 0) return STATUS_OK;
    if (len > 4) memcpy(&trie_bytes, blob, 4);
    if (len <= 4 || trie_bytes > len - 4 || trie_bytes % 4 || trie_bytes < 4)
        return error_set(error, STATUS_CORRUPT, "precompiled_charsmap",
                         "precompiled_charsmap is broken: its trie is said to take %u of %zu bytes",
                         trie_bytes, len);
    const char *replacements = (const char *)blob + 4 + trie_bytes;
    size_t replacements_len = len - 4 - trie_bytes;
    if (utf8_valid_len(replacements, replacements_len) < replacements_len)
        return error_set(error, STATUS_CORRUPT, "precompiled_charsmap",
                         "precompiled_charsmap is broken: its replacements are not UTF-8");
    map->unit_count = trie_bytes / 4;
    map->units = malloc(trie_bytes);
    map->replacements_len = replacements_len;
    map->replacements = malloc(map->replacements_len + 1);
    CHECK(map->units && map->replacements);
    memcpy(map->units, (const char *)blob + 4, trie_bytes);
    memcpy(map->replacements, replacements, replacements_len);
    map->replacements[map->replacements_len] = 0;
    return STATUS_OK;
}

static size_t lookup(const struct charsmap *map, const char *text, size_t len, bool longest,
                     const char **replacement)
{
    size_t best = 0;
    if (!map->unit_count) return 0;
    uint32_t at = unit_offset(map->units[0]);
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (at >= map->unit_count || unit_label(map->units[at]) != byte) break;
        uint32_t unit = map->units[at];
        at ^= unit_offset(unit);
        if (!unit_has_leaf(unit) || at >= map->unit_count) continue;
        uint32_t value = unit_value(map->units[at]);
        /* a broken map may match or replace by parts of characters: not with us */
        if (value > map->replacements_len || is_continuation(map->replacements[value]) ||
            (i + 1 < len && is_continuation(text[i + 1])))
            continue;
        best = i + 1, *replacement = map->replacements + value;
        if (!longest) break;
    }
    return best;
}

size_t charsmap_longest(const struct charsmap *map, const char *text, size_t len,
                        const char **replacement)
{
    return lookup(map, text, len, true, replacement);
}

size_t charsmap_shortest(const struct charsmap *map, const char *text, size_t len,
                         const char **replacement)
{
    return lookup(map, text, len, false, replacement);
}

/* The grapheme cluster at the start of the text: its length. */
static size_t grapheme_len(const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    utf8proc_int32_t state = 0;
    uint32_t c = utf8_next(&at);
    while (at < end) {
        const char *next = at;
        uint32_t after = utf8_next(&next);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)after, &state))
            break;
        at = next, c = after;
    }
    return (size_t)(at - text);
}

void charsmap_append(const struct charsmap *map, const char *text, size_t len, struct buffer *out)
{
    const char *replacement = NULL;
    for (size_t i = 0, n; i < len; i += n) {
        n = grapheme_len(text + i, len - i);
        if (n < 6 && charsmap_shortest(map, text + i, n, &replacement)) {
            buffer_append_string(out, replacement);
            continue;
        }
        for (size_t c = i, width; c < i + n; c += width) {
            width = utf8_char_len((unsigned char)text[c]);
            if (charsmap_shortest(map, text + c, width, &replacement))
                buffer_append_string(out, replacement);
            else
                buffer_append(out, text + c, width);
        }
    }
}

void charsmap_close(struct charsmap *map)
{
    free(map->units);
    free(map->replacements);
    *map = (struct charsmap){0};
}
