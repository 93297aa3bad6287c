/* peaks.cl - copies and multiply-adds, as fast as a device does them, for benchmarks.
 *
 * Layout: copy: n vectors from one buffer to another; fma: one vector an item.
 * Work-group: WG items; group g owns ROUNDS*WG neighbouring vectors, so that the item
 *   of a group of 1 copies contiguous memory, and items of larger groups copy side by
 *   side.
 * Defines: WG, VEC (floats in a vector), ROUNDS (vectors an item copies).
 * Numerics: the chains converge to b / (1 - a); nothing overflows or is denormal.
 * Writes: every element of to; of out, one vector an item. */

#ifndef WG
#define WG 64
#endif
#ifndef VEC
#define VEC 4
#endif
#ifndef ROUNDS
#define ROUNDS 16
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define VECTOR      JOIN(float, VEC)

// to = from
WORK_GROUP(WG, 1, 1)
kernel void peaks_copy(global VECTOR *restrict to, global const VECTOR *restrict from)
{
    const size_t first = (size_t)GROUP(0) * ROUNDS * WG + LANE(0);
    for (int i = 0; i < ROUNDS; i++) {
        to[first + (size_t)i * WG] = from[first + (size_t)i * WG];
    }
}

// x = x a + b in twelve chains: enough to hide a latency of four at three a cycle, and
// few enough for sixteen registers
WORK_GROUP(WG, 1, 1)
kernel void peaks_fma(global VECTOR *restrict out, float a, float b, int rounds)
{
    const VECTOR va = (VECTOR)(a), vb = (VECTOR)(b);
    VECTOR x[12];
    for (int i = 0; i < 12; i++) {
        x[i] = (VECTOR)((float)(LANE(0) + i));
    }
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < 12; i++) {
            x[i] = x[i] * va + vb;
        }
    }
    VECTOR sum = x[0];
    for (int i = 1; i < 12; i++) {
        sum += x[i];
    }
    out[(size_t)GROUP(0) * WG + LANE(0)] = sum;
}
