/* jinja_iterator.c - see jinja_iterator.h. */
#include "server/text/jinja_iterator.h"

#include "server/text/jinja_context.h"
#include "server/text/jinja_ops.h"

static bool next_nothing(struct jinja_context *jinja, struct jinja_iterator *iterator,
                         struct jinja_value *item)
{
    return false;
}

static bool next_list(struct jinja_context *jinja, struct jinja_iterator *iterator,
                      struct jinja_value *item)
{
    const struct jinja_list *list = iterator->source.as.list;
    if (iterator->at >= list->count || !jinja_spend(jinja, 1)) return false;
    *item = list->items[iterator->at++];
    return true;
}

static bool next_char(struct jinja_context *jinja, struct jinja_iterator *iterator,
                      struct jinja_value *item)
{
    const struct jinja_string *string = iterator->source.as.string;
    if (iterator->at >= string->len || !jinja_spend(jinja, 1)) return false;
    const char *from = string->data + iterator->at, *at = from;
    jinja_decode(&at, string->data + string->len);
    *item = jinja_text_view(jinja, from, (size_t)(at - from));
    item->as.string->chars = 1; /* and no markup: str.__iter__ gives plain strings */
    iterator->at += (size_t)(at - from);
    return true;
}

static bool next_pair(struct jinja_context *jinja, struct jinja_iterator *iterator,
                      struct jinja_value *item)
{
    const struct jinja_value *source = &iterator->source;
    const struct jinja_dict *dict =
        source->kind == JINJA_VIEW ? source->as.view->dict : source->as.dict;
    enum jinja_view_of of = source->kind == JINJA_VIEW ? source->as.view->of : JINJA_VIEW_KEYS;
    if (iterator->at >= dict->count || !jinja_spend(jinja, 1)) return false;
    const struct jinja_pair *pair = &dict->pairs[iterator->at++];
    *item = of == JINJA_VIEW_KEYS     ? pair->key
            : of == JINJA_VIEW_VALUES ? pair->value
                                      : jinja_pair_of(jinja, pair->key, pair->value);
    return true;
}

static bool next_in_range(struct jinja_context *jinja, struct jinja_iterator *iterator,
                          struct jinja_value *item)
{
    const struct jinja_range *range = iterator->source.as.range;
    if (iterator->at >= range->count || !jinja_spend(jinja, 1)) return false;
    *item = jinja_int(jinja_range_item(range, iterator->at++));
    return true;
}

bool jinja_can_iterate(struct jinja_value value)
{
    switch (value.kind) {
    case JINJA_UNDEFINED:
    case JINJA_STRING:
    case JINJA_LIST:
    case JINJA_TUPLE:
    case JINJA_DICT:
    case JINJA_VIEW:
    case JINJA_RANGE:
    case JINJA_LOOP:
    case JINJA_ITERATOR: return true;
    default: return false;
    }
}

struct jinja_iterator *jinja_iterate(struct jinja_context *jinja, struct jinja_value value)
{
    if (value.kind == JINJA_ITERATOR) return value.as.iterator;
    struct jinja_iterator *iterator = jinja_alloc(jinja, sizeof(*iterator));
    iterator->source = value;
    switch (value.kind) {
    case JINJA_UNDEFINED: iterator->next = next_nothing; break;
    case JINJA_STRING: iterator->next = next_char; break;
    case JINJA_LIST:
    case JINJA_TUPLE: iterator->next = next_list; break;
    case JINJA_DICT:
    case JINJA_VIEW: iterator->next = next_pair; break;
    case JINJA_RANGE: iterator->next = next_in_range; break;
    default: jinja_fail(jinja, "'%s' object is not iterable", jinja_type_name(value)); return NULL;
    }
    return iterator;
}

struct jinja_value jinja_generator(struct jinja_context *jinja,
                                   bool (*next)(struct jinja_context *, struct jinja_iterator *,
                                                struct jinja_value *),
                                   struct jinja_value source, void *state)
{
    struct jinja_iterator *iterator = jinja_alloc(jinja, sizeof(*iterator));
    iterator->next = next, iterator->source = source, iterator->state = state;
    return (struct jinja_value){.kind = JINJA_ITERATOR, .as.iterator = iterator};
}

struct jinja_value jinja_collect(struct jinja_context *jinja, enum jinja_kind kind,
                                 struct jinja_value value)
{
    struct jinja_iterator *iterator = jinja_iterate(jinja, value);
    struct jinja_value item;
    struct jinja_value list =
        jinja_list(jinja, kind, jinja_has_length(value) ? jinja_length(jinja, value) : 0);
    while (jinja_next(jinja, iterator, &item)) jinja_push(jinja, list, item);
    return list;
}
