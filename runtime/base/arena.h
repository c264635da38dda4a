/*
 * arena.h - a bump allocator for things that die together (a request, a template's tree, a loaded
 * table).
 *
 * Thread: its owner's. Memory is aligned to 16 bytes and not zeroed unless said. Failure to
 * allocate ends the process (CHECK).
 */
#ifndef RUNTIME_BASE_ARENA_H
#define RUNTIME_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

struct arena { /* all zero: empty and ready */
    struct arena_chunk *chunks;
    char *at, *end;
    size_t total_bytes; /* handed out, for limits and tests */
};

void *arena_alloc(struct arena *arena, size_t bytes);
void *arena_zalloc(struct arena *arena, size_t bytes);
char *arena_strndup(struct arena *arena, const char *text, size_t len); /* adds the zero byte */
void arena_free(struct arena *arena); /* everything; ready again */

#endif
