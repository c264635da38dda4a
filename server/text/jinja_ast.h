/*
 * jinja_ast.h - a parsed template.
 *
 * Thread: built by one thread, immutable afterwards and shared by every render.
 */
#ifndef SERVER_TEXT_JINJA_AST_H
#define SERVER_TEXT_JINJA_AST_H

#include "runtime/base/arena.h"
#include "server/text/jinja_value.h"

enum jinja_node_type {
    /* Expressions. a, b, c and items as said; `value` where there is a constant or a name. */
    JINJA_NODE_CONST,     /* value */
    JINJA_NODE_NAME,      /* name */
    JINJA_NODE_LIST,      /* items */
    JINJA_NODE_TUPLE,     /* items */
    JINJA_NODE_DICT,      /* items: key, value, key, value ... */
    JINJA_NODE_ATTRIBUTE, /* a.value */
    JINJA_NODE_ITEM,      /* a[b] */
    JINJA_NODE_SLICE,     /* a[items[0]:items[1]:items[2]], each may be NULL */
    JINJA_NODE_CALL,      /* a(arguments) */
    JINJA_NODE_FILTER,    /* a|builtin(arguments); a is NULL in {% filter %} and {% set x|.. %} */
    JINJA_NODE_TEST,      /* a is builtin(arguments) */
    JINJA_NODE_NOT,       /* a */
    JINJA_NODE_AND,       /* a, b */
    JINJA_NODE_OR,        /* a, b */
    JINJA_NODE_NEGATE,    /* -a; +a when flag */
    JINJA_NODE_BINARY,    /* a operator b */
    JINJA_NODE_COMPARE,   /* a, then items[i] compared by operators[i] */
    JINJA_NODE_CONCAT,    /* items, joined as text */
    JINJA_NODE_IF_ELSE,   /* b if a else c (NULL: undefined) */

    /* Statements. */
    JINJA_NODE_DATA,  /* value: text as it stands */
    JINJA_NODE_PRINT, /* items */
    JINJA_NODE_IF,    /* a: condition, body, other */
    JINJA_NODE_FOR, /* a: target, b: iterable, c: condition or NULL, body, other; flag: recursive */
    JINJA_NODE_SET, /* a: target, b: expression */
    JINJA_NODE_SET_BLOCK,    /* a: target, b: filters or NULL, body */
    JINJA_NODE_MACRO,        /* macro */
    JINJA_NODE_CALL_BLOCK,   /* a: the call, macro: the body as `caller` */
    JINJA_NODE_FILTER_BLOCK, /* b: filters, body */
    JINJA_NODE_WITH,         /* items: target, expression, ..., body */
    JINJA_NODE_SCOPE,        /* body, in a scope of its own: generation */
    JINJA_NODE_BREAK,
    JINJA_NODE_CONTINUE,
    JINJA_NODE_NAMESPACE_TARGET, /* name.value, only as the target of set */
};

struct jinja_nodes {
    struct jinja_node **at;
    int count, capacity;
    int *unset, unset_count; /* of a body: names that begin undefined in its scope */
};

enum jinja_argument_form { JINJA_ARG_PLAIN, JINJA_ARG_NAMED, JINJA_ARG_LIST, JINJA_ARG_DICT };

struct jinja_argument {
    enum jinja_argument_form form; /* value, name=value, *value, **value */
    struct jinja_value name;
    struct jinja_node *value;
};

struct jinja_arguments {
    struct jinja_argument *at;
    int count, capacity;
};

struct jinja_param {
    int name;
    struct jinja_string *text;
    struct jinja_node *fallback; /* NULL: none */
};

struct jinja_macro_node {
    struct jinja_value name; /* a string; none for the body of {% call %} */
    int name_index;          /* -1: not bound to a name */
    struct jinja_param *params;
    int param_count, param_capacity;
    bool uses_caller, uses_varargs, uses_kwargs; /* read in the body, and no parameters */
    bool caller_is_param;
    struct jinja_nodes body;
};

struct jinja_node {
    enum jinja_node_type type;
    int line;
    bool flag;
    int operator; /* enum jinja_operator */
    int name;     /* of a variable: index into the template's names */
    struct jinja_value value;
    struct jinja_node *a, *b, *c;
    struct jinja_nodes items, body, other;
    int *operators; /* [items.count] */
    struct jinja_arguments arguments;
    const struct jinja_builtin *builtin; /* NULL: unknown, fails when it is reached */
    struct jinja_macro_node *macro;
};

struct jinja_name {
    struct jinja_string text;
    const struct jinja_builtin *global; /* the function of that name, or NULL */
};

struct jinja_template {
    struct arena arena;
    struct jinja_nodes body;
    struct jinja_name **names;
    int name_count, name_capacity;
    /* Names the evaluator itself binds. */
    int name_loop, name_caller, name_varargs, name_kwargs;
};

#endif
