/* stop.c - see stop.h. */
#include "server/stop.h"

#include <string.h>

bool stop_find(const struct stop_string *strings, int count, const char *text, size_t len,
               size_t from, struct stop_match *out)
{
    bool found = false;
    for (int i = 0; i < count; i++) {
        size_t size = strings[i].len;
        size_t begin = from >= size - 1 ? from - (size - 1) : 0;
        if (begin >= len) continue;
        const char *at = memmem(text + begin, len - begin, strings[i].text, size);
        if (!at) continue;
        size_t start = (size_t)(at - text);
        if (found && out->start <= start) continue;
        *out = (struct stop_match){start, start + size, i};
        found = true;
    }
    return found;
}

size_t stop_held_bytes(const struct stop_string *strings, int count, const char *text, size_t len)
{
    size_t held = 0;
    for (int i = 0; i < count; i++) {
        size_t most = strings[i].len - 1 < len ? strings[i].len - 1 : len;
        for (size_t size = most; size > held; size--)
            if (!memcmp(text + len - size, strings[i].text, size)) held = size;
    }
    return held;
}
