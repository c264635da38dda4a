/*
 * jinja_iterator.h - going through a value, and the lazy sequences filters make.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_ITERATOR_H
#define SERVER_TEXT_JINJA_ITERATOR_H

#include "server/text/jinja_value.h"

struct jinja_call;
struct jinja_context;

struct jinja_iterator {
    /* False at the end, and when the context failed. */
    bool (*next)(struct jinja_context *jinja, struct jinja_iterator *iterator,
                 struct jinja_value *item);
    struct jinja_value source;
    size_t at;
    struct jinja_iterator *inner; /* of `source`; made by the first next() of a generator */
    void *state;                  /* the generator's own */
    bool done;
};

/* iter(value); NULL and failed when it cannot be iterated. */
struct jinja_iterator *jinja_iterate(struct jinja_context *jinja, struct jinja_value value);
bool jinja_can_iterate(struct jinja_value value);

static inline bool jinja_next(struct jinja_context *jinja, struct jinja_iterator *iterator,
                              struct jinja_value *item)
{
    if (!iterator || iterator->done) return false;
    if (iterator->next(jinja, iterator, item)) return true;
    iterator->done = true;
    return false;
}

/* A generator over `source`; `next` finds `source` and `state`. */
struct jinja_value jinja_generator(struct jinja_context *jinja,
                                   bool (*next)(struct jinja_context *, struct jinja_iterator *,
                                                struct jinja_value *),
                                   struct jinja_value source, void *state);

/* list(value), or a tuple. */
struct jinja_value jinja_collect(struct jinja_context *jinja, enum jinja_kind kind,
                                 struct jinja_value value);

/* The item of a range. */
static inline int64_t jinja_range_item(const struct jinja_range *range, size_t at)
{
    return range->start + (int64_t)at * range->step;
}

#endif
