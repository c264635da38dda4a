/* jinja_format_spec.c - see jinja_format.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_format.h"
#include "server/text/jinja_ops.h"

enum { PRECISION_MAX = 350, NUMBER_BYTES = 1600, WIDTH_MAX = 1000000 };

static void pad(struct jinja_context *jinja, struct buffer *out, int32_t fill, int64_t count)
{
    char bytes[4];
    jinja_append_times(jinja, out, bytes, jinja_encode(fill, bytes), count);
}

/* `digits` begins with `whole` digits of the integer part; separators go between those. */
static void group_digits(char *digits, size_t whole, char separator, size_t every)
{
    char copy[NUMBER_BYTES];
    size_t at = 0;
    for (size_t i = 0; digits[i] && at + 2 < sizeof(copy); i++) {
        if (i && i < whole && (whole - i) % every == 0) copy[at++] = separator;
        copy[at++] = digits[i];
    }
    copy[at] = 0;
    memcpy(digits, copy, at + 1);
}

void jinja_pad_number(struct jinja_context *jinja, struct buffer *out,
                      const struct jinja_spec *spec, const char *sign, const char *prefix,
                      const char *number)
{
    char digits[NUMBER_BYTES];
    size_t whole = strspn(number, spec->type == 'x' || spec->type == 'X' ? "0123456789abcdefABCDEF"
                                                                         : "0123456789");
    size_t every = spec->type && strchr("xXob", spec->type) ? 4 : 3;
    int64_t fixed = (int64_t)(strlen(sign) + strlen(prefix));
    char align = spec->align ? spec->align : '>';
    snprintf(digits, sizeof(digits), "%s", number);
    if (spec->grouping && whole) {
        /* Zeros that fill in are grouped as well, and no separator may come first. */
        size_t zeros = 0;
        bool fills = align == '=' && spec->fill == '0';
        while (true) {
            memset(digits, '0', zeros);
            snprintf(digits + zeros, sizeof(digits) - zeros, "%s", number);
            group_digits(digits, whole + zeros, spec->grouping, every);
            if (!fills || fixed + (int64_t)strlen(digits) >= spec->width ||
                zeros + strlen(number) > NUMBER_BYTES / 2)
                break;
            zeros++;
        }
    }
    int64_t spare = spec->width - fixed - (int64_t)strlen(digits);
    if (spare < 0) spare = 0;
    int64_t left = align == '>' ? spare : align == '^' ? spare / 2 : 0;
    pad(jinja, out, spec->fill, left);
    jinja_append_chars(jinja, out, sign);
    jinja_append_chars(jinja, out, prefix);
    if (align == '=') pad(jinja, out, spec->fill, spare);
    jinja_append_chars(jinja, out, digits);
    if (align != '=') pad(jinja, out, spec->fill, spare - left);
}

void jinja_pad_text(struct jinja_context *jinja, struct buffer *out, const struct jinja_spec *spec,
                    struct jinja_value text)
{
    size_t chars = jinja_string_chars(text.as.string), len = text.as.string->len;
    if (spec->precision >= 0 && (size_t)spec->precision < chars) {
        chars = (size_t)spec->precision;
        len = jinja_string_offset(text.as.string, chars);
    }
    int64_t spare = spec->width > (int64_t)chars ? spec->width - (int64_t)chars : 0;
    int64_t left = spec->align == '>' ? spare : spec->align == '^' ? spare / 2 : 0;
    pad(jinja, out, spec->fill, left);
    jinja_append(jinja, out, text.as.string->data, len);
    pad(jinja, out, spec->fill, spare - left);
}

static const char *sign_of(const struct jinja_spec *spec, bool minus)
{
    return minus ? "-" : spec->sign == '+' ? "+" : spec->sign == ' ' ? " " : "";
}

void jinja_format_int(struct jinja_context *jinja, struct buffer *out,
                      const struct jinja_spec *spec, int64_t integer)
{
    char digits[80];
    size_t at = sizeof(digits) - 1;
    uint64_t size = integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer;
    unsigned base = spec->type == 'b' ? 2 : spec->type == 'o' ? 8 : 10;
    const char *prefix = spec->type == 'b' ? "0b" : spec->type == 'o' ? "0o" : "";
    if (spec->type == 'x' || spec->type == 'X') base = 16, prefix = spec->type == 'x' ? "0x" : "0X";
    digits[at] = 0;
    do digits[--at] = (spec->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[size % base];
    while (size /= base);
    jinja_pad_number(jinja, out, spec, sign_of(spec, integer < 0), spec->alternate ? prefix : "",
                     digits + at);
}

/* No type but a precision: as %g, and with a point or an exponent in any case. */
static void format_general(double real, int precision, char *out, size_t size)
{
    char text[64];
    if (precision == 0) precision = 1;
    snprintf(text, sizeof(text), "%.*e", precision > 40 ? 40 : precision - 1, real);
    int exponent = atoi(strchr(text, 'e') + 1);
    bool scientific = exponent < -4 || exponent >= precision - 1;
    if (scientific)
        snprintf(out, size, "%.*e", precision - 1, real);
    else
        snprintf(out, size, "%.*f", precision - 1 - exponent, real);
    char *e = strchr(out, 'e'), *point = strchr(out, '.'), tail[16] = "";
    if (e) snprintf(tail, sizeof(tail), "%s", e), *e = 0;
    if (point) {
        char *last = out + strlen(out);
        while (last > point + 1 && last[-1] == '0') last--;
        if (last == point + 1 && scientific) last--;
        *last = 0;
    }
    if (!strchr(out, '.') && !scientific) strcat(out, ".0");
    if (out[strlen(out) - 1] == '.') strcat(out, "0");
    strcat(out, tail);
}

void jinja_format_real(struct jinja_context *jinja, struct buffer *out,
                       const struct jinja_spec *spec, double real)
{
    char digits[NUMBER_BYTES], format[16];
    bool minus = signbit(real) && !isnan(real);
    double size = fabs(real);
    int precision = spec->precision < 0 ? 6 : spec->precision;
    char type = spec->type;
    if (type == '%') size *= 100, type = 'f';
    if (type == 'n') type = 'g';
    if (isnan(size) || isinf(size)) {
        bool upper = type == 'E' || type == 'F' || type == 'G';
        strcpy(digits, isnan(size) ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf");
    } else if (!type && spec->precision < 0) {
        jinja_format_float(size, digits);
    } else if (!type) {
        format_general(size, precision, digits, sizeof(digits) - 8);
    } else if (strchr("eEfFgG", type)) {
        snprintf(format, sizeof(format), "%%%s.*%c", spec->alternate ? "#" : "", type);
        snprintf(digits, sizeof(digits) - 8, format, precision, size);
    } else {
        jinja_fail(jinja, "Unknown format code '%c' for object of type 'float'", type);
        return;
    }
    if (spec->type == '%') strcat(digits, "%");
    jinja_pad_number(jinja, out, spec, sign_of(spec, minus), "", digits);
}

/* Digits at *at; false when over `max`. */
static bool take_number(const char **at, const char *end, int64_t max, int64_t *out)
{
    for (*out = 0; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        *out = *out * 10 + **at - '0';
        if (*out > max) return false;
    }
    return true;
}

static bool is_align(char c)
{
    return c && strchr("<>^=", c);
}

static bool parse_spec(struct jinja_context *jinja, const char *at, size_t len,
                       struct jinja_spec *spec)
{
    const char *end = at + len, *next = at;
    int64_t precision = -1;
    *spec = (struct jinja_spec){.fill = ' '};
    int32_t fill = len ? jinja_decode(&next, end) : ' ';
    if (next < end && is_align(*next)) {
        spec->fill = fill, spec->align = *next, at = next + 1;
    } else if (at < end && is_align(*at)) {
        spec->align = *at++;
    }
    if (at < end && (*at == '+' || *at == '-' || *at == ' ')) spec->sign = *at++;
    if (at < end && *at == '#') spec->alternate = true, at++;
    if (at < end && *at == '0') {
        if (!spec->align) spec->align = '=';
        if (spec->fill == ' ') spec->fill = '0';
        at++;
    }
    if (!take_number(&at, end, WIDTH_MAX, &spec->width))
        return jinja_fail(jinja, "the width of a format is too large"), false;
    if (at < end && (*at == ',' || *at == '_')) spec->grouping = *at++;
    if (at < end && *at == '.') {
        const char *digits = ++at;
        if (!take_number(&at, end, WIDTH_MAX, &precision))
            return jinja_fail(jinja, "the precision of a format is too large"), false;
        if (at == digits) return jinja_fail(jinja, "Format specifier missing precision"), false;
    }
    spec->precision = (int)precision;
    if (at < end) spec->type = *at++;
    if (at < end) return jinja_fail(jinja, "Invalid format specifier"), false;
    return true;
}

static void format_text(struct jinja_context *jinja, struct buffer *out, struct jinja_spec *spec,
                        struct jinja_value text)
{
    if (spec->type && spec->type != 's')
        jinja_fail(jinja, "Unknown format code '%c' for object of type 'str'", spec->type);
    else if (spec->sign || spec->alternate || spec->grouping || spec->align == '=')
        jinja_fail(jinja, "this format is not allowed for a string");
    else
        jinja_pad_text(jinja, out, spec, text);
}

static void format_number(struct jinja_context *jinja, struct buffer *out, struct jinja_spec *spec,
                          struct jinja_value value)
{
    int64_t integer;
    double real;
    bool whole = jinja_as_int(value, &integer);
    bool as_int = whole && (!spec->type || strchr("bdoxXcn", spec->type));
    if (spec->precision > PRECISION_MAX) {
        jinja_fail(jinja, "the precision of a format is too large");
    } else if (as_int && spec->precision >= 0) {
        jinja_fail(jinja, "Precision not allowed in integer format specifier");
    } else if (as_int && spec->type == 'c') {
        if (integer < 0 || integer > 0x10ffff || (integer >= 0xd800 && integer < 0xe000))
            jinja_fail(jinja, "%%c arg not in range(0x110000)");
        struct buffer *text = jinja_begin(jinja);
        jinja_append_code(jinja, text, jinja->failed ? '?' : (int32_t)integer);
        struct jinja_value letter = jinja_end(jinja, text);
        if (!spec->align) spec->align = '>';
        jinja_pad_text(jinja, out, spec, letter);
    } else if (as_int) {
        jinja_format_int(jinja, out, spec, integer);
    } else if (jinja_as_real(value, &real)) {
        jinja_format_real(jinja, out, spec, real);
    }
}

void jinja_format_value(struct jinja_context *jinja, struct buffer *out, struct jinja_value value,
                        const char *text, size_t len)
{
    struct jinja_spec spec;
    if (!len) {
        jinja_write_str(jinja, out, value);
        return;
    }
    bool number = value.kind == JINJA_INT || value.kind == JINJA_BOOL || value.kind == JINJA_FLOAT;
    if (!number && value.kind != JINJA_STRING) {
        jinja_fail(jinja, "unsupported format string passed to %s.__format__",
                   jinja_type_name(value));
        return;
    }
    if (!parse_spec(jinja, text, len, &spec)) return;
    if (number)
        format_number(jinja, out, &spec, value);
    else
        format_text(jinja, out, &spec, value);
}
