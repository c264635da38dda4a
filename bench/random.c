/* random.c - see random.h. */
#include "bench/random.h"

#include <math.h>

static uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void random_seed(struct random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        random->state[i] = z ^ z >> 31;
    }
}

uint64_t random_bits(struct random *random)
{
    uint64_t *s = random->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3];
    s[2] ^= t, s[3] = rotate(s[3], 45);
    return result;
}

double random_unit(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

int random_range(struct random *random, int low, int high)
{
    return low + (int)(random_unit(random) * ((double)high - low + 1));
}

double random_normal(struct random *random)
{
    double u = 1 - random_unit(random), v = random_unit(random);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 * v);
}

double random_gamma(struct random *random, double shape, double scale)
{
    if (shape < 1) /* boost: gamma(a) = gamma(a + 1) u^(1/a) */
        return random_gamma(random, shape + 1, scale) * pow(1 - random_unit(random), 1 / shape);
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = random_normal(random), v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        if (log(1 - random_unit(random)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * scale;
    }
}
