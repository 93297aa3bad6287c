/* hard_attention.cl - products of maps and rows, and sums of selected rows, for GPUs.
 *
 * Layout: as hard_attention.clh; q [Nq,D], k and v [Nk,D].
 * Work-group: 8 x 8 items to TM x TN numbers of a result, see product_group.clh; grid
 * (across, down the longest sequence, B). hard_sum: 64 items along a row.
 * Defines: UNROLL of product_group.clh; maps begin at any float, so WIDE is 0.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: the result whole (added to when add). */
#include "hard_attention.clh"
#include "product_group.clh"

/* Returns sum over k of w_k b[k][j], w_k being a[i][k] or, when turned, a[k][i], times
 * the factor of its row. A w_k of 0 adds nothing. */
INLINE float open_sum(matrix a, matrix b, int i, int j, bool turned)
{
    float sum = 0.0f;
    for (int k = 0; k < b.last; k++) {
        const int row = turned ? k : i, column = turned ? i : k;
        const float w = a.x[(size_t)row * a.stride + column];
        if (w != 0.0f) {
            sum += (a.factor ? w * a.factor[row] : w) * b.x[(size_t)k * b.stride + j];
        }
    }
    return sum;
}

// y (+)= scale w x in the form g.form, see product_args
WORK_GROUP(ITEMS, 1, 1)
kernel void hard_product(global float *restrict y, global const float *restrict w,
                         global const float *restrict x,
                         global const float *restrict norm,
                         global const int *restrict q_offsets,
                         global const int *restrict k_offsets,
                         global const int *restrict maps, product_args g)
{
    local float a_tile[A_SIZE] __attribute__((aligned(16)));
    local float b_tile[B_SIZE] __attribute__((aligned(16)));
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(2));
    const int i0 = GROUP(1) * TM, j0 = GROUP(0) * TN;
    const bool gather = g.form == GATHER, scores = g.form == SCORES;
    const int rows = gather ? p.S : p.T, columns = scores ? p.S : g.width;
    const int depth = scores ? g.width : (gather ? p.T : p.S);
    const size_t q_at = (size_t)p.q_first * g.width, k_at = (size_t)p.k_first * g.width;
    matrix a = scores ? matrix_of(w + q_at, g.width, p.T, g.width)
                      : matrix_of(w + p.map, p.S, p.T, p.S);
    const matrix b = gather ? matrix_of(x + q_at, g.width, p.T, g.width)
                            : matrix_of(x + k_at, g.width, p.S, g.width);
    a.factor = norm ? norm + p.q_first : 0;
    sums sum;
    sums_clear(&sum);
    for (int k = 0; TOGETHER(k < (i0 < rows && j0 < columns ? depth : 0)); k += DEPTH) {
        if (gather) {
            load_straight(a_tile, TM, a, k, i0);
        } else {
            load_turned(a_tile, TM, a, i0, k);
        }
        if (scores) {
            load_turned(b_tile, TN, b, j0, k);
        } else {
            load_straight(b_tile, TN, b, k, j0);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(&sum, a_tile, b_tile);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    y += (scores ? p.map : (gather ? k_at : q_at)) + (size_t)i0 * columns + j0;
    if (!scores && sums_lost(&sum)) { // perhaps 0 times NaN or infinity
        EACH_NUMBER(row, column)
        {
            if (i0 + row < rows && j0 + column < columns) {
                const float z = g.scale * open_sum(a, b, i0 + row, j0 + column, gather);
                global float *to = y + (size_t)row * columns + column;
                *to = g.add ? *to + z : z;
            }
        }
        return;
    }
#define STORE(z, row, column)                                   \
    quad_store(y + (size_t)(row)*columns + column, z * g.scale, \
               i0 + row < rows ? columns - j0 - column : 0, g.add);
    EACH_ROW(STORE, sum)
}

// hard_product over the listed gates only, forms MIX and GATHER
WORK_GROUP(ITEMS, 1, 1)
kernel void hard_sum(global float *restrict y, global const int *restrict list,
                     global const int *restrict count, global const float *restrict w,
                     global const float *restrict x, global const float *restrict norm,
                     global const int *restrict q_offsets,
                     global const int *restrict k_offsets,
                     global const int *restrict maps, product_args m)
{
    const bool by_key = m.form == GATHER;
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int row = GROUP(0), rows = by_key ? p.S : p.T;
    const int length = by_key ? p.T : p.S;
    const int to = (by_key ? p.k_first : p.q_first) + row;
    const int from = by_key ? p.q_first : p.k_first;
    const int listed = row < rows ? count[to] : 0;
    list += p.map + (size_t)row * length;
    w += p.map + (by_key ? (size_t)row : (size_t)row * p.S);
    for (int c = LANE(0); c < (row < rows ? m.width : 0); c += ITEMS) {
        float sum = 0.0f;
        for (int n = 0; n < listed; n++) {
            const int other = list[n];
            float gate = by_key ? w[(size_t)other * p.S] : w[other];
            gate = norm && by_key ? gate * norm[from + other] : gate;
            sum += gate * x[(size_t)(from + other) * m.width + c];
        }
        const float z = m.scale * (norm && !by_key ? sum * norm[to] : sum);
        const size_t at = (size_t)to * m.width + c;
        y[at] = m.add ? y[at] + z : z;
    }
}
