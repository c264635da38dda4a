/* tokenizer_split.c - see tokenizer_split.h. */
#include "server/text/tokenizer_split.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_unicode.h"

static void piece_push(struct piece_list *list, size_t start, size_t end)
{
    if (start == end) return;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 256;
        list->items = realloc(list->items, list->capacity * sizeof(*list->items));
        CHECK(list->items);
    }
    list->items[list->count++] = (struct piece){(uint32_t)start, (uint32_t)(end - start)};
}

static void match_push(struct split_scratch *scratch, size_t start, size_t end, bool matches)
{
    if (scratch->match_count == scratch->match_capacity) {
        scratch->match_capacity = scratch->match_capacity ? 2 * scratch->match_capacity : 256;
        scratch->matches =
            realloc(scratch->matches, scratch->match_capacity * sizeof(*scratch->matches));
        CHECK(scratch->matches);
    }
    scratch->matches[scratch->match_count++] =
        (struct split_match){(uint32_t)start, (uint32_t)end, matches};
}

/* The find_ functions fill scratch->matches with spans that cover the piece text[0..len), offsets
 * within it. An empty match is kept: it separates. */

static enum status find_regex(const struct split_step *step, struct split_scratch *scratch,
                              const char *text, size_t len, struct error *error)
{
    size_t done = 0, from = 0, start, end;
    size_t last_end = SIZE_MAX;
    if (!scratch->matcher) scratch->matcher = tokenizer_matcher_create();
    while (from <= len) {
        int found =
            tokenizer_regex_match(step->regex, scratch->matcher, text, len, from, &start, &end);
        if (found < 0)
            return error_set(
                error, STATUS_TOO_LARGE, NULL,
                "the text takes the pre-tokenizer's regular expression too many steps");
        if (!found) break;
        if (start == end && start == last_end) { /* empty, right after a match: look further */
            if (from >= len) break;
            from += utf8_char_len((unsigned char)text[from]);
            continue;
        }
        if (done < start) match_push(scratch, done, start, false);
        match_push(scratch, start, end, true);
        done = from = last_end = end;
    }
    if (done < len) match_push(scratch, done, len, false);
    return STATUS_OK;
}

static void find_string(const struct split_step *step, struct split_scratch *scratch,
                        const char *text, size_t len)
{
    size_t done = 0;
    for (const char *at; step->string_len &&
                         (at = memmem(text + done, len - done, step->string, step->string_len));) {
        size_t start = (size_t)(at - text);
        if (done < start) match_push(scratch, done, start, false);
        done = start + step->string_len;
        match_push(scratch, start, done, true);
    }
    if (done < len) match_push(scratch, done, len, false);
}

static void find_chars(bool (*is)(uint32_t), struct split_scratch *scratch, const char *text,
                       size_t len)
{
    size_t done = 0;
    for (const char *at = text, *end = text + len; at < end;) {
        const char *start = at;
        if (!is(utf8_next(&at))) continue;
        if (text + done < start) match_push(scratch, done, (size_t)(start - text), false);
        done = (size_t)(at - text);
        match_push(scratch, (size_t)(start - text), done, true);
    }
    if (done < len) match_push(scratch, done, len, false);
}

/* Appends the pieces that the matches make of the piece at `base`. */
static void apply_behavior(const struct split_scratch *scratch, enum split_behavior behavior,
                           size_t base, struct piece_list *out)
{
    const struct split_match *m = scratch->matches;
    size_t count = scratch->match_count;
    for (size_t i = 0, end; i < count; i = end) {
        end = i + 1;
        switch (behavior) {
        case SPLIT_ISOLATED: break;
        case SPLIT_REMOVED:
            if (m[i].matches) continue;
            break;
        case SPLIT_CONTIGUOUS:
            while (end < count && m[end].matches == m[i].matches) end++;
            break;
        case SPLIT_MERGED_WITH_PREVIOUS: /* a match joins the non-match before it */
            if (!m[i].matches && end < count && m[end].matches) end++;
            break;
        case SPLIT_MERGED_WITH_NEXT: /* of several matches in a row the last joins what follows */
            if (m[i].matches && end < count && !m[end].matches) end++;
            break;
        }
        piece_push(out, base + m[i].start, base + m[end - 1].end);
    }
}

static enum status run_step(const struct split_step *step, struct split_scratch *scratch,
                            const char *text, const char *subject, const struct piece_list *in,
                            struct piece_list *out, struct error *error)
{
    out->count = 0;
    for (size_t i = 0; i < in->count; i++) {
        size_t start = in->items[i].start, len = in->items[i].len;
        scratch->match_count = 0;
        enum status status = STATUS_OK;
        switch (step->kind) {
        case SPLIT_REGEX: status = find_regex(step, scratch, subject + start, len, error); break;
        case SPLIT_STRING: find_string(step, scratch, text + start, len); break;
        case SPLIT_DIGITS: find_chars(unicode_is_numeric, scratch, text + start, len); break;
        case SPLIT_PUNCTUATION:
            find_chars(unicode_is_punctuation, scratch, text + start, len);
            break;
        case SPLIT_SPACES: find_chars(unicode_is_space, scratch, text + start, len); break;
        case SPLIT_PREFIX:
        case SPLIT_METASPACE: CHECK(!"these rewrite");
        }
        if (status) return status;
        if (step->invert)
            for (size_t m = 0; m < scratch->match_count; m++)
                scratch->matches[m].matches = !scratch->matches[m].matches;
        apply_behavior(scratch, step->behavior, start, out);
    }
    return STATUS_OK;
}

static void append_replacing_spaces(struct buffer *out, const char *text, size_t len,
                                    const char *with, size_t with_len)
{
    for (const char *end = text + len, *space; text < end; text = space + 1) {
        space = memchr(text, ' ', (size_t)(end - text));
        buffer_append(out, text, (size_t)((space ? space : end) - text));
        if (!space) return;
        buffer_append(out, with, with_len);
    }
}

/* The steps that change the text: writes all pieces anew. */
static void rewrite_step(const struct split_step *step, const char *text, bool at_start,
                         const struct piece_list *in, struct buffer *out_text,
                         struct piece_list *out)
{
    out->count = 0;
    buffer_clear(out_text);
    for (size_t i = 0; i < in->count; i++) {
        const char *piece = text + in->items[i].start;
        size_t len = in->items[i].len, start = out_text->len;
        if (step->kind == SPLIT_PREFIX) {
            if (piece[0] != ' ') buffer_append_char(out_text, ' ');
            buffer_append(out_text, piece, len);
        } else {
            bool marked = piece[0] == ' ' || (len >= step->string_len &&
                                              !memcmp(piece, step->string, step->string_len));
            bool wanted = step->prepend == SPLIT_PREPEND_ALWAYS ||
                          (step->prepend == SPLIT_PREPEND_FIRST && at_start && i == 0);
            if (wanted && !marked) buffer_append(out_text, step->string, step->string_len);
            append_replacing_spaces(out_text, piece, len, step->string, step->string_len);
        }
        piece_push(out, start, out_text->len);
    }
}

enum status splitter_run(const struct splitter *splitter, struct split_scratch *scratch,
                         const char *text, size_t len, bool at_start, const char **pieces_text,
                         const struct piece_list **pieces, struct error *error)
{
    int turn = 0, text_turn = 0;
    const char *subject = NULL;
    scratch->pieces[0].count = 0;
    piece_push(&scratch->pieces[0], 0, len);
    for (int i = 0; i < splitter->count; i++) {
        const struct split_step *step = &splitter->steps[i];
        const struct piece_list *in = &scratch->pieces[turn];
        struct piece_list *out = &scratch->pieces[turn = !turn];
        if (step->kind == SPLIT_PREFIX || step->kind == SPLIT_METASPACE) {
            struct buffer *to = &scratch->text[text_turn = !text_turn];
            rewrite_step(step, text, at_start, in, to, out);
            text = to->data, len = to->len, subject = NULL;
            continue;
        }
        if (!subject && step->kind == SPLIT_REGEX) {
            buffer_clear(&scratch->twins);
            subject = unicode_append_twins(&scratch->twins, text, len) ? scratch->twins.data : text;
        }
        enum status status = run_step(step, scratch, text, subject, in, out, error);
        if (status) return status;
    }
    *pieces_text = text;
    *pieces = &scratch->pieces[turn];
    return STATUS_OK;
}

void splitter_free(struct splitter *splitter)
{
    for (int i = 0; i < splitter->count; i++) {
        tokenizer_regex_destroy(splitter->steps[i].regex);
        free(splitter->steps[i].string);
    }
    splitter->count = 0;
}

void split_scratch_free(struct split_scratch *scratch)
{
    for (int i = 0; i < 2; i++) {
        buffer_free(&scratch->text[i]);
        free(scratch->pieces[i].items);
    }
    buffer_free(&scratch->twins);
    free(scratch->matches);
    tokenizer_matcher_destroy(scratch->matcher);
    *scratch = (struct split_scratch){0};
}
