/* attention.cl - fused attention, a tile of queries to each work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh and attention_bias.clh.
 * Local: 16 (ROWS + SPAN + 8) + 2 ROWS floats, an int.
 * Numerics: online softmax in f32. Scores stay in registers; weights pass through local
 *           memory 16 keys at a time. An item sums the weights of its own columns;
 *           the items' sums are added once at the end.
 * Writes: every row of o, and of lse. */
#include "attention_strip.clh"

/* Updates tops [ROWS], the largest score of each row so far, through red [ROWS][RED],
 * and sets fades [ROWS], the factors of earlier sums. Every item calls it, after a
 * barrier; ends with a barrier. */
INLINE void find_tops(const strip *s, local float *red, local float *tops,
                      local float *fades, float scale)
{
#define MOST(row) fmax(fmax(s->row.x, s->row.y), fmax(s->row.z, s->row.w))
#if QUADS > 1
#define TELL_TOP(i, row, more) \
    red[(8 * TY + i) * RED + TX] = fmax(MOST(row), MOST(more));
#else
#define TELL_TOP(i, row, more) red[(8 * TY + i) * RED + TX] = MOST(row);
#endif
    TELL_TOP(0, top0.r0, top1.r0)
    TELL_TOP(1, top0.r1, top1.r1)
    TELL_TOP(2, top0.r2, top1.r2)
    TELL_TOP(3, top0.r3, top1.r3)
    TELL_TOP(4, low0.r0, low1.r0)
    TELL_TOP(5, low0.r1, low1.r1)
    TELL_TOP(6, low0.r2, low1.r2)
    TELL_TOP(7, low0.r3, low1.r3)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = LANE(0); i < ROWS; i += ITEMS) {
        const float high = told_most(red, i, ACROSS, tops[i]);
        fades[i] = exp_below(tops[i] - high, scale);
        tops[i] = high;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Ends the rows of a group, whose items have sums of weights: multiplies z by one over
 * a row's sum, and writes the statistics of rows from `at` on, unless lse is null. red
 * is free scratch memory. */
INLINE void end_rows(strip *z, eight total, local float *red, local const float *tops,
                     local float *shares, global float *lse, size_t at, size_t apart,
                     int rows)
{
    tell_totals(red, total);
    for (int i = LANE(0); i < ROWS; i += ITEMS) {
        shares[i] = end_row(lse && i < rows ? lse + at + i : 0, apart, tops[i],
                            told_sum(red, i, ACROSS));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const eight share = eight_load(shares);
#define SHARE(sums, h, i, n) z->sums *= share.n;
    EACH_ROW(SHARE)
}

// o_i = sum_j p_ij v_j, lse_i = m_i and log2(sum_j exp(s_ij - m_i)), scores without
// scale unless they have a bias; lse may be null. Without o where attention_weighted.cl
// computes it from lse
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets,
                              attention_args a FORWARD_PARAMETERS)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS] __attribute__((aligned(16)));
    local float fades[ROWS] __attribute__((aligned(16)));
    BIAS_LOCALS
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = SEQUENCE(q_offsets, k_offsets, a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.T - first, ROWS);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first;
    const float unit = BIASED_UNIT(a.scale);
    FORWARD_BIAS(b, e, row);
    const draws d = { a, row + 8 * TY, h };
    eight total = { (float4)(0.0f), (float4)(0.0f) };
    strip s, z;
    strip_clear(&z);
    odd = 0;
    bias_start();
    bias_begin(&b, rows);
    begin_tops(tops, ROWS);
    for (int j = next_key(&b, first_key(&b, first), end, first, rows);
         TOGETHER(j < end); j = next_key(&b, j + SPAN, end, first, rows)) {
        const int key = e.k_first + j;
        const place at = { first, rows, j, end - j };
        begin_queries(&b, &s, at);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows,
                     k + k_row(a, key, h, WIDTH), a.k_stride, end - j, x, y);
        bias_queries(&b, &s, at, a.scale);
        strip_hide(&s, e.S, first + 8 * TY, e.reach, j, NEVER);
        find_tops(&s, tiles, tops, fades, unit);
        bias_fade(&b, fades, at);
        const eight high = eight_load(tops), fade = eight_load(fades);
        total.top *= fade.top;
        total.low *= fade.low;
#define WEIGH(sums, h, i, n)                                       \
    s.sums = mark_first(exp_below(s.sums - high.n, unit), s.sums); \
    total.n += s.sums.x + s.sums.y + s.sums.z + s.sums.w;          \
    z.sums *= fade.n;
        EACH_ROW(WEIGH)
        if (!BIASED && j + SPAN > min(e.S, first + e.reach + 1)) {
            strip_hide(&s, e.S, first + 8 * TY, e.reach, j, HIDDEN);
        }
        factor_queries(&b, &s, at);
        if (!LATE_WEIGHTS) {
            strip_mix(&z, &s, v + v_row(a, key, h, WIDTH), a.v_stride, at, &b,
                      FORWARD_LEARNS, &d, x, y, &odd);
        }
    }
    end_rows(&z, total, tiles, tops, fades, lse, statistic(a, row, h), statistics(a),
             rows);
    bias_end(&b, rows, fades, 1.0f);
    strip_store(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, &z, rows, 1.0f,
                LATE_WEIGHTS ? GRAD_SKIP : GRAD_WRITE);
}
