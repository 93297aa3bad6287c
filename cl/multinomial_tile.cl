/* multinomial_tile.cl - multinomial.cl for CPU devices; each work-item has a row.
 *
 * Layout: as multinomial.cl.
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as cross_entropy.cl.
 * Writes: id whole; 0 where no number is finite. */
#define WG 1
#include "row.clh"

/* Returns the first class with which the row's sum exceeds u. If rounding leaves none,
 * the last one with x - top > -80, else 0. */
INLINE int find(global const float *x, int columns, float top, float u)
{
    float sum = 0.0f;
    int c = 0, at = 0;
    for (; c + VEC <= columns; c += VEC) {
        const float part = sum_lanes(exp_fastv(loadv(0, x + c) - top));
        if (u < sum + part) {
            break;
        }
        sum += part;
    }
    for (; c < columns && sum <= u; c++) {
        sum += exp_fast(x[c] - top);
        at = c;
    }
    if (sum <= u) {
        for (at = columns - 1; at > 0 && !(x[at] - top > -80.0f); at--) {
        }
    }
    return at;
}

// id = the first c with sum_{k <= c} exp(x[k] - top) > u sum_k exp(x[k] - top)
WORK_GROUP(1, 1, 1)
kernel void multinomial(global int *restrict id, global const float *restrict x,
                        int columns, uint seed, uint step, uint stream, uint first_row)
{
    const int row = GROUP(0);
    x += (size_t)row * columns;
    const float top = ROW_MAX(x, columns);
    float total;
    ROW_SUM(total, c, columns, row_exp(AT(x, c) - top));
    const uint4 draw =
        philox((uint4)(0, first_row + row, 0, stream), (uint2)(seed, step));
    id[row] = find(x, columns, top, uniform(draw.x) * total);
}
