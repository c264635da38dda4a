/*
 * memory.c - large memory of the CPU device, and how much of it is left.
 *
 * Large blocks are mappings of their own, aligned to huge pages and touched at once: a step never
 * meets a page fault, and weights are read with few TLB misses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"

#define HUGE_PAGE ((size_t)2 << 20)

enum { LINE = 64 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* A mapping whose start is aligned to a huge page: map one more and give the ends back. */
static void *map_aligned(size_t bytes)
{
    size_t whole = bytes + HUGE_PAGE;
    char *p = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(p, before);
    if (whole - before - bytes) munmap(p + before + bytes, whole - before - bytes);
    return p + before;
}

void *cpu_map(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HUGE_PAGE) return NULL;
    void *p = map_aligned(round_up(bytes, HUGE_PAGE));
    if (p) madvise(p, round_up(bytes, HUGE_PAGE), MADV_HUGEPAGE); /* only advice */
    return p;
}

void cpu_unmap(void *memory, size_t bytes)
{
    if (memory) munmap(memory, round_up(bytes, HUGE_PAGE));
}

void cpu_touch(void *memory, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *p = memory;
    for (size_t i = 0; i < bytes; i += page) p[i] = 0;
    if (bytes) p[bytes - 1] = 0;
}

void *cpu_alloc(size_t bytes)
{
    if (bytes < HUGE_PAGE) {
        void *p = aligned_alloc(LINE, round_up(bytes ? bytes : 1, LINE));
        return p ? memset(p, 0, bytes) : NULL;
    }
    void *p = cpu_map(bytes);
    if (p) cpu_touch(p, bytes);
    return p;
}

void cpu_free(void *memory, size_t bytes)
{
    if (bytes < HUGE_PAGE)
        free(memory);
    else
        cpu_unmap(memory, bytes);
}

/* The first number in a file of /proc or /sys; SIZE_MAX where there is none ("max"). */
static size_t read_number(const char *path, const char *format)
{
    FILE *file = fopen(path, "re");
    char line[256];
    unsigned long long value;
    size_t found = SIZE_MAX;
    if (!file) return SIZE_MAX;
    while (found == SIZE_MAX && fgets(line, sizeof(line), file)) {
        if (sscanf(line, format, &value) == 1) found = (size_t)value;
    }
    fclose(file);
    return found;
}

static size_t room_in(const char *limit_path, const char *used_path)
{
    size_t limit = read_number(limit_path, "%llu"), used = read_number(used_path, "%llu");
    if (limit == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
    return limit > used ? limit - used : 0;
}

size_t cpu_memory_available(void)
{
    size_t kib = read_number("/proc/meminfo", "MemAvailable: %llu kB");
    size_t free_bytes = kib == SIZE_MAX ? SIZE_MAX : kib * 1024;
    size_t rooms[] = {
        /* of the container: cgroup v2, v1 */
        room_in("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        room_in("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    };
    for (int i = 0; i < 2; i++) free_bytes = rooms[i] < free_bytes ? rooms[i] : free_bytes;
    return free_bytes;
}
