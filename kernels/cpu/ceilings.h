/*
 * ceilings.h - what this machine could do at most, for benchmarks to compare with: plain reading
 * and the multiply-add rates of each instruction set.
 *
 * Thread: the pool's owner, nothing else running on the pool. Each takes some tenths of a second
 * and gives the best of many short repetitions, because neighbours on the machine only ever slow
 * it.
 */
#ifndef KERNELS_CPU_CEILINGS_H
#define KERNELS_CPU_CEILINGS_H

#include "kernels/cpu/cpu.h"

enum cpu_peak {
    CPU_PEAK_F32,  /* fused multiply-add */
    CPU_PEAK_BF16, /* pairs of bf16 to float32 */
    CPU_PEAK_INT8, /* quads of int8 to int32 */
};

/* GB/s of all threads reading a buffer far larger than the caches, each its own part in order; 0
 * where there is no memory for it. */
double cpu_measure_read_gbs(struct cpu_pool *pool);

/* Billions of operations per second of all threads, a multiply and an add counted as two; 0 where
 * the instruction set has no such instruction or it is not measured. */
double cpu_measure_peak(struct cpu_pool *pool, enum cpu_isa isa, enum cpu_peak peak);

/* Loops of 12 independent chains of one instruction, in assembly so that nothing spills; `count` is
 * how often the 12 run. Each in the file of its instruction set. */
void cpu_peak_avx2_f32(long count);
void cpu_peak_avx2_int8(long count);
void cpu_peak_avx512_f32(long count);
void cpu_peak_avx512_int8(long count);
void cpu_peak_avx512bf16_bf16(long count);

#endif
