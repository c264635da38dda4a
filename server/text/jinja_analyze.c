/*
 * jinja_analyze.c - which names a scope assigns before it reads them.
 *
 * Jinja2 decides per scope, before anything runs, where a name comes from: one whose first use in
 * the scope is an assignment, and that no scope around uses, is undefined until then, also for the
 * scopes inside, even if the caller gave a variable of that name. This finds those names.
 */
#include <string.h>

#include "server/text/jinja_parser.h"

enum use { UNUSED, READ, ASSIGNED };

struct frame {
    struct jinja_parser *parser;
    const struct frame *outer;
    unsigned char *uses; /* [name count] enum use: the first */
};

static void visit_body(struct frame *frame, struct jinja_nodes *body);
static void analyze_frame(struct frame *frame, struct jinja_nodes *body);

static void use(struct frame *frame, int name, enum use how)
{
    if (frame->uses[name] == UNUSED) frame->uses[name] = (unsigned char)how;
}

static void visit(struct frame *frame, const struct jinja_node *node)
{
    if (!node) return;
    if (jinja_enter(frame->parser->jinja)) { /* a long chain of operators nests as deeply */
        if (node->type == JINJA_NODE_NAME) use(frame, node->name, READ);
        visit(frame, node->a), visit(frame, node->b), visit(frame, node->c);
        for (int i = 0; i < node->items.count; i++) visit(frame, node->items.at[i]);
        for (int i = 0; i < node->arguments.count; i++) visit(frame, node->arguments.at[i].value);
    }
    jinja_leave(frame->parser->jinja);
}

/* The names of an assignment's target; `how` READ: they are parameters, known from the start. */
static void visit_target(struct frame *frame, const struct jinja_node *target, enum use how)
{
    if (target->type == JINJA_NODE_NAME) use(frame, target->name, how);
    if (target->type == JINJA_NODE_NAMESPACE_TARGET) use(frame, target->name, READ);
    for (int i = 0; i < target->items.count; i++) visit_target(frame, target->items.at[i], how);
}

static struct frame inside(const struct frame *outer)
{
    struct jinja_parser *parser = outer->parser;
    size_t count = (size_t)parser->template->name_count;
    jinja_spend(parser->jinja, 1 + count / 16);
    return (struct frame){parser, outer, arena_zalloc(&parser->jinja->arena, count)};
}

/* Bodies of their own scope inside `node`; the names of `frame` are all known by now. */
static void analyze_inner(const struct frame *frame, const struct jinja_node *node)
{
    struct frame body = inside(frame);
    struct jinja_macro_node *macro = node->macro;
    if (node->type == JINJA_NODE_FOR) {
        struct frame other = inside(frame);
        use(&body, frame->parser->template->name_loop, READ);
        visit_target(&body, node->a, READ);
        analyze_frame(&other, (struct jinja_nodes *)&node->other);
    }
    for (int i = 0; node->type == JINJA_NODE_WITH && i < node->items.count; i += 2)
        visit_target(&body, node->items.at[i], READ);
    for (int i = 0; macro && i < macro->param_count; i++) use(&body, macro->params[i].name, READ);
    for (int i = 0; macro && i < macro->param_count; i++) visit(&body, macro->params[i].fallback);
    analyze_frame(&body, macro ? &macro->body : (struct jinja_nodes *)&node->body);
}

static void analyze_inner_of(const struct frame *frame, const struct jinja_nodes *body)
{
    if (!jinja_enter(frame->parser->jinja)) goto leave;
    for (int i = 0; i < body->count && !frame->parser->jinja->failed; i++) {
        const struct jinja_node *node = body->at[i];
        switch (node->type) {
        case JINJA_NODE_IF: /* no scope: its bodies are the frame's */
            analyze_inner_of(frame, &node->body);
            analyze_inner_of(frame, &node->other);
            break;
        case JINJA_NODE_FOR:
        case JINJA_NODE_SET_BLOCK:
        case JINJA_NODE_MACRO:
        case JINJA_NODE_CALL_BLOCK:
        case JINJA_NODE_FILTER_BLOCK:
        case JINJA_NODE_WITH:
        case JINJA_NODE_SCOPE: analyze_inner(frame, node); break;
        default: break;
        }
    }
leave:
    jinja_leave(frame->parser->jinja);
}

/* What only an if assigns comes from outside where it was not reached. */
static void visit_if(struct frame *frame, struct jinja_node *node)
{
    size_t count = (size_t)frame->parser->template->name_count;
    unsigned char *before = arena_alloc(&frame->parser->jinja->arena, count + 1);
    jinja_spend(frame->parser->jinja, 1 + count / 16);
    visit(frame, node->a);
    memcpy(before, frame->uses, count);
    visit_body(frame, &node->body);
    visit_body(frame, &node->other);
    for (size_t i = 0; i < count; i++)
        if (before[i] == UNUSED && frame->uses[i] == ASSIGNED) frame->uses[i] = READ;
}

static void visit_statement(struct frame *frame, struct jinja_node *node)
{
    switch (node->type) {
    case JINJA_NODE_IF: visit_if(frame, node); break;
    case JINJA_NODE_FOR: visit(frame, node->b); break;
    case JINJA_NODE_SET: visit(frame, node->b); /* fallthrough */
    case JINJA_NODE_SET_BLOCK: visit_target(frame, node->a, ASSIGNED); break;
    case JINJA_NODE_MACRO: use(frame, node->macro->name_index, ASSIGNED); break;
    case JINJA_NODE_CALL_BLOCK: visit(frame, node->a); break;
    case JINJA_NODE_FILTER_BLOCK: visit(frame, node->b); break;
    case JINJA_NODE_WITH:
        for (int i = 1; i < node->items.count; i += 2) visit(frame, node->items.at[i]);
        break;
    case JINJA_NODE_PRINT: visit(frame, node); break;
    default: break;
    }
}

static void visit_body(struct frame *frame, struct jinja_nodes *body)
{
    if (jinja_enter(frame->parser->jinja))
        for (int i = 0; i < body->count && !frame->parser->jinja->failed; i++)
            visit_statement(frame, body->at[i]);
    jinja_leave(frame->parser->jinja);
}

static void analyze_frame(struct frame *frame, struct jinja_nodes *body)
{
    int count = frame->parser->template->name_count;
    visit_body(frame, body);
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            body->unset = arena_alloc(&frame->parser->jinja->arena,
                                      ((size_t)body->unset_count + 1) * sizeof(int));
        body->unset_count = 0;
        for (int i = 0; i < count; i++) {
            bool unset = frame->uses[i] == ASSIGNED;
            for (const struct frame *outer = frame->outer; unset && outer; outer = outer->outer)
                unset = outer->uses[i] == UNUSED;
            if (!unset) continue;
            if (pass) body->unset[body->unset_count] = i;
            body->unset_count++;
        }
    }
    analyze_inner_of(frame, body);
}

void jinja_analyze(struct jinja_parser *parser)
{
    size_t count = (size_t)parser->template->name_count;
    struct frame frame = {parser, NULL, arena_zalloc(&parser->jinja->arena, count + 1)};
    analyze_frame(&frame, &parser->template->body);
}
