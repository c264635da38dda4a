/* jinja_number.c - see jinja_number.h. */
#include "server/text/jinja_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/text/jinja_context.h"
#include "server/text/jinja_ops.h"
#include "server/text/jinja_unicode.h"

enum { NUMBER_TEXT_MAX = 512 };

/* Strips whitespace and turns digits of any script into ASCII; false: too long or empty. */
static bool plain_number(const struct jinja_string *text, char out[NUMBER_TEXT_MAX])
{
    const char *at = text->data, *end = at + text->len;
    size_t len = 0, kept = 0;
    while (at < end) {
        int32_t code = jinja_decode(&at, end);
        int digit = jinja_digit_value(code);
        if (jinja_is_space(code) && !len) continue;
        if (len + 2 >= NUMBER_TEXT_MAX) return false;
        out[len++] = (char)(digit >= 0                ? '0' + digit
                            : jinja_is_space(code)    ? ' '
                            : code > 0 && code < 0x80 ? code
                                                      : '?');
        if (!jinja_is_space(code)) kept = len;
    }
    out[kept] = 0;
    return kept > 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

enum jinja_parsed jinja_parse_int(const struct jinja_string *text, int64_t base, int64_t *out)
{
    char number[NUMBER_TEXT_MAX];
    if (!plain_number(text, number) || (base != 0 && (base < 2 || base > 36)))
        return JINJA_NOT_PARSED;
    const char *at = number;
    bool minus = *at == '-', big = false, prefixed = false;
    if (*at == '-' || *at == '+') at++;
    char letter = at[0] == '0' && at[1] ? (char)(at[1] | 0x20) : 0;
    int implied = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (implied && (base == 0 || base == implied)) at += 2, base = implied, prefixed = true;
    if (base == 0) {
        base = 10;
        if (at[0] == '0' && strspn(at, "0_") != strlen(at)) return JINJA_NOT_PARSED;
    }
    if (prefixed && *at == '_') at++;
    int64_t value = 0;
    bool digit_before = false;
    for (; *at; at++) {
        if (*at == '_' && digit_before && at[1]) {
            digit_before = false;
            continue;
        }
        int digit = digit_of(*at);
        if (digit >= base) return JINJA_NOT_PARSED;
        digit_before = true;
        big |= __builtin_mul_overflow(value, base, &value) ||
               __builtin_sub_overflow(value, (int64_t)digit, &value);
    }
    if (!digit_before) return JINJA_NOT_PARSED;
    if (!minus && value == INT64_MIN) big = true;
    if (big) return JINJA_PARSED_BIG;
    *out = minus ? value : -value; /* collected below zero, where there is room for all */
    return JINJA_PARSED;
}

static bool parse_float(const struct jinja_string *text, double *out)
{
    static const char *const words[] = {"inf", "infinity", "nan"};
    char number[NUMBER_TEXT_MAX], plain[NUMBER_TEXT_MAX];
    if (!plain_number(text, number)) return false;
    const char *at = number + (*number == '-' || *number == '+');
    for (int i = 0; i < 3; i++)
        if (!strcasecmp(at, words[i])) return *out = strtod(number, NULL), true;
    size_t len = 0;
    for (const char *p = number; *p; p++) {
        bool inner = p > number && p[-1] >= '0' && p[-1] <= '9' && p[1] >= '0' && p[1] <= '9';
        if (*p == '_' && inner) continue;
        if (!strchr("+-.eE0123456789", *p)) return false;
        plain[len++] = *p;
    }
    plain[len] = 0;
    char *stop;
    *out = strtod(plain, &stop);
    return len && !*stop;
}

bool jinja_to_float(struct jinja_value value, double *out)
{
    if (value.kind == JINJA_STRING) return parse_float(value.as.string, out);
    if (value.kind == JINJA_BIG) return *out = strtod(value.as.string->data, NULL), true;
    return jinja_as_real(value, out);
}

static struct jinja_value round_int(struct jinja_context *jinja, int64_t number, int64_t digits)
{
    int64_t unit = 1;
    if (digits >= 0) return jinja_int(number);
    for (; digits < 0; digits++)
        if (__builtin_mul_overflow(unit, (int64_t)10, &unit)) return jinja_int(0);
    int64_t rest = number % unit, base = number - rest, half = unit / 2;
    int64_t size = rest < 0 ? -rest : rest;
    if (size > half || (size == half && base / unit % 2)) {
        if (__builtin_add_overflow(base, rest < 0 ? -unit : unit, &base))
            return jinja_fail(jinja, "integers over 64 bits are not supported");
    }
    return jinja_int(base);
}

struct jinja_value jinja_round(struct jinja_context *jinja, struct jinja_value number,
                               int64_t digits)
{
    int64_t integer;
    char text[400];
    if (jinja_as_int(number, &integer)) return round_int(jinja, integer, digits);
    double real = number.as.real;
    if (isnan(real) || isinf(real) || digits > 322) return number;
    if (digits < -308) return jinja_float(copysign(0, real));
    if (digits >= 0) {
        /* The decimal text of a double is exact, so it rounds as Python does. */
        if (fabs(real) >= 1e22) return number;
        snprintf(text, sizeof(text), "%.*f", (int)digits, real);
        return jinja_float(strtod(text, NULL));
    }
    double unit = pow(10, (double)-digits), scaled = nearbyint(real / unit) * unit;
    return jinja_float(scaled);
}
