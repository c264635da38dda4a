/*
 * jinja_parser.h - tokens -> template. What Jinja2 knows and this engine does not is refused here,
 * by name and line.
 *
 * Thread: the caller's; see jinja_ast.h.
 */
#ifndef SERVER_TEXT_JINJA_PARSER_H
#define SERVER_TEXT_JINJA_PARSER_H

#include "server/text/jinja_ast.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_lexer.h"

struct jinja_parser {
    struct jinja_context *jinja;
    struct jinja_template *template;
    struct jinja_tokens tokens;
    size_t at;
    int depth;
    int loops;     /* that break and continue could leave */
    int for_depth; /* for statements around, across macros */
    bool soft;     /* inside if: unknown filters only fail when reached, as in Jinja2 */
    struct jinja_nodes unknown; /* filters and tests nobody knows, and that no condition guards */
    struct jinja_enclosing *macros;
    struct jinja_dict *names; /* name -> index */
};

struct jinja_enclosing {
    struct jinja_macro_node *macro;
    struct jinja_enclosing *outer;
};

/* Fills `template`, all in its arena. False: the context failed, and nothing is to be freed but the
 * context. */
bool jinja_parse(struct jinja_context *jinja, const char *source, size_t len,
                 struct jinja_template *template);

/* Finds the names that begin undefined in each scope (jinja_analyze.c). */
void jinja_analyze(struct jinja_parser *parser);

/* Between jinja_parser.c (statements) and jinja_parse_expression.c. */
struct jinja_token *jinja_token(struct jinja_parser *parser);
void jinja_step(struct jinja_parser *parser);
bool jinja_token_is(const struct jinja_token *token, enum jinja_token_type type, const char *text);
bool jinja_at_name(struct jinja_parser *parser, const char *name);
bool jinja_at_operator(struct jinja_parser *parser, const char *operator);
bool jinja_accept_name(struct jinja_parser *parser, const char *name);
bool jinja_accept(struct jinja_parser *parser, const char *operator);
void jinja_expect(struct jinja_parser *parser, const char *operator);
void jinja_syntax(struct jinja_parser *parser, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "WHAT 'NAME' is not supported". */
void jinja_unsupported(struct jinja_parser *parser, int line, const char *what,
                       const struct jinja_string *name);
void jinja_unexpected(struct jinja_parser *parser, const char *wanted);
struct jinja_node *jinja_node(struct jinja_parser *parser, enum jinja_node_type type, int line);
void jinja_nodes_add(struct jinja_parser *parser, struct jinja_nodes *nodes,
                     struct jinja_node *node);
int jinja_name_index(struct jinja_parser *parser, const char *text, size_t len);
struct jinja_value jinja_constant(struct jinja_parser *parser, const char *text, size_t len);

struct jinja_node *jinja_parse_expression(struct jinja_parser *parser);
enum jinja_tuple_end { JINJA_TUPLE_PLAIN, JINJA_TUPLE_BEFORE_IN, JINJA_TUPLE_BEFORE_RECURSIVE };
/* Expressions with commas between; `conditional` allows "a if b" in them. */
struct jinja_node *jinja_parse_tuple(struct jinja_parser *parser, bool conditional,
                                     enum jinja_tuple_end end);
/* Names, tuples of names, and name.attribute where `with_namespace`. */
struct jinja_node *jinja_parse_target(struct jinja_parser *parser, enum jinja_tuple_end end,
                                      bool with_namespace);
/* "|a|b(c)"; `inline_start`: the first without its bar. `input` may be NULL. */
struct jinja_node *jinja_parse_filters(struct jinja_parser *parser, struct jinja_node *input,
                                       bool inline_start);

#endif
