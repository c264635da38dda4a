/* mutate.c - see mutate.h. */
#include "tests/support/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"

enum { SECONDS_DEFAULT = 4 };

struct mutate mutate_begin(int argc, char **argv)
{
    struct mutate mutate = {0};
    double seconds = argc > 1 ? atof(argv[1]) : SECONDS_DEFAULT;
    mutate.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)clock_ns();
    mutate.state = mutate.seed | 1;
    mutate.deadline_ns = clock_ns() + (int64_t)(seconds * 1e9);
    printf("seed %llu, %.0f seconds\n", (unsigned long long)mutate.seed, seconds);
    fflush(stdout);
    return mutate;
}

bool mutate_more(struct mutate *mutate)
{
    mutate->runs++;
    return clock_ns() < mutate->deadline_ns;
}

void mutate_end(const struct mutate *mutate)
{
    printf("%lld inputs, %lld of them accepted\n", mutate->runs, mutate->accepted);
}

uint32_t mutate_below(struct mutate *mutate, uint32_t bound)
{
    mutate->state ^= mutate->state << 13;
    mutate->state ^= mutate->state >> 7;
    mutate->state ^= mutate->state << 17;
    return (uint32_t)(mutate->state >> 32) % (bound ? bound : 1);
}

static uint64_t telling_value(struct mutate *mutate)
{
    static const uint64_t values[] = {
        0,          1,          2,          3,          7,
        8,          9,          31,         32,         33,
        255,        256,        0x7fff,     0xffff,     0x10000,
        0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 32, 1ULL << 40,
        1ULL << 62, INT64_MAX,  1ULL << 63, UINT64_MAX, UINT64_MAX - 31};
    return values[mutate_below(mutate, sizeof values / sizeof *values)];
}

static void overwrite(struct mutate *mutate, struct buffer *text, size_t at)
{
    static const uint8_t widths[] = {1, 2, 4, 8};
    uint64_t value = mutate_below(mutate, 2) ? telling_value(mutate) : mutate_below(mutate, 256);
    size_t width = widths[mutate_below(mutate, 4)];
    if (width > text->len - at) width = text->len - at;
    memcpy(text->data + at, &value, width);
}

static void replace(struct buffer *text, size_t at, size_t cut, const char *with, size_t len)
{
    struct buffer out = {0};
    buffer_append(&out, text->data, at);
    buffer_append(&out, with, len);
    buffer_append(&out, text->data + at + cut, text->len - at - cut);
    buffer_free(text);
    *text = out;
}

static void damage(struct mutate *mutate, struct buffer *text, size_t head)
{
    if (text->len == 0) return;
    size_t limit = head < text->len && mutate_below(mutate, 8) ? head : text->len;
    size_t at = mutate_below(mutate, (uint32_t)limit);
    size_t len = 1 + mutate_below(mutate, 16), from = mutate_below(mutate, (uint32_t)limit);
    char piece[16];
    if (len > text->len - at) len = text->len - at;
    if (len > text->len - from) len = text->len - from;
    memcpy(piece, text->data + from, len);
    switch (mutate_below(mutate, 12)) {
    case 0: text->len = at; break;
    case 1: replace(text, at, len, "", 0); break;
    case 2: replace(text, at, 0, piece, len); break;
    case 3: memcpy(text->data + at, piece, len); break;
    case 4: text->data[at] = (char)(text->data[at] ^ (1 << mutate_below(mutate, 8))); break;
    default: overwrite(mutate, text, at);
    }
}

static char *take(struct buffer *text, size_t *bytes)
{
    char *exact = malloc(text->len ? text->len : 1);
    CHECK(exact);
    if (text->len) memcpy(exact, text->data, text->len);
    *bytes = text->len;
    buffer_free(text);
    return exact;
}

char *mutate_copy(struct mutate *mutate, const struct buffer *valid, size_t head, size_t *bytes)
{
    struct buffer text = {0};
    buffer_append(&text, valid->data, valid->len);
    for (uint32_t i = 0, n = 1 + mutate_below(mutate, 8); i < n; i++) damage(mutate, &text, head);
    return take(&text, bytes);
}

char *mutate_json(struct mutate *mutate, const struct buffer *valid, size_t *bytes)
{
    static const char *const tokens[] = {
        "null",        "true",    "{}",   "[]",      "\"\"",     "-1",
        "0",           "1e999",   "-0.0", "1e30",    "\"a\"",    "[[[[",
        "{\"",         ",",       "}",    "]",       "0.5",      "18446744073709551615",
        "2",           "64",      ":",    "\\u0000", "\"silu\"", "\"yarn\"",
        "\"dynamic\"", "\"F16\"",
    };
    struct buffer text = {0};
    buffer_append(&text, valid->data, valid->len);
    for (uint32_t i = 0, n = 1 + mutate_below(mutate, 6); i < n; i++) {
        if (mutate_below(mutate, 3) || text.len == 0) {
            damage(mutate, &text, text.len);
            continue;
        }
        /* A whole value: from a colon to the next comma, so that most results are still JSON. */
        const char *token = tokens[mutate_below(mutate, sizeof tokens / sizeof *tokens)];
        size_t at = mutate_below(mutate, (uint32_t)text.len), end;
        while (at < text.len && text.data[at] != ':') at++;
        at += at < text.len;
        for (end = at; end < text.len && !strchr(",}", text.data[end]); end++) continue;
        replace(&text, at, end - at, token, strlen(token));
    }
    return take(&text, bytes);
}
