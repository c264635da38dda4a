/* histogram.c - see histogram.h. */
#include "server/histogram.h"

#include <inttypes.h>

#include "runtime/base/check.h"

void histogram_init(struct histogram *histogram, const double *bounds, int bound_count)
{
    CHECK(bound_count <= HISTOGRAM_BOUNDS_MAX);
    *histogram = (struct histogram){.bounds = bounds, .bound_count = bound_count};
}

void histogram_add(struct histogram *histogram, double value)
{
    int i = 0;
    while (i < histogram->bound_count && value > histogram->bounds[i]) i++;
    histogram->counts[i]++;
    histogram->sum += value;
}

void histogram_write(const struct histogram *histogram, const char *name, const char *help,
                     const char *labels, struct buffer *out)
{
    uint64_t total = 0;
    buffer_printf(out, "# HELP %s %s\n# TYPE %s histogram\n", name, help, name);
    for (int i = 0; i <= histogram->bound_count; i++) {
        total += histogram->counts[i];
        if (i < histogram->bound_count)
            buffer_printf(out, "%s_bucket{%s,le=\"%.10g\"} %" PRIu64 "\n", name, labels,
                          histogram->bounds[i], total);
        else
            buffer_printf(out, "%s_bucket{%s,le=\"+Inf\"} %" PRIu64 "\n", name, labels, total);
    }
    buffer_printf(out, "%s_sum{%s} %.9g\n%s_count{%s} %" PRIu64 "\n", name, labels, histogram->sum,
                  name, labels, total);
}
