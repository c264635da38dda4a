/* ceilings.c - see ceilings.h. */
#include "bench/ceilings.h"

#include "kernels/cpu/ceilings.h"

void ceilings_measure(struct ceilings *out, int threads, enum dtype weights)
{
    struct cpu_pool *pool;
    enum cpu_isa isa = cpu_isa_best();
    *out = (struct ceilings){.peak_name = "f32"};
    if (cpu_pool_create(threads, -1, &pool, NULL)) return;
    out->read_gbs = cpu_measure_read_gbs(pool);
    if (weights == DTYPE_Q8_0 || weights == DTYPE_Q4_0) {
        out->peak_name = "int8";
        out->peak_gops = cpu_measure_peak(pool, isa, CPU_PEAK_INT8);
    } else if (weights == DTYPE_BF16) {
        out->peak_name = "bf16";
        out->peak_gops = cpu_measure_peak(pool, isa, CPU_PEAK_BF16);
    }
    if (out->peak_gops <= 0) {
        out->peak_name = "f32";
        out->peak_gops = cpu_measure_peak(pool, isa, CPU_PEAK_F32);
    }
    cpu_pool_destroy(pool);
}
