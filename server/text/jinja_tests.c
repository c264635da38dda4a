/* jinja_tests.c - what may stand after `is`. */
#include <string.h>

#include "server/text/jinja_call.h"
#include "server/text/jinja_context.h"
#include "server/text/jinja_iterator.h"
#include "server/text/jinja_methods.h"
#include "server/text/jinja_ops.h"

#define TEST(name)                                                                                 \
    static struct jinja_value test_##name(struct jinja_context *jinja, struct jinja_value self,    \
                                          const struct jinja_call *call)

TEST(defined)
{
    return jinja_bool(self.kind != JINJA_UNDEFINED);
}

TEST(undefined)
{
    return jinja_bool(self.kind == JINJA_UNDEFINED);
}

TEST(none)
{
    return jinja_bool(self.kind == JINJA_NONE);
}

TEST(boolean)
{
    return jinja_bool(self.kind == JINJA_BOOL);
}

TEST(true)
{
    return jinja_bool(self.kind == JINJA_BOOL && self.as.boolean);
}

TEST(false)
{
    return jinja_bool(self.kind == JINJA_BOOL && !self.as.boolean);
}

TEST(integer)
{
    return jinja_bool(self.kind == JINJA_INT || self.kind == JINJA_BIG);
}

TEST(float)
{
    return jinja_bool(self.kind == JINJA_FLOAT);
}

TEST(number)
{
    return jinja_bool(self.kind == JINJA_INT || self.kind == JINJA_BIG ||
                      self.kind == JINJA_FLOAT || self.kind == JINJA_BOOL);
}

TEST(string)
{
    return jinja_bool(self.kind == JINJA_STRING);
}

TEST(mapping)
{
    return jinja_bool(self.kind == JINJA_DICT);
}

TEST(iterable)
{
    return jinja_bool(jinja_can_iterate(self));
}

TEST(sequence)
{
    return jinja_bool(jinja_has_length(self) && self.kind != JINJA_VIEW && self.kind != JINJA_LOOP);
}

TEST(callable)
{
    return jinja_bool(self.kind == JINJA_UNDEFINED || self.kind == JINJA_FUNCTION ||
                      self.kind == JINJA_METHOD || self.kind == JINJA_MACRO ||
                      self.kind == JINJA_LOOP || self.kind == JINJA_JOINER);
}

TEST(lower)
{
    return jinja_bool(jinja_text_is(jinja, jinja_str(jinja, self), JINJA_IS_LOWER));
}

TEST(upper)
{
    return jinja_bool(jinja_text_is(jinja, jinja_str(jinja, self), JINJA_IS_UPPER));
}

TEST(escaped)
{
    return jinja_bool(self.kind == JINJA_STRING && self.as.string->markup);
}

/* self % by == rest */
static struct jinja_value modulo(struct jinja_context *jinja, struct jinja_value self,
                                 struct jinja_value by, int rest)
{
    struct jinja_value remainder = jinja_operate(jinja, JINJA_MOD, self, by);
    return jinja_bool(!jinja->failed && jinja_equal(jinja, remainder, jinja_int(rest)));
}

TEST(odd)
{
    return modulo(jinja, self, jinja_int(2), 1);
}

TEST(even)
{
    return modulo(jinja, self, jinja_int(2), 0);
}

TEST(divisibleby)
{
    return modulo(jinja, self, call->bound[0], 0);
}

TEST(in)
{
    return jinja_operate(jinja, JINJA_IN, self, call->bound[0]);
}

TEST(eq)
{
    return jinja_operate(jinja, JINJA_EQ, self, call->bound[0]);
}

TEST(ne)
{
    return jinja_operate(jinja, JINJA_NE, self, call->bound[0]);
}

TEST(lt)
{
    return jinja_operate(jinja, JINJA_LT, self, call->bound[0]);
}

TEST(le)
{
    return jinja_operate(jinja, JINJA_LE, self, call->bound[0]);
}

TEST(gt)
{
    return jinja_operate(jinja, JINJA_GT, self, call->bound[0]);
}

TEST(ge)
{
    return jinja_operate(jinja, JINJA_GE, self, call->bound[0]);
}

/* Identity, as far as CPython shows it: small integers and one-letter strings are shared. */
TEST(sameas)
{
    struct jinja_value other = call->bound[0];
    if (self.kind != other.kind) return jinja_bool(false);
    switch (self.kind) {
    case JINJA_NONE: return jinja_bool(true);
    case JINJA_BOOL: return jinja_bool(self.as.boolean == other.as.boolean);
    case JINJA_INT: return jinja_bool(self.as.integer == other.as.integer);
    case JINJA_FLOAT: return jinja_bool(false);
    case JINJA_STRING:
        if (self.as.string->len <= 1)
            return jinja_bool(jinja_string_equal(self.as.string, other.as.string));
        return jinja_bool(self.as.string == other.as.string);
    default: return jinja_bool(self.as.list == other.as.list);
    }
}

TEST(filter)
{
    if (!jinja_hashable(self))
        return jinja_fail(jinja, "unhashable type: '%s'", jinja_type_name(self));
    if (!jinja_is_string(self)) return jinja_bool(false);
    const struct jinja_string *name = self.as.string;
    return jinja_bool(jinja_find_filter(name->data, name->len) ||
                      jinja_filter_is_refused(name->data, name->len));
}

TEST(test)
{
    if (!jinja_hashable(self))
        return jinja_fail(jinja, "unhashable type: '%s'", jinja_type_name(self));
    if (!jinja_is_string(self)) return jinja_bool(false);
    return jinja_bool(jinja_find_test(self.as.string->data, self.as.string->len) != NULL);
}

static const struct jinja_builtin tests[] = {
    {"defined", test_defined, 0, false, {0}},
    {"undefined", test_undefined, 0, false, {0}},
    {"none", test_none, 0, false, {0}},
    {"string", test_string, 0, false, {0}},
    {"mapping", test_mapping, 0, false, {0}},
    {"iterable", test_iterable, 0, false, {0}},
    {"sequence", test_sequence, 0, false, {0}},
    {"boolean", test_boolean, 0, false, {0}},
    {"true", test_true, 0, false, {0}},
    {"false", test_false, 0, false, {0}},
    {"integer", test_integer, 0, false, {0}},
    {"float", test_float, 0, false, {0}},
    {"number", test_number, 0, false, {0}},
    {"callable", test_callable, 0, false, {0}},
    {"lower", test_lower, 0, false, {0}},
    {"upper", test_upper, 0, false, {0}},
    {"escaped", test_escaped, 0, false, {0}},
    {"odd", test_odd, 0, false, {0}},
    {"even", test_even, 0, false, {0}},
    {"divisibleby", test_divisibleby, 1, false, {"num"}},
    {"sameas", test_sameas, 1, false, {"other"}},
    {"in", test_in, 1, false, {"seq"}},
    {"eq", test_eq, 1, false, {""}},
    {"equalto", test_eq, 1, false, {""}},
    {"==", test_eq, 1, false, {""}},
    {"ne", test_ne, 1, false, {""}},
    {"!=", test_ne, 1, false, {""}},
    {"lt", test_lt, 1, false, {""}},
    {"lessthan", test_lt, 1, false, {""}},
    {"<", test_lt, 1, false, {""}},
    {"le", test_le, 1, false, {""}},
    {"<=", test_le, 1, false, {""}},
    {"gt", test_gt, 1, false, {""}},
    {"greaterthan", test_gt, 1, false, {""}},
    {">", test_gt, 1, false, {""}},
    {"ge", test_ge, 1, false, {""}},
    {">=", test_ge, 1, false, {""}},
    {"filter", test_filter, 0, false, {0}},
    {"test", test_test, 0, false, {0}},
};

const struct jinja_builtin *jinja_find_test(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
        if (strlen(tests[i].name) == len && !memcmp(tests[i].name, name, len)) return &tests[i];
    return NULL;
}
