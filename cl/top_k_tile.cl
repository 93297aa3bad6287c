/* top_k_tile.cl - top_k.cl for CPU devices; each work-item has a row.
 *
 * Layout, Writes: as top_k.cl.
 * Work-group: 1 item.
 * Defines: VEC, the native width.
 * Numerics: as cross_entropy.cl. */
#define WG 1
#include "row.clh"

/* Inserts x, of class c, into the count best so far, after equal ones; keeps at most k
 * and returns how many there are. */
INLINE int take(global float *value, global int *id, int count, int k, float x, int c)
{
    int at = count < k ? count : k - 1;
    for (; at > 0 && value[at - 1] < x; at--) {
        value[at] = value[at - 1];
        id[at] = id[at - 1];
    }
    value[at] = x;
    id[at] = c;
    return min(count + 1, k);
}

#define STEP (4 * VEC)

/* Returns whether one of STEP numbers is above least. */
INLINE int any_above(global const float *x, floatv least)
{
    return any((loadv(0, x) > least) | (loadv(1, x) > least) | (loadv(2, x) > least) |
               (loadv(3, x) > least));
}

/* Finds the k largest of a row and their classes, largest first. */
INLINE void row_top_k(global float *value, global int *id, global const float *x,
                      int columns, int k)
{
    int count = 0, c = 0;
    for (; c < k; c++) {
        count = take(value, id, count, k, x[c], c);
    }
    while (c < columns) {
        const floatv least = (floatv)(value[k - 1]);
        while (c + STEP <= columns && !any_above(x + c, least)) {
            c += STEP;
        }
        for (int end = min(c + STEP, columns); c < end; c++) {
            if (x[c] > value[k - 1]) {
                take(value, id, k, k, x[c], c);
            }
        }
    }
}

// logp[k] = x[id[k]] - top - ln sum exp(x - top)
WORK_GROUP(1, 1, 1)
kernel void top_k(global float *restrict logp, global int *restrict id,
                  global const float *restrict x, int columns, int k)
{
    const size_t row = (size_t)GROUP(0);
    global float *value = logp + row * k;
    x += row * columns;
    row_top_k(value, id + row * k, x, columns, k);
    const float top = value[0];
    float sum;
    ROW_SUM(sum, c, columns, row_exp(AT(x, c) - top));
    const float log_sum = log(sum);
    for (int n = 0; n < k; n++) {
        value[n] = value[n] - top - log_sum;
    }
}
