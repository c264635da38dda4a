/* tokenizer_merges.c - see tokenizer_merges.h. */
#include "server/text/tokenizer_merges.h"

#include <stdio.h>
#include <string.h>

#include "server/text/tokenizer_bpe_pairs.h"

static enum status refuse_merge(const struct merge_reader *reader, int i, const char *lacking,
                                struct error *error)
{
    const struct merge_strings *m = &reader->batch[i];
    char key[ERROR_PARAM_MAX];
    snprintf(key, sizeof(key), "%s[%zu]", reader->key, reader->rank + (size_t)i);
    return error_set(error, STATUS_INVALID, key,
                     "%s joins '%.*s' and '%.*s', but the vocabulary lacks %s", key,
                     (int)(m->left_len < 40 ? m->left_len : 40), m->left,
                     (int)(m->right_len < 40 ? m->right_len : 40), m->right, lacking);
}

/* Each pass over the batch waits for what the one before it asked the memory for. */
static enum status add_batch(struct merge_reader *reader, struct error *error)
{
    struct bpe *bpe = reader->bpe;
    const struct vocab *vocab = bpe->vocab;
    int32_t ids[MERGES_AT_ONCE][3];
    for (int i = 0; i < reader->count; i++)
        for (int k = 0; k < 3; k++) vocab_prefetch_token(vocab, reader->batch[i].hashes[k], 1);
    for (int i = 0; i < reader->count; i++)
        for (int k = 0; k < 3; k++) vocab_prefetch_token(vocab, reader->batch[i].hashes[k], 2);
    for (int i = 0; i < reader->count; i++) {
        const struct merge_strings *m = &reader->batch[i];
        ids[i][0] = vocab_find_hashed(vocab, m->hashes[0], m->left, m->left_len);
        ids[i][1] = vocab_find_hashed(vocab, m->hashes[1], m->right, m->right_len);
        ids[i][2] =
            vocab_find_hashed(vocab, m->hashes[2], reader->joined.data + m->joined, m->joined_len);
        if (ids[i][0] < 0) return refuse_merge(reader, i, "the first", error);
        if (ids[i][1] < 0) return refuse_merge(reader, i, "the second", error);
        if (ids[i][2] < 0) return refuse_merge(reader, i, "what they make", error);
        bpe_prefetch_pair(bpe, ids[i][0], ids[i][1]);
    }
    for (int i = 0; i < reader->count; i++)
        bpe_add_merge(bpe, ids[i][0], ids[i][1], (uint32_t)(reader->rank + (size_t)i), ids[i][2]);
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
