/* arena.c - see arena.h. */
#include "runtime/base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

enum { CHUNK_BYTES = 16 << 10, ALIGN = 16 };

struct arena_chunk {
    _Alignas(ALIGN) struct arena_chunk *next;
};

void *arena_alloc(struct arena *arena, size_t bytes)
{
    CHECK(bytes <= SIZE_MAX / 2);
    size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (need > (size_t)(arena->end - arena->at)) {
        size_t size = sizeof(struct arena_chunk) + (need > CHUNK_BYTES ? need : CHUNK_BYTES);
        struct arena_chunk *chunk = aligned_alloc(ALIGN, (size + ALIGN - 1) / ALIGN * ALIGN);
        CHECK(chunk);
        chunk->next = arena->chunks, arena->chunks = chunk;
        arena->at = (char *)(chunk + 1), arena->end = (char *)chunk + size;
    }
    void *memory = arena->at;
    arena->at += need, arena->total_bytes += need;
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t bytes)
{
    void *memory = arena_alloc(arena, bytes);
    return memset(memory, 0, bytes);
}

char *arena_strndup(struct arena *arena, const char *text, size_t len)
{
    char *copy = arena_alloc(arena, len + 1);
    memcpy(copy, text, len);
    copy[len] = 0;
    return copy;
}

void arena_free(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
    *arena = (struct arena){0};
}
