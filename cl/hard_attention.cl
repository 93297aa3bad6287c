/* hard_attention.cl - products of maps and rows, and sums of selected rows, for GPUs.
 *
 * Layout: as hard_attention.clh; q [Nq,D], k and v [Nk,D].
 * Work-group: 8 x 8 items to 32 x 32 numbers of a result, see product_group.clh; grid
 * (across, down the longest sequence, B). hard_sum: 64 items along a row.
 * Defines: none.
 * Numerics: f32 sums in the order of the inner index.
 * Writes: the result whole (added to when add). */
#include "hard_attention.clh"
#include "product_group.clh"

/* An operand: element (i, k), i along the result, k along the sum. */
typedef struct operand {
    global const float *x;
    int outer, inner;           // floats from i to i + 1, from k to k + 1
    global const float *factor; // of each k; 0: none
} operand;

/* What is left to the edges from here. */
typedef struct edges {
    int outer, inner;
} edges;

/* Items read neighbours in memory: along k where that is contiguous. */
INLINE void load_tile(local float *to, operand a, int i0, int k0, edges left, int lid)
{
    for (int n = lid; n < SIDE * DEPTH; n += ITEMS) {
        const int i = a.inner == 1 ? n / DEPTH : n % SIDE;
        const int k = a.inner == 1 ? n % DEPTH : n / SIDE;
        float z = 0.0f;
        if (i < left.outer && k < left.inner) {
            z = a.x[(size_t)(i0 + i) * a.outer + (size_t)(k0 + k) * a.inner];
            z = a.factor ? z * a.factor[k0 + k] : z;
        }
        to[k * STEP + i] = z;
    }
}

/* sum = the tile at (i0, j0) of a b, K long. Every item calls it. */
INLINE void multiply(float sum[4][4], operand a, operand b, int M, int N, int K, int i0,
                     int j0, local float *a_tile, local float *b_tile)
{
    const int lid = LANE(0);
    clear_sums(sum);
    for (int k0 = 0; k0 < K; k0 += DEPTH) {
        const edges a_left = { M - i0, K - k0 }, b_left = { N - j0, K - k0 };
        load_tile(a_tile, a, i0, k0, a_left, lid);
        load_tile(b_tile, b, j0, k0, b_left, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
        product_step(sum, a_tile, b_tile, lid);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* y[i,j] (+)= scale factor[i] sum; factor may be 0 */
INLINE void store(global float *y, float sum[4][4], int M, int N, int i0, int j0,
                  float scale, global const float *factor, int add)
{
    const int i1 = i0 + LANE(0) / 8 * 4, j1 = j0 + LANE(0) % 8 * 4;
    for (int i = i1; i < min(i1 + 4, M); i++) {
        const float f = factor ? scale * factor[i] : scale;
        for (int j = j1; j < min(j1 + 4, N); j++) {
            const size_t at = (size_t)i * N + j;
            const float z = f * sum[i - i1][j - j1];
            y[at] = add ? y[at] + z : z;
        }
    }
}

// y (+)= scale w x, as product_args says
WORK_GROUP(ITEMS, 1, 1)
kernel void hard_product(global float *restrict y, global const float *restrict w,
                         global const float *restrict x,
                         global const float *restrict norm,
                         global const int *restrict q_offsets,
                         global const int *restrict k_offsets,
                         global const int *restrict maps, product_args g)
{
    local float a_tile[TILE], b_tile[TILE];
    float sum[4][4];
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(2));
    const int i0 = GROUP(1) * SIDE, j0 = GROUP(0) * SIDE;
    const bool gather = g.form == GATHER, scores = g.form == SCORES;
    const int rows = gather ? p.S : p.T, columns = scores ? p.S : g.width;
    const int depth = scores ? g.width : (gather ? p.T : p.S);
    const size_t q_at = (size_t)p.q_first * g.width, k_at = (size_t)p.k_first * g.width;
    operand a = { w + p.map, gather ? 1 : p.S, gather ? p.S : 1,
                  norm && gather ? norm + p.q_first : 0 };
    operand b = { x + (gather ? q_at : k_at), 1, g.width, 0 };
    if (scores) {
        a.x = w + q_at;
        a.outer = b.outer = g.width;
        b.inner = 1;
    }
    multiply(sum, a, b, rows, columns, i0 < rows && j0 < columns ? depth : 0, i0, j0,
             a_tile, b_tile);
    store(y + (scores ? p.map : (gather ? k_at : q_at)), sum, rows, columns, i0, j0,
          g.scale, norm && !gather ? norm + p.q_first : 0, g.add);
}

// the same over the gates that are listed
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
