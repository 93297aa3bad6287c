/* memory_tile.cl - large fills and copies for CPU devices, whose drivers do them in one
 * thread.
 *
 * Layout: flat arrays of 4-byte words.
 * Work-group: 1 item, a run of words each.
 * Defines: VEC, the native width.
 * Writes: count words from to_at on. */
#include "vector.clh"

// to = pattern
WORK_GROUP(1, 1, 1)
kernel void memory_fill(global float *restrict to, int count, int run, float pattern)
{
    const int first = GROUP(0) * run, last = min(first + run, count);
    int i = first;
    for (; i + VEC <= last; i += VEC) {
        storev((floatv)(pattern), 0, to + i);
    }
    for (; i < last; i++) {
        to[i] = pattern;
    }
}

// to = from
WORK_GROUP(1, 1, 1)
kernel void memory_copy(global float *restrict to, global const float *restrict from,
                        int to_at, int from_at, int count, int run)
{
    const int first = GROUP(0) * run, last = min(first + run, count);
    int i = first;
    to += to_at;
    from += from_at;
    for (; i + VEC <= last; i += VEC) {
        storev(loadv(0, from + i), 0, to + i);
    }
    for (; i < last; i++) {
        to[i] = from[i];
    }
}
