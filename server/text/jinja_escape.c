/* jinja_escape.c - see jinja_escape.h. */
#include "server/text/jinja_escape.h"

#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_ops.h"

void jinja_append_escaped(struct jinja_context *jinja, struct buffer *out, struct jinja_value value,
                          bool escape)
{
    struct jinja_value string = jinja_str(jinja, value);
    const char *at = string.as.string->data, *end = at + string.as.string->len;
    if (!escape || string.as.string->markup) {
        jinja_append(jinja, out, at, (size_t)(end - at));
        return;
    }
    while (at < end && !jinja->failed) {
        const char *run = at;
        while (at < end && *at != '&' && *at != '<' && *at != '>' && *at != '"' && *at != '\'')
            at++;
        jinja_append(jinja, out, run, (size_t)(at - run));
        if (at == end) break;
        char c = *at++;
        jinja_append_chars(jinja, out,
                           c == '&'   ? "&amp;"
                           : c == '<' ? "&lt;"
                           : c == '>' ? "&gt;"
                           : c == '"' ? "&#34;"
                                      : "&#39;");
    }
}

struct jinja_value jinja_escape(struct jinja_context *jinja, struct jinja_value value)
{
    if (value.kind == JINJA_STRING && value.as.string->markup) return value;
    struct buffer *text = jinja_begin(jinja);
    jinja_append_escaped(jinja, text, value, true);
    struct jinja_value result = jinja_end(jinja, text);
    result.as.string->markup = true;
    return result;
}
