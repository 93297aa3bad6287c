/* position_tables.cl - packs position parameters into the tables that attention reads,
 * and sums gradients of tables for the parameters; both schedules.
 *
 * Layout: absolute [H,t,t] (query, key), relative [H,2t]; tables and sums as
 * position_attention.clh, sums [runs,H,parts,size].
 * Work-group: WG items, a number each.
 * Defines: WG.
 * Numerics: sums over runs, parts and a diagonal in order.
 * Writes: the table whole; gradients whole (added to when add). */
#include "position_attention.clh"

#ifndef WG
#define WG 64
#endif

// table = absolute[h,i,j] + relative[h,i-j+t], zeros past the longest sequence
WORK_GROUP(WG, 1, 1)
kernel void position_tables_pack(global float *restrict table,
                                 global const float *restrict absolute,
                                 global const float *restrict relative, int heads,
                                 position_args s, int turned)
{
    const int element = GROUP(0) * WG + LANE(0), h = element / s.size;
    const int n = s.step > 0 ? element % s.size / s.step : 0;
    const int m = s.step > 0 ? element % s.size % s.step : element % s.size - s.center;
    const int i = turned ? m : n, j = turned ? n : m;
    const int end = s.longest, apart = i - j;
    if (h < heads) {
        float x = 0.0f;
        if (absolute && i < end && j < end) {
            x = absolute[((size_t)h * s.t + i) * s.t + j];
        }
        if (relative && max(i, j) < end && min(i, j) > -end) {
            x += relative[(size_t)h * 2 * s.t + apart + s.t];
        }
        table[element] = x;
    }
}

// absolute[h,i,j] (+)= the sum over runs of sums for query i and key j
WORK_GROUP(WG, 1, 1)
kernel void position_tables_absolute(global float *restrict absolute,
                                     global const float *restrict sums, int heads,
                                     position_args s, int runs, int add)
{
    const int element = GROUP(0) * WG + LANE(0), h = element / (s.t * s.t);
    const int i = element / s.t % s.t, j = element % s.t;
    if (h < heads) {
        float x = 0.0f;
        if (i < s.longest && j < s.longest) {
            const int at = s.turned ? j * s.step + i : i * s.step + j;
            for (int run = 0; run < runs; run++) {
                x += sums[sums_of(s, heads, run, h, 0) + at];
            }
        }
        absolute[element] = add ? absolute[element] + x : x;
    }
}

// relative[h,c] (+)= the sum over runs, and over all i and j with i - j + t = c
WORK_GROUP(WG, 1, 1)
kernel void position_tables_relative(global float *restrict relative,
                                     global const float *restrict sums, int heads,
                                     position_args s, int runs, int add)
{
    const int element = GROUP(0) * WG + LANE(0), h = element / (2 * s.t);
    const int apart = element % (2 * s.t) - s.t; // i - j
    const bool met = apart > -s.longest && apart < s.longest;
    if (h < heads) {
        /* A matrix has the pairs of a difference along a diagonal; the relative form
         * has their sum, one in each part. */
        const int m = s.turned ? apart : -apart, n = max(0, -m);
        const int count = s.step > 0 ? s.longest - max(apart, -apart) : s.parts;
        const int next = s.step > 0 ? s.step + 1 : s.size;
        const int at = s.step > 0 ? n * s.step + n + m : m;
        float x = 0.0f;
        for (int run = 0; met && run < runs; run++) {
            global const float *from = sums + sums_of(s, heads, run, h, 0) + at;
            for (int c = 0; c < count; c++) {
                x += from[(size_t)c * next];
            }
        }
        relative[element] = add ? relative[element] + x : x;
    }
}
