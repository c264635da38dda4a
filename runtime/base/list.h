/*
 * list.h - intrusive doubly linked list; an item is on one list at a time.
 *
 * Thread: its owner's. A list head is a struct list_node that links to itself when empty. No
 * allocation.
 */
#ifndef RUNTIME_BASE_LIST_H
#define RUNTIME_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_node {
    struct list_node *prev, *next;
};

/* The struct of type `type` whose member `member` is `node`. */
#define LIST_ITEM(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list_node *head)
{
    head->prev = head->next = head;
}
static inline bool list_empty(const struct list_node *head)
{
    return head->next == head;
}

static inline void list_insert_before(struct list_node *at, struct list_node *node)
{
    node->prev = at->prev, node->next = at;
    at->prev->next = node, at->prev = node;
}

static inline void list_push_back(struct list_node *head, struct list_node *node)
{
    list_insert_before(head, node);
}

static inline void list_push_front(struct list_node *head, struct list_node *node)
{
    list_insert_before(head->next, node);
}

/* Unlinks and leaves the node linked to itself, so that removing twice is harmless. */
static inline void list_remove(struct list_node *node)
{
    node->prev->next = node->next, node->next->prev = node->prev;
    node->prev = node->next = node;
}

static inline struct list_node *list_pop_front(struct list_node *head)
{
    struct list_node *node = head->next;
    if (node == head) return NULL;
    list_remove(node);
    return node;
}

/* Moves all of `from` to the end of `to`; `from` is empty afterwards. */
static inline void list_splice(struct list_node *to, struct list_node *from)
{
    if (list_empty(from)) return;
    from->next->prev = to->prev, to->prev->next = from->next;
    from->prev->next = to, to->prev = from->prev;
    list_init(from);
}

#endif
