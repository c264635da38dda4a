/* samples.h - sorting what was measured. Thread: any; the values are the caller's. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

/* Ascending, in place; nothing to do for 0. */
void samples_sort(double *values, int count);

#endif
