/*
 * jinja_format.h - format specifications: what stands after the colon in "{:>8.2f}".
 *
 * Thread: the context's.
 */
#ifndef SERVER_TEXT_JINJA_FORMAT_H
#define SERVER_TEXT_JINJA_FORMAT_H

#include "runtime/base/buffer.h"
#include "server/text/jinja_value.h"

struct jinja_context;

struct jinja_spec {
    int32_t fill; /* a code point */
    char align;   /* < > ^ =, 0: the type's own */
    char sign;    /* + - or space; 0: - */
    bool alternate;
    char grouping; /* , _ or 0 */
    int64_t width;
    int precision; /* -1: none */
    char type;     /* 0: none given */
};

/* Appends a number's text: `sign` and `prefix` stay before the zeros that '=' fills in. */
void jinja_pad_number(struct jinja_context *jinja, struct buffer *out,
                      const struct jinja_spec *spec, const char *sign, const char *prefix,
                      const char *digits);

/* Appends `text`, cut to the precision, in the width. */
void jinja_pad_text(struct jinja_context *jinja, struct buffer *out, const struct jinja_spec *spec,
                    struct jinja_value text);

/* An integer or a float in the way of spec->type; fails for types a number has not. */
void jinja_format_int(struct jinja_context *jinja, struct buffer *out,
                      const struct jinja_spec *spec, int64_t integer);
void jinja_format_real(struct jinja_context *jinja, struct buffer *out,
                       const struct jinja_spec *spec, double real);

/* format(value, spec). */
void jinja_format_value(struct jinja_context *jinja, struct buffer *out, struct jinja_value value,
                        const char *spec, size_t len);

#endif
