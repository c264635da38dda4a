/* jinja_context.c - errors, limits and text under construction: see jinja_context.h. */
#include "server/text/jinja_context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

void jinja_context_free(struct jinja_context *jinja)
{
    for (size_t i = 0; i < jinja->scratch_made; i++) {
        buffer_free(jinja->scratch[i]);
        free(jinja->scratch[i]);
    }
    jinja->scratch_made = jinja->scratch_used = 0;
    arena_free(&jinja->arena);
}

static struct jinja_value nothing(void)
{
    return (struct jinja_value){.kind = JINJA_UNDEFINED};
}

struct jinja_value jinja_fail(struct jinja_context *jinja, const char *format, ...)
{
    if (jinja->failed) return nothing();
    char message[ERROR_MESSAGE_MAX];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof(message), format, list);
    va_end(list);
    jinja->failed = true;
    if (jinja->line)
        error_set(&jinja->error, STATUS_INVALID, NULL, "%s (template line %d)", message,
                  jinja->line);
    else
        error_set(&jinja->error, STATUS_INVALID, NULL, "%s", message);
    return nothing();
}

struct jinja_value jinja_fail_undefined(struct jinja_context *jinja, struct jinja_value value)
{
    const struct jinja_string *name = value.as.string;
    int len = name ? (int)(name->len < 200 ? name->len : 200) : 0;
    const char *text = name ? name->data : "";
    switch (value.detail) {
    case JINJA_OF_VARIABLE: return jinja_fail(jinja, "'%.*s' is undefined", len, text);
    case JINJA_OF_HINT: return jinja_fail(jinja, "%.*s", len, text);
    case JINJA_OF_SANDBOX:
        return jinja_fail(jinja,
                          "access to attribute '%.*s' is unsafe: templates may not change values",
                          len, text);
    }
    struct jinja_value owner = {.kind = (uint8_t)(value.detail - 1)};
    if (!name) return jinja_fail(jinja, "%s object has no such element", jinja_type_name(owner));
    return jinja_fail(jinja, "'%s%s' has no attribute '%.*s'", jinja_type_name(owner),
                      owner.kind == JINJA_NONE ? "" : " object", len, text);
}

bool jinja_spend(struct jinja_context *jinja, size_t steps)
{
    jinja->steps += (long long)(steps < JINJA_STEPS_MAX ? steps : JINJA_STEPS_MAX);
    if (jinja->steps > JINJA_STEPS_MAX) jinja_fail(jinja, "the template does too much work");
    if (jinja->arena.total_bytes > JINJA_BYTES_MAX)
        jinja_fail(jinja, "the template makes values that are too large");
    return !jinja->failed;
}

bool jinja_enter(struct jinja_context *jinja)
{
    if (++jinja->depth > JINJA_DEPTH_MAX)
        jinja_fail(jinja, "the template nests too deeply (maximum recursion depth exceeded)");
    return jinja_spend(jinja, 1);
}

void jinja_leave(struct jinja_context *jinja)
{
    jinja->depth--;
}

void *jinja_alloc(struct jinja_context *jinja, size_t bytes)
{
    return arena_zalloc(&jinja->arena, bytes);
}

struct buffer *jinja_begin(struct jinja_context *jinja)
{
    /* Depth is bounded, and no level holds more than two texts. */
    CHECK(jinja->scratch_used < JINJA_SCRATCH_MAX);
    if (jinja->scratch_used == jinja->scratch_made) {
        struct buffer *made = calloc(1, sizeof(*made));
        CHECK(made);
        jinja->scratch[jinja->scratch_made++] = made;
    }
    struct buffer *text = jinja->scratch[jinja->scratch_used++];
    buffer_clear(text);
    return text;
}

void jinja_drop(struct jinja_context *jinja, struct buffer *text)
{
    CHECK(jinja->scratch_used && jinja->scratch[jinja->scratch_used - 1] == text);
    jinja->scratch_used--;
    if (text->capacity > 1 << 20) buffer_free(text);
}

struct jinja_value jinja_end(struct jinja_context *jinja, struct buffer *text)
{
    struct jinja_value string = jinja_text(jinja, text->data ? text->data : "", text->len);
    jinja_drop(jinja, text);
    return string;
}

void jinja_append(struct jinja_context *jinja, struct buffer *text, const char *data, size_t len)
{
    if (jinja->failed || !len) return;
    if (len > JINJA_TEXT_MAX || text->len + len > JINJA_TEXT_MAX) {
        jinja_fail(jinja, "the template makes too much text");
        return;
    }
    if (jinja_spend(jinja, 1 + len / 64)) buffer_append(text, data, len);
}

void jinja_append_chars(struct jinja_context *jinja, struct buffer *text, const char *chars)
{
    jinja_append(jinja, text, chars, strlen(chars));
}

void jinja_append_code(struct jinja_context *jinja, struct buffer *text, int32_t code)
{
    char bytes[4];
    jinja_append(jinja, text, bytes, jinja_encode(code, bytes));
}

void jinja_append_times(struct jinja_context *jinja, struct buffer *text, const char *data,
                        size_t len, int64_t times)
{
    if (!len || times <= 0) return;
    if (times > (int64_t)(JINJA_TEXT_MAX / len)) {
        jinja_fail(jinja, "the template makes too much text");
        return;
    }
    for (; times > 0 && jinja_spend(jinja, 1); times--) jinja_append(jinja, text, data, len);
}
