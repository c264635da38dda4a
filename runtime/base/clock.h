/* clock.h - monotonic time. Thread: any. */
#ifndef RUNTIME_BASE_CLOCK_H
#define RUNTIME_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some fixed moment (CLOCK_MONOTONIC). */
int64_t clock_ns(void);

/* Seconds since the Unix epoch, for what people and clients read. */
int64_t clock_unix_s(void);

#endif
