/*
 * test_fuzz_jinja.c - templates made by chance, whole and broken, never crash, hang or run away.
 *
 * Runs for five seconds, or for as many as the first argument says; a second argument is the seed.
 * Says the seed, so that a failure can be repeated.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include "runtime/base/buffer.h"
#include "runtime/base/clock.h"
#include "server/text/chat_template.h"

static const char variables_json[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi \\u00e9\\ud83c\\udf89\"},{\"role\":"
    "\"assistant\",\"content\":null,\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":"
    "{\"a\":[1,2.5,true]}}}]}],\"tools\":[{\"type\":\"function\"}],\"n\":7,\"f\":-0.5,\"s\":\"a,b "
    "c\",\"l\":[3,1,2],\"d\":{\"k\":{\"z\":[1]},\"items\":1},\"t\":true,\"e\":\"\",\"x\":null}";

static const char *const pieces[] = {
    "{{ ",
    " }}",
    "{{- ",
    " -}}",
    "{% ",
    " %}",
    "{%- ",
    " -%}",
    "{%+ ",
    " +%}",
    "{# ",
    " #}",
    "if ",
    "elif ",
    "else",
    "endif",
    "for ",
    " in ",
    "endfor",
    "set ",
    "endset",
    "macro ",
    "endmacro",
    "call ",
    "endcall",
    "filter ",
    "endfilter",
    "with ",
    "endwith",
    "raw",
    "endraw",
    "generation",
    "endgeneration",
    "break",
    "continue",
    "recursive",
    "messages",
    "message",
    "loop",
    "tools",
    "n",
    "f",
    "s",
    "l",
    "d",
    "t",
    "e",
    "x",
    "ns",
    "missing",
    "namespace(a=1)",
    "range(5)",
    "range(99999)",
    "cycler(1, 2)",
    "joiner()",
    "dict(a=l)",
    "loop.index",
    "loop.length",
    "loop.last",
    "loop(l)",
    "loop.previtem",
    ".role",
    ".content",
    ".k",
    ".items()",
    ".items",
    ".split(',')",
    ".strip()",
    ".get('k')",
    ".format(s, n)",
    ".join(l)",
    ".replace('a', 'bb')",
    ".upper()",
    ".append(1)",
    "[0]",
    "[-1]",
    "[1:]",
    "[::-1]",
    "[n:f]",
    "['k']",
    "|tojson",
    "|tojson(indent=2)",
    "|trim",
    "|length",
    "|list",
    "|map('upper')",
    "|map(attribute='k')",
    "|select('string')",
    "|join(', ')",
    "|sort",
    "|unique",
    "|groupby('role')",
    "|batch(2)",
    "|slice(3)",
    "|indent(4, true)",
    "|default(s)",
    "|int",
    "|float",
    "|round(2)",
    "|string",
    "|safe",
    "|escape",
    "|reverse",
    "|first",
    "|last",
    "|dictsort",
    "|items",
    "|pprint",
    "|center(20)",
    "|truncate(3)",
    "|wordcount",
    "|urlencode",
    "|sum",
    "|max",
    "|format(n)",
    "|replace('a', s)",
    "|selectattr('role', 'equalto', 'user')",
    " is defined",
    " is string",
    " is mapping",
    " is not none",
    " is divisibleby 3",
    " is odd",
    " + ",
    " - ",
    " * ",
    " / ",
    " // ",
    " % ",
    " ** ",
    " ~ ",
    " == ",
    " < ",
    " in ",
    " not in ",
    " and ",
    " or ",
    "not ",
    "-",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "=",
    "'a'",
    "\"b\"",
    "'%s %d'",
    "'{:>9} {}'",
    "'{0[k]!r:^{n}}'",
    "0",
    "1",
    "2",
    "1000000",
    "9223372036854775807",
    "1e308",
    "0.1",
    "none",
    "true",
    "raise_exception('x')",
    "strftime_now('%Y')",
    "caller()",
    "m(",
    "varargs",
    "kwargs",
    "\\",
    "'",
    "\"",
    "\n",
    " ",
    "text",
    "\xc3\xa9",
    "\xf0\x9f\x8e\x89",
    "{",
    "%}",
    "#}",
};

/* Whole templates that chance cuts and mixes. */
static const char *const seeds[] = {
    "{% for m in messages %}{{ m.role ~ ': ' ~ m.content }}{% if not loop.last %}, {% endif %}"
    "{% endfor %}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs }}{{ caller() if caller }}{% endmacro %}"
    "{{ m(1) }}{% call m(l) %}x{% endcall %}",
    "{% set ns = namespace(a=0) %}{% for i in l %}{% set ns.a = ns.a + i %}{% endfor %}{{ ns.a }}",
    "{% for x in [[1, [2, 3]]] recursive %}{{ loop(x) if x is not number else x }}{% endfor %}",
    "{{ messages|map(attribute='content')|map('default', 'z', true)|join('|') }}",
    "{% set ns = namespace(a=1) %}{% set ns.a = ns %}{{ ns }}{{ ns == ns.a }}",
    "{% macro r(a) %}{{ r(a) }}{% endmacro %}{{ r(1) }}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor "
    "%}",
    "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor "
    "%}"
    "{{ ns.s }}",
    "{{ 'x' * 99999999 * 99999 }}{{ [1] * 99999999999 }}{{ 'a'.center(9999999999) }}",
    "{{ d|tojson(indent=4) }}{{ '%(k)s %5.2f' % d }}{{ '%*.*f' % (9, 2, 1.5) }}",
    "{% filter upper %}{% with a = 1, b = a %}{{ a }}{{ b }}{% endwith %}{% endfilter %}",
};

static uint64_t state;

static uint32_t below(uint32_t count)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 11) % count;
}

static void make_template(struct buffer *out)
{
    buffer_clear(out);
    if (below(3) == 0) {
        const char *seed = seeds[below(sizeof(seeds) / sizeof(*seeds))];
        size_t len = strlen(seed), cut = below((uint32_t)len), skip = below(12);
        buffer_append(out, seed, cut);
        for (uint32_t i = below(3); i; i--)
            buffer_append_string(out, pieces[below(sizeof(pieces) / sizeof(*pieces))]);
        if (cut + skip < len) buffer_append_string(out, seed + cut + skip);
        return;
    }
    if (below(4) == 0) { /* deep nesting */
        const char *open = pieces[below(sizeof(pieces) / sizeof(*pieces))];
        buffer_append_string(out, "{{ ");
        for (uint32_t i = below(3000); i; i--) buffer_append_string(out, open);
        buffer_append_string(out, " }}");
        return;
    }
    bool open = false;
    for (uint32_t i = 1 + below(40); i; i--) {
        if (!open && below(3)) buffer_append_string(out, below(2) ? "{{ " : "{% "), open = true;
        const char *piece = pieces[below(sizeof(pieces) / sizeof(*pieces))];
        buffer_append_string(out, piece);
        if (open && below(6) == 0) buffer_append_string(out, " }}"), open = false;
    }
    if (open) buffer_append_string(out, " }}");
    for (uint32_t i = below(8) ? 0 : below(4); i && out->len; i--) /* flip bytes */
        out->data[below((uint32_t)out->len)] = (char)below(256);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)clock_ns();
    int64_t start = clock_ns(), slowest = 0;
    long made = 0, parsed = 0, rendered = 0;
    struct buffer source = {0}, out = {0}, worst = {0};
    yyjson_doc *variables = yyjson_read(variables_json, strlen(variables_json), 0);
    if (!variables) return 1;
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    state = seed | 1;
    while ((double)(clock_ns() - start) < seconds * 1e9) {
        struct chat_template *chat_template = NULL;
        struct error error;
        make_template(&source);
        made++;
        int64_t from = clock_ns();
        if (!chat_template_parse(source.data ? source.data : "", source.len, &chat_template,
                                 &error)) {
            parsed++;
            buffer_clear(&out);
            rendered +=
                !chat_template_render(chat_template, yyjson_doc_get_root(variables), &out, &error);
        }
        int64_t took = clock_ns() - from;
        if (took > slowest) {
            slowest = took;
            buffer_clear(&worst);
            buffer_append(&worst, source.data ? source.data : "", source.len);
        }
        chat_template_destroy(chat_template);
    }
    printf("%ld templates, %ld parsed, %ld rendered, slowest %.1f ms:\n%.*s\n", made, parsed,
           rendered, (double)slowest / 1e6, (int)worst.len, worst.data ? worst.data : "");
    yyjson_doc_free(variables);
    buffer_free(&source), buffer_free(&out), buffer_free(&worst);
    return parsed && rendered ? 0 : 1;
}
