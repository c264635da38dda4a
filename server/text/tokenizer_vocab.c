/* tokenizer_vocab.c - see tokenizer_vocab.h. */
#include "server/text/tokenizer_vocab.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

uint32_t vocab_hash(const char *text, size_t len)
{
    uint64_t h = 0x9E3779B97F4A7C15u ^ len;
    for (; len >= 8; text += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    uint64_t word = 0;
    memcpy(&word, text, len);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    h ^= h >> 29;
    h *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

static void table_insert(struct vocab *vocab, uint32_t hash, int32_t id)
{
    uint32_t at = hash & vocab->mask;
    while (vocab->slots[at].id != VOCAB_NO_TOKEN) at = (at + 1) & vocab->mask;
    vocab->slots[at] = (struct vocab_slot){.hash = hash, .id = id};
}

static void table_resize(struct vocab *vocab, size_t size)
{
    struct vocab_slot *old = vocab->slots;
    size_t old_size = old ? (size_t)vocab->mask + 1 : 0;
    vocab->slots = malloc(size * sizeof(*vocab->slots));
    CHECK(vocab->slots);
    memset(vocab->slots, 0xFF, size * sizeof(*vocab->slots));
    vocab->mask = (uint32_t)(size - 1);
    for (size_t i = 0; i < old_size; i++)
        if (old[i].id != VOCAB_NO_TOKEN) table_insert(vocab, old[i].hash, old[i].id);
    free(old);
}

static void spans_resize(struct vocab *vocab, int32_t capacity)
{
    vocab->spans = realloc(vocab->spans, (size_t)capacity * sizeof(*vocab->spans));
    CHECK(vocab->spans);
    vocab->capacity = capacity;
}

void vocab_reserve(struct vocab *vocab, size_t count, size_t bytes)
{
    if (count > VOCAB_ID_MAX) count = VOCAB_ID_MAX;
    if (bytes > VOCAB_TEXT_MAX) bytes = VOCAB_TEXT_MAX;
    size_t size = 1024;
    while (size < 2 * count) size *= 2;
    if (!vocab->slots || size > (size_t)vocab->mask + 1) table_resize(vocab, size);
    if (count > (size_t)vocab->capacity) spans_resize(vocab, (int32_t)count);
    if (bytes > vocab->text.len) buffer_reserve(&vocab->text, bytes - vocab->text.len);
}

void vocab_settle(struct vocab *vocab)
{
    for (int i = 0; i < vocab->waiting_count; i++)
        table_insert(vocab, vocab->waiting[i].hash, vocab->waiting[i].id);
    vocab->waiting_count = 0;
}

enum status vocab_add_later(struct vocab *vocab, int64_t id, const char *text, size_t len,
                            struct error *error)
{
    if (id < 0 || id > VOCAB_ID_MAX)
        return error_set(error, STATUS_INVALID, "vocab", "token id %lld is not in 0..%d",
                         (long long)id, VOCAB_ID_MAX);
    if (vocab->text.len + len + 1 > VOCAB_TEXT_MAX)
        return error_set(error, STATUS_TOO_LARGE, "vocab", "the tokens take more than %d bytes",
                         VOCAB_TEXT_MAX);
    if (vocab_has(vocab, id))
        return error_set(error, STATUS_INVALID, "vocab", "token id %lld is given twice",
                         (long long)id);
    if (!vocab->slots || 2 * (size_t)vocab->count >= vocab->mask) {
        vocab_settle(vocab);
        table_resize(vocab, vocab->slots ? 2 * ((size_t)vocab->mask + 1) : 1024);
    }
    if (id >= vocab->capacity) {
        int32_t capacity = vocab->capacity ? vocab->capacity : 256;
        while (capacity <= id) capacity *= 2;
        spans_resize(vocab, capacity);
    }
    while (vocab->size <= id)
        vocab->spans[vocab->size++] = (struct vocab_span){.offset = UINT32_MAX};
    vocab->spans[id] = (struct vocab_span){(uint32_t)vocab->text.len, (uint32_t)len};
    buffer_append(&vocab->text, text, len);
    buffer_append_char(&vocab->text, 0);
    vocab->count++;
    if (vocab->waiting_count == VOCAB_WAITING_MAX) vocab_settle(vocab);
    struct vocab_slot *slot = &vocab->waiting[vocab->waiting_count++];
    *slot = (struct vocab_slot){vocab_hash(text, len), (int32_t)id};
    vocab_prefetch(vocab, slot->hash);
    return STATUS_OK;
}

enum status vocab_add(struct vocab *vocab, int64_t id, const char *text, size_t len,
                      struct error *error)
{
    enum status status = vocab_add_later(vocab, id, text, len, error);
    vocab_settle(vocab);
    return status;
}

void vocab_prefetch(const struct vocab *vocab, uint32_t hash)
{
    if (vocab->slots) __builtin_prefetch(&vocab->slots[hash & vocab->mask]);
}

void vocab_prefetch_token(const struct vocab *vocab, uint32_t hash, int stage)
{
    if (!vocab->slots) return;
    const struct vocab_slot *slot = &vocab->slots[hash & vocab->mask];
    if (slot->id == VOCAB_NO_TOKEN) return;
    const struct vocab_span *span = &vocab->spans[slot->id];
    if (stage == 1)
        __builtin_prefetch(span);
    else
        __builtin_prefetch(vocab->text.data + span->offset);
}

int32_t vocab_find_hashed(const struct vocab *vocab, uint32_t hash, const char *text, size_t len)
{
    if (!vocab->slots) return VOCAB_NO_TOKEN;
    for (uint32_t at = hash & vocab->mask;; at = (at + 1) & vocab->mask) {
        const struct vocab_slot *slot = &vocab->slots[at];
        if (slot->id == VOCAB_NO_TOKEN) return VOCAB_NO_TOKEN;
        if (slot->hash != hash) continue;
        const struct vocab_span *span = &vocab->spans[slot->id];
        if (span->len == len && !memcmp(vocab->text.data + span->offset, text, len))
            return slot->id;
    }
}

int32_t vocab_find(const struct vocab *vocab, const char *text, size_t len)
{
    return vocab_find_hashed(vocab, vocab_hash(text, len), text, len);
}

bool vocab_has(const struct vocab *vocab, int64_t id)
{
    return id >= 0 && id < vocab->size && vocab->spans[id].offset != UINT32_MAX;
}

const char *vocab_text(const struct vocab *vocab, int32_t id, size_t *len)
{
    CHECK(vocab_has(vocab, id));
    if (len) *len = vocab->spans[id].len;
    return vocab->text.data + vocab->spans[id].offset;
}

void vocab_free(struct vocab *vocab)
{
    buffer_free(&vocab->text);
    free(vocab->spans);
    free(vocab->slots);
    *vocab = (struct vocab){0};
}
