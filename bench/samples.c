/* samples.c - see samples.h. */
#include "bench/samples.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void samples_sort(double *values, int count)
{
    if (count > 0) qsort(values, (size_t)count, sizeof(*values), compare);
}
