/*
 * tokenizer_unicode.h - UTF-8 and the few character classes that tokenizers ask for.
 *
 * Thread: any; pure functions over constant tables. The classes are those of the libraries that the
 * published tokenizers run on (Unicode 16 in their regular expressions, Unicode 9 in their
 * normalisation forms), whatever versions the C libraries here were built with.
 */
#ifndef SERVER_TEXT_TOKENIZER_UNICODE_H
#define SERVER_TEXT_TOKENIZER_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* Bytes of the character that starts with `lead`, in well-formed text. */
static inline size_t utf8_char_len(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* The character at `*at` of well-formed text; moves `*at` past it. */
static inline uint32_t utf8_next(const char **at)
{
    const unsigned char *s = (const unsigned char *)*at;
    size_t len = utf8_char_len(s[0]);
    *at += len;
    if (len == 1) return s[0];
    if (len == 2) return (s[0] & 0x1Fu) << 6 | (s[1] & 0x3Fu);
    if (len == 3) return (s[0] & 0xFu) << 12 | (s[1] & 0x3Fu) << 6 | (s[2] & 0x3Fu);
    return (s[0] & 7u) << 18 | (s[1] & 0x3Fu) << 12 | (s[2] & 0x3Fu) << 6 | (s[3] & 0x3Fu);
}

/* Writes 1 to 4 bytes. */
size_t utf8_encode(uint32_t c, char out[4]);

/* Looks at text[0..len), len > 0. Well-formed character first: its length, `*ok` true. Else the
 * length of what one U+FFFD stands for (a maximal subpart), `*ok` false; `*cut` says whether more
 * bytes after the end could have made it a character. */
size_t utf8_check_char(const char *text, size_t len, bool *ok, bool *cut);

/* Length of the well-formed beginning of the text; `len` if all of it is. */
size_t utf8_valid_len(const char *text, size_t len);

/* Appends the text with U+FFFD for what is ill-formed. */
void utf8_append_lossy(struct buffer *out, const char *text, size_t len);

/* Length of the beginning of the text that is plain ASCII. */
size_t utf8_ascii_len(const char *text, size_t len);

bool unicode_is_space(uint32_t c);       /* White_Space */
bool unicode_is_word(uint32_t c);        /* \w of UTS 18 */
bool unicode_is_numeric(uint32_t c);     /* general category N */
bool unicode_is_punctuation(uint32_t c); /* P as of Unicode 8, and ASCII punctuation */
bool unicode_is_mark(uint32_t c);        /* general category M as of Unicode 9 */

/* Whether the normalisation forms leave `c` alone, as it came after Unicode 9: neither decomposed,
 * composed nor reordered. */
bool unicode_norm_inert(uint32_t c);

/* A character that came after Unicode 14 -> one of the same general category and UTF-8 length that
 * every PCRE2 knows; other characters -> themselves. */
uint32_t unicode_class_twin(uint32_t c);

/* Appends the text with every character replaced by its twin, byte for byte at the same offsets;
 * false and nothing appended if the text has none that differs. */
bool unicode_append_twins(struct buffer *out, const char *text, size_t len);

#endif
