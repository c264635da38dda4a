/* jinja_format.c - "..." % args and "...".format(). */
#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"

struct jinja_value jinja_percent(struct jinja_context *jinja, struct jinja_value format,
                                 struct jinja_value args)
{
    return jinja_fail(jinja, "string formatting is not supported");
}

struct jinja_value jinja_format(struct jinja_context *jinja, struct jinja_value format,
                                const struct jinja_call *call)
{
    return jinja_fail(jinja, "string formatting is not supported");
}
