/*
 * ceilings.h - what this machine could do at most, measured in the same run as what it did.
 *
 * Thread: main, while nothing else computes.
 */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#include "kernels/dtype.h"

struct ceilings {
    double read_gbs;       /* plain reading, all threads */
    double peak_gops;      /* of the instruction that weights of this type are multiplied with */
    const char *peak_name; /* "int8", "bf16", "f32" */
};

void ceilings_measure(struct ceilings *out, int threads, enum dtype weights);

#endif
