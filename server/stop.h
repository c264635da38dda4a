/*
 * stop.h - stop strings in a text that grows.
 *
 * Thread: any; pure. Strings are bytes with lengths: a zero byte may be part of one.
 */
#ifndef SERVER_STOP_H
#define SERVER_STOP_H

#include <stdbool.h>
#include <stddef.h>

enum { STOP_STRINGS_MAX = 64, STOP_STRING_BYTES_MAX = 4096 };

struct stop_string {
    const char *text;
    size_t len; /* at least 1 */
};

struct stop_match {
    size_t start, end; /* in the text */
    int index;         /* which string */
};

/* The leftmost occurrence of any string that ends after text[0..from); of those that begin at the
 * same place the first in the list. */
bool stop_find(const struct stop_string *strings, int count, const char *text, size_t len,
               size_t from, struct stop_match *out);

/* How many bytes at the end of the text may yet turn out to begin a stop string. */
size_t stop_held_bytes(const struct stop_string *strings, int count, const char *text, size_t len);

#endif
