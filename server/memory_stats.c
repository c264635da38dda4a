/* memory_stats.c - see memory_stats.h. */
#include "server/memory_stats.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* jemalloc's, where the program is linked to it; weak, so that nothing else needs it. */
int mallctl(const char *name, void *old, size_t *old_len, void *new_value, size_t new_len)
    __attribute__((weak));

static int64_t read_stat(const char *name)
{
    size_t value = 0, len = sizeof(value);
    if (!mallctl || mallctl(name, &value, &len, NULL, 0)) return -1;
    return (int64_t)value;
}

static int64_t read_process(void)
{
    long long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return -1;
    int found = fscanf(file, "%lld %lld", &total, &resident);
    fclose(file);
    return found == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

void memory_stats_read(struct memory_stats *out)
{
    uint64_t epoch = 1;
    size_t len = sizeof(epoch);
    if (mallctl) mallctl("epoch", &epoch, &len, &epoch, len); /* refreshes the numbers */
    out->allocated_bytes = read_stat("stats.allocated");
    out->resident_bytes = read_stat("stats.resident");
    out->process_bytes = read_process();
}
