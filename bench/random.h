/*
 * random.h - reproducible random numbers for workloads: the same seed, the same load.
 *
 * xoshiro256** (Blackman and Vigna, 2018) seeded by splitmix64. Thread: a generator belongs to its
 * owner.
 */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed);
uint64_t random_bits(struct random *random);
double random_unit(struct random *random);                  /* [0, 1) */
int random_range(struct random *random, int low, int high); /* both inclusive */
double random_normal(struct random *random);
/* Gamma by Marsaglia and Tsang (2000); shape > 0. The mean is shape * scale. */
double random_gamma(struct random *random, double shape, double scale);

#endif
