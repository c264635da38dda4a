/*
 * tokenizer_core.h - what a struct tokenizer is made of: for its own files only; everyone else
 * includes tokenizer.h.
 *
 * Thread: see tokenizer.h. All is immutable after loading but the list of idle scratches, which its
 * lock guards.
 */
#ifndef SERVER_TEXT_TOKENIZER_CORE_H
#define SERVER_TEXT_TOKENIZER_CORE_H

#include <pthread.h>

#include "runtime/base/arena.h"
#include "runtime/base/buffer.h"
#include "server/text/tokenizer.h"
#include "server/text/tokenizer_added.h"
#include "server/text/tokenizer_bpe.h"
#include "server/text/tokenizer_decode.h"
#include "server/text/tokenizer_normalize.h"
#include "server/text/tokenizer_split.h"
#include "server/text/tokenizer_unigram.h"
#include "server/text/tokenizer_vocab.h"

enum tokenizer_model { TOKENIZER_BPE, TOKENIZER_UNIGRAM };

enum token_flag {                    /* by id; what a SentencePiece or GGUF file says of a token */
                  TOKEN_SPECIAL = 1, /* skipped by decoding if asked */
                  TOKEN_CONTROL = 2,
                  TOKEN_UNKNOWN = 4,
                  TOKEN_BYTE = 8,
                  TOKEN_ADDED = 16, /* its text is with the added tokens */
};

struct template_source {
    const char *name; /* "default", "tool_use", ... */
    const char *source;
    struct template_source *next;
};

struct tokenizer_scratch { /* what one encode call works in */
    struct tokenizer_scratch *next;
    struct normalize_scratch normalize;
    struct split_scratch split;
    struct bpe_scratch bpe;
    struct unigram_scratch unigram;
    struct buffer lossy;
};

struct tokenizer {
    struct arena arena;
    enum tokenizer_model model;
    struct vocab vocab;        /* the model's own tokens */
    struct added_tokens added; /* some of them are the model's too */
    uint8_t *flags;            /* [size] enum token_flag */
    int size;                  /* one more than the largest id */
    struct normalizer normalizer;
    struct splitter splitter;
    struct bpe bpe;
    struct unigram unigram;
    struct trie user_defined; /* SentencePiece BPE: pieces that are cut out first; values: ids */
    struct token_list before, after; /* what the post-processor puts around a text */
    struct decoder decoder;
    struct vocab_span *bytes; /* [size] into bytes_text: tokenizer_token_bytes */
    struct buffer bytes_text;
    bool byte_level;
    bool sentencepiece;  /* read from a tokenizer.model: its config says what to add */
    bool parses_special; /* the published library's plain encode does */
    int32_t bos, eos;
    const char *bos_text, *eos_text;
    struct template_source *templates;
    pthread_mutex_t lock;
    struct tokenizer_scratch *idle;
};

/* A tokenizer with nothing in it, to be filled and then finished or destroyed. */
struct tokenizer *tokenizer_create(void);

/* After the loaders: flags, bytes of tokens, added tokens, consistency. */
enum status tokenizer_finish(struct tokenizer *tokenizer, struct error *error);

/* The string of an id that exists: as it is decoded. */
const char *tokenizer_text(const struct tokenizer *tokenizer, int32_t id, size_t *len);
bool tokenizer_has(const struct tokenizer *tokenizer, int64_t id);

/* The loaders; each reads one file's worth into a tokenizer made by tokenizer_create. */
enum status tokenizer_read_json(struct tokenizer *tokenizer, char *text, size_t len,
                                struct error *error);
enum status tokenizer_read_sentencepiece(struct tokenizer *tokenizer, const char *data, size_t len,
                                         struct error *error);

/* tokenizer_config.json, special_tokens_map.json and the chat templates in a directory; none of
 * them needs to be there. */
enum status tokenizer_read_config(struct tokenizer *tokenizer, const char *directory,
                                  struct error *error);

/* Names a special token; `add` those of a SentencePiece model are looked for in texts. */
void tokenizer_set_bos(struct tokenizer *tokenizer, const char *text, size_t len);
void tokenizer_set_eos(struct tokenizer *tokenizer, const char *text, size_t len);
void tokenizer_add_template(struct tokenizer *tokenizer, const char *name, const char *source,
                            size_t len);

#endif
