/*
 * memory_guard.h - holds a thread to "nothing is allocated after start".
 *
 * In debug builds without sanitizers (which have an allocator of their own) an allocation on a
 * thread that forbade it ends the process (CHECK); elsewhere these do nothing. Freeing is allowed.
 * Thread: each call is about the calling thread.
 */
#ifndef RUNTIME_BASE_MEMORY_GUARD_H
#define RUNTIME_BASE_MEMORY_GUARD_H

#include <stdbool.h>

void memory_forbid(bool forbidden);

/* Whether this build holds anyone to it. */
bool memory_guarded(void);

#endif
