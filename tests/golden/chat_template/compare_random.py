#!/usr/bin/env python3
"""Compares `penstock render` with Jinja2 under transformers' settings on random templates.

    python3 tests/golden/chat_template/compare_random.py PENSTOCK [--count N] [--seed S]

Needs transformers and jinja2. Prints every difference and a summary; exits with 1 if there were any.
Templates that Jinja2 refuses or that raise must be refused or raise here too; the words may differ.
Not part of the test suite.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from transformers.utils.chat_template_utils import _compile_jinja_template

DATA = {
    "n": 7, "m": -3, "z": 0, "f": 2.5, "g": -0.125, "big": 123456789012, "t": True, "no": False, "nil": None,
    "s": "Hello, World", "e": "", "u": "Zażółć ñ ß 日本 🎉 İ", "ws": " \t padded line \n", "num": " 42 ", "html": "<a href='x'>&\"",
    "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "le": [], "lm": [1, "x", None, 2.0, [1, 2], {"k": 1}],
    "d": {"b": 1, "a": 2, "items": 3, "C": None}, "de": {}, "dn": {"x": {"y": [10, {"z": "deep"}]}, "k": "v"},
    "rows": [{"name": "x", "v": 3, "tag": "A"}, {"name": "Y", "v": 1, "tag": "b"}, {"name": "z", "v": 2, "tag": "a"}, {"name": "w", "v": None}],
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo\n"}, {"role": "user", "content": [{"type": "text", "text": "T"}]}],
}

NAMES = list(DATA) + ["missing", "loop", "ns", "x"]
STRINGS = ["''", "'a'", "'l'", "'Hello'", "' '", "'\\n'", "'a,b,,c'", "\"it's\"", "'%s-%d'", "'{} {:>5}|'", "'ß'", "'x' 'y'", "'<b>'", "'A b-c (d) e'", "'1_0'", "'0x1f'"]
NUMBERS = ["0", "1", "2", "-1", "3", "10", "100", "1.5", "0.1", "1e3", "2.0", "-2.5", "1e-7", "123456789.125", "0x10", "1_000"]
ATTRIBUTES = ["a", "b", "items", "x", "name", "role", "content", "y", "v", "k", "keys", "upper", "zz", "index", "count"]
FILTERS = [
    "abs", "capitalize", "center({i})", "count", "default({e})", "d({e}, true)", "dictsort", "dictsort(true)", "dictsort(false, 'value')", "dictsort(reverse=true)",
    "escape", "first", "float", "float({e})", "indent", "indent({i})", "indent({i}, true)", "indent(first=true, blank=true)", "indent({s})", "int", "int({e})", "int(0, {i})",
    "items|list", "join", "join({s})", "join(', ', attribute='name')", "last", "length", "list", "lower", "map('upper')|list", "map(attribute='name')|list",
    "map(attribute='v', default=0)|list", "map('string')|join('/')", "map('length')|list", "max", "min", "max(attribute='v')", "min(attribute='name')", "reject|list", "reject('none')|list", "reject('equalto', {e})|list",
    "rejectattr('v')|list", "rejectattr('name', 'equalto', 'x')|list", "replace({s}, {s})", "replace({s}, {s}, {i})", "reverse|list", "reverse", "round", "round({i})", "round({i}, 'floor')", "round(1, 'ceil')", "safe",
    "select|list", "select('odd')|list", "select('string')|list", "selectattr('v')|list", "selectattr('role', 'equalto', 'user')|list", "selectattr('v', 'gt', 1)|list",
    "slice({i})|list", "slice(2, 'f')|list", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", "sort(attribute='name')", "sort(attribute='tag,name')", "string", "sum", "sum(start={e})", "sum(attribute='v')", "title", "tojson", "tojson(indent={i})",
    "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(indent=2, sort_keys=true)", "trim", "trim({s})", "truncate({i})", "truncate(5, true, '')", "unique|list", "unique(true)|list", "upper", "urlencode", "wordcount",
    "batch({i})|list", "batch(2, '-')|list", "groupby('tag')|list", "groupby('v')", "groupby('tag', case_sensitive=true)|map('first')|list", "format({e})", "format({e}, {e})", "pprint", "attr('upper')", "xmlattr", "filesizeformat", "e|upper",
    "forceescape", "length|string", "default('x')|upper",
]
TESTS = [
    "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "true", "false", "mapping", "sequence", "iterable", "callable", "odd", "even", "lower", "upper", "escaped",
    "divisibleby({i})", "divisibleby {i}", "eq({e})", "equalto({e})", "ne {i}", "gt {i}", "lt({e})", "ge({e})", "le({e})", "in({e})", "in [1, 'a', none]", "sameas(none)", "sameas true", "filter", "test", "== 1", "greaterthan({i})",
]
METHODS = [
    "upper()", "lower()", "strip()", "strip({s})", "lstrip()", "rstrip('\\n')", "split()", "split({s})", "split(',', 1)", "split(maxsplit=1)", "rsplit(',', 1)", "rsplit()", "splitlines()", "splitlines(true)", "startswith({s})", "endswith({s})", "startswith(('H', 'a'))",
    "replace({s}, {s})", "replace({s}, {s}, 1)", "title()", "capitalize()", "find({s})", "rfind({s})", "index({s})", "count({s})", "count('l', 3)", "join({e})", "join(ls)", "format({e}, {e})", "removeprefix({s})", "removesuffix({s})", "isdigit()", "isalpha()", "isspace()", "isalnum()", "islower()", "isupper()", "istitle()",
    "isnumeric()", "zfill({i})", "center({i})", "ljust({i}, '*')", "rjust({i})", "partition({s})", "rpartition({s})", "swapcase()", "casefold()", "expandtabs()", "get({s})", "get('a', {e})", "get('items')", "items()", "items()|list", "keys()|list", "values()|list", "keys()", "copy()", "update({{}})", "append(1)", "pop()", "index({e})",
    "isidentifier()", "isprintable()", "isascii()", "isdecimal()", "find('l', 3, 9)", "find('l', -4)", "encode", "nosuch()",
]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
FORMATS = ["'%5.2f'", "'%-5d|'", "'%05d'", "'%x'", "'%s'", "'%r'", "'%e'", "'%g'", "'%+d'", "'%%'", "'%c'", "'%(a)s'", "'%.3s'", "'%10s|'", "'%#x'", "'%o'", "'%i'", "'%*d'"]
SPECS = ["{:>10}", "{:<6}|", "{:^7}", "{:*^9}", "{:05}", "{:.2f}", "{:,}", "{:_}", "{:e}", "{:g}", "{:x}", "{:#b}", "{:+}", "{: }", "{:%}", "{!r}", "{!s:>8}", "{0}{0}", "{:n}", "{:.3}", "{0.a}", "{0[a]}", "{a}", "{{}}", "{:10.3}", "{:08.3f}", "{:010,}", "{:c}", "{:{}}", "{:d}", "{:s}", "{:X}", "{:o}", "{:=+8}", "{:<08}", "{:,.2f}"]


ATOMS = {
    "s": STRINGS + ["s", "u", "ws", "num", "html", "e", "messages[0].content", "ls[1]", "rows[0]['name']"],
    "n": NUMBERS + ["n", "m", "z", "f", "g", "big", "t", "no", "l[0]", "d.a", "rows[1].v", "dn.x.y[0]"],
    "l": ["l", "ls", "le", "lm", "rows", "messages", "[]", "[1, 2.5, 'x']", "('a', 1)", "range(4)", "dn.x.y", "[[2, 1], [0]]", "[none, true]"],
    "d": ["d", "de", "dn", "rows[0]", "messages[2]", "{}", "{'a': 1, 2: 'b'}", "dict(q=1)", "{'z': [1], 'Y': {'n': none}}"],
}
TYPED = {
    "s": [
        "{s} + {s}", "{s} ~ {a}", "{s} ~ {n} ~ {s}", "{s} * {i}", "{s}|upper", "{s}|lower", "{s}|trim", "{s}|title", "{s}|capitalize", "{s}|replace({s}, {s})", "{s}|indent({i}, true)", "{s}|indent(2, blank=true)", "{s}|e", "{s}|safe",
        "{a}|string", "{a}|tojson", "{a}|tojson(indent={i})", "{a}|tojson(ensure_ascii=true)", "{a}|tojson(sort_keys=true)", "{l}|join({s})", "{l}|join", "{s}|reverse", "{s}|center({i})", "{s}|truncate(8)", "{s}|truncate(6, true)", "{s}|urlencode", "{s}|default({s})", "{a}|pprint",
        "{s}.strip()", "{s}.strip({s})", "{s}.lstrip({s})", "{s}.rstrip()", "{s}.upper()", "{s}.lower()", "{s}.title()", "{s}.capitalize()", "{s}.swapcase()", "{s}.casefold()", "{s}.replace({s}, {s}, {i})", "{s}.zfill({i})", "{s}.center(8, '*')", "{s}.ljust(7) ~ '|'", "{s}.rjust(7, '.')", "{s}.removeprefix({s})", "{s}.expandtabs()",
        "{s}[{i}:]", "{s}[:{i}]", "{s}[::{i}]", "{s}[{i}:{i}]", "{s}[::-1]", "{s}[{i}]", "{s}.split({s})[0]", "{s}.split(',')[-1]", "{s} if {a} else {s}", "{s} or {s}", "{s} and {s}", "'%s|%r' % ({a}, {a})", "'%5.1f' % {n}", "'%d' % {n}", "'%+08.2f' % {n}", "'%-6s|' % {s}", "'%x' % {n}", "'%g' % {n}", "'%e' % {n}",
        "'{} {}'.format({a}, {a})", "'{:>8}|{!r}'.format({s}, {s})", "'{:.2f}'.format({n})", "'{:08.3f}'.format({n})", "'{:,}'.format({n})", "'{:e}'.format({n})", "'{:g}'.format({n})", "'{:.3}'.format({n})", "'{:+}'.format({n})", "'{:^9}|'.format({n})", "'{:010,}'.format({n})", "'{:%}'.format({n})", "'{a}'.format(a={a})", "'{0[a]}'.format({d})", "', '.join(ls)", "{s}.partition({s})|join('/')", "{a}|string|length|string", "{n}|filesizeformat", "{d}|xmlattr", "{s}|format({a})", "{l}|first|string", "{l}|last|string", "{s}.format({n}, {s})", "{s}|escape ~ {s}", "{s}|safe + {s}", "{s} + {s}|safe", "{s}.encode is defined",
    ],
    "n": [
        "{n} + {n}", "{n} - {n}", "{n} * {n}", "{n} / {n}", "{n} // {n}", "{n} % {n}", "{n} ** {i}", "-{n}", "{n}|abs", "{n}|round", "{n}|round({i})", "{n}|round(1, 'floor')", "{n}|int", "{s}|int", "{s}|float", "{s}|int(base=16)", "{n}|float", "{a}|length", "{s}|wordcount", "{l}|count", "{s}.find({s})", "{s}.rfind({s})", "{s}.count({s})", "{s}.index('l')", "[1, 2, 3]|sum", "{l}|map('int')|sum", "l|max", "l|min", "[{n}, {n}, {n}]|max", "[{n}, {n}]|min", "[{n}, {n}]|sum", "{n} if {a} else {n}", "{n} or {n}", "{n} < {n}", "{n} >= {n} != {n}", "{n} == {n}", "{s} < {s}", "{l} == {l}", "{s} in {s}", "{a} in {l}", "{s} in {d}", "{a} not in {l}", "not {a}", "{a} is string", "{a} is number", "{a} is mapping", "{a} is iterable", "{a} is sequence", "{n} is odd", "{n} is divisibleby 3", "{a} is none", "{a} is not defined", "{s} is lower", "{s} is upper", "{a} is in {l}", "{a} is eq {a}", "{n} is gt {n}", "{s}.isdigit()", "{s}.isalpha()", "{s}.isupper()", "{s}.istitle()", "{s}.isspace()", "{s}.isnumeric()", "{s}.startswith({s})", "{s}.endswith(({s}, 'x'))", "{a} is integer", "{a} is float", "{a} is boolean", "{a} is callable", "{a} is sameas none", "{l}.index(1)", "{l}.count(1)", "rows|sum(attribute='v', start=1)", "{n}.is_integer is defined", "{n} > {n} or {n}",
    ],
    "l": [
        "{l} + {l}", "{l} * 2", "{l}|list", "{l}|reverse|list", "{l}|sort", "{l}|map('string')|sort", "{l}|map('string')|sort(reverse=true)", "ls|sort(case_sensitive=true)", "rows|sort(attribute='name')", "rows|sort(attribute='tag,name')", "rows|sort(attribute='tag', reverse=true)", "{l}|unique|list", "{l}|map('string')|unique|list", "{l}|select|list", "{l}|reject('none')|list", "{l}|select('string')|list", "{l}|reject('number')|list", "rows|selectattr('v')|list", "rows|selectattr('tag', 'eq', 'a')|map(attribute='name')|list", "rows|rejectattr('v', 'none')|list", "messages|selectattr('role', 'equalto', 'user')|list", "rows|map(attribute='zz', default={a})|list", "{l}|map('tojson')|list", "{l}|map('default', {a})|list", "{l}|batch(2)|list", "{l}|batch(3, {a})|list", "{l}|slice(2)|list", "{l}|slice(3, {a})|list",
        "{l}[{i}:]", "{l}[:{i}]", "{l}[::{i}]", "{l}[::-1]", "{l}[{i}:{i}]", "{d}|items|list", "{d}.items()|list", "{d}.keys()|list", "{d}.values()|list", "{d}|list", "{d}|dictsort", "{d}|dictsort(true)", "d|dictsort(reverse=true)", "rows|groupby('tag')", "rows|groupby('tag')|map(attribute='list')|list", "rows|groupby('tag', case_sensitive=true)|list", "{s}.split()", "{s}.split({s})", "{s}.split(',', {i})", "{s}.rsplit(None, 1)", "{s}.splitlines()", "{s}.splitlines(true)", "{s}|list", "{s}.partition('l')", "range({i}, 9, 2)|list", "[{a}, {a}]", "({a},)", "{l} or {l}", "{l} if {a} else {l}", "{l}|map('length')|list if {s} else []", "{d}.items()", "{d}.keys()", "{l}.copy()", "(rows|map(attribute='v')|list, {a})", "{l}|map('upper')|list", "{s}.rsplit('l', 1)", "{d}|dictsort(false, 'key')|first",
    ],
    "d": ["{'k': {a}, 'j': {a}}", "{{s}: {a}}", "{{n}: {a}, {s}: {a}}", "dict(a={a}, b={a})", "dict({d}, z={a})", "dict([('p', {a}), ({n}, 2)])", "{d}.copy()", "{d} if {a} else {d}", "{d} or {d}", "rows|first", "messages|last", "dict({d}|items)", "dict.fromkeys(ls, {n})", "rows[{i}]", "{'a': {d}, 'b': {l}}"],
}


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def fill(self, text, depth):
        text = re.sub(r"\{e\}", lambda _: self.expression(depth - 1), text)
        text = re.sub(r"\{s\}", lambda _: self.rng.choice(STRINGS), text)
        return re.sub(r"\{i\}", lambda _: str(self.rng.choice([-1, 0, 1, 2, 3, 8])), text).replace("{{}}", "{}")

    def typed(self, kind, depth):
        """An expression that most likely has the type: s string, n number, l list, d dict."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.2:
            return rng.choice(ATOMS[kind])
        text = rng.choice(TYPED[kind])
        text = re.sub(r"\{([snlda])\}", lambda m: self.typed(m[1] if m[1] != "a" else rng.choice("snld"), depth - 1), text)
        return "(" + re.sub(r"\{i\}", lambda _: str(rng.choice([-3, -1, 0, 1, 2, 3, 8])), text) + ")"

    def atom(self):
        r = self.rng.random()
        if r < 0.5:
            return self.rng.choice(NAMES)
        if r < 0.7:
            return self.rng.choice(STRINGS)
        if r < 0.9:
            return self.rng.choice(NUMBERS)
        return self.rng.choice(["true", "false", "none", "True", "None", "[]", "{}", "()", "range(3)", "range(5, 0, -2)", "namespace(a=1)", "dict(a=1, b=l)"])

    def expression(self, depth=3):
        rng = self.rng
        if rng.random() < 0.75:
            return self.typed(rng.choice("snld"), depth)
        if depth <= 0:
            return self.atom()
        r = rng.random()
        e = lambda: self.expression(depth - 1)
        if r < 0.12:
            return self.atom()
        if r < 0.32:
            return f"{e()}|{self.fill(rng.choice(FILTERS), depth)}"
        if r < 0.42:
            return f"({e()}).{self.fill(rng.choice(METHODS), depth)}"
        if r < 0.58:
            return f"({e()} {rng.choice(BINARY)} {e()})"
        if r < 0.64:
            return f"({e()} is {rng.choice(['', 'not '])}{self.fill(rng.choice(TESTS), depth)})"
        if r < 0.69:
            return f"({e()}).{rng.choice(ATTRIBUTES)}"
        if r < 0.74:
            return f"({e()})[{e()}]"
        if r < 0.80:
            part = lambda: rng.choice(["", "", "0", "1", "2", "-1", "-2", "5", "none", "n"])
            step = rng.choice(["", ":", ":-1", ":2", ":-2", ":" + part()])
            return f"({e()})[{part()}:{part()}{step}]"
        if r < 0.84:
            return f"({e()} if {e()} else {e()})"
        if r < 0.86:
            return f"({e()} if {e()})"
        if r < 0.89:
            return "[" + ", ".join(e() for _ in range(rng.randint(0, 3))) + "]"
        if r < 0.91:
            return "(" + ", ".join(e() for _ in range(rng.randint(2, 3))) + ")"
        if r < 0.93:
            return "{" + ", ".join(f"{self.atom()}: {e()}" for _ in range(rng.randint(0, 3))) + "}"
        if r < 0.95:
            return rng.choice(["not ", "-", "+"]) + e()
        if r < 0.975:
            return f"({rng.choice(FORMATS)} % {rng.choice([e(), '(' + e() + ',)', 'd'])})"
        return f"{rng.choice(SPECS)!r}.format({e()}, {rng.choice(['a=' + e(), e(), '8'])})"

    def space(self):
        return self.rng.choice(["", "", "", " ", "\n", "  \n", "\n  ", "\t", "x ", " y\n", "\n\n"])

    def tag(self, text):
        r = self.rng
        return "{%" + r.choice(["", "", "-", "+"]) + " " + text + " " + r.choice(["", "", "-", "+"]) + "%}"

    def body(self, depth):
        return "".join(self.space() + self.statement(depth) + self.space() for _ in range(self.rng.randint(1, 3)))

    def statement(self, depth):
        rng, e = self.rng, self.expression
        r = rng.random()
        if depth <= 0 or r < 0.3:
            return "{{" + rng.choice(["", "", "-"]) + " " + e(2) + " " + rng.choice(["", "", "-"]) + "}}"
        b = lambda: self.body(depth - 1)
        t = self.tag
        if r < 0.45:
            alt = t("elif " + e(2)) + b() if rng.random() < 0.3 else ""
            other = t("else") + b() if rng.random() < 0.5 else ""
            return t("if " + e(2)) + b() + alt + other + t("endif")
        if r < 0.65:
            target = rng.choice(["x", "x", "a, b", "i"])
            source = rng.choice([e(2), "l", "ls", "rows", "messages", "d.items()", "d|dictsort", "messages[::-1]", "range(3)", "d", "rows|map(attribute='name')", "'abc'"])
            cond = " if " + e(1) if rng.random() < 0.25 else ""
            inner = b() + rng.choice(["", "{{ loop.index }}/{{ loop.length }}", "{{ loop.last }}{{ loop.first }}", "{{ loop.previtem }}{{ loop.nextitem }}", t("if loop.index0 == 1") + t(rng.choice(["break", "continue"])) + t("endif"), "{{ loop.cycle('o', 'e') }}{{ loop.revindex }}", "{{ loop.changed(x) }}", t("set x = 'in'") + "{{ x }}", "{{ x }}{{ a }}{{ b }}"])
            other = t("else") + "none" if rng.random() < 0.3 else ""
            return t(f"for {target} in {source}{cond}") + inner + other + t("endfor") + rng.choice(["", "{{ x }}", "{{ loop }}"])
        if r < 0.8:
            return rng.choice([
                t(f"set x = {e(2)}") + "{{ x }}",
                t("set x") + b() + t("endset") + "[{{ x }}]",
                t("set x | upper") + b() + t("endset") + "[{{ x }}]",
                t("set a, b = [1, 2]") + "{{ a }}{{ b }}",
                t(f"set ns = namespace(v={e(1)})") + t("set ns.v = " + e(1)) + "{{ ns.v }}",
                t("set ns = namespace(c=0)") + t("for i in l") + t("set ns.c = ns.c + i") + t("endfor") + "{{ ns.c }}",
                t("if " + e(1)) + t("set x = 1") + t("endif") + "{{ x }}",
            ])
        if r < 0.92:
            name = rng.choice(["f", "g"])
            signature = rng.choice(["", "a", "a, b=2", "a, b=a", "x=x"])
            call = rng.choice([f"{name}()", f"{name}({e(1)})", f"{name}({e(1)}, b={e(1)})", f"{name}({e(1)}, {e(1)})", f"{name}(1, 2, 3)", f"{name}(q=1)"])
            inner = b() + rng.choice(["", "{{ a }}{{ b }}", "{{ varargs }}", "{{ kwargs }}", "{{ caller() }}", "{{ caller is defined }}"])
            after = rng.choice(["{{ %s }}" % call, "{{ %s|upper }}" % call, t("call " + call) + b() + t("endcall"), t(f"call(v) {name}(1)") + "{{ v }}" + t("endcall")])
            return t(f"macro {name}({signature})") + inner + t("endmacro") + after
        return rng.choice([
            t("filter upper") + b() + t("endfilter"),
            t("with x = " + e(1)) + "{{ x }}" + b() + t("endwith"),
            t("raw") + "{{ x }} {% if %}" + t("endraw"),
            "{#" + rng.choice(["", "-"]) + " note {{ x }} " + rng.choice(["", "-"]) + "#}",
            t("generation") + b() + t("endgeneration"),
            t("for i in dn recursive") + "{{ i }}{{ loop.depth }}" + t("endfor"),
            t("print " + e(1)),
            "{{ raise_exception(" + e(1) + ") }}",
        ])

    def template(self):
        if self.rng.random() < 0.5:
            return "{{ " + self.expression(4) + " }}"
        return self.body(3) + self.rng.choice(["", "\n", "\n\n"])


def reference(text, data):
    try:
        return _compile_jinja_template.__wrapped__(text).render(**data)
    except Exception as error:  # whatever it is, the other must fail as well
        return {"error": f"{type(error).__name__}: {error}"}


def ours(program, text, data, folder):
    path = os.path.join(folder, "t.jinja")
    with open(path, "w", newline="") as file:
        file.write(text)
    result = subprocess.run([program, "render", path], input=json.dumps(data).encode(), capture_output=True)
    if result.returncode == 1:
        return {"error": "refused: " + result.stderr.decode()}
    if result.returncode:
        return f"CRASH {result.returncode} {result.stderr.decode()[-2000:]}"
    return json.loads(result.stdout)


# What one side shows and the other cannot: addresses, and integers over 64 bits.
SKIP = re.compile(r" at 0x[0-9a-f]+>|<(bound )?(method|built-in|function|class)|object>|[0-9]{18}", re.I)


def alike(expected, got):
    # Jinja2 folds a slice of a constant to undefined where a variable of the same value raises.
    if isinstance(got, dict) and "cannot be sliced" in got["error"]:
        return True
    if isinstance(expected, dict) or isinstance(got, dict):
        if isinstance(expected, dict) and isinstance(got, dict):
            return True
        return isinstance(got, dict) and "not supported" in got["error"] or bool(SKIP.search(str(expected)))
    return expected == got or bool(SKIP.search(expected))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("program")
    options.add_argument("--count", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--file", help="compare these templates, separated by lines of ----")
    args = options.parse_args()
    maker = Maker(random.Random(args.seed))
    different = raised = 0
    templates = [maker.template() for _ in range(args.count)]
    if args.file:
        templates = open(args.file, newline="").read().split("\n----\n")
    with tempfile.TemporaryDirectory() as folder:
        for text in templates:
            try:
                text.encode()
            except UnicodeError:
                continue
            expected, got = reference(text, DATA), ours(args.program, text, DATA, folder)
            raised += isinstance(expected, dict)
            if not alike(expected, got):
                different += 1
                print(f"--- {text!r}\n  jinja2: {expected!r}\n  ours:   {got!r}")
    print(f"{len(templates)} templates, {raised} raise, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
