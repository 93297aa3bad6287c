/* attention_unit_group.cl - attention_forward on a GPU's matrix unit, a tile of queries
 * to each work-group.
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: ITEMS items to TM queries, see attention_unit_group.clh; grid (tiles of
 *             the longest sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_unit_group.clh.
 * Local: 2 (OWN_SIZE + TILES_SIZE) + 8 TM bytes, an int.
 * Numerics: products of bf16 numbers with f32 sums; online softmax in f32. An item sums
 *           the weights of its own columns before they are rounded; the items' sums are
 *           added once at the end.
 * Writes: every row of o, and of lse. */
#include "attention_unit_group.clh"

/* Updates tops [TM], the largest score of each row so far, through told [TM][TOLD], and
 * sets fades [TM], the factors of earlier sums. Every item calls it, after a barrier;
 * ends with a barrier. */
INLINE void find_tops(const unit_sums *s, local float *told, local float *tops,
                      local float *fades, float scale)
{
    float high[RUNS];
    UNROLLED
    for (int r = 0; r < RUNS; r++) {
        high[r] = SCORE_MIN;
    }
    EACH_QUAD(m, n)
    {
        const float4 x = unit_quad(s, m, n);
        high[RUN(m, n)] = fmax(high[RUN(m, n)], fmax(fmax(x.x, x.y), fmax(x.z, x.w)));
    }
    UNROLLED
    for (int r = 0; r < RUNS; r++) {
        told[RUN_ROW(r) * TOLD + SHARER] = high[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = LANE(0); i < TM; i += ITEMS) {
        const float most = told_most(told, i, SHARERS, tops[i]);
        fades[i] = weight_below(tops[i] - most, scale);
        tops[i] = most;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* s = the weights of scores s, whose sums are added to total; z fades. */
INLINE void weigh(unit_sums *s, unit_sums *z, float total[RUNS],
                  local const float *tops, local const float *fades, float scale)
{
    UNROLLED
    for (int r = 0; r < RUNS; r++) {
        total[r] *= fades[RUN_ROW(r)];
    }
    EACH_QUAD(m, n)
    {
        const int row = QUAD_ROW(m, n);
        const float4 w = weight_below(unit_quad(s, m, n) - tops[row], scale);
        total[RUN(m, n)] += w.x + w.y + w.z + w.w;
        unit_set_quad(s, m, n, w);
        unit_set_quad(z, m, n, unit_quad(z, m, n) * fades[row]);
    }
}

/* Ends the rows of a group: multiplies z by one over the sum of a row's weights, and
 * writes the statistics of rows from `at` on, unless lse is null. told is free scratch
 * memory. */
INLINE void end_rows(unit_sums *z, const float total[RUNS], local float *told,
                     local const float *tops, local float *shares, global float *lse,
                     size_t at, size_t apart, int rows)
{
    UNROLLED
    for (int r = 0; r < RUNS; r++) {
        told[RUN_ROW(r) * TOLD + SHARER] = total[r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = LANE(0); i < TM; i += ITEMS) {
        shares[i] = end_row(lse && i < rows ? lse + at + i : 0, apart, tops[i],
                            told_sum(told, i, SHARERS));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    EACH_QUAD(m, n)
    {
        unit_set_quad(z, m, n, unit_quad(z, m, n) * shares[QUAD_ROW(m, n)]);
    }
}

// o_i = sum_j p_ij v_j, lse_i = m_i and log2(sum_j exp(s_ij - m_i)), scores without
// scale; lse may be null
WORK_GROUP(ITEMS, 1, 1)
UNIT_ATTRIBUTE
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a)
{
    local ushort own[OWN_SIZE] __attribute__((aligned(16)));
    local ushort tiles[TILES_SIZE] __attribute__((aligned(16)));
    local float tops[TM], fades[TM];
    local uint scratch[SCRATCH];
    volatile local int odd;
    local ushort *x = tiles, *y = tiles + WEIGHT_TILES * A_SIZE;
    local uchar *keeps = (local uchar *)x;
    local float *told = (local float *)y;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int h = GROUP(1), first = GROUP(0) * TM, rows = min(e.T - first, TM);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first, all = min(e.S, first + e.reach + 1);
    float total[RUNS];
    unit_sums s, z;
    unit_clear(&z);
    odd = 0;
    UNROLLED
    for (int r = 0; r < RUNS; r++) {
        total[r] = 0.0f;
    }
    begin_tops(tops, TM);
    load_own(own, q + q_row(a, row, h, WIDTH), a.q_stride, rows);
    for (int j = 0; TOGETHER(j < end); j += TN) {
        const int key = e.k_first + j;
        const bool edge = j + TN > all; // a row does not see all these keys
        draw_keeps(keeps, a, row, h, j, TM);
        unit_scores(&s, own, k + k_row(a, key, h, WIDTH), a.k_stride, end - j, y,
                    scratch);
        if (edge) {
            unit_hide(&s, e.S, first, e.reach, j, NEVER);
        }
        find_tops(&s, told, tops, fades, a.scale);
        weigh(&s, &z, total, tops, fades, a.scale);
        if (edge) {
            unit_hide(&s, e.S, first, e.reach, j, HIDDEN);
        }
        unit_drop(&s, keeps, a.drop);
        unit_mix(&z, &s, v + v_row(a, key, h, WIDTH), a.v_stride, end - j, x, y, &odd,
                 scratch);
    }
    end_rows(&z, total, told, tops, fades, lse, statistic(a, row, h), statistics(a),
             rows);
    unit_store(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, &z, rows, 1.0f,
               GRAD_WRITE);
}
