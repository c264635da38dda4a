/* memory_stats.h - how much memory the process and its allocator hold. Thread: any. */
#ifndef SERVER_MEMORY_STATS_H
#define SERVER_MEMORY_STATS_H

#include <stdint.h>

struct memory_stats { /* -1: not known, without jemalloc */
    int64_t allocated_bytes, resident_bytes, process_bytes;
};

void memory_stats_read(struct memory_stats *out);

#endif
