/* finite.cl - whether all numbers of a block are finite.
 *
 * Layout: x flat; found [groups,WG].
 * Work-group: WG items, who share a run of elements.
 * Defines: WG.
 * Numerics: looks at the bits, so that no option of a compiler changes the answer.
 * Writes: found whole. */
#ifndef WG
#define WG 64
#endif

// found[group, item] = whether x[i] is infinite or not a number for any i of the item
WORK_GROUP(WG, 1, 1)
kernel void finite(global int *restrict found, global const float *restrict x, int n,
                   int run)
{
    const int lid = LANE(0);
    const size_t first = (size_t)GROUP(0) * run, last = min(first + run, (size_t)n);
    int bad = 0;
    for (size_t i = first + lid; i < last; i += WG) {
        bad |= (as_int(x[i]) & 0x7f800000) == 0x7f800000;
    }
    found[(size_t)GROUP(0) * WG + lid] = bad;
}
