/* jinja_lexer.c - see jinja_lexer.h. */
#include "server/text/jinja_lexer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/text/jinja_unicode.h"

enum { BRACKETS_MAX = 256 };

struct lexer {
    struct jinja_context *jinja;
    const char *at, *end;
    int line;
    bool line_starting; /* the last tag ended with a newline, or nothing was read yet */
    char brackets[BRACKETS_MAX];
    int bracket_count;
    struct jinja_tokens *tokens;
};

static bool fail(struct lexer *lexer, const char *message)
{
    lexer->jinja->line = lexer->line;
    jinja_fail(lexer->jinja, "%s", message);
    return false;
}

static struct jinja_token *add(struct lexer *lexer, enum jinja_token_type type, const char *text,
                               size_t len)
{
    struct jinja_tokens *tokens = lexer->tokens;
    if (tokens->count == tokens->capacity) {
        size_t capacity = tokens->capacity ? tokens->capacity * 2 : 256;
        struct jinja_token *more = arena_alloc(&lexer->jinja->arena, capacity * sizeof(*more));
        if (tokens->count) memcpy(more, tokens->at, tokens->count * sizeof(*more));
        tokens->at = more, tokens->capacity = capacity;
    }
    struct jinja_token *token = &tokens->at[tokens->count++];
    *token = (struct jinja_token){.type = type, .line = lexer->line, .text = text, .len = len};
    return token;
}

static void step(struct lexer *lexer, const char *to)
{
    for (; lexer->at < to; lexer->at++) lexer->line += *lexer->at == '\n';
}

static bool starts(const struct lexer *lexer, const char *at, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(lexer->end - at) >= len && !memcmp(at, text, len);
}

static const char *skip_space(const struct lexer *lexer, const char *at)
{
    while (at < lexer->end) {
        const char *next = at;
        if (!jinja_is_space(jinja_decode(&next, lexer->end))) break;
        at = next;
    }
    return at;
}

/* The end of text[from, to) without the whitespace it ends with. */
static const char *trim_end(const char *from, const char *to)
{
    while (to > from) {
        const char *last = to - 1;
        while (last > from && ((unsigned char)*last & 0xc0) == 0x80) last--;
        const char *at = last;
        if (!jinja_is_space(jinja_decode(&at, to))) break;
        to = last;
    }
    return to;
}

/* Where the text before a tag ends, by the tag's sign. */
static const char *text_end(const struct lexer *lexer, const char *from, const char *tag, char sign,
                            bool print)
{
    if (sign == '-') return trim_end(from, tag);
    if (sign == '+' || print) return tag;
    const char *line = tag;
    while (line > from && line[-1] != '\n') line--;
    if (line == from && !lexer->line_starting) return tag;
    return trim_end(line, tag) == line ? line : tag;
}

static void add_data(struct lexer *lexer, const char *from, const char *to)
{
    if (to > from) add(lexer, JINJA_TOKEN_DATA, from, (size_t)(to - from));
}

/* Past "word" between a tag's opening, already stepped over, and its closing; NULL: another tag. */
static const char *word_tag(const struct lexer *lexer, const char *at, const char *word)
{
    at = skip_space(lexer, at);
    if (!starts(lexer, at, word)) return NULL;
    return skip_space(lexer, at + strlen(word));
}

static char sign_at(const struct lexer *lexer, const char *at)
{
    return at < lexer->end && (*at == '-' || *at == '+') ? *at : 0;
}

/* `at` is before a closing "%}" or "#}" with its sign; returns where the text goes on, or NULL. */
static const char *closing(const struct lexer *lexer, const char *at, const char *close)
{
    char sign = sign_at(lexer, at);
    if (!starts(lexer, at + (sign != 0), close)) return NULL;
    at += (sign != 0) + 2;
    if (sign == '-') return skip_space(lexer, at);
    return !sign && at < lexer->end && *at == '\n' ? at + 1 : at;
}

static bool lex_comment(struct lexer *lexer)
{
    for (const char *at = lexer->at; at < lexer->end; at++) {
        const char *next = closing(lexer, at, "#}");
        if (!next) continue;
        step(lexer, next);
        lexer->line_starting = next[-1] == '\n';
        return true;
    }
    return fail(lexer, "Missing end of comment tag");
}

static bool lex_raw(struct lexer *lexer)
{
    for (const char *at = lexer->at; at < lexer->end; at++) {
        if (!starts(lexer, at, "{%")) continue;
        char sign = sign_at(lexer, at + 2);
        const char *close = word_tag(lexer, at + 2 + (sign != 0), "endraw");
        const char *next = close ? closing(lexer, close, "%}") : NULL;
        if (!next) continue;
        add_data(lexer, lexer->at, text_end(lexer, lexer->at, at, sign, false));
        step(lexer, next);
        lexer->line_starting = next[-1] == '\n';
        return true;
    }
    return fail(lexer, "Missing end of raw directive");
}

/* The text after the opening of a raw block, or NULL. "{%" and the sign were stepped over. */
static const char *raw_begin(const struct lexer *lexer, const char *at)
{
    at = word_tag(lexer, at, "raw");
    if (!at) return NULL;
    if (starts(lexer, at, "-%}")) return skip_space(lexer, at + 3);
    return starts(lexer, at, "%}") ? at + 2 : NULL;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \xHH, \uHHHH, \UHHHHHHHH after the letter. */
static bool unescape_hex(struct lexer *lexer, struct buffer *out, const char **at, const char *end,
                         int digits)
{
    int64_t code = 0;
    for (int i = 0; i < digits; i++, ++*at) {
        int digit = *at < end ? hex_digit(**at) : -1;
        if (digit < 0) return fail(lexer, "truncated \\x, \\u or \\U escape in a string");
        code = code * 16 + digit;
    }
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(lexer, "a \\u escape in a string is not a character (surrogates are not "
                           "supported)");
    jinja_append_code(lexer->jinja, out, (int32_t)code);
    return true;
}

static bool unescape_one(struct lexer *lexer, struct buffer *out, const char **at, const char *end)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    struct jinja_context *jinja = lexer->jinja;
    char c = *(*at)++;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) return jinja_append(jinja, out, &to[simple - from], 1), true;
    if (c == '\n') return true;
    if (c == 'x') return unescape_hex(lexer, out, at, end, 2);
    if (c == 'u') return unescape_hex(lexer, out, at, end, 4);
    if (c == 'U') return unescape_hex(lexer, out, at, end, 8);
    if (c == 'N') return fail(lexer, "\\N{...} in a string is not supported");
    if (c >= '0' && c <= '7') {
        int code = c - '0';
        for (int i = 0; i < 2 && *at < end && **at >= '0' && **at <= '7'; i++)
            code = code * 8 + *(*at)++ - '0';
        return jinja_append_code(jinja, out, code), true;
    }
    jinja_append(jinja, out, "\\", 1);
    if ((unsigned char)c < 0x80) return jinja_append(jinja, out, &c, 1), true;
    /* Jinja2 turns the character into a Python escape first, which the backslash then disarms. */
    const char *start = *at - 1;
    int32_t code = jinja_decode(&start, end);
    char text[12];
    snprintf(text, sizeof(text),
             code < 0x100     ? "x%02x"
             : code < 0x10000 ? "u%04x"
                              : "U%08x",
             (unsigned)code);
    jinja_append_chars(jinja, out, text);
    *at = start;
    return true;
}

static bool lex_string(struct lexer *lexer)
{
    char quote = *lexer->at;
    const char *from = lexer->at + 1, *close = from;
    bool escapes = false;
    while (close < lexer->end && *close != quote) {
        if (*close == '\\') escapes = true, close++;
        close++;
    }
    if (close >= lexer->end) return fail(lexer, "a string is not closed");
    struct jinja_token *token = add(lexer, JINJA_TOKEN_STRING, from, (size_t)(close - from));
    if (escapes) {
        struct buffer *out = jinja_begin(lexer->jinja);
        while (from < close) {
            const char *run = from;
            while (from < close && *from != '\\') from++;
            jinja_append(lexer->jinja, out, run, (size_t)(from - run));
            if (from++ < close && !unescape_one(lexer, out, &from, close)) break;
        }
        struct jinja_value text = jinja_end(lexer->jinja, out);
        token->text = text.as.string->data, token->len = text.as.string->len;
    }
    step(lexer, close + 1);
    return !lexer->jinja->failed;
}

/* Digits with single underscores between them; returns the end. */
static const char *digits(const char *at, const char *end, int base)
{
    while (at < end) {
        const char *digit = *at == '_' ? at + 1 : at;
        int value = digit < end ? hex_digit(*digit) : -1;
        if (value < 0 || value >= base) break;
        at = digit + 1;
    }
    return at;
}

/* The end of the float that begins at `at`, or NULL: an integer. */
static const char *float_end(const char *at, const char *end)
{
    const char *whole = digits(at, end, 10), *result = NULL;
    if (whole + 1 < end && *whole == '.' && whole[1] >= '0' && whole[1] <= '9')
        result = whole = digits(whole + 1, end, 10);
    if (whole < end && (*whole | 0x20) == 'e') {
        const char *power = whole + 1;
        if (power < end && (*power == '+' || *power == '-')) power++;
        if (power < end && *power >= '0' && *power <= '9') result = digits(power, end, 10);
    }
    return result;
}

static bool lex_number(struct lexer *lexer)
{
    char text[400];
    const char *at = lexer->at, *end = lexer->end;
    size_t tokens = lexer->tokens->count;
    bool after_dot =
        tokens && lexer->tokens->at[tokens - 1].type == JINJA_TOKEN_OPERATOR && at[-1] == '.';
    const char *stop = after_dot ? NULL : float_end(at, end);
    bool real = stop != NULL;
    int base = 10;
    if (!real && *at == '0' && at + 1 < end) {
        int letter = at[1] | 0x20;
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
        if (base != 10 && digits(at + 2, end, base) == at + 2) base = 10;
    }
    if (!real) stop = base != 10 ? digits(at + 2, end, base) : digits(at, end, *at == '0' ? 1 : 10);
    if ((size_t)(stop - at) >= sizeof(text)) return fail(lexer, "a number is too long");
    size_t len = 0;
    for (const char *p = base != 10 ? at + 2 : at; p < stop; p++)
        if (*p != '_') text[len++] = *p;
    text[len] = 0;
    struct jinja_token *token =
        add(lexer, real ? JINJA_TOKEN_FLOAT : JINJA_TOKEN_INTEGER, at, (size_t)(stop - at));
    if (real) {
        token->real = strtod(text, NULL);
    } else {
        for (const char *p = text; *p; p++)
            if (__builtin_mul_overflow(token->integer, (int64_t)base, &token->integer) ||
                __builtin_add_overflow(token->integer, (int64_t)hex_digit(*p), &token->integer))
                return fail(lexer, "integers over 64 bits are not supported");
    }
    step(lexer, stop);
    return true;
}

static bool lex_operator(struct lexer *lexer)
{
    static const char *const operators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                            "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                            ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
        if (!starts(lexer, lexer->at, operators[i])) continue;
        char c = operators[i][0];
        if (strchr("([{", c)) {
            if (lexer->bracket_count == BRACKETS_MAX) return fail(lexer, "too many brackets");
            lexer->brackets[lexer->bracket_count++] = c == '(' ? ')' : c == '[' ? ']' : '}';
        } else if (strchr(")]}", c)) {
            if (!lexer->bracket_count || lexer->brackets[--lexer->bracket_count] != c)
                return fail(lexer, "a bracket is closed that was not opened");
        }
        add(lexer, JINJA_TOKEN_OPERATOR, operators[i], strlen(operators[i]));
        step(lexer, lexer->at + strlen(operators[i]));
        return true;
    }
    lexer->jinja->line = lexer->line;
    jinja_fail(lexer->jinja, "unexpected char '%.*s'", (unsigned char)*lexer->at < 0x80 ? 1 : 4,
               lexer->at);
    return false;
}

static const char *name_end(const struct lexer *lexer)
{
    const char *at = lexer->at;
    while (at < lexer->end) {
        const char *next = at;
        if (!jinja_is_word(jinja_decode(&next, lexer->end))) break;
        at = next;
    }
    return at;
}

/* The inside of a tag, to and with its closing. */
static bool lex_tag(struct lexer *lexer, bool print)
{
    while (lexer->at < lexer->end) {
        const char *close = NULL, *space = skip_space(lexer, lexer->at);
        if (!lexer->bracket_count && print) {
            if (starts(lexer, lexer->at, "-}}"))
                close = skip_space(lexer, lexer->at + 3);
            else if (starts(lexer, lexer->at, "}}"))
                close = lexer->at + 2;
        } else if (!lexer->bracket_count) {
            close = closing(lexer, lexer->at, "%}");
        }
        if (close) {
            add(lexer, print ? JINJA_TOKEN_PRINT_END : JINJA_TOKEN_BLOCK_END, lexer->at, 0);
            step(lexer, close);
            lexer->line_starting = close[-1] == '\n';
            return true;
        }
        bool ok = true;
        const char *name;
        if (space > lexer->at)
            step(lexer, space);
        else if (*lexer->at >= '0' && *lexer->at <= '9')
            ok = lex_number(lexer);
        else if ((name = name_end(lexer)) > lexer->at) {
            add(lexer, JINJA_TOKEN_NAME, lexer->at, (size_t)(name - lexer->at));
            step(lexer, name);
        } else if (*lexer->at == '"' || *lexer->at == '\'')
            ok = lex_string(lexer);
        else
            ok = lex_operator(lexer);
        if (!ok) return false;
    }
    return true; /* the parser misses the closing and says so */
}

/* A tag at `tag` after the text before it. */
static bool lex_text(struct lexer *lexer, const char *tag)
{
    bool print = tag[1] == '{', comment = tag[1] == '#';
    char sign = sign_at(lexer, tag + 2);
    const char *inside = tag + 2 + (sign != 0);
    add_data(lexer, lexer->at, text_end(lexer, lexer->at, tag, sign, print));
    step(lexer, tag);
    const char *raw = print || comment ? NULL : raw_begin(lexer, inside);
    if (raw) {
        step(lexer, raw);
        lexer->line_starting = raw[-1] == '\n';
        return lex_raw(lexer);
    }
    if (!comment) add(lexer, print ? JINJA_TOKEN_PRINT_BEGIN : JINJA_TOKEN_BLOCK_BEGIN, tag, 0);
    step(lexer, inside);
    return comment ? lex_comment(lexer) : lex_tag(lexer, print);
}

/* "\r\n" and "\r" become "\n"; one newline at the end goes. */
static void normalize(struct lexer *lexer, const char *source, size_t len)
{
    char *copy = arena_alloc(&lexer->jinja->arena, len + 1), *to = copy;
    for (size_t i = 0; i < len; i++) {
        if (source[i] == '\r' && i + 1 < len && source[i + 1] == '\n') continue;
        *to++ = source[i] == '\r' ? '\n' : source[i];
    }
    if (to > copy && to[-1] == '\n') to--;
    *to = 0;
    lexer->at = copy, lexer->end = to;
}

bool jinja_lex(struct jinja_context *jinja, const char *source, size_t len,
               struct jinja_tokens *tokens)
{
    struct lexer lexer = {.jinja = jinja, .line = 1, .line_starting = true, .tokens = tokens};
    *tokens = (struct jinja_tokens){0};
    normalize(&lexer, source, len);
    while (lexer.at < lexer.end) {
        const char *tag = lexer.at;
        while (tag < lexer.end &&
               !(*tag == '{' && tag + 1 < lexer.end && tag[1] && strchr("{%#", tag[1])))
            tag++;
        if (tag == lexer.end) {
            add_data(&lexer, lexer.at, tag);
            step(&lexer, tag);
        } else if (!lex_text(&lexer, tag)) {
            return false;
        }
    }
    add(&lexer, JINJA_TOKEN_END, lexer.end, 0);
    return true;
}
