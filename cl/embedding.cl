/* embedding.cl - looks up rows of a table by id; and the table's gradient.
 *
 * Layout: table, dtable [V,D]; ids [N]; y, dy [N,D].
 * Work-group: WG items along the columns; forward: of a run of rows, backward: of one.
 * Defines: WG, which is 1 on CPU devices, forward; WEIGHTS, the table's number format.
 * Numerics: f32 sums, rows in order: the same bits every time.
 * Writes: y whole; in dtable only the entries that ids name, so it is cleared
 * before. */
#include "embedding.clh"
#include "weights.clh"

#ifndef WG
#define WG 64
#endif

// y[n] = scale table[ids[n]], times factor[ids[n]] if the table has 8 bits; zeros for
// an id outside the table
WORK_GROUP(WG, 1, 1)
kernel void embedding_forward(global float *restrict y,
                              global const weight *restrict table,
                              global const int *restrict ids,
                              global const float *restrict factor, embedding_shape s)
{
    const int first = GROUP(0) * s.run, last = min(first + s.run, s.rows);
    for (int row = first; row < last; row++) {
        const int id = ids[row], known = id >= 0 && id < s.entries;
        global float *to = y + (size_t)row * s.columns;
        global const weight *from = table + (size_t)(known ? id : 0) * s.columns;
        const float scale = WEIGHT_SCALED(s.scale, factor, known ? id : 0);
        for (int c = LANE(0); c < s.columns; c += WG) {
            to[c] = known ? scale * WEIGHT_AT(from, c) : 0.0f;
        }
    }
}

// dtable[v] += scale sum over n with ids[n] = v of dy[n]. The group of the first row
// with id v computes the whole sum; groups of later rows with v do nothing.
WORK_GROUP(WG, 1, 1)
kernel void embedding_backward(global float *restrict dtable,
                               global const float *restrict dy,
                               global const int *restrict ids, embedding_shape s)
{
    const int n = GROUP(0), id = ids[n];
    int first = id >= 0 && id < s.entries;
    for (int m = 0; m < n && first; m++) {
        first = ids[m] != id;
    }
    for (int c = LANE(0); c < s.columns && first; c += WG) {
        float sum = 0.0f;
        for (int m = n; m < s.rows; m++) {
            sum += ids[m] == id ? dy[(size_t)m * s.columns + c] : 0.0f;
        }
        dtable[(size_t)id * s.columns + c] += s.scale * sum;
    }
}
