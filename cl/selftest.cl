/* selftest.cl - small kernels with known answers, run on a driver not seen before.
 *
 * Layout: x, y [groups, WG] f32. Work-group: WG items. Defines: WG.
 * Numerics: whole numbers below 2^24, so every answer is exact. Writes: y whole. */
#ifndef WG
#define WG 64
#endif

// y = group's sum of x + item's x * group's maximum
WORK_GROUP(WG, 1, 1)
kernel void selftest_reduce(global float *restrict y, global const float *restrict x)
{
    local float scratch[WG];
    const int lid = LANE(0);
    const size_t at = (size_t)GROUP(0) * WG + lid;
    const float value = x[at];
    const float total = group_sum(value, scratch, lid, WG);
    const float top = group_max(value, scratch, lid, WG);
    y[at] = total + value * top;
}

// y[i] = sum_k x[i,k] x[k,j] over a WG x WG matrix, one group a row, through local
// memory
WORK_GROUP(WG, 1, 1)
kernel void selftest_product(global float *restrict y, global const float *restrict x)
{
    local float row[WG];
    const int lid = LANE(0), i = GROUP(0);
    row[lid] = x[i * WG + lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = 0; k < WG; k++) {
        sum += row[k] * x[k * WG + lid];
    }
    y[i * WG + lid] = sum;
}

// y[i] = the first word of Philox for counter (i, 1, 2, 3) under key (4, 5), 24 bits of
// it
WORK_GROUP(WG, 1, 1)
kernel void selftest_philox(global float *restrict y)
{
    const uint i = (uint)(GROUP(0) * WG + LANE(0));
    y[i] = uniform(philox((uint4)(i, 1u, 2u, 3u), (uint2)(4u, 5u)).x);
}

// y[i] = i after rounds steps of a linear congruential generator: a driver that ends
// long loops early gives another number
WORK_GROUP(WG, 1, 1)
kernel void selftest_loop(global float *restrict y, int rounds)
{
    uint x = (uint)LANE(0);
    for (int i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u;
    }
    y[LANE(0)] = (float)(x >> 8);
}
