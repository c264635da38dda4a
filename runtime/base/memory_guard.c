/* memory_guard.c - see memory_guard.h. Wraps glibc's allocator under its public names. */
#include "runtime/base/memory_guard.h"

#include <stddef.h>
#include <stdlib.h>

#include "runtime/base/check.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if defined(PENSTOCK_DEBUG) && defined(__GLIBC__) && !defined(SANITIZED)

static _Thread_local bool thread_forbids;

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static void check_allowed(void)
{
    bool forbidden = thread_forbids;
    thread_forbids = false; /* telling so may allocate */
    CHECK(!forbidden);
}

void *malloc(size_t bytes)
{
    if (thread_forbids) check_allowed();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (thread_forbids) check_allowed();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    if (thread_forbids) check_allowed();
    return __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (thread_forbids) check_allowed();
    return __libc_memalign(alignment, bytes);
}

void memory_forbid(bool forbidden)
{
    thread_forbids = forbidden;
}

bool memory_guarded(void)
{
    return true;
}

#else

void memory_forbid(bool forbidden)
{
    (void)forbidden;
}

bool memory_guarded(void)
{
    return false;
}

#endif
