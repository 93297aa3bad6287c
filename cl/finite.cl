/* finite.cl - finds infinite numbers and NaN in a block.
 *
 * Layout: x flat; found [groups,WG].
 * Work-group: WG items, which share a run of elements.
 * Defines: WG.
 * Numerics: tests the exponent's bits, so that no compiler option changes the answer.
 * Writes: found whole. */
#include "lost.clh"

#ifndef WG
#define WG 64
#endif

// found[group,item] = 1 if any x[i] of the item is infinite or NaN, else 0
WORK_GROUP(WG, 1, 1)
kernel void finite(global int *restrict found, global const float *restrict x, int n,
                   int run)
{
    const int lid = LANE(0);
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    int bad = 0;
    for (size_t i = first + lid; i < last; i += WG) {
        bad |= is_lost(x[i]);
    }
    found[(size_t)GROUP(0) * WG + lid] = bad;
}
