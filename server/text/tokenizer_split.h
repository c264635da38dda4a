/*
 * tokenizer_split.h - pre-tokenizers: a text in, the pieces that the model sees one by one out.
 *
 * Thread: a splitter is filled by the loader and read by any; the scratch belongs to one call at a
 * time.
 */
#ifndef SERVER_TEXT_TOKENIZER_SPLIT_H
#define SERVER_TEXT_TOKENIZER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"
#include "server/text/tokenizer_regex.h"

enum split_kind {
    SPLIT_REGEX,       /* around the matches of an expression */
    SPLIT_STRING,      /* around a fixed string */
    SPLIT_DIGITS,      /* around numeric characters */
    SPLIT_PUNCTUATION, /* around punctuation */
    SPLIT_SPACES,      /* around white space */
    SPLIT_PREFIX,      /* no split: each piece gets a space in front if it has none */
    SPLIT_METASPACE,   /* no split: spaces become `string`, which is also put in front */
};

enum split_behavior { /* what becomes of the matches */
                      SPLIT_ISOLATED,
                      SPLIT_REMOVED,
                      SPLIT_MERGED_WITH_PREVIOUS,
                      SPLIT_MERGED_WITH_NEXT,
                      SPLIT_CONTIGUOUS,
};

enum split_prepend { SPLIT_PREPEND_ALWAYS, SPLIT_PREPEND_FIRST, SPLIT_PREPEND_NEVER };

struct split_step {
    enum split_kind kind;
    enum split_behavior behavior;
    bool invert; /* what matches and what does not change roles */
    struct tokenizer_regex *regex;
    char *string;
    size_t string_len;
    enum split_prepend prepend;
};

enum { SPLIT_STEP_MAX = 16 };

struct splitter {
    struct split_step steps[SPLIT_STEP_MAX];
    int count;
};

struct piece {
    uint32_t start, len;
};

struct piece_list {
    struct piece *items;
    size_t count, capacity;
};

struct split_match {
    uint32_t start, end;
    bool matches;
};

struct split_scratch { /* all zero: ready */
    struct buffer text[2], twins;
    struct piece_list pieces[2];
    struct split_match *matches;
    size_t match_count, match_capacity;
    struct tokenizer_matcher *matcher;
};

/* Splits text[0..len), well-formed UTF-8 of less than 2 GiB. `at_start`: it begins where the whole
 * text does. The pieces lie in `*pieces_text`, which is `text` or belongs to the scratch, as
 * `*pieces` does. */
enum status splitter_run(const struct splitter *splitter, struct split_scratch *scratch,
                         const char *text, size_t len, bool at_start, const char **pieces_text,
                         const struct piece_list **pieces, struct error *error);

void splitter_free(struct splitter *splitter);
void split_scratch_free(struct split_scratch *scratch);

#endif
