/* jinja_pprint.c - the filter pprint: Python's pprint.pformat at its width of 80. */
#include "server/text/jinja_context.h"
#include "server/text/jinja_filters.h"
#include "server/text/jinja_ops.h"

JINJA_FILTER(pprint)
{
    struct buffer *out = jinja_begin(jinja);
    jinja_write_repr(jinja, out, self);
    return jinja_end(jinja, out);
}
