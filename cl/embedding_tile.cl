/* embedding_tile.cl - the gradient of a table for CPU devices: rows are sorted by entry
 * first, so that each row is read once. One item sorts, by counting, in a time that
 * grows with rows and entries; the groups of embedding.cl sort tiles and merge them,
 * which is more work, for many items. So these are two algorithms, not two schedules.
 *
 * Layout: dtable [V,D]; ids [N]; dy [N,D]; order [N], start [V+2].
 * Work-group: 1 item. A single item sorts; for the sums each has a run of entries.
 * Defines: none.
 * Numerics: f32 sums, rows in order: the same bits every time.
 * Writes: order, start; dtable as embedding.cl. */
#include "embedding_args.h"

// order = rows sorted by entry, the rows of v at start[v] .. start[v+1]-1 and in order
WORK_GROUP(1, 1, 1)
kernel void embedding_order(global int *restrict order, global int *restrict start,
                            global const int *restrict ids, embedding_shape s)
{
    for (int v = 0; v < s.entries + 2; v++) {
        start[v] = 0;
    }
    for (int n = 0; n < s.rows; n++) {
        if (ids[n] >= 0 && ids[n] < s.entries) {
            start[ids[n] + 2]++;
        }
    }
    for (int v = 0; v < s.entries; v++) {
        start[v + 2] += start[v + 1];
    }
    for (int n = 0; n < s.rows; n++) { // start[v+1] goes from v's start to its end
        if (ids[n] >= 0 && ids[n] < s.entries) {
            order[start[ids[n] + 1]++] = n;
        }
    }
}

// dtable[v] += scale sum over n with ids[n] = v of dy[n]
WORK_GROUP(1, 1, 1)
kernel void embedding_backward(global float *restrict dtable,
                               global const float *restrict dy,
                               global const int *restrict order,
                               global const int *restrict start, embedding_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.entries);
    for (int v = first; v < last; v++) {
        global float *to = dtable + (size_t)v * s.columns;
        for (int i = start[v]; i < start[v + 1]; i++) {
            global const float *from = dy + (size_t)order[i] * s.columns;
            for (int c = 0; c < s.columns; c++) {
                to[c] += s.scale * from[c];
            }
        }
    }
}
