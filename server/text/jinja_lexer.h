/*
 * jinja_lexer.h - template text -> tokens, with Jinja2's whitespace control under trim_blocks and
 * lstrip_blocks.
 *
 * Thread: the parser's.
 */
#ifndef SERVER_TEXT_JINJA_LEXER_H
#define SERVER_TEXT_JINJA_LEXER_H

#include "server/text/jinja_context.h"

enum jinja_token_type {
    JINJA_TOKEN_END,
    JINJA_TOKEN_DATA, /* `text` */
    JINJA_TOKEN_PRINT_BEGIN,
    JINJA_TOKEN_PRINT_END,
    JINJA_TOKEN_BLOCK_BEGIN,
    JINJA_TOKEN_BLOCK_END,
    JINJA_TOKEN_NAME,     /* `text` */
    JINJA_TOKEN_STRING,   /* `text`, unescaped */
    JINJA_TOKEN_INTEGER,  /* `integer` */
    JINJA_TOKEN_FLOAT,    /* `real` */
    JINJA_TOKEN_OPERATOR, /* `text` as written */
};

struct jinja_token {
    enum jinja_token_type type;
    int line;
    const char *text; /* in the context's arena or in the source given */
    size_t len;
    int64_t integer;
    double real;
};

struct jinja_tokens {
    struct jinja_token *at; /* the last is JINJA_TOKEN_END */
    size_t count, capacity;
};

/* Everything is allocated in the context's arena. False: the context failed. */
bool jinja_lex(struct jinja_context *jinja, const char *source, size_t len,
               struct jinja_tokens *tokens);

#endif
