/* tokenizer_finish.c - the end of every loader: what all files' tokenizers need besides their own.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "server/text/tokenizer_bytelevel.h"
#include "server/text/tokenizer_core.h"

struct tokenizer *tokenizer_create(void)
{
    struct tokenizer *tokenizer = calloc(1, sizeof(*tokenizer));
    CHECK(tokenizer);
    pthread_mutex_init(&tokenizer->lock, NULL);
    tokenizer->bos = tokenizer->eos = -1;
    tokenizer->bos_text = tokenizer->eos_text = "";
    tokenizer->bpe.unknown_id = tokenizer->unigram.unknown_id = -1;
    return tokenizer;
}

void tokenizer_set_bos(struct tokenizer *tokenizer, const char *text, size_t len)
{
    tokenizer->bos_text = arena_strndup(&tokenizer->arena, text, len);
}

void tokenizer_set_eos(struct tokenizer *tokenizer, const char *text, size_t len)
{
    tokenizer->eos_text = arena_strndup(&tokenizer->arena, text, len);
}

void tokenizer_add_template(struct tokenizer *tokenizer, const char *name, const char *source,
                            size_t len)
{
    struct template_source *added = arena_zalloc(&tokenizer->arena, sizeof(*added));
    added->name = arena_strndup(&tokenizer->arena, name, strlen(name));
    added->source = arena_strndup(&tokenizer->arena, source, len);
    struct template_source **end = &tokenizer->templates;
    while (*end) end = &(*end)->next; /* the first of a name is the one that is found */
    *end = added;
}

/* Tokens that are looked for in the normalised text must be normalised likewise. */
static enum status normalize_added(struct tokenizer *tokenizer, struct error *error)
{
    struct normalize_scratch scratch = {0};
    enum status status = STATUS_OK;
    for (int i = 0; i < tokenizer->added.count && !status; i++) {
        struct added_token *token = &tokenizer->added.items[i];
        if (!token->normalized || !tokenizer->normalizer.count) continue;
        const char *normal;
        size_t len;
        status = normalizer_run(&tokenizer->normalizer, &scratch, token->content,
                                token->content_len, &normal, &len, error);
        if (status) break;
        token->normal = arena_strndup(&tokenizer->arena, normal, len);
        token->normal_len = len;
    }
    normalize_scratch_free(&scratch);
    return status;
}

/* By itself a SentencePiece token stands for its text with spaces for U+2581, or for its byte. */
static void append_plain_bytes(struct buffer *out, const char *text, size_t len)
{
    int byte = bytelevel_hex_token(text, len);
    if (byte >= 0) {
        buffer_append_char(out, (char)byte);
        return;
    }
    for (const char *end = text + len, *space; text < end; text = space + 3) {
        space = memmem(text, (size_t)(end - text), "\xE2\x96\x81", 3);
        buffer_append(out, text, (size_t)((space ? space : end) - text));
        if (!space) return;
        buffer_append_char(out, ' ');
    }
}

static void fill_bytes(struct tokenizer *tokenizer)
{
    struct buffer *bytes = &tokenizer->bytes_text;
    tokenizer->bytes = calloc((size_t)tokenizer->size + 1, sizeof(*tokenizer->bytes));
    CHECK(tokenizer->bytes);
    buffer_reserve(bytes, tokenizer->vocab.text.len + 1);
    for (int32_t id = 0; id < tokenizer->size; id++) {
        size_t len, start = bytes->len;
        if (!tokenizer_has(tokenizer, id)) continue;
        const char *text = tokenizer_text(tokenizer, id, &len);
        if (tokenizer->byte_level) {
            if (!bytelevel_append_bytes(bytes, text, len)) buffer_append(bytes, text, len);
        } else if (tokenizer->flags[id] & TOKEN_ADDED) {
            buffer_append(bytes, text, len);
        } else {
            append_plain_bytes(bytes, text, len);
        }
        tokenizer->bytes[id] = (struct vocab_span){(uint32_t)start, (uint32_t)(bytes->len - start)};
    }
}

static enum status check_ids(const struct tokenizer *tokenizer, const struct token_list *ids,
                             struct error *error)
{
    for (int i = 0; i < ids->count; i++)
        if (!tokenizer_has(tokenizer, ids->ids[i]))
            return error_set(error, STATUS_INVALID, "post_processor",
                             "post_processor adds token id %d, which the vocabulary lacks",
                             ids->ids[i]);
    return STATUS_OK;
}

enum status tokenizer_finish(struct tokenizer *tokenizer, struct error *error)
{
    enum status status;
    if ((status = normalize_added(tokenizer, error)) ||
        (status = added_finish(&tokenizer->added, error)))
        return status;
    struct added_tokens *added = &tokenizer->added;
    tokenizer->size = tokenizer->vocab.size;
    if (added->count && added->items[added->count - 1].id >= tokenizer->size)
        tokenizer->size = added->items[added->count - 1].id + 1;
    uint8_t *flags = calloc(1, (size_t)tokenizer->size + 1);
    CHECK(flags);
    if (tokenizer->flags) memcpy(flags, tokenizer->flags, (size_t)tokenizer->vocab.size);
    free(tokenizer->flags);
    tokenizer->flags = flags;
    for (int i = 0; i < added->count; i++)
        flags[added->items[i].id] |= TOKEN_ADDED | (added->items[i].special ? TOKEN_SPECIAL : 0);
    fill_bytes(tokenizer);
    if ((status = check_ids(tokenizer, &tokenizer->before, error)) ||
        (status = check_ids(tokenizer, &tokenizer->after, error)))
        return status;
    /* a GGUF file gives the ids, the others the strings */
    if (tokenizer->bos < 0 && *tokenizer->bos_text)
        tokenizer->bos = tokenizer_find(tokenizer, tokenizer->bos_text);
    if (tokenizer->eos < 0 && *tokenizer->eos_text)
        tokenizer->eos = tokenizer_find(tokenizer, tokenizer->eos_text);
    return STATUS_OK;
}
