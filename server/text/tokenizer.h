/*
 * tokenizer.h - text <-> token ids, exactly as the model's published tokenizer does it.
 *
 * Byte-level BPE (tokenizer.json, GGUF "gpt2"), SentencePiece BPE and unigram (tokenizer.model,
 * tokenizer.json, GGUF "llama"/"t5"), with normalisers, pre-tokenizers, added and special tokens,
 * byte fallback and post-processors.
 *
 * Thread: a tokenizer is immutable once loaded; tokenizer_encode and the readers may run on any
 * number of threads at once. Memory: owned by the tokenizer until tokenizer_destroy; strings
 * returned live as long.
 */
#ifndef SERVER_TEXT_TOKENIZER_H
#define SERVER_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

struct gguf;
struct tokenizer;

struct token_list { /* grows; free with token_list_free */
    int32_t *ids;
    int count, capacity;
};

void token_list_append(struct token_list *list, int32_t id);
void token_list_free(struct token_list *list);

/* From a directory that holds tokenizer.json or tokenizer.model (and perhaps tokenizer_config.json,
 * special_tokens_map.json), or from one of those files. */
enum status tokenizer_load(const char *path, struct tokenizer **out, struct error *error);

/* From the tokenizer.ggml.* keys of an open GGUF file; nothing of it is kept. */
enum status tokenizer_load_gguf(const struct gguf *gguf, struct tokenizer **out,
                                struct error *error);

void tokenizer_destroy(struct tokenizer *tokenizer);

/* Appends the ids of text[0..len) to `out`. `add_special`: the post-processor's tokens too (BOS,
 * EOS). `parse_special`: special tokens written out in the text become their ids (chat templates);
 * false: they are plain text. Ill-formed UTF-8 is treated as the tokenizers library treats
 * lossy-decoded text. */
enum status tokenizer_encode(const struct tokenizer *tokenizer, const char *text, size_t len,
                             bool add_special, bool parse_special, struct token_list *out,
                             struct error *error);

struct buffer;
/* Appends the text of ids[0..count), as `decode(ids, skip_special_tokens)` of the published
 * library. An id outside the vocabulary is STATUS_INVALID. */
enum status tokenizer_decode(const struct tokenizer *tokenizer, const int32_t *ids, int count,
                             bool skip_special, struct buffer *out, struct error *error);

/* Whether the published library's plain encode recognises special tokens in a text:
 * tokenizer.json's does, tokenizer.model's does not. */
bool tokenizer_parses_special(const struct tokenizer *tokenizer);

int tokenizer_vocab_size(const struct tokenizer *tokenizer); /* one more than the largest id */
int32_t tokenizer_bos(const struct tokenizer *tokenizer);    /* -1: none */
int32_t tokenizer_eos(const struct tokenizer *tokenizer);    /* -1: none */
const char *
tokenizer_bos_text(const struct tokenizer *tokenizer); /* "" if none; for chat templates */
const char *tokenizer_eos_text(const struct tokenizer *tokenizer);
bool tokenizer_is_special(const struct tokenizer *tokenizer, int32_t id);
int32_t tokenizer_find(const struct tokenizer *tokenizer,
                       const char *token); /* by its content; -1 */

/* The bytes that one token stands for by itself (logprobs' "bytes"): never cut to whole characters.
 * Returns a pointer to them and their count; NULL for an id outside the vocabulary. */
const char *tokenizer_token_bytes(const struct tokenizer *tokenizer, int32_t id, size_t *len);

/* The chat template found beside the tokenizer (tokenizer_config.json, chat_template.jinja,
 * GGUF tokenizer.chat_template), or NULL. `name` NULL or "default": the ordinary one; else a named
 * one such as "tool_use". */
const char *tokenizer_chat_template(const struct tokenizer *tokenizer, const char *name);

/*
 * Incremental decode: the joined pieces of a stream equal tokenizer_decode of all its ids, and no
 * piece ends inside a UTF-8 character. One struct per stream, zeroed by detokenizer_init.
 */
struct detokenizer;
struct detokenizer *detokenizer_create(const struct tokenizer *tokenizer, bool skip_special);
/* Appends to `out` the text that became certain with this id (perhaps nothing). */
void detokenizer_push(struct detokenizer *detokenizer, int32_t id, struct buffer *out);
/* Appends what was held back: an incomplete character becomes U+FFFD as in the whole decode. */
void detokenizer_finish(struct detokenizer *detokenizer, struct buffer *out);
void detokenizer_destroy(struct detokenizer *detokenizer);

#endif
