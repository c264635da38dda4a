/* chat_template.c - see chat_template.h. */
#include "server/text/chat_template.h"

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_eval.h"
#include "server/text/jinja_json.h"
#include "server/text/jinja_parser.h"

enum { TEMPLATE_BYTES_MAX = 4 << 20 };

struct chat_template {
    struct jinja_template program;
    int64_t now_unix_s; /* 0: the clock's */
};

/* Whether the bytes are UTF-8, without surrogates. */
static bool is_utf8(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
        if (*at >= 0x80 && (*at < 0xc2 || *at > 0xf4)) return false;
        if (end - at <= more) return false;
        for (int i = 1; i <= more; i++)
            if ((at[i] & 0xc0) != 0x80) return false;
        if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0) ||
            (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))
            return false;
        at += 1 + more;
    }
    return true;
}

enum status chat_template_parse(const char *source, size_t len, struct chat_template **out,
                                struct error *error)
{
    if (len > TEMPLATE_BYTES_MAX)
        return error_set(error, STATUS_TOO_LARGE, "chat_template",
                         "the chat template has %zu bytes, more than the limit of %d", len,
                         TEMPLATE_BYTES_MAX);
    const unsigned char *bytes = (const unsigned char *)source;
    if (!is_utf8(bytes, bytes + len))
        return error_set(error, STATUS_INVALID, "chat_template",
                         "the chat template is not valid UTF-8");
    struct jinja_context *jinja = calloc(1, sizeof(*jinja));
    struct chat_template *chat_template = calloc(1, sizeof(*chat_template));
    CHECK(jinja && chat_template);
    bool parsed = jinja_parse(jinja, source, len, &chat_template->program);
    enum status status = STATUS_OK;
    if (parsed) {
        chat_template->program.arena = jinja->arena;
        jinja->arena = (struct arena){0};
        *out = chat_template;
    } else {
        status = error_set(error, jinja->error.status, "chat_template", "%s", jinja->error.message);
        free(chat_template);
    }
    jinja_context_free(jinja);
    free(jinja);
    return status;
}

void chat_template_destroy(struct chat_template *chat_template)
{
    if (!chat_template) return;
    arena_free(&chat_template->program.arena);
    free(chat_template);
}

void chat_template_set_now(struct chat_template *chat_template, int64_t now_unix_s)
{
    chat_template->now_unix_s = now_unix_s;
}

/* What each name of the template stands for before it runs: the caller's variable, else Jinja's
 * function, else nothing. */
static void bind_globals(struct jinja_context *jinja, struct yyjson_val *variables)
{
    const struct jinja_template *program = jinja->program;
    jinja->globals = jinja_alloc(jinja, (size_t)program->name_count * sizeof(*jinja->globals));
    for (int i = 0; i < program->name_count; i++) {
        const struct jinja_name *name = program->names[i];
        if (name->global)
            jinja->globals[i] =
                (struct jinja_value){.kind = JINJA_FUNCTION, .as.function = name->global};
        yyjson_val *given = NULL, *key, *value;
        size_t at, count;
        /* Of a name given twice the last counts, as in Python. */
        yyjson_obj_foreach(variables, at, count, key,
                           value) if (yyjson_equals_strn(key, name->text.data, name->text.len))
            given = value;
        if (given) jinja->globals[i] = jinja_from_json(jinja, given);
    }
}

enum status chat_template_render(const struct chat_template *chat_template,
                                 struct yyjson_val *variables, struct buffer *out,
                                 struct error *error)
{
    if (!yyjson_is_obj(variables))
        return error_set(error, STATUS_INVALID, NULL,
                         "the variables of a chat template are not a JSON object");
    struct jinja_context *jinja = calloc(1, sizeof(*jinja));
    CHECK(jinja);
    jinja->program = &chat_template->program;
    jinja->now_unix_s = chat_template->now_unix_s ? chat_template->now_unix_s : clock_unix_s();
    bind_globals(jinja, variables);
    struct jinja_scope scope = {0};
    struct buffer *text = jinja_begin(jinja);
    if (!jinja->failed) jinja_execute_scope(jinja, &scope, &chat_template->program.body, text);
    enum status status = STATUS_OK;
    if (jinja->failed)
        status = error_set(error, jinja->error.status, "messages", "%s", jinja->error.message);
    else
        buffer_append(out, text->data, text->len);
    jinja_context_free(jinja);
    free(jinja);
    return status;
}
