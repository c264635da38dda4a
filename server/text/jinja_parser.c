/* jinja_parser.c - statements: see jinja_parser.h. */
#include "server/text/jinja_parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/text/jinja_call.h"

enum { STATEMENT_DEPTH_MAX = 100 };

static void parse_body(struct jinja_parser *parser, struct jinja_nodes *body,
                       const char *const *ends);

struct jinja_token *jinja_token(struct jinja_parser *parser)
{
    return &parser->tokens.at[parser->at];
}

void jinja_step(struct jinja_parser *parser)
{
    if (parser->at + 1 < parser->tokens.count) parser->at++;
}

bool jinja_token_is(const struct jinja_token *token, enum jinja_token_type type, const char *text)
{
    return token->type == type && token->len == strlen(text) &&
           !memcmp(token->text, text, token->len);
}

bool jinja_at_name(struct jinja_parser *parser, const char *name)
{
    return jinja_token_is(jinja_token(parser), JINJA_TOKEN_NAME, name);
}

bool jinja_at_operator(struct jinja_parser *parser, const char *operator)
{
    return jinja_token_is(jinja_token(parser), JINJA_TOKEN_OPERATOR, operator);
}

bool jinja_accept_name(struct jinja_parser *parser, const char *name)
{
    bool found = jinja_at_name(parser, name);
    if (found) jinja_step(parser);
    return found;
}

bool jinja_accept(struct jinja_parser *parser, const char *operator)
{
    bool found = jinja_at_operator(parser, operator);
    if (found) jinja_step(parser);
    return found;
}

void jinja_syntax(struct jinja_parser *parser, int line, const char *format, ...)
{
    char message[ERROR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof(message), format, list);
    va_end(list);
    parser->jinja->line = line;
    jinja_fail(parser->jinja, "%s", message);
}

void jinja_unsupported(struct jinja_parser *parser, int line, const char *what,
                       const struct jinja_string *name)
{
    if (parser->jinja->failed) return;
    jinja_syntax(parser, line, "%s '%.*s' is not supported", what,
                 (int)(name->len < 100 ? name->len : 100), name->data);
    parser->jinja->error.status = STATUS_UNSUPPORTED;
}

void jinja_unexpected(struct jinja_parser *parser, const char *wanted)
{
    const struct jinja_token *token = jinja_token(parser);
    const char *text = token->type == JINJA_TOKEN_END           ? "the end of the template"
                       : token->type == JINJA_TOKEN_PRINT_END   ? "}}"
                       : token->type == JINJA_TOKEN_BLOCK_END   ? "%}"
                       : token->type == JINJA_TOKEN_PRINT_BEGIN ? "{{"
                       : token->type == JINJA_TOKEN_BLOCK_BEGIN ? "{%"
                                                                : token->text;
    int len = token->len ? (int)(token->len < 60 ? token->len : 60) : (int)strlen(text);
    jinja_syntax(parser, token->line, "expected %s, got '%.*s'", wanted, len, text);
}

static void expect_type(struct jinja_parser *parser, enum jinja_token_type type, const char *name)
{
    if (jinja_token(parser)->type != type) jinja_unexpected(parser, name);
    jinja_step(parser);
}

void jinja_expect(struct jinja_parser *parser, const char *operator)
{
    char wanted[16];
    snprintf(wanted, sizeof(wanted), "'%s'", operator);
    if (!jinja_accept(parser, operator)) jinja_unexpected(parser, wanted);
}

struct jinja_node *jinja_node(struct jinja_parser *parser, enum jinja_node_type type, int line)
{
    struct jinja_node *node = arena_zalloc(&parser->jinja->arena, sizeof(*node));
    node->type = type, node->line = line, node->value = jinja_none();
    jinja_spend(parser->jinja, 1);
    return node;
}

void jinja_nodes_add(struct jinja_parser *parser, struct jinja_nodes *nodes,
                     struct jinja_node *node)
{
    if (nodes->count == nodes->capacity) {
        int capacity = nodes->capacity ? nodes->capacity * 2 : 4;
        void *more = arena_alloc(&parser->jinja->arena, (size_t)capacity * sizeof(*nodes->at));
        if (nodes->count) memcpy(more, nodes->at, (size_t)nodes->count * sizeof(*nodes->at));
        nodes->at = more, nodes->capacity = capacity;
    }
    nodes->at[nodes->count++] = node;
}

struct jinja_value jinja_constant(struct jinja_parser *parser, const char *text, size_t len)
{
    struct jinja_value value = jinja_text(parser->jinja, text, len);
    jinja_string_chars(value.as.string); /* shared by threads later: nothing is left to count */
    return value;
}

int jinja_name_index(struct jinja_parser *parser, const char *text, size_t len)
{
    struct jinja_value *known = jinja_dict_find_text(parser->names, text, len);
    if (known) return (int)known->as.integer;
    struct jinja_template *template = parser->template;
    struct arena *arena = &parser->jinja->arena;
    if (template->name_count == template->name_capacity) {
        int capacity = template->name_capacity ? template->name_capacity * 2 : 32;
        void *more = arena_alloc(arena, (size_t)capacity * sizeof(*template->names));
        if (template->name_count)
            memcpy(more, template->names, (size_t) template->name_count * sizeof(*template->names));
        template->names = more, template->name_capacity = capacity;
    }
    struct jinja_name *name = arena_zalloc(arena, sizeof(*name));
    struct jinja_value string = jinja_constant(parser, text, len);
    name->text = *string.as.string;
    name->global = jinja_find_global(text, len);
    template->names[template->name_count] = name;
    jinja_dict_set(parser->jinja, parser->names, string, jinja_int(template->name_count));
    return template->name_count++;
}

static bool at_block_end_named(struct jinja_parser *parser, const char *const *ends)
{
    for (; *ends; ends++)
        if (jinja_at_name(parser, *ends)) return true;
    return false;
}

/* "%}", a body, and its end tag up to and without "%}". */
static void parse_block(struct jinja_parser *parser, struct jinja_nodes *body,
                        const char *const *ends)
{
    jinja_accept(parser, ":");
    expect_type(parser, JINJA_TOKEN_BLOCK_END, "'%}'");
    parse_body(parser, body, ends);
    if (!parser->jinja->failed && jinja_token(parser)->type == JINJA_TOKEN_END)
        jinja_syntax(parser, jinja_token(parser)->line,
                     "the end of the template where the tag '%s' was expected", ends[0]);
}

static void parse_to(struct jinja_parser *parser, struct jinja_nodes *body, const char *end)
{
    const char *const ends[] = {end, NULL};
    parse_block(parser, body, ends);
    jinja_step(parser);
}

static struct jinja_node *parse_if(struct jinja_parser *parser)
{
    static const char *const ends[] = {"endif", "elif", "else", NULL};
    bool soft = parser->soft;
    parser->soft = true;
    struct jinja_node *first = NULL, *last = NULL;
    while (!parser->jinja->failed) {
        struct jinja_node *node = jinja_node(parser, JINJA_NODE_IF, jinja_token(parser)->line);
        jinja_step(parser); /* if, elif */
        node->a = jinja_parse_tuple(parser, false, JINJA_TUPLE_PLAIN);
        parse_block(parser, &node->body, ends);
        if (last)
            jinja_nodes_add(parser, &last->other, node);
        else
            first = node;
        last = node;
        if (jinja_at_name(parser, "elif")) continue;
        bool other = jinja_at_name(parser, "else");
        jinja_step(parser);
        if (other) parse_to(parser, &last->other, "endif");
        break;
    }
    parser->soft = soft;
    return first;
}

static struct jinja_node *parse_for(struct jinja_parser *parser)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_FOR, jinja_token(parser)->line);
    bool soft = parser->soft;
    int loops = parser->loops;
    jinja_step(parser);
    parser->for_depth++;
    node->a = jinja_parse_target(parser, JINJA_TUPLE_BEFORE_IN, false);
    if (!jinja_accept_name(parser, "in")) jinja_unexpected(parser, "'in'");
    node->b = jinja_parse_tuple(parser, false, JINJA_TUPLE_BEFORE_RECURSIVE);
    parser->soft = false;
    if (jinja_accept_name(parser, "if")) node->c = jinja_parse_expression(parser);
    node->flag = jinja_accept_name(parser, "recursive");
    parser->loops = node->flag ? 1 : loops + 1;
    parse_block(parser, &node->body, ends);
    parser->loops = node->flag ? 0 : loops;
    bool other = jinja_at_name(parser, "else");
    jinja_step(parser);
    if (other) parse_to(parser, &node->other, "endfor");
    parser->soft = soft, parser->loops = loops;
    parser->for_depth--;
    return node;
}

static struct jinja_node *parse_set(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    jinja_step(parser);
    struct jinja_node *target = jinja_parse_target(parser, JINJA_TUPLE_PLAIN, true);
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_SET, line);
    node->a = target;
    if (jinja_accept(parser, "=")) {
        node->b = jinja_parse_tuple(parser, true, JINJA_TUPLE_PLAIN);
        return node;
    }
    node->type = JINJA_NODE_SET_BLOCK;
    node->b = jinja_parse_filters(parser, NULL, false);
    parse_to(parser, &node->body, "endset");
    return node;
}

static void add_param(struct jinja_parser *parser, struct jinja_macro_node *macro,
                      struct jinja_param param)
{
    for (int i = 0; i < macro->param_count; i++)
        if (macro->params[i].name == param.name)
            jinja_syntax(parser, jinja_token(parser)->line, "duplicate argument '%s'",
                         param.text->data);
    if (macro->param_count == macro->param_capacity) {
        int capacity = macro->param_capacity ? macro->param_capacity * 2 : 4;
        void *more = arena_alloc(&parser->jinja->arena, (size_t)capacity * sizeof(param));
        if (macro->param_count)
            memcpy(more, macro->params, (size_t)macro->param_count * sizeof(param));
        macro->params = more, macro->param_capacity = capacity;
    }
    macro->params[macro->param_count++] = param;
}

static void parse_signature(struct jinja_parser *parser, struct jinja_macro_node *macro)
{
    bool defaults = false;
    jinja_expect(parser, "(");
    while (!jinja_at_operator(parser, ")") && !parser->jinja->failed) {
        if (macro->param_count) jinja_expect(parser, ",");
        const struct jinja_token *token = jinja_token(parser);
        if (token->type != JINJA_TOKEN_NAME) jinja_unexpected(parser, "a parameter's name");
        struct jinja_param param = {.name = jinja_name_index(parser, token->text, token->len)};
        param.text = &parser->template->names[param.name]->text;
        jinja_step(parser);
        if (jinja_accept(parser, "=")) param.fallback = jinja_parse_expression(parser);
        if (defaults && !param.fallback)
            jinja_syntax(parser, token->line, "non-default argument follows default argument");
        defaults = param.fallback != NULL;
        add_param(parser, macro, param);
    }
    jinja_expect(parser, ")");
}

static void parse_macro_body(struct jinja_parser *parser, struct jinja_macro_node *macro,
                             const char *end)
{
    struct jinja_enclosing enclosing = {macro, parser->macros};
    bool soft = parser->soft;
    int loops = parser->loops;
    parser->macros = &enclosing, parser->soft = false, parser->loops = 0;
    parse_to(parser, &macro->body, end);
    parser->macros = enclosing.outer, parser->soft = soft, parser->loops = loops;
    for (int i = 0; i < macro->param_count; i++) {
        const struct jinja_param *param = &macro->params[i];
        if (param->name == parser->template->name_varargs) macro->uses_varargs = false;
        if (param->name == parser->template->name_kwargs) macro->uses_kwargs = false;
        if (param->name != parser->template->name_caller) continue;
        macro->caller_is_param = true;
        if (macro->uses_caller && !param->fallback)
            jinja_syntax(parser, jinja_token(parser)->line,
                         "the special \"caller\" argument must be omitted or be given a default");
    }
}

static struct jinja_node *parse_macro(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_MACRO, jinja_token(parser)->line);
    struct jinja_macro_node *macro = arena_zalloc(&parser->jinja->arena, sizeof(*macro));
    node->macro = macro;
    jinja_step(parser);
    const struct jinja_token *token = jinja_token(parser);
    if (token->type != JINJA_TOKEN_NAME) jinja_unexpected(parser, "the macro's name");
    macro->name = jinja_constant(parser, token->text, token->len);
    macro->name_index = jinja_name_index(parser, token->text, token->len);
    if (parser->for_depth && macro->name_index == parser->template->name_loop)
        jinja_syntax(parser, token->line, "Can't assign to special loop variable");
    jinja_step(parser);
    parse_signature(parser, macro);
    parse_macro_body(parser, macro, "endmacro");
    return node;
}

static struct jinja_node *parse_call_block(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_CALL_BLOCK, jinja_token(parser)->line);
    struct jinja_macro_node *macro = arena_zalloc(&parser->jinja->arena, sizeof(*macro));
    node->macro = macro;
    macro->name = jinja_none(), macro->name_index = -1;
    jinja_step(parser);
    if (jinja_at_operator(parser, "(")) parse_signature(parser, macro);
    node->a = jinja_parse_expression(parser);
    if (node->a->type != JINJA_NODE_CALL) jinja_syntax(parser, node->line, "expected call");
    parse_macro_body(parser, macro, "endcall");
    return node;
}

static struct jinja_node *parse_with(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_WITH, jinja_token(parser)->line);
    jinja_step(parser);
    while (jinja_token(parser)->type != JINJA_TOKEN_BLOCK_END && !parser->jinja->failed) {
        if (node->items.count) jinja_expect(parser, ",");
        struct jinja_node *target = jinja_parse_target(parser, JINJA_TUPLE_PLAIN, false);
        jinja_nodes_add(parser, &node->items, target);
        jinja_expect(parser, "=");
        jinja_nodes_add(parser, &node->items, jinja_parse_expression(parser));
    }
    parse_to(parser, &node->body, "endwith");
    return node;
}

static struct jinja_node *parse_print(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_PRINT, jinja_token(parser)->line);
    jinja_step(parser);
    while (jinja_token(parser)->type != JINJA_TOKEN_BLOCK_END && !parser->jinja->failed) {
        if (node->items.count) jinja_expect(parser, ",");
        jinja_nodes_add(parser, &node->items, jinja_parse_expression(parser));
    }
    return node;
}

static struct jinja_node *parse_jump(struct jinja_parser *parser, enum jinja_node_type type)
{
    struct jinja_node *node = jinja_node(parser, type, jinja_token(parser)->line);
    if (!parser->loops) jinja_syntax(parser, node->line, "break or continue outside of a loop");
    jinja_step(parser);
    return node;
}

static struct jinja_node *parse_filter_block(struct jinja_parser *parser)
{
    struct jinja_node *node =
        jinja_node(parser, JINJA_NODE_FILTER_BLOCK, jinja_token(parser)->line);
    jinja_step(parser);
    node->b = jinja_parse_filters(parser, NULL, true);
    parse_to(parser, &node->body, "endfilter");
    return node;
}

static struct jinja_node *parse_generation(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_SCOPE, jinja_token(parser)->line);
    int loops = parser->loops;
    parser->loops = 0;
    jinja_step(parser);
    parse_to(parser, &node->body, "endgeneration");
    parser->loops = loops;
    return node;
}

static struct jinja_node *parse_statement(struct jinja_parser *parser)
{
    static const char *const refused[] = {"block",     "extends",    "include", "import",
                                          "from",      "autoescape", "do",      "trans",
                                          "pluralize", "debug",      NULL};
    const struct jinja_token *token = jinja_token(parser);
    if (jinja_at_name(parser, "if")) return parse_if(parser);
    if (jinja_at_name(parser, "for")) return parse_for(parser);
    if (jinja_at_name(parser, "set")) return parse_set(parser);
    if (jinja_at_name(parser, "macro")) return parse_macro(parser);
    if (jinja_at_name(parser, "call")) return parse_call_block(parser);
    if (jinja_at_name(parser, "filter")) return parse_filter_block(parser);
    if (jinja_at_name(parser, "with")) return parse_with(parser);
    if (jinja_at_name(parser, "print")) return parse_print(parser);
    if (jinja_at_name(parser, "generation")) return parse_generation(parser);
    if (jinja_at_name(parser, "break")) return parse_jump(parser, JINJA_NODE_BREAK);
    if (jinja_at_name(parser, "continue")) return parse_jump(parser, JINJA_NODE_CONTINUE);
    struct jinja_string name = {token->text, token->len, SIZE_MAX, false};
    if (at_block_end_named(parser, refused))
        jinja_unsupported(parser, token->line, "the tag", &name);
    else if (token->type == JINJA_TOKEN_NAME)
        jinja_syntax(parser, token->line, "Encountered unknown tag '%.*s'.",
                     (int)(token->len < 60 ? token->len : 60), token->text);
    else
        jinja_unexpected(parser, "a tag's name");
    return NULL;
}

/* To the end of the template, or to a tag of `ends` (NULL: none), which is then the token. */
static void parse_body(struct jinja_parser *parser, struct jinja_nodes *body,
                       const char *const *ends)
{
    if (++parser->depth > STATEMENT_DEPTH_MAX)
        jinja_syntax(parser, jinja_token(parser)->line, "statements nest too deeply");
    while (!parser->jinja->failed && jinja_token(parser)->type != JINJA_TOKEN_END) {
        const struct jinja_token *token = jinja_token(parser);
        jinja_step(parser);
        if (token->type == JINJA_TOKEN_DATA) {
            struct jinja_node *node = jinja_node(parser, JINJA_NODE_DATA, token->line);
            node->value = jinja_constant(parser, token->text, token->len);
            jinja_nodes_add(parser, body, node);
        } else if (token->type == JINJA_TOKEN_PRINT_BEGIN) {
            struct jinja_node *node = jinja_node(parser, JINJA_NODE_PRINT, token->line);
            jinja_nodes_add(parser, &node->items,
                            jinja_parse_tuple(parser, true, JINJA_TUPLE_PLAIN));
            jinja_nodes_add(parser, body, node);
            expect_type(parser, JINJA_TOKEN_PRINT_END, "'}}'");
        } else {
            if (ends && at_block_end_named(parser, ends)) break;
            struct jinja_node *node = parse_statement(parser);
            if (node) jinja_nodes_add(parser, body, node);
            expect_type(parser, JINJA_TOKEN_BLOCK_END, "'%}'");
        }
    }
    parser->depth--;
}

bool jinja_parse(struct jinja_context *jinja, const char *source, size_t len,
                 struct jinja_template *template)
{
    struct jinja_parser parser = {.jinja = jinja, .template = template};
    *template = (struct jinja_template){0};
    if (!jinja_lex(jinja, source, len, &parser.tokens)) return false;
    parser.names = jinja_dict(jinja, JINJA_DICT, 64).as.dict;
    template->name_loop = jinja_name_index(&parser, "loop", 4);
    template->name_caller = jinja_name_index(&parser, "caller", 6);
    template->name_varargs = jinja_name_index(&parser, "varargs", 7);
    template->name_kwargs = jinja_name_index(&parser, "kwargs", 6);
    parse_body(&parser, &template->body, NULL);
    if (!jinja->failed && parser.unknown.count) {
        const struct jinja_node *node = parser.unknown.at[0];
        jinja_syntax(&parser, node->line, "No %s named '%s'.",
                     node->type == JINJA_NODE_TEST ? "test" : "filter",
                     node->value.as.string->data);
    }
    if (!jinja->failed) jinja_analyze(&parser);
    return !jinja->failed;
}
