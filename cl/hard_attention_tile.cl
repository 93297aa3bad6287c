/* hard_attention_tile.cl - products of maps and rows, and sums of selected rows, for
 * CPU devices; each work-item has a run of rows of one sequence.
 *
 * Layout: as hard_attention.clh; q [Nq,D], k and v [Nk,D].
 * Work-group: 1 item; grid (runs of RUN rows of the longest sequence, B).
 * Defines: VEC, the native width; MR, rows of a register tile.
 * Numerics: f32 sums in the order of the inner index, cut every BLOCK.
 * Writes: the result whole (added to when add). */
#include "hard_attention.clh"
#include "product_tile.clh"

#define RUN   24  // rows of an item; as in src/ops/hard_attention.c
#define BLOCK 128 // inner indices packed at a time
#define FOUR  4   // queries at a time

/* dots[r] = <q_r, k>; rows of width floats */
INLINE void dot_four(float dots[FOUR], global const float *const q[FOUR],
                     global const float *k, int width)
{
    floatv sum[FOUR];
#pragma unroll
    for (int r = 0; r < FOUR; r++) {
        sum[r] = (floatv)(0.0f);
    }
    int c = 0;
    for (; c + VEC <= width; c += VEC) {
        const floatv x = loadv(0, k + c);
#pragma unroll
        for (int r = 0; r < FOUR; r++) {
            sum[r] = multiply_add(loadv(0, q[r] + c), x, sum[r]);
        }
    }
#pragma unroll
    for (int r = 0; r < FOUR; r++) {
        dots[r] = sum_lanes(sum[r]);
    }
    for (; c < width; c++) {
#pragma unroll
        for (int r = 0; r < FOUR; r++) {
            dots[r] += q[r][c] * k[c];
        }
    }
}

/* y_ij = scale <q_i, k_j> for rows first .. last-1 */
INLINE void score(global float *y, global const float *q, global const float *k,
                  int first, int last, int keys, int width, float scale)
{
    for (int i = first; i < last; i += FOUR) {
        global const float *row[FOUR];
#pragma unroll
        for (int r = 0; r < FOUR; r++) {
            row[r] = q + (size_t)min(i + r, last - 1) * width;
        }
        for (int j = 0; j < keys; j++) {
            float dots[FOUR];
            dot_four(dots, row, k + (size_t)j * width, width);
            for (int r = 0; r < min(FOUR, last - i); r++) {
                y[(size_t)(i + r) * keys + j] = scale * dots[r];
            }
        }
    }
}

/* Rows of a result: y[i] (+)= scale outer[i] sum over k of a(i,k) inner[k] x[k], where
 * a(i,k) = a[i * row + k * step]; outer and inner may be null. */
typedef struct mixture {
    global float *y;
    int first, last, width; // rows i of y, D
    global const float *a;
    int row, step, depth;
    global const float *x, *outer, *inner;
    float scale;
    int add;
} mixture;

/* Packs up to TILE_N columns of rows into a panel, with zeros past the last column. */
INLINE void pack_panel(float *to, global const float *x, int rows, int columns,
                       int stride)
{
    for (int k = 0; k < rows; k++, x += stride, to += TILE_N) {
        if (columns >= TILE_N) {
            storev(loadv(0, x), 0, to);
            storev(loadv(1, x), 1, to);
            continue;
        }
        for (int c = 0; c < TILE_N; c++) {
            to[c] = c < columns ? x[c] : 0.0f;
        }
    }
}

/* sum[r] += products of a's row at at[r] with a panel, inner indices k0 .. */
INLINE void add_panel(floatv sum[MR][2], const mixture m, const int at[MR], int k0,
                      const float *panel, int depth)
{
    global const float *a = m.a + (size_t)k0 * m.step;
    for (int k = 0; k < depth; k++, a += m.step, panel += TILE_N) {
        const float f = m.inner ? m.inner[k0 + k] : 1.0f;
        const floatv x0 = loadv(0, panel), x1 = loadv(1, panel);
        EACH_ROW(r)
        {
            const floatv w = (floatv)(a[at[r]] * f);
            sum[r][0] = multiply_add(w, x0, sum[r][0]);
            sum[r][1] = multiply_add(w, x1, sum[r][1]);
        }
    }
}

/* A block of a product: rows i .., columns c .., inner indices first .. last-1. */
typedef struct mixture_part {
    int i, c, first, last;
} mixture_part;

/* Replaces sums that are NaN by sums over the a(i,k) that are not 0. */
INLINE void mend_sums(float each[MR * TILE_N], const mixture m, const mixture_part b)
{
    for (int n = 0; n < MR * TILE_N; n++) {
        const int i = b.i + n / TILE_N, c = b.c + n % TILE_N;
        if (each[n] == each[n] || i >= m.last || c >= m.width) {
            continue;
        }
        each[n] = 0.0f;
        for (int k = b.first; k < b.last; k++) {
            const float w = m.a[(size_t)i * m.row + (size_t)k * m.step];
            if (w != 0.0f) {
                each[n] +=
                    (m.inner ? w * m.inner[k] : w) * m.x[(size_t)k * m.width + c];
            }
        }
    }
}

/* Stores a block of a mixture: y = scale outer sum, or y + that. */
INLINE void store_rows(floatv sum[MR][2], const mixture m, const mixture_part b,
                       int add)
{
    float each[MR * TILE_N];
    floatv left = (floatv)(0.0f), right = left;
    const int i = b.i, c = b.c;
    EACH_ROW(r)
    {
        storev(sum[r][0], 2 * r, each);
        storev(sum[r][1], 2 * r + 1, each);
        left += sum[r][0];
        right += sum[r][1];
    }
    const float probe = sum_lanes(left + right);
    if (probe != probe) { // perhaps 0 times NaN or infinity
        mend_sums(each, m, b);
    }
    for (int r = 0; r < min(m.last - i, MR); r++) {
        const float f = m.outer ? m.scale * m.outer[i + r] : m.scale;
        global float *y = m.y + (size_t)(i + r) * m.width + c;
        for (int n = 0; n < min(m.width - c, TILE_N); n++) {
            const float z = f * each[r * TILE_N + n];
            y[n] = add ? y[n] + z : z;
        }
    }
}

/* Computes rows first .. last-1 of a mixture. */
INLINE void mix_values(const mixture m)
{
    float panel[BLOCK * TILE_N];
    for (int c = 0; c < (m.first < m.last ? m.width : 0); c += TILE_N) {
        int k0 = 0;
        do { // one round even without inner indices, to write zeros
            const int depth = min(BLOCK, m.depth - k0);
            pack_panel(panel, m.x + (size_t)k0 * m.width + c, depth, m.width - c,
                       m.width);
            for (int i = m.first; i < m.last; i += MR) {
                floatv sum[MR][2];
                int at[MR];
                clear_sums(sum);
                EACH_ROW(r)
                {
                    at[r] = min(i + r, m.last - 1) * m.row;
                }
                add_panel(sum, m, at, k0, panel, depth);
                const mixture_part b = { i, c, k0, k0 + depth };
                store_rows(sum, m, b, m.add || k0);
            }
            k0 += BLOCK;
        } while (k0 < m.depth);
    }
}

// y (+)= scale w x in the form g.form, see product_args
WORK_GROUP(1, 1, 1)
kernel void hard_product(global float *restrict y, global const float *restrict w,
                         global const float *restrict x,
                         global const float *restrict norm,
                         global const int *restrict q_offsets,
                         global const int *restrict k_offsets,
                         global const int *restrict maps, product_args g)
{
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const bool gather = g.form == GATHER;
    const int rows = gather ? p.S : p.T;
    const int first = GROUP(0) * RUN, last = min(first + RUN, rows);
    const size_t q_at = (size_t)p.q_first * g.width, k_at = (size_t)p.k_first * g.width;
    if (g.form == SCORES) {
        score(y + p.map, w + q_at, x + k_at, first, last, p.S, g.width, g.scale);
    } else {
        mixture m;
        m.y = y + (gather ? k_at : q_at);
        m.first = first;
        m.last = last;
        m.width = g.width;
        m.a = w + p.map;
        m.row = gather ? 1 : p.S;
        m.step = gather ? p.S : 1;
        m.depth = gather ? p.T : p.S;
        m.x = x + (gather ? q_at : k_at);
        m.outer = norm && !gather ? norm + p.q_first : 0;
        m.inner = norm && gather ? norm + p.q_first : 0;
        m.scale = g.scale;
        m.add = g.add;
        mix_values(m);
    }
}

/* The rows of x that a list selects: row n has the weight w[n * step], times inner[n]
 * if inner is not null. */
typedef struct selection {
    global const int *list;
    int count;
    global const float *w, *inner, *x;
    int step, width;
} selection;

INLINE float weight_of(const selection s, int n)
{
    const float w = s.w[(size_t)n * s.step];
    return s.inner ? w * s.inner[n] : w;
}

/* y (+)= outer times the sum of the selected rows; four vectors of columns at a time */
INLINE void sum_rows(global float *y, const selection s, float outer, int add)
{
    int c = 0;
    for (; c + 4 * VEC <= s.width; c += 4 * VEC) {
        floatv sum[4];
#pragma unroll
        for (int u = 0; u < 4; u++) {
            sum[u] = (floatv)(0.0f);
        }
        for (int n = 0; n < s.count; n++) {
            global const float *x = s.x + (size_t)s.list[n] * s.width + c;
            const floatv w = (floatv)(weight_of(s, s.list[n]));
#pragma unroll
            for (int u = 0; u < 4; u++) {
                sum[u] = multiply_add(w, loadv(u, x), sum[u]);
            }
        }
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const floatv z = outer * sum[u];
            storev(add ? loadv(u, y + c) + z : z, u, y + c);
        }
    }
    for (; c < s.width; c++) {
        float sum = 0.0f;
        for (int n = 0; n < s.count; n++) {
            sum = multiply_add(weight_of(s, s.list[n]),
                               s.x[(size_t)s.list[n] * s.width + c], sum);
        }
        y[c] = add ? y[c] + outer * sum : outer * sum;
    }
}

// hard_product over the listed gates only, forms MIX and GATHER
WORK_GROUP(1, 1, 1)
kernel void hard_sum(global float *restrict y, global const int *restrict list,
                     global const int *restrict count, global const float *restrict w,
                     global const float *restrict x, global const float *restrict norm,
                     global const int *restrict q_offsets,
                     global const int *restrict k_offsets,
                     global const int *restrict maps, product_args m)
{
    const bool by_key = m.form == GATHER;
    const pair p = pair_of(q_offsets, k_offsets, maps, GROUP(1));
    const int rows = by_key ? p.S : p.T, length = by_key ? p.T : p.S;
    const int to = by_key ? p.k_first : p.q_first;
    const int from = by_key ? p.q_first : p.k_first;
    const int first = GROUP(0) * RUN, last = min(first + RUN, rows);
    for (int row = first; row < last; row++) {
        selection s;
        s.list = list + p.map + (size_t)row * length;
        s.count = count[to + row];
        s.w = w + p.map + (by_key ? (size_t)row : (size_t)row * p.S);
        s.inner = norm && by_key ? norm + from : 0;
        s.x = x + (size_t)from * m.width;
        s.step = by_key ? p.S : 1;
        s.width = m.width;
        sum_rows(y + (size_t)(to + row) * m.width, s,
                 norm && !by_key ? m.scale * norm[to + row] : m.scale, m.add);
    }
}
