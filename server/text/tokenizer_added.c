/* tokenizer_added.c - see tokenizer_added.h. */
#include "server/text/tokenizer_added.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_unicode.h"

void added_add(struct added_tokens *added, struct arena *arena, const struct added_token *token)
{
    if (added->count == added->capacity) {
        added->capacity = added->capacity ? 2 * added->capacity : 32;
        added->items = realloc(added->items, (size_t)added->capacity * sizeof(*added->items));
        CHECK(added->items);
    }
    struct added_token *copy = &added->items[added->count++];
    *copy = *token;
    copy->order = added->count;
    copy->content = arena_strndup(arena, token->content, token->content_len);
    copy->normal = copy->content, copy->normal_len = copy->content_len;
    if (token->normal) {
        copy->normal = arena_strndup(arena, token->normal, token->normal_len);
        copy->normal_len = token->normal_len;
    }
}

/* By id, then in the order of adding. */
static int compare_ids(const void *a, const void *b)
{
    const struct added_token *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

enum status added_finish(struct added_tokens *added, struct error *error)
{
    int kept = 0;
    if (added->count) qsort(added->items, (size_t)added->count, sizeof(*added->items), compare_ids);
    for (int i = 0; i < added->count; i++) {
        if (kept && added->items[kept - 1].id == added->items[i].id) kept--;
        added->items[kept++] = added->items[i];
    }
    added->count = kept;
    for (int i = 0; i < kept; i++) {
        const struct added_token *token = &added->items[i];
        bool room = token->normalized
                        ? trie_insert(&added->normalized, token->normal, token->normal_len, i)
                        : trie_insert(&added->raw, token->content, token->content_len, i);
        if (!room)
            return error_set(error, STATUS_TOO_LARGE, "added_tokens",
                             "added_tokens take too much room");
    }
    return STATUS_OK;
}

const struct added_token *added_find_id(const struct added_tokens *added, int32_t id)
{
    int low = 0, high = added->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (added->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < added->count && added->items[low].id == id ? &added->items[low] : NULL;
}

const struct added_token *added_find(const struct added_tokens *added, const char *text, size_t len)
{
    for (int i = 0; i < added->count; i++)
        if (added->items[i].content_len == len && !memcmp(added->items[i].content, text, len))
            return &added->items[i];
    return NULL;
}

bool added_has_id(const struct added_tokens *added, int32_t id)
{
    for (int i = 0; i < added->count; i++)
        if (added->items[i].id == id) return true;
    return false;
}

static bool ends_with_word(const char *text, size_t len)
{
    const char *at = text + len;
    if (!len) return false;
    while (((unsigned char)*--at & 0xC0) == 0x80 && at > text) continue;
    return unicode_is_word(utf8_next(&at));
}

static size_t spaces_before(const char *text, size_t len, size_t limit)
{
    while (len > limit) {
        size_t last = len - 1;
        while (last > limit && ((unsigned char)text[last] & 0xC0) == 0x80) last--;
        const char *at = text + last;
        if (!unicode_is_space(utf8_next(&at))) break;
        len = last;
    }
    return len;
}

/* Looks for the next token, from search->from on. */
static bool find_token(struct added_search *search)
{
    const char *text = search->text, *end = text + search->len;
    int32_t index = -1;
    while (search->from < search->len) {
        size_t match_len;
        size_t start =
            trie_search(search->trie, text, search->len, search->from, &match_len, &index);
        if (!match_len) break;
        size_t stop = search->from = start + match_len;
        const struct added_token *token = &search->added->items[index];
        if (token->special && !search->parse_special) continue;
        const char *after = text + stop;
        if (token->single_word &&
            (ends_with_word(text, start) || (after < end && unicode_is_word(utf8_next(&after)))))
            continue;
        if (token->lstrip) start = spaces_before(text, start, search->done);
        for (after = text + stop; token->rstrip && after < end; stop = (size_t)(after - text))
            if (!unicode_is_space(utf8_next(&after))) break;
        search->token = (struct added_span){start, stop - start, token->id};
        return true;
    }
    search->from = search->len;
    return false;
}

bool added_next(struct added_search *search, struct added_span *span)
{
    if (!search->has_token && !(search->has_token = find_token(search))) {
        *span = (struct added_span){search->done, search->len - search->done, -1};
        search->done = search->len;
        return span->len > 0;
    }
    if (search->done < search->token.start) {
        *span = (struct added_span){search->done, search->token.start - search->done, -1};
        search->done = search->token.start;
        return true;
    }
    *span = search->token;
    search->done = span->start + span->len;
    search->has_token = false;
    return true;
}

void added_free(struct added_tokens *added)
{
    free(added->items);
    trie_free(&added->raw);
    trie_free(&added->normalized);
    *added = (struct added_tokens){0};
}
