/* tokenizer_merges.c - see tokenizer_merges.h. */
#include "server/text/tokenizer_merges.h"

#include <stdio.h>
#include <string.h>

static enum status add_batch(struct merge_reader *reader, struct error *error)
{
    const struct vocab *vocab = reader->bpe->vocab;
    for (int i = 0; i < reader->count; i++) {
        const struct merge_strings *m = &reader->batch[i];
        int32_t left = vocab_find_hashed(vocab, m->hashes[0], m->left, m->left_len);
        int32_t right = vocab_find_hashed(vocab, m->hashes[1], m->right, m->right_len);
        int32_t id =
            vocab_find_hashed(vocab, m->hashes[2], reader->joined.data + m->joined, m->joined_len);
        if (left < 0 || right < 0 || id < 0) {
            char key[ERROR_PARAM_MAX];
            snprintf(key, sizeof(key), "%s[%zu]", reader->key, reader->rank + (size_t)i);
            return error_set(error, STATUS_INVALID, key,
                             "%s joins '%.*s' and '%.*s', but the vocabulary lacks %s", key,
                             (int)(m->left_len < 40 ? m->left_len : 40), m->left,
                             (int)(m->right_len < 40 ? m->right_len : 40), m->right,
                             left < 0    ? "the first"
                             : right < 0 ? "the second"
                                         : "what they make");
        }
        bpe_add_merge(reader->bpe, left, right, (uint32_t)(reader->rank + (size_t)i), id);
    }
    reader->rank += (size_t)reader->count;
    reader->count = 0;
    buffer_clear(&reader->joined);
    return STATUS_OK;
}

enum status merges_add(struct merge_reader *reader, const char *left, size_t left_len,
                       const char *right, size_t right_len, struct error *error)
{
    struct merge_strings *m = &reader->batch[reader->count++];
    size_t cut = right_len < reader->prefix_len ? right_len : reader->prefix_len;
    *m = (struct merge_strings){left, right, left_len, right_len, reader->joined.len, 0, {0}};
    m->joined_len = left_len + right_len - cut;
    buffer_append(&reader->joined, left, left_len);
    buffer_append(&reader->joined, right + cut, right_len - cut);
    m->hashes[0] = vocab_hash(left, left_len);
    m->hashes[1] = vocab_hash(right, right_len);
    m->hashes[2] = vocab_hash(reader->joined.data + m->joined, m->joined_len);
    for (int i = 0; i < 3; i++) vocab_prefetch(reader->bpe->vocab, m->hashes[i]);
    return reader->count == MERGES_AT_ONCE ? add_batch(reader, error) : STATUS_OK;
}

enum status merges_add_line(struct merge_reader *reader, const char *line, size_t len,
                            struct error *error)
{
    const char *space = memchr(line, ' ', len), *end = line + len;
    if (!space || memchr(space + 1, ' ', (size_t)(end - space - 1)))
        return error_set(error, STATUS_INVALID, reader->key,
                         "%s must be pairs of strings with a space between", reader->key);
    return merges_add(reader, line, (size_t)(space - line), space + 1, (size_t)(end - space - 1),
                      error);
}

enum status merges_finish(struct merge_reader *reader, enum status status, struct error *error)
{
    if (!status) status = add_batch(reader, error);
    buffer_free(&reader->joined);
    return status;
}
