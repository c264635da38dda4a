/*
 * histogram.h - counts over fixed bounds, in Prometheus' text format.
 *
 * Thread: its owner's.
 */
#ifndef SERVER_HISTOGRAM_H
#define SERVER_HISTOGRAM_H

#include <stdint.h>

#include "runtime/base/buffer.h"

enum { HISTOGRAM_BOUNDS_MAX = 40 };

struct histogram {
    const double *bounds; /* ascending; +Inf is implied */
    int bound_count;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* per bucket, not cumulative */
    double sum;
};

void histogram_init(struct histogram *histogram, const double *bounds, int bound_count);
void histogram_add(struct histogram *histogram, double value);

/* HELP, TYPE and samples. `labels` without braces, not empty. */
void histogram_write(const struct histogram *histogram, const char *name, const char *help,
                     const char *labels, struct buffer *out);

#endif
