/*
 * jinja_json.h - JSON to values, and values to JSON as Python's json.dumps writes it.
 *
 * Thread: the context's. Strings of the JSON document are viewed, not copied: it must outlive the
 * render.
 */
#ifndef SERVER_TEXT_JINJA_JSON_H
#define SERVER_TEXT_JINJA_JSON_H

#include "server/text/jinja_call.h"

struct jinja_context;
struct yyjson_val;

struct jinja_value jinja_from_json(struct jinja_context *jinja, struct yyjson_val *json);

/* The filter: ensure_ascii, indent, separators, sort_keys. */
struct jinja_value jinja_tojson(struct jinja_context *jinja, struct jinja_value value,
                                const struct jinja_call *call);

#endif
