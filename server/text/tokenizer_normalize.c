/* tokenizer_normalize.c - see tokenizer_normalize.h. The forms (NFC ...) are in
 * tokenizer_normalize_forms.c. */
#include "server/text/tokenizer_normalize.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_normalize_forms.h"
#include "server/text/tokenizer_unicode.h"

#define SPACE_SYMBOL "\xE2\x96\x81" /* U+2581 */

static void strip(const struct normalize_step *step, const char *text, size_t len,
                  struct buffer *out)
{
    const char *start = text, *end = text + len;
    while (step->left && start < end) {
        const char *next = start;
        if (!unicode_is_space(utf8_next(&next))) break;
        start = next;
    }
    while (step->right && end > start) {
        const char *last = end - 1;
        while (last > start && ((unsigned char)*last & 0xC0) == 0x80) last--;
        const char *at = last;
        if (!unicode_is_space(utf8_next(&at))) break;
        end = last;
    }
    buffer_append(out, start, (size_t)(end - start));
}

/* Appends a text with each character changed on its own; `change` writes UTF-8 and returns its
 * length. */
static void map_chars(size_t (*change)(uint32_t c, char out[16]), const char *text, size_t len,
                      struct buffer *out)
{
    char changed[16];
    for (const char *at = text, *end = text + len; at < end;)
        buffer_append(out, changed, change(utf8_next(&at), changed));
}

static size_t without_marks(uint32_t c, char out[16])
{
    return unicode_is_mark(c) ? 0 : utf8_encode(c, out);
}

static size_t nmt(uint32_t c, char out[16])
{
    bool gone = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                c == 0x8F || c == 0x9F;
    bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                 (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                 c == 0xFEFF || c == 0xFFFD;
    return gone ? 0 : utf8_encode(space ? ' ' : c, out);
}

static void replace_string(const struct normalize_step *step, const char *text, size_t len,
                           struct buffer *out)
{
    const char *end = text + len;
    for (const char *at; step->string_len && (at = memmem(text, (size_t)(end - text), step->string,
                                                          step->string_len));) {
        buffer_append(out, text, (size_t)(at - text));
        buffer_append(out, step->content, step->content_len);
        text = at + step->string_len;
    }
    buffer_append(out, text, (size_t)(end - text));
}

static enum status replace_regex(const struct normalize_step *step,
                                 struct normalize_scratch *scratch, const char *text, size_t len,
                                 struct buffer *out, struct error *error)
{
    size_t done = 0, from = 0, start, end, last_end = SIZE_MAX;
    if (!scratch->matcher) scratch->matcher = tokenizer_matcher_create();
    buffer_clear(&scratch->twins);
    bool twins = unicode_append_twins(&scratch->twins, text, len);
    const char *subject = twins ? scratch->twins.data : text;
    while (from <= len) {
        int found =
            tokenizer_regex_match(step->regex, scratch->matcher, subject, len, from, &start, &end);
        if (found < 0)
            return error_set(error, STATUS_TOO_LARGE, NULL,
                             "the text takes the normaliser's regular expression too many steps");
        if (!found) break;
        if (start == end && start == last_end) {
            if (from >= len) break;
            from += utf8_char_len((unsigned char)text[from]);
            continue;
        }
        buffer_append(out, text + done, start - done);
        buffer_append(out, step->content, step->content_len);
        done = from = last_end = end;
    }
    buffer_append(out, text + done, len - done);
    return STATUS_OK;
}

/* SentencePiece: what the text begins with after one step of its map, and how much that took. */
static size_t map_prefix(const struct normalize_step *step, const char *text, size_t len,
                         const char **mapped, size_t *mapped_len)
{
    int32_t ignored;
    size_t taken = trie_match(&step->user_defined, text, len, &ignored);
    if (!taken && (taken = charsmap_longest(&step->charsmap, text, len, mapped))) {
        *mapped_len = strlen(*mapped);
        return taken;
    }
    if (!taken) taken = utf8_char_len((unsigned char)text[0]);
    *mapped = text, *mapped_len = taken;
    return taken;
}

static void sentencepiece(const struct normalize_step *step, const char *text, size_t len,
                          struct buffer *out)
{
    const char *space = step->escape_whitespaces ? SPACE_SYMBOL : " ", *mapped = NULL;
    size_t space_len = strlen(space), mapped_len = 0, at = 0, base = out->len;
    while (step->remove_extra_whitespaces && at < len) {
        size_t taken = map_prefix(step, text + at, len - at, &mapped, &mapped_len);
        if (mapped_len != 1 || mapped[0] != ' ') break;
        at += taken;
    }
    if (at == len) return;
    if (step->add_dummy_prefix && !step->whitespace_is_suffix) buffer_append(out, space, space_len);
    bool after_space = step->remove_extra_whitespaces;
    while (at < len) {
        at += map_prefix(step, text + at, len - at, &mapped, &mapped_len);
        while (after_space && mapped_len && mapped[0] == ' ') mapped++, mapped_len--;
        for (size_t i = 0; i < mapped_len; i++)
            if (mapped[i] == ' ')
                buffer_append(out, space, space_len);
            else
                buffer_append_char(out, mapped[i]);
        if (mapped_len) after_space = mapped[mapped_len - 1] == ' ';
        if (!step->remove_extra_whitespaces) after_space = false;
    }
    while (step->remove_extra_whitespaces && out->len - base >= space_len &&
           !memcmp(out->data + out->len - space_len, space, space_len))
        out->data[out->len -= space_len] = 0;
    if (step->add_dummy_prefix && step->whitespace_is_suffix) buffer_append(out, space, space_len);
}

static enum status run_step(const struct normalize_step *step, struct normalize_scratch *scratch,
                            const char *text, size_t len, struct buffer *out, struct error *error)
{
    switch (step->kind) {
    case NORMALIZE_NFC:
    case NORMALIZE_NFD:
    case NORMALIZE_NFKC:
    case NORMALIZE_NFKD: normalize_form(step->kind, scratch, text, len, out); break;
    case NORMALIZE_LOWERCASE: map_chars(normalize_lowercase, text, len, out); break;
    case NORMALIZE_STRIP: strip(step, text, len, out); break;
    case NORMALIZE_STRIP_ACCENTS: map_chars(without_marks, text, len, out); break;
    case NORMALIZE_NMT: map_chars(nmt, text, len, out); break;
    case NORMALIZE_PREPEND:
        if (len) buffer_append(out, step->string, step->string_len);
        buffer_append(out, text, len);
        break;
    case NORMALIZE_REPLACE:
        if (step->regex) return replace_regex(step, scratch, text, len, out, error);
        replace_string(step, text, len, out);
        break;
    case NORMALIZE_CHARSMAP: charsmap_append(&step->charsmap, text, len, out); break;
    case NORMALIZE_SENTENCEPIECE: sentencepiece(step, text, len, out); break;
    }
    return STATUS_OK;
}

enum status normalizer_run(const struct normalizer *normalizer, struct normalize_scratch *scratch,
                           const char *text, size_t len, const char **out, size_t *out_len,
                           struct error *error)
{
    int turn = 0;
    for (int i = 0; i < normalizer->count; i++) {
        const struct normalize_step *step = &normalizer->steps[i];
        if (step->kind <= NORMALIZE_NFKD && normalize_form_is(step->kind, text, len)) continue;
        struct buffer *to = &scratch->text[turn = !turn];
        buffer_clear(to);
        buffer_reserve(to, len);
        enum status status = run_step(step, scratch, text, len, to, error);
        if (status) return status;
        text = to->data, len = to->len;
    }
    *out = text, *out_len = len;
    return STATUS_OK;
}

struct normalize_step *normalizer_add(struct normalizer *normalizer, enum normalize_kind kind)
{
    if (normalizer->count == NORMALIZE_STEP_MAX) return NULL;
    size_t count = (size_t)normalizer->count + 1;
    normalizer->steps = realloc(normalizer->steps, count * sizeof(*normalizer->steps));
    CHECK(normalizer->steps);
    struct normalize_step *step = &normalizer->steps[normalizer->count++];
    *step = (struct normalize_step){.kind = kind};
    return step;
}

void normalizer_free(struct normalizer *normalizer)
{
    for (int i = 0; i < normalizer->count; i++) {
        struct normalize_step *step = &normalizer->steps[i];
        tokenizer_regex_destroy(step->regex);
        free(step->string), free(step->content);
        charsmap_close(&step->charsmap);
        trie_free(&step->user_defined);
    }
    free(normalizer->steps);
    *normalizer = (struct normalizer){0};
}

void normalize_scratch_free(struct normalize_scratch *scratch)
{
    buffer_free(&scratch->text[0]), buffer_free(&scratch->text[1]), buffer_free(&scratch->twins);
    free(scratch->points);
    tokenizer_matcher_destroy(scratch->matcher);
    *scratch = (struct normalize_scratch){0};
}
