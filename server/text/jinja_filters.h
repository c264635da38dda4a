/*
 * jinja_filters.h - filters of sequences (jinja_filters_list.c, jinja_filters_sort.c), for the
 * table.
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_FILTERS_H
#define SERVER_TEXT_JINJA_FILTERS_H

#include "server/text/jinja_call.h"

#define JINJA_FILTER(name)                                                                         \
    struct jinja_value jinja_filter_##name(struct jinja_context *jinja, struct jinja_value self,   \
                                           const struct jinja_call *call)

JINJA_FILTER(batch);
JINJA_FILTER(dictsort);
JINJA_FILTER(first);
JINJA_FILTER(groupby);
JINJA_FILTER(items);
JINJA_FILTER(join);
JINJA_FILTER(last);
JINJA_FILTER(list);
JINJA_FILTER(map);
JINJA_FILTER(max);
JINJA_FILTER(min);
JINJA_FILTER(pprint);
JINJA_FILTER(reject);
JINJA_FILTER(rejectattr);
JINJA_FILTER(reverse);
JINJA_FILTER(select);
JINJA_FILTER(selectattr);
JINJA_FILTER(slice);
JINJA_FILTER(sort);
JINJA_FILTER(sum);
JINJA_FILTER(unique);

#endif
