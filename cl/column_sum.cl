/* column_sum.cl - sums over rows, added in order.
 *
 * Layout: partial [rows,columns] with a start and a stride; out [columns], for
 * column_runs [runs,columns].
 * Work-group: WG items, a column each; grid (columns / WG), and runs of rows.
 * Defines: WG.
 * Numerics: f32, rows in order: the same bits every time.
 * Writes: out whole (added to when add). */
#ifndef WG
#define WG 32
#endif

/* out[c] (+)= sum over rows of partial[row, c] */
WORK_GROUP(WG, 1, 1)
kernel void column_sum(global float *restrict out, global const float *restrict partial,
                       int rows, int columns, int at, int stride, int add)
{
    const int c = GROUP(0) * WG + LANE(0);
    if (c < columns) {
        float sum = add ? out[c] : 0.0f;
        for (int row = 0; row < rows; row++) {
            sum += partial[(size_t)row * stride + at + c];
        }
        out[c] = sum;
    }
}

/* out[r,c] = sum over the rows of run r of partial[row, c] */
WORK_GROUP(WG, 1, 1)
kernel void column_runs(global float *restrict out,
                        global const float *restrict partial, int rows, int columns,
                        int at, int stride, int run)
{
    const int c = GROUP(0) * WG + LANE(0);
    if (c < columns) {
        float sum = 0.0f;
        for (int row = GROUP(1) * run; row < min(rows, (GROUP(1) + 1) * run); row++) {
            sum += partial[(size_t)row * stride + at + c];
        }
        out[GROUP(1) * columns + c] = sum;
    }
}
