/* jinja_parse_expression.c - expressions, by recursive descent in Jinja2's order of precedence. */
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_parser.h"

enum { PARSE_DEPTH_MAX = 150 };

static struct jinja_node *parse_conditional(struct jinja_parser *parser);
static struct jinja_node *parse_or(struct jinja_parser *parser);
static struct jinja_node *parse_unary(struct jinja_parser *parser, bool with_filter);

/* One level deeper; false, and failed, when that is too deep. */
static bool deeper(struct jinja_parser *parser)
{
    if (++parser->depth > PARSE_DEPTH_MAX)
        jinja_syntax(parser, jinja_token(parser)->line, "expressions nest too deeply");
    return !parser->jinja->failed;
}

static struct jinja_node *nothing(struct jinja_parser *parser)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_CONST, jinja_token(parser)->line);
    node->value = jinja_none();
    return node;
}

static struct jinja_node *constant(struct jinja_parser *parser, struct jinja_value value, int line)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_CONST, line);
    node->value = value;
    return node;
}

static void add_argument(struct jinja_parser *parser, struct jinja_arguments *arguments,
                         struct jinja_argument argument)
{
    if (arguments->count == arguments->capacity) {
        int capacity = arguments->capacity ? arguments->capacity * 2 : 4;
        struct jinja_argument *more =
            arena_zalloc(&parser->jinja->arena, (size_t)capacity * sizeof(*more));
        if (arguments->count) memcpy(more, arguments->at, (size_t)arguments->count * sizeof(*more));
        arguments->at = more, arguments->capacity = capacity;
    }
    arguments->at[arguments->count++] = argument;
}

static void parse_arguments(struct jinja_parser *parser, struct jinja_arguments *arguments)
{
    int line = jinja_token(parser)->line;
    bool named = false, list = false, dict = false;
    jinja_expect(parser, "(");
    while (!jinja_at_operator(parser, ")") && !parser->jinja->failed) {
        if (arguments->count) {
            jinja_expect(parser, ",");
            if (jinja_at_operator(parser, ")")) break;
        }
        struct jinja_argument argument = {.form = JINJA_ARG_PLAIN};
        const struct jinja_token *token = jinja_token(parser);
        bool ordered;
        if (jinja_accept(parser, "*")) {
            argument.form = JINJA_ARG_LIST, ordered = !list && !dict, list = true;
        } else if (jinja_accept(parser, "**")) {
            argument.form = JINJA_ARG_DICT, ordered = !dict, dict = true;
        } else if (token->type == JINJA_TOKEN_NAME &&
                   jinja_token_is(token + 1, JINJA_TOKEN_OPERATOR, "=")) {
            argument.form = JINJA_ARG_NAMED, ordered = !dict, named = true;
            argument.name = jinja_constant(parser, token->text, token->len);
            jinja_step(parser), jinja_step(parser);
        } else {
            ordered = !named && !list && !dict;
        }
        if (!ordered) jinja_syntax(parser, line, "invalid syntax for function call expression");
        argument.value = jinja_parse_expression(parser);
        for (int i = 0; argument.form == JINJA_ARG_NAMED && i < arguments->count; i++)
            if (arguments->at[i].form == JINJA_ARG_NAMED &&
                jinja_string_equal(arguments->at[i].name.as.string, argument.name.as.string))
                jinja_syntax(parser, line, "keyword argument '%s' is given twice",
                             argument.name.as.string->data);
        add_argument(parser, arguments, argument);
    }
    jinja_expect(parser, ")");
}

/* The name of a filter or test, which may have dots. */
static struct jinja_value parse_dotted(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    if (token->type != JINJA_TOKEN_NAME) {
        jinja_unexpected(parser, "name");
        return jinja_constant(parser, "", 0);
    }
    const char *from = token->text, *to = from + token->len;
    jinja_step(parser);
    while (jinja_accept(parser, ".")) {
        token = jinja_token(parser);
        if (token->type != JINJA_TOKEN_NAME)
            jinja_unexpected(parser, "name");
        else
            to = token->text + token->len;
        jinja_step(parser);
    }
    return jinja_constant(parser, from, (size_t)(to - from));
}

struct jinja_node *jinja_parse_filters(struct jinja_parser *parser, struct jinja_node *input,
                                       bool inline_start)
{
    while (!parser->jinja->failed && (inline_start || jinja_at_operator(parser, "|"))) {
        if (!inline_start) jinja_step(parser);
        inline_start = false;
        struct jinja_node *node = jinja_node(parser, JINJA_NODE_FILTER, jinja_token(parser)->line);
        node->a = input, node->value = parse_dotted(parser);
        const struct jinja_string *name = node->value.as.string;
        node->builtin = jinja_find_filter(name->data, name->len);
        if (jinja_filter_is_refused(name->data, name->len))
            jinja_unsupported(parser, node->line, "the filter", name);
        else if (!node->builtin && !parser->soft)
            jinja_nodes_add(parser, &parser->unknown, node);
        if (jinja_at_operator(parser, "(")) parse_arguments(parser, &node->arguments);
        input = node;
    }
    return input;
}

static struct jinja_node *parse_primary(struct jinja_parser *parser);
static struct jinja_node *parse_postfix(struct jinja_parser *parser, struct jinja_node *node);

static struct jinja_node *parse_test(struct jinja_parser *parser, struct jinja_node *input)
{
    jinja_step(parser); /* is */
    int line = jinja_token(parser)->line;
    bool negated = jinja_accept_name(parser, "not");
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_TEST, line);
    node->a = input, node->value = parse_dotted(parser);
    const struct jinja_string *name = node->value.as.string;
    node->builtin = jinja_find_test(name->data, name->len);
    if (!node->builtin && !parser->soft) jinja_nodes_add(parser, &parser->unknown, node);
    const struct jinja_token *token = jinja_token(parser);
    bool begins = token->type == JINJA_TOKEN_NAME || token->type == JINJA_TOKEN_STRING ||
                  token->type == JINJA_TOKEN_INTEGER || token->type == JINJA_TOKEN_FLOAT ||
                  jinja_at_operator(parser, "[") || jinja_at_operator(parser, "{");
    if (jinja_at_operator(parser, "(")) {
        parse_arguments(parser, &node->arguments);
    } else if (begins && !jinja_at_name(parser, "else") && !jinja_at_name(parser, "or") &&
               !jinja_at_name(parser, "and")) {
        if (jinja_at_name(parser, "is"))
            jinja_syntax(parser, token->line, "You cannot chain multiple tests with is");
        struct jinja_argument argument = {.form = JINJA_ARG_PLAIN};
        argument.value = parse_postfix(parser, parse_primary(parser));
        add_argument(parser, &node->arguments, argument);
    }
    if (!negated) return node;
    struct jinja_node *inverse = jinja_node(parser, JINJA_NODE_NOT, line);
    inverse->a = node;
    return inverse;
}

static struct jinja_node *parse_call(struct jinja_parser *parser, struct jinja_node *callee)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_CALL, jinja_token(parser)->line);
    node->a = callee;
    parse_arguments(parser, &node->arguments);
    return node;
}

/* One part of a subscript: an expression, or start:stop:step as a SLICE without its `a`. */
static struct jinja_node *parse_subscribed(struct jinja_parser *parser)
{
    struct jinja_node *first = NULL;
    int line = jinja_token(parser)->line;
    if (!jinja_at_operator(parser, ":")) {
        first = jinja_parse_expression(parser);
        if (!jinja_at_operator(parser, ":")) return first;
    }
    struct jinja_node *slice = jinja_node(parser, JINJA_NODE_SLICE, line), *part;
    jinja_nodes_add(parser, &slice->items, first);
    for (int i = 0; i < 2; i++) {
        part = NULL;
        if ((i == 0 || jinja_at_operator(parser, ":")) && jinja_accept(parser, ":") &&
            !jinja_at_operator(parser, ":") && !jinja_at_operator(parser, "]") &&
            !jinja_at_operator(parser, ","))
            part = jinja_parse_expression(parser);
        jinja_nodes_add(parser, &slice->items, part);
    }
    return slice;
}

static struct jinja_node *parse_subscript(struct jinja_parser *parser, struct jinja_node *input)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *node;
    if (jinja_accept(parser, ".")) {
        const struct jinja_token *token = jinja_token(parser);
        node = jinja_node(parser, JINJA_NODE_ATTRIBUTE, line);
        node->a = input;
        if (token->type == JINJA_TOKEN_NAME) {
            node->value = jinja_constant(parser, token->text, token->len);
        } else {
            node->type = JINJA_NODE_ITEM;
            node->b = constant(parser, jinja_int(token->integer), line);
            if (token->type != JINJA_TOKEN_INTEGER)
                jinja_syntax(parser, token->line, "expected name or number");
        }
        jinja_step(parser);
        return node;
    }
    jinja_expect(parser, "[");
    struct jinja_nodes parts = {0};
    while (!jinja_at_operator(parser, "]") && !parser->jinja->failed) {
        if (parts.count) jinja_expect(parser, ",");
        jinja_nodes_add(parser, &parts, parse_subscribed(parser));
    }
    jinja_expect(parser, "]");
    if (parts.count == 1 && parts.at[0]->type == JINJA_NODE_SLICE && !parts.at[0]->a) {
        parts.at[0]->a = input;
        return parts.at[0];
    }
    node = jinja_node(parser, JINJA_NODE_ITEM, line);
    node->a = input;
    if (parts.count == 1) {
        node->b = parts.at[0];
    } else {
        node->b = jinja_node(parser, JINJA_NODE_TUPLE, line);
        node->b->items = parts;
    }
    for (int i = 0; parts.count > 1 && i < parts.count; i++)
        if (parts.at[i]->type == JINJA_NODE_SLICE && !parts.at[i]->a)
            jinja_syntax(parser, line, "slices in a tuple are not supported");
    return node;
}

static struct jinja_node *parse_postfix(struct jinja_parser *parser, struct jinja_node *node)
{
    while (!parser->jinja->failed) {
        if (jinja_at_operator(parser, ".") || jinja_at_operator(parser, "["))
            node = parse_subscript(parser, node);
        else if (jinja_at_operator(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

static struct jinja_node *parse_items(struct jinja_parser *parser, bool pairs)
{
    const char *close = pairs ? "}" : "]";
    struct jinja_node *node =
        jinja_node(parser, pairs ? JINJA_NODE_DICT : JINJA_NODE_LIST, jinja_token(parser)->line);
    jinja_step(parser);
    while (!jinja_at_operator(parser, close) && !parser->jinja->failed) {
        if (node->items.count) jinja_expect(parser, ",");
        if (jinja_at_operator(parser, close)) break;
        jinja_nodes_add(parser, &node->items, jinja_parse_expression(parser));
        if (!pairs) continue;
        jinja_expect(parser, ":");
        jinja_nodes_add(parser, &node->items, jinja_parse_expression(parser));
    }
    jinja_expect(parser, close);
    return node;
}

static struct jinja_node *parse_name(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    int line = token->line;
    jinja_step(parser);
    struct jinja_string name = {token->text, token->len, SIZE_MAX, false};
    if (jinja_string_is(&name, "true") || jinja_string_is(&name, "True"))
        return constant(parser, jinja_bool(true), line);
    if (jinja_string_is(&name, "false") || jinja_string_is(&name, "False"))
        return constant(parser, jinja_bool(false), line);
    if (jinja_string_is(&name, "none") || jinja_string_is(&name, "None"))
        return constant(parser, jinja_none(), line);
    for (struct jinja_enclosing *macro = parser->macros; macro; macro = macro->outer) {
        if (jinja_string_is(&name, "caller")) macro->macro->uses_caller = true;
        if (jinja_string_is(&name, "varargs")) macro->macro->uses_varargs = true;
        if (jinja_string_is(&name, "kwargs")) macro->macro->uses_kwargs = true;
    }
    if (jinja_global_is_refused(token->text, token->len))
        jinja_unsupported(parser, line, "the function", &name);
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_NAME, line);
    node->name = jinja_name_index(parser, token->text, token->len);
    return node;
}

static struct jinja_node *parse_strings(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    int line = token->line;
    if (token[1].type != JINJA_TOKEN_STRING) {
        jinja_step(parser);
        return constant(parser, jinja_constant(parser, token->text, token->len), line);
    }
    struct buffer *text = jinja_begin(parser->jinja);
    for (; jinja_token(parser)->type == JINJA_TOKEN_STRING; jinja_step(parser))
        jinja_append(parser->jinja, text, jinja_token(parser)->text, jinja_token(parser)->len);
    struct jinja_value joined = jinja_end(parser->jinja, text);
    jinja_string_chars(joined.as.string);
    return constant(parser, joined, line);
}

static struct jinja_node *parse_primary(struct jinja_parser *parser)
{
    const struct jinja_token *token = jinja_token(parser);
    struct jinja_node *node;
    switch (token->type) {
    case JINJA_TOKEN_NAME: return parse_name(parser);
    case JINJA_TOKEN_STRING: return parse_strings(parser);
    case JINJA_TOKEN_INTEGER:
        jinja_step(parser);
        return constant(parser, jinja_int(token->integer), token->line);
    case JINJA_TOKEN_FLOAT:
        jinja_step(parser);
        return constant(parser, jinja_float(token->real), token->line);
    default: break;
    }
    if (!jinja_at_operator(parser, "(") && !jinja_at_operator(parser, "[") &&
        !jinja_at_operator(parser, "{")) {
        jinja_unexpected(parser, "an expression");
        return nothing(parser);
    }
    if (!deeper(parser)) return nothing(parser);
    if (jinja_accept(parser, "(")) {
        if (jinja_accept(parser, ")")) {
            node = jinja_node(parser, JINJA_NODE_TUPLE, token->line);
        } else {
            node = jinja_parse_tuple(parser, true, JINJA_TUPLE_PLAIN);
            jinja_expect(parser, ")");
        }
    } else {
        node = parse_items(parser, jinja_at_operator(parser, "{"));
    }
    parser->depth--;
    return node;
}

static struct jinja_node *parse_unary(struct jinja_parser *parser, bool with_filter)
{
    struct jinja_node *node;
    int line = jinja_token(parser)->line;
    bool plus = jinja_at_operator(parser, "+");
    if (plus || jinja_at_operator(parser, "-")) {
        jinja_step(parser);
        node = jinja_node(parser, JINJA_NODE_NEGATE, line);
        node->flag = plus;
        node->a = deeper(parser) ? parse_unary(parser, false) : nothing(parser);
        parser->depth--;
    } else {
        node = parse_primary(parser);
    }
    node = parse_postfix(parser, node);
    while (with_filter && !parser->jinja->failed) {
        if (jinja_at_operator(parser, "|"))
            node = jinja_parse_filters(parser, node, false);
        else if (jinja_at_name(parser, "is"))
            node = parse_test(parser, node);
        else if (jinja_at_operator(parser, "("))
            node = parse_call(parser, node);
        else
            break;
    }
    return node;
}

static struct jinja_node *binary(struct jinja_parser *parser, enum jinja_operator operator,
                                 struct jinja_node * a, struct jinja_node *b, int line)
{
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_BINARY, line);
    node->operator= operator, node->a = a, node->b = b;
    return node;
}

static struct jinja_node *parse_power(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *left = parse_unary(parser, true);
    while (!parser->jinja->failed && jinja_accept(parser, "**"))
        left = binary(parser, JINJA_POW, left, parse_unary(parser, true), line);
    return left;
}

static struct jinja_node *parse_product(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *left = parse_power(parser);
    while (!parser->jinja->failed) {
        enum jinja_operator operator;
        if (jinja_accept(parser, "*"))
            operator= JINJA_MUL;
        else if (jinja_accept(parser, "/"))
            operator= JINJA_DIV;
        else if (jinja_accept(parser, "//"))
            operator= JINJA_FLOORDIV;
        else if (jinja_accept(parser, "%"))
            operator= JINJA_MOD;
        else
            break;
        left = binary(parser, operator, left, parse_power(parser), line);
    }
    return left;
}

static struct jinja_node *parse_concat(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *first = parse_product(parser);
    if (!jinja_at_operator(parser, "~")) return first;
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_CONCAT, line);
    jinja_nodes_add(parser, &node->items, first);
    while (!parser->jinja->failed && jinja_accept(parser, "~"))
        jinja_nodes_add(parser, &node->items, parse_product(parser));
    return node;
}

static struct jinja_node *parse_sum(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *left = parse_concat(parser);
    while (!parser->jinja->failed) {
        enum jinja_operator operator;
        if (jinja_accept(parser, "+"))
            operator= JINJA_ADD;
        else if (jinja_accept(parser, "-"))
            operator= JINJA_SUB;
        else
            break;
        left = binary(parser, operator, left, parse_concat(parser), line);
    }
    return left;
}

static bool accept_comparison(struct jinja_parser *parser, int *operator)
{
    static const char *const texts[] = {"==", "!=", "<", "<=", ">", ">="};
    for (int i = 0; i < 6; i++)
        if (jinja_accept(parser, texts[i])) return *operator= JINJA_EQ + i, true;
    if (jinja_accept_name(parser, "in")) return *operator= JINJA_IN, true;
    if (jinja_at_name(parser, "not") &&
        jinja_token_is(jinja_token(parser) + 1, JINJA_TOKEN_NAME, "in")) {
        jinja_step(parser), jinja_step(parser);
        return *operator= JINJA_NOT_IN, true;
    }
    return false;
}

static struct jinja_node *parse_compare(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line, operator= 0, capacity = 0;
    struct jinja_node *left = parse_sum(parser), *node = NULL;
    while (!parser->jinja->failed && accept_comparison(parser, &operator)) {
        if (!node) {
            node = jinja_node(parser, JINJA_NODE_COMPARE, line);
            node->a = left;
        }
        if (node->items.count == capacity) {
            int *old = node->operators;
            capacity = capacity ? capacity * 2 : 2;
            node->operators = arena_zalloc(&parser->jinja->arena, (size_t)capacity * sizeof(int));
            if (old) memcpy(node->operators, old, (size_t)node->items.count * sizeof(int));
        }
        node->operators[node->items.count] = operator;
        jinja_nodes_add(parser, &node->items, parse_sum(parser));
    }
    return node ? node : left;
}

static struct jinja_node *parse_not(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    if (!jinja_accept_name(parser, "not")) return parse_compare(parser);
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_NOT, line);
    node->a = deeper(parser) ? parse_not(parser) : nothing(parser);
    parser->depth--;
    return node;
}

static struct jinja_node *parse_and(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *left = parse_not(parser);
    while (!parser->jinja->failed && jinja_accept_name(parser, "and")) {
        struct jinja_node *node = jinja_node(parser, JINJA_NODE_AND, line);
        node->a = left, node->b = parse_not(parser);
        left = node;
    }
    return left;
}

static struct jinja_node *parse_or(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line;
    struct jinja_node *left = parse_and(parser);
    while (!parser->jinja->failed && jinja_accept_name(parser, "or")) {
        struct jinja_node *node = jinja_node(parser, JINJA_NODE_OR, line);
        node->a = left, node->b = parse_and(parser);
        left = node;
    }
    return left;
}

static struct jinja_node *parse_conditional(struct jinja_parser *parser)
{
    int line = jinja_token(parser)->line, unknown = parser->unknown.count;
    struct jinja_node *value = parse_or(parser);
    while (!parser->jinja->failed && jinja_accept_name(parser, "if")) {
        struct jinja_node *node = jinja_node(parser, JINJA_NODE_IF_ELSE, line);
        node->b = value, node->a = parse_or(parser);
        if (jinja_accept_name(parser, "else"))
            node->c = deeper(parser) ? parse_conditional(parser) : nothing(parser), parser->depth--;
        parser->unknown.count = unknown; /* in here they only fail when reached */
        value = node;
    }
    return value;
}

struct jinja_node *jinja_parse_expression(struct jinja_parser *parser)
{
    struct jinja_node *node = deeper(parser) ? parse_conditional(parser) : nothing(parser);
    parser->depth--;
    return node;
}

static bool tuple_ends(struct jinja_parser *parser, enum jinja_tuple_end end)
{
    enum jinja_token_type type = jinja_token(parser)->type;
    return type == JINJA_TOKEN_PRINT_END || type == JINJA_TOKEN_BLOCK_END ||
           jinja_at_operator(parser, ")") ||
           (end == JINJA_TUPLE_BEFORE_IN && jinja_at_name(parser, "in")) ||
           (end == JINJA_TUPLE_BEFORE_RECURSIVE && jinja_at_name(parser, "recursive"));
}

struct jinja_node *jinja_parse_tuple(struct jinja_parser *parser, bool conditional,
                                     enum jinja_tuple_end end)
{
    int line = jinja_token(parser)->line;
    struct jinja_nodes parts = {0};
    bool tuple = false;
    if (tuple_ends(parser, end)) jinja_unexpected(parser, "an expression");
    while (!parser->jinja->failed) {
        if (tuple_ends(parser, end)) break;
        jinja_nodes_add(parser, &parts,
                        conditional ? jinja_parse_expression(parser) : parse_or(parser));
        if (!jinja_accept(parser, ",")) break;
        tuple = true;
    }
    if (!tuple) return parts.count ? parts.at[0] : nothing(parser);
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_TUPLE, line);
    node->items = parts;
    return node;
}

static void check_target(struct jinja_parser *parser, const struct jinja_node *node)
{
    if (node->type == JINJA_NODE_TUPLE) {
        for (int i = 0; i < node->items.count; i++) check_target(parser, node->items.at[i]);
    } else if (node->type == JINJA_NODE_NAME) {
        if (parser->for_depth && node->name == parser->template->name_loop)
            jinja_syntax(parser, node->line,
                         "Can't assign to special loop variable in for-loop target");
    } else if (node->type != JINJA_NODE_NAMESPACE_TARGET) {
        jinja_syntax(parser, node->line, "can't assign to this expression");
    }
}

static struct jinja_node *parse_target_part(struct jinja_parser *parser, bool with_namespace)
{
    const struct jinja_token *token = jinja_token(parser);
    if (!with_namespace || token->type != JINJA_TOKEN_NAME ||
        !jinja_token_is(token + 1, JINJA_TOKEN_OPERATOR, "."))
        return parse_primary(parser);
    struct jinja_node *node = jinja_node(parser, JINJA_NODE_NAMESPACE_TARGET, token->line);
    node->name = jinja_name_index(parser, token->text, token->len);
    jinja_step(parser), jinja_step(parser);
    token = jinja_token(parser);
    if (token->type != JINJA_TOKEN_NAME) jinja_unexpected(parser, "name");
    node->value = jinja_constant(parser, token->text, token->len);
    jinja_step(parser);
    return node;
}

struct jinja_node *jinja_parse_target(struct jinja_parser *parser, enum jinja_tuple_end end,
                                      bool with_namespace)
{
    struct jinja_nodes parts = {0};
    int line = jinja_token(parser)->line;
    bool tuple = false;
    while (!parser->jinja->failed && !tuple_ends(parser, end)) {
        jinja_nodes_add(parser, &parts, parse_target_part(parser, with_namespace));
        if (!jinja_accept(parser, ",")) break;
        tuple = true;
    }
    if (!parts.count) {
        jinja_unexpected(parser, "a name to assign to");
        return nothing(parser);
    }
    struct jinja_node *node = parts.at[0];
    if (tuple) {
        node = jinja_node(parser, JINJA_NODE_TUPLE, line);
        node->items = parts;
    }
    check_target(parser, node);
    return node;
}
