/* tokenizer_regex_translate.c - see tokenizer_regex_translate.h. */
#include "server/text/tokenizer_regex_translate.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/buffer.h"

/* The inside of a class: White_Space and what is not, by ranges, since \S cannot be a class's part
 */
#define SPACES "\\t-\\r\\x{85}\\p{Z}"
#define NON_SPACES                                                                                 \
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}"      \
    "\\x{200B}-\\x{2027}\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}"                 \
    "\\x{3001}-\\x{10FFFF}"
#define WORDS                                                                                      \
    "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}"                    \
    "\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"

enum { GROUP_DEPTH_MAX = 64 };

struct translation {
    const char *at, *end;
    struct buffer *out;
    struct error *error;
    size_t atom; /* where in `out` the last atom begins, for {n,m}+ */
    size_t groups[GROUP_DEPTH_MAX];
    int depth;
};

static enum status refuse(struct translation *t, const char *what)
{
    return error_set(t->error, STATUS_UNSUPPORTED, "Regex",
                     "a regular expression with %s is not supported", what);
}

/* \p{...} after the p: the name may be a general category, or a script, which here means the
 * character's own script and not the wider set that PCRE2 takes it for. */
static enum status translate_property(struct translation *t, bool negative)
{
    const char *close =
        t->at < t->end && *t->at == '{' ? memchr(t->at, '}', (size_t)(t->end - t->at)) : NULL;
    if (!close) return refuse(t, "\\p without {name}");
    const char *name = t->at + 1;
    if (name < close && *name == '^') negative = !negative, name++;
    size_t len = (size_t)(close - name);
    for (size_t i = 0; i < len; i++)
        if (!isalpha((unsigned char)name[i]) && name[i] != '_')
            return refuse(t, "such a \\p{name}");
    bool category = len <= 2 || (len == 3 && !memcmp(name, "Any", 3));
    buffer_printf(t->out, "\\%c{%s%.*s}", negative ? 'P' : 'p', category ? "" : "sc:", (int)len,
                  name);
    t->at = close + 1;
    return STATUS_OK;
}

/* Hexadecimal digits of \xHH, \x{H...} or \uHHHH, after the letter. */
static enum status translate_code_point(struct translation *t, char kind)
{
    bool braced = kind == 'x' && t->at < t->end && *t->at == '{';
    if (braced) t->at++;
    int max = braced ? 6 : kind == 'x' ? 2 : 4, count = 0;
    buffer_append_string(t->out, "\\x{");
    while (count < max && t->at < t->end && isxdigit((unsigned char)*t->at)) {
        buffer_append_char(t->out, *t->at++);
        count++;
    }
    buffer_append_char(t->out, '}');
    if (!count || (kind == 'u' && count < 4)) return refuse(t, "such a \\x or \\u");
    if (braced && (t->at == t->end || *t->at++ != '}')) return refuse(t, "such a \\x{...}");
    return STATUS_OK;
}

/* After a backslash, in or out of a class. */
static enum status translate_escape(struct translation *t, bool in_class)
{
    if (t->at == t->end) return refuse(t, "a backslash at its end");
    char c = *t->at++;
    const char *open = in_class ? "" : "[", *close = in_class ? "" : "]";
    switch (c) {
    case 's': buffer_printf(t->out, "%s" SPACES "%s", open, close); return STATUS_OK;
    case 'S':
        buffer_append_string(t->out, in_class ? NON_SPACES : "[^" SPACES "]");
        return STATUS_OK;
    case 'w': buffer_printf(t->out, "%s" WORDS "%s", open, close); return STATUS_OK;
    case 'W':
        if (in_class) return refuse(t, "\\W in a class");
        buffer_append_string(t->out, "[^" WORDS "]");
        return STATUS_OK;
    case 'h': buffer_printf(t->out, "%s0-9a-fA-F%s", open, close); return STATUS_OK;
    case 'v': buffer_append_string(t->out, "\\x{B}"); return STATUS_OK;
    case 'd': buffer_append_string(t->out, "\\p{Nd}"); return STATUS_OK;
    case 'D': buffer_append_string(t->out, "\\P{Nd}"); return STATUS_OK;
    case 'p':
    case 'P': return translate_property(t, c == 'P');
    case 'x':
    case 'u': return translate_code_point(t, c);
    case 'b':
    case 'B':
        if (in_class) return refuse(t, "\\b in a class");
        buffer_printf(t->out,
                      c == 'b' ? "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))"
                               : "(?:(?<=[%s])(?=[%s])|(?<![%s])(?![%s]))",
                      WORDS, WORDS, WORDS, WORDS);
        return STATUS_OK;
    default: break;
    }
    if (isalnum((unsigned char)c) && !strchr(in_class ? "nrtfae" : "nrtfaeAzZG", c)) {
        char what[] = "\\?";
        what[1] = c;
        return refuse(t, what);
    }
    buffer_append_char(t->out, '\\');
    buffer_append_char(t->out, c);
    return STATUS_OK;
}

static enum status translate_class_items(struct translation *t, bool *cut)
{
    *cut = false;
    for (bool first = true;; first = false) {
        if (t->at == t->end) return refuse(t, "a class that does not end");
        char c = *t->at;
        if (c == ']' && !first) return STATUS_OK;
        if (c == '[') return refuse(t, "a class in a class");
        if (c == '&' && t->at + 1 < t->end && t->at[1] == '&') {
            *cut = true;
            return STATUS_OK;
        }
        t->at++;
        if (c == '\\') {
            enum status status = translate_escape(t, true);
            if (status) return status;
        } else {
            buffer_append_char(t->out, c);
        }
    }
}

/* After a '['. [A&&[^B]] becomes (?:(?![B])[A]); other intersections are refused. */
static enum status translate_class(struct translation *t)
{
    size_t start = t->out->len;
    bool cut;
    buffer_append_char(t->out, '[');
    if (t->at < t->end && *t->at == '^') buffer_append_char(t->out, *t->at++);
    enum status status = translate_class_items(t, &cut);
    if (status) return status;
    buffer_append_char(t->out, ']');
    if (!cut) {
        t->at++;
        return STATUS_OK;
    }
    if (t->end - t->at < 5 || memcmp(t->at, "&&[^", 4) || t->out->data[start + 1] == '^')
        return refuse(t, "such a class intersection");
    t->at += 4;
    struct buffer kept = {0};
    buffer_append(&kept, t->out->data + start, t->out->len - start);
    t->out->len = start;
    buffer_append_string(t->out, "(?:(?![");
    status = translate_class_items(t, &cut);
    if (!status && (cut || t->end - t->at < 2 || t->at[1] != ']'))
        status = refuse(t, "such a class intersection");
    t->at += status ? 0 : 2;
    buffer_append_string(t->out, "])");
    buffer_append(t->out, kept.data, kept.len);
    buffer_append_char(t->out, ')');
    buffer_free(&kept);
    return status;
}

/* After a '('. */
static enum status translate_group(struct translation *t, size_t start)
{
    static const char *const heads[] = {"?:", "?=", "?!", "?<=", "?<!", "?>", "?i:", "?-i:", "?i)"};
    if (t->depth == GROUP_DEPTH_MAX) return refuse(t, "groups nested so deep");
    size_t left = (size_t)(t->end - t->at);
    buffer_append_char(t->out, '(');
    if (!left || *t->at != '?') {
        t->groups[t->depth++] = start;
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        size_t len = strlen(heads[i]);
        if (left < len || memcmp(t->at, heads[i], len)) continue;
        buffer_append(t->out, heads[i], len);
        t->at += len;
        if (heads[i][len - 1] != ')') t->groups[t->depth++] = start;
        return STATUS_OK;
    }
    return refuse(t, "such a (? group");
}

/* At a '{': a quantifier if it reads as one, else the character. {n,m}+ repeats in Ruby's syntax
 * and is possessive in PCRE2's. */
static bool translate_interval(struct translation *t)
{
    const char *at = t->at + 1, *numbers = at;
    while (at < t->end && (isdigit((unsigned char)*at) || *at == ',')) at++;
    if (at == numbers || at == t->end || *at != '}') return false;
    bool repeated = at + 1 < t->end && at[1] == '+';
    struct buffer atom = {0};
    if (repeated) {
        buffer_append(&atom, t->out->data + t->atom, t->out->len - t->atom);
        t->out->len = t->atom;
        buffer_append_string(t->out, "(?:");
        buffer_append(t->out, atom.data, atom.len);
        buffer_free(&atom);
    }
    buffer_printf(t->out, "{%s%.*s}", *numbers == ',' ? "0" : "", (int)(at - numbers), numbers);
    if (repeated) buffer_append_string(t->out, ")+");
    t->at = at + 1 + (repeated ? 1 : 0);
    return true;
}

static enum status translate_one(struct translation *t)
{
    size_t start = t->out->len;
    char c = *t->at;
    if (c == '{' && translate_interval(t)) return STATUS_OK;
    t->at++;
    switch (c) {
    case '*':
    case '+':
    case '?':
    case '|': buffer_append_char(t->out, c); return STATUS_OK;
    case '^': buffer_append_string(t->out, "(?m:^)"); break;
    case '$': buffer_append_string(t->out, "(?m:$)"); break;
    case '{': buffer_append_string(t->out, "\\{"); break;
    case '(': return translate_group(t, start);
    case ')':
        if (!t->depth) return refuse(t, "a ) without its (");
        buffer_append_char(t->out, ')');
        t->atom = t->groups[--t->depth];
        return STATUS_OK;
    case '[': t->atom = start; return translate_class(t);
    case '\\': t->atom = start; return translate_escape(t, false);
    default:
        buffer_append_char(t->out, c);
        while (t->at < t->end && ((unsigned char)*t->at & 0xC0) == 0x80)
            buffer_append_char(t->out, *t->at++);
    }
    t->atom = start;
    return STATUS_OK;
}

enum status tokenizer_regex_translate(const char *pattern, size_t len, struct buffer *out,
                                      struct error *error)
{
    struct translation t = {.at = pattern, .end = pattern + len, .out = out, .error = error};
    t.atom = out->len;
    buffer_reserve(out, len);
    while (t.at < t.end) {
        enum status status = translate_one(&t);
        if (status) return status;
    }
    return STATUS_OK;
}
