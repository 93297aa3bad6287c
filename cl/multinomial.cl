/* multinomial.cl - draws a class for each row by its softmax.
 *
 * Layout: x [N,V]; id [N].
 * Work-group: WG items to a row, each with a run of classes.
 * Defines: WG, a power of two.
 * Numerics: sums in f32 in the order of the classes, run by run; probabilities are
 *           exact up to the rounding of these sums.
 * Writes: id whole; -1 where no number is finite. */
#ifndef WG
#define WG 64
#endif

// id = the first c with sum_{k <= c} exp(x[k] - top) > u sum_k exp(x[k] - top)
WORK_GROUP(WG, 1, 1)
kernel void multinomial(global int *restrict id, global const float *restrict x,
                        int columns, uint seed, uint step, uint stream, uint first_row)
{
    local float scratch[WG], sums[WG];
    const int lid = LANE(0), row = GROUP(0);
    const int run = (columns + WG - 1) / WG;
    const int first = min(lid * run, columns), last = min(first + run, columns);
    x += (size_t)row * columns;
    float top = SCORE_MIN, mine = 0.0f;
    for (int c = lid; c < columns; c += WG) {
        top = fmax(top, x[c]);
    }
    top = group_max(top, scratch, lid, WG);
    for (int c = first; c < last; c++) {
        mine += exp(x[c] - top);
    }
    sums[lid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0.0f, sum = 0.0f;
    for (int k = 0; k < WG; k++) { // one order in all items: runs do not overlap
        sum = k == lid ? total : sum;
        total += sums[k];
    }
    const uint4 draw =
        philox((uint4)(0, first_row + row, 0, stream), (uint2)(seed, step));
    const float u = fmin(uniform(draw.x) * total, total - total * 0x1p-23f);
    int at = -1;
    if (sum <= u && u < sum + mine) {
        for (int c = first; c < last && sum <= u; c++) {
            const float e = exp(x[c] - top);
            sum += e;
            at = e > 0.0f ? c : at;
        }
    }
    // Classes are below 2^24, so that a float holds them.
    const float found = group_max((float)at, scratch, lid, WG);
    if (lid == 0) {
        id[row] = (int)found;
    }
}
