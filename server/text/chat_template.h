/*
 * chat_template.h - conversations -> prompt text through the model's own Jinja template.
 *
 * Renders exactly as Jinja2 under transformers' settings (trim_blocks, lstrip_blocks, sandboxed,
 * loop controls, generation tag, tojson without HTML escapes, raise_exception, strftime_now). A
 * construct that is not supported is refused when the template is parsed, by name and line.
 *
 * Thread: a parsed template is immutable; chat_template_render may run on any number of threads.
 */
#ifndef SERVER_TEXT_CHAT_TEMPLATE_H
#define SERVER_TEXT_CHAT_TEMPLATE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/buffer.h"
#include "runtime/base/status.h"

struct chat_template;
struct yyjson_val;

/* `source` is copied. STATUS_UNSUPPORTED or STATUS_INVALID name the construct and its line. */
enum status chat_template_parse(const char *source, size_t len, struct chat_template **out,
                                struct error *error);
void chat_template_destroy(struct chat_template *chat_template);

/* What strftime_now() takes for now, in local time; 0: the clock's. Not while others render. */
void chat_template_set_now(struct chat_template *chat_template, int64_t now_unix_s);

/* `variables` is a JSON object: messages, tools, add_generation_prompt, bos_token, eos_token and
 * anything else the template reads (chat_template_kwargs). Appends the rendered text. What the
 * template itself raises is STATUS_INVALID with its message; time and output are bounded. */
enum status chat_template_render(const struct chat_template *chat_template,
                                 struct yyjson_val *variables, struct buffer *out,
                                 struct error *error);

#endif
