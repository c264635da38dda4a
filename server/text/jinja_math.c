/* jinja_math.c - the arithmetic operators, on numbers and on sequences: see jinja_ops.h. */
#include <math.h>
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_escape.h"
#include "server/text/jinja_ops.h"

static const char *const operator_names[] = {"+", "-", "*", "/", "//", "%", "**"};

static struct jinja_value too_large(struct jinja_context *jinja)
{
    return jinja_fail(jinja, "integers over 64 bits are not supported");
}

static struct jinja_value power(struct jinja_context *jinja, int64_t base, int64_t exponent)
{
    if (exponent < 0) {
        if (!base) return jinja_fail(jinja, "0.0 cannot be raised to a negative power");
        return jinja_float(pow((double)base, (double)exponent));
    }
    int64_t result = 1;
    if (base == 0 || base == 1) return jinja_int(exponent ? base : 1);
    if (base == -1) return jinja_int(exponent % 2 ? -1 : 1);
    while (exponent-- > 0)
        if (__builtin_mul_overflow(result, base, &result)) return too_large(jinja);
    return jinja_int(result);
}

static struct jinja_value operate_ints(struct jinja_context *jinja, enum jinja_operator operator,
                                       int64_t a, int64_t b)
{
    int64_t result;
    switch (operator) {
    case JINJA_ADD:
        return __builtin_add_overflow(a, b, &result) ? too_large(jinja) : jinja_int(result);
    case JINJA_SUB:
        return __builtin_sub_overflow(a, b, &result) ? too_large(jinja) : jinja_int(result);
    case JINJA_MUL:
        return __builtin_mul_overflow(a, b, &result) ? too_large(jinja) : jinja_int(result);
    case JINJA_POW: return power(jinja, a, b);
    default: break;
    }
    if (!b) return jinja_fail(jinja, "division by zero");
    if (operator== JINJA_DIV) return jinja_float((double)((long double)a / (long double)b));
    if (b == -1) {
        if (operator== JINJA_MOD) return jinja_int(0);
        return a == INT64_MIN ? too_large(jinja) : jinja_int(-a);
    }
    int64_t quotient = a / b, rest = a % b;
    if (rest && (rest < 0) != (b < 0)) quotient--, rest += b;
    return jinja_int(operator== JINJA_MOD ? rest : quotient);
}

/* Python's float.__divmod__: the remainder has the sign of the divisor. */
static void divide_floor(double a, double b, double *quotient, double *rest)
{
    double mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0) {
        if ((b < 0) != (mod < 0)) mod += b, div -= 1;
    } else {
        mod = copysign(0, b);
    }
    if (div != 0) {
        *quotient = floor(div);
        if (div - *quotient > 0.5) *quotient += 1;
    } else {
        *quotient = copysign(0, a / b);
    }
    *rest = mod;
}

static struct jinja_value operate_floats(struct jinja_context *jinja, enum jinja_operator operator,
                                         double a, double b)
{
    double quotient, rest;
    switch (operator) {
    case JINJA_ADD: return jinja_float(a + b);
    case JINJA_SUB: return jinja_float(a - b);
    case JINJA_MUL: return jinja_float(a * b);
    case JINJA_POW:
        if (a == 0 && b < 0) return jinja_fail(jinja, "0.0 cannot be raised to a negative power");
        if (a < 0 && floor(b) != b && isfinite(a) && isfinite(b))
            return jinja_fail(jinja, "complex numbers are not supported");
        rest = pow(a, b);
        if (isinf(rest) && isfinite(a) && isfinite(b))
            return jinja_fail(jinja, "numerical result out of range");
        return jinja_float(rest);
    default: break;
    }
    if (b == 0) return jinja_fail(jinja, "float division by zero");
    if (operator== JINJA_DIV) return jinja_float(a / b);
    divide_floor(a, b, &quotient, &rest);
    return jinja_float(operator== JINJA_MOD ? rest : quotient);
}

static struct jinja_value add_strings(struct jinja_context *jinja, struct jinja_value a,
                                      struct jinja_value b)
{
    struct buffer *text = jinja_begin(jinja);
    bool markup = a.as.string->markup || b.as.string->markup;
    jinja_append_escaped(jinja, text, a, markup);
    jinja_append_escaped(jinja, text, b, markup);
    struct jinja_value sum = jinja_end(jinja, text);
    sum.as.string->markup = markup;
    return sum;
}

static struct jinja_value add_lists(struct jinja_context *jinja, struct jinja_value a,
                                    struct jinja_value b)
{
    size_t a_count = a.as.list->count, b_count = b.as.list->count;
    struct jinja_value sum = jinja_list(jinja, a.kind, a_count + b_count);
    jinja_spend(jinja, a_count + b_count);
    for (size_t i = 0; i < a_count; i++) jinja_push(jinja, sum, a.as.list->items[i]);
    for (size_t i = 0; i < b_count; i++) jinja_push(jinja, sum, b.as.list->items[i]);
    return sum;
}

static struct jinja_value repeat(struct jinja_context *jinja, struct jinja_value what,
                                 int64_t times)
{
    if (times < 0) times = 0;
    if (what.kind == JINJA_STRING) {
        struct buffer *text = jinja_begin(jinja);
        jinja_append_times(jinja, text, what.as.string->data, what.as.string->len, times);
        struct jinja_value result = jinja_end(jinja, text);
        result.as.string->markup = what.as.string->markup;
        return result;
    }
    struct jinja_value result = jinja_list(jinja, what.kind, 0);
    size_t count = what.as.list->count;
    for (; count && times > 0 && jinja_spend(jinja, count); times--)
        for (size_t i = 0; i < count; i++) jinja_push(jinja, result, what.as.list->items[i]);
    return result;
}

static bool is_sequence(struct jinja_value value)
{
    return value.kind == JINJA_STRING || value.kind == JINJA_LIST || value.kind == JINJA_TUPLE;
}

static bool compares(enum jinja_operator operator, int order)
{
    if (order == 2) return false;
    switch (operator) {
    case JINJA_LT: return order < 0;
    case JINJA_LE: return order <= 0;
    case JINJA_GT: return order > 0;
    default: return order >= 0;
    }
}

struct jinja_value jinja_operate(struct jinja_context *jinja, enum jinja_operator operator,
                                 struct jinja_value a, struct jinja_value b)
{
    int64_t i, k;
    double x, y;
    switch (operator) {
    case JINJA_EQ: return jinja_bool(jinja_equal(jinja, a, b));
    case JINJA_NE: return jinja_bool(!jinja_equal(jinja, a, b));
    case JINJA_IN: return jinja_bool(jinja_contains(jinja, a, b));
    case JINJA_NOT_IN: return jinja_bool(!jinja_contains(jinja, a, b));
    case JINJA_LT:
    case JINJA_LE:
    case JINJA_GT:
    case JINJA_GE: return jinja_bool(compares(operator, jinja_compare(jinja, a, b)));
    default: break;
    }
    if (jinja_as_int(a, &i) && jinja_as_int(b, &k)) return operate_ints(jinja, operator, i, k);
    if (jinja_as_real(a, &x) && jinja_as_real(b, &y)) return operate_floats(jinja, operator, x, y);
    if (a.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, a);
    if (b.kind == JINJA_UNDEFINED && !(operator== JINJA_MOD && a.kind == JINJA_STRING))
        return jinja_fail_undefined(jinja, b);
    if (operator== JINJA_ADD && a.kind == b.kind && is_sequence(a))
        return a.kind == JINJA_STRING ? add_strings(jinja, a, b) : add_lists(jinja, a, b);
    if (operator== JINJA_MUL && is_sequence(a) && jinja_as_int(b, &k)) return repeat(jinja, a, k);
    if (operator== JINJA_MUL && is_sequence(b) && jinja_as_int(a, &i)) return repeat(jinja, b, i);
    if (operator== JINJA_MOD && a.kind == JINJA_STRING) return jinja_percent(jinja, a, b);
    if (a.kind == JINJA_BIG || b.kind == JINJA_BIG) return too_large(jinja);
    return jinja_fail(jinja, "unsupported operand type(s) for %s: '%s' and '%s'",
                      operator_names[operator], jinja_type_name(a), jinja_type_name(b));
}

struct jinja_value jinja_negate(struct jinja_context *jinja, struct jinja_value value, bool minus)
{
    int64_t integer;
    if (jinja_as_int(value, &integer)) {
        if (!minus) return jinja_int(integer);
        return integer == INT64_MIN ? too_large(jinja) : jinja_int(-integer);
    }
    if (value.kind == JINJA_FLOAT) return jinja_float(minus ? -value.as.real : value.as.real);
    if (value.kind == JINJA_UNDEFINED) return jinja_fail_undefined(jinja, value);
    return jinja_fail(jinja, "bad operand type for unary %c: '%s'", minus ? '-' : '+',
                      jinja_type_name(value));
}
