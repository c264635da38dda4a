/*
 * reasoning.h - splits <think>...</think> from the answer of a reasoning model.
 *
 * Pure functions of the whole text so far, so that pieces of a stream join to the whole's result.
 * Thread: any.
 */
#ifndef SERVER_REASONING_H
#define SERVER_REASONING_H

#include <stdbool.h>
#include <stddef.h>

struct reasoning_parts { /* point into the text */
    const char *reasoning, *content;
    size_t reasoning_len, content_len;
    size_t used; /* bytes of the text that have been told now; what may yet be a tag waits */
};

/* What text[from..len) adds. `parser`: "deepseek_r1" begins inside of the reasoning, "qwen3" with
 * <think> or with the answer. `complete`: no more text comes. `from` is 0 or an earlier `used`. */
void reasoning_split(const char *parser, const char *text, size_t len, size_t from, bool complete,
                     struct reasoning_parts *out);

#endif
