/* attention_grad_kv.cl - gradients of keys and values, a tile of keys to each
 * work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh and attention_bias.clh; KEYS, VALUES: 1 for the
 *          gradients that this launch computes. Both at once compute the weights only
 *          once, but need twice the registers.
 * Local: 16 (ROWS + SPAN + 8) + 3 SPAN floats, an int.
 * Numerics: f32; recomputes the weights from lse. Weights and their gradients stay in
 *           registers, with keys as rows and queries as columns.
 * Writes: every row of the gradients, or adds to them, by mode. A tile belongs to one
 *         group and blocks come in order, so two runs give the same bits. */
#include "attention_draws.clh"

#ifndef KEYS
#define KEYS   1
#define VALUES 1
#endif

#if !CUSTOM
/* Turns products into weights, of queries in columns. */
INLINE void weigh_keys(const bias *b, strip *s, place at, local const float *tops,
                       local const float *rests, float scale)
{
    bias_keys(b, s, at, scale);
    (void)b, (void)at;
    const float unit = BIASED_UNIT(scale);
    const float4 high0 = ((local const float4 *)tops)[TX];
    const float4 rest0 = ((local const float4 *)rests)[TX];
#if QUADS > 1
    const float4 high1 = ((local const float4 *)tops)[TX + ACROSS];
    const float4 rest1 = ((local const float4 *)rests)[TX + ACROSS];
#endif
#define WEIGH(sums, h, r, n) \
    s->sums =                \
        mark_again(exp2((s->sums - high##h) * (unit * LOG2_E) - rest##h), s->sums);
    EACH_ROW(WEIGH)
}

/* dp = w (dp - deltas) if keys need it, of queries in columns. */
INLINE void slopes_of_keys(const bias *b, strip *w, strip *dp, place at,
                           local const float *tops, local const float *rests,
                           local const float *deltas, float scale, bool keys,
                           bool values)
{
    (void)b, (void)at, (void)tops, (void)rests, (void)scale, (void)values;
    const float4 less0 = ((local const float4 *)deltas)[TX];
#if QUADS > 1
    const float4 less1 = ((local const float4 *)deltas)[TX + ACROSS];
#endif
#define TO_SLOPE(sums, h, r, n) \
    dp->sums = mark_as(w->sums * (dp->sums - less##h), w->sums);
    if (keys) {
        EACH_ROW(TO_SLOPE)
    }
}
#endif

/* Sets what belongs to hidden pairs to HIDDEN: rows are keys from key on, columns
 * queries from i on, which see keys up to their own number + reach. */
INLINE void hide_queries(strip *s, int queries, int key, int reach, int i)
{
    const int4 lane = (int4)(0, 1, 2, 3);
#define HIDE_QUERIES(sums, h, r, n)                                                    \
    {                                                                                  \
        const int4 query = lane + (i + 4 * (TX + ACROSS * h));                         \
        const int4 seen = query < (int4)(queries) && query >= (int4)(key + r - reach); \
        s->sums = select((float4)(HIDDEN), s->sums, seen);                             \
    }
    EACH_ROW(HIDE_QUERIES)
}

// dk_j += scale sum_i ds_ij q_i, dv_j += sum_i keep_ij p_ij dO_i
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_grad_kv(
    global float *dk, global float *dv, global const float *restrict dy,
    global const float *restrict q, global const float *restrict k,
    global const float *restrict v, global const float *restrict lse,
    global const float *restrict delta, global const int *restrict q_offsets,
    global const int *restrict k_offsets, attention_args a, int k_mode,
    int v_mode GRAD_KV_PARAMETERS)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[SPAN] __attribute__((aligned(16)));
    local float rests[SPAN] __attribute__((aligned(16)));
    local float deltas[SPAN] __attribute__((aligned(16)));
    BIAS_LOCALS
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = SEQUENCE(q_offsets, k_offsets, a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.S - first, ROWS);
    const int begin = max(first - e.reach, 0);
    const int row = e.k_first + first, own = 8 * TY, o_stride = a.heads * WIDTH;
    GRAD_KV_BIAS(b, e);
    const int end = rows > 0 ? end_of_queries(&b, first, rows, e.T) : 0;
    strip s, dp, z, gz;
    strip_clear(&z);
    strip_clear(&gz);
    odd = 0;
    bias_begin(&b, 0);
    for (int i = next_query(&b, begin, end, first, rows); TOGETHER(i < end);
         i = next_query(&b, i + SPAN, end, first, rows)) {
        const int query = e.q_first + i, count = end - i;
        const place at = { first, rows, i, count };
        global const float *queries = q + q_row(a, query, h, WIDTH);
        global const float *out = dy + o_row(a, query, h, WIDTH);
        load_statistics(tops, rests, deltas, lse, delta, statistic(a, query, h),
                        statistics(a), count, SPAN);
        begin_keys(&b, &s, at);
        strip_scores(&s, k + k_row(a, row, h, WIDTH), a.k_stride, rows, queries,
                     a.q_stride, count, x, y);
        weigh_keys(&b, &s, at, tops, rests, a.scale);
        if (KEYS) {
            begin_slope_keys(&b, &dp, at);
            strip_scores(&dp, v + v_row(a, row, h, WIDTH), a.v_stride, rows, out,
                         o_stride, count, x, y);
            strip_drop_turned(&dp, tiles, a, query + 4 * TX, h, first + own);
        }
        slopes_of_keys(&b, &s, &dp, at, tops, rests, deltas, a.scale, KEYS, VALUES);
        if (KEYS) {
            hide_queries(&dp, e.T, first + own, e.reach, i);
        }
        if (VALUES) {
            strip_drop_turned(&s, tiles, a, query + 4 * TX, h, first + own);
            hide_queries(&s, e.T, first + own, e.reach, i);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (VALUES) {
            strip_mix(&gz, &s, out, o_stride, at, &b, false, 0, x, y, &odd);
        }
        if (KEYS) {
            strip_mix(&z, &dp, queries, a.q_stride, at, &b, false, 0, x, y, &odd);
        }
    }
    // dk first: if keys and values are one tensor, dv is added to dk
    strip_store(dk + k_row(a, row, h, WIDTH), a.k_stride, &z, rows, a.scale,
                KEYS ? k_mode : GRAD_SKIP);
    strip_store(dv + v_row(a, row, h, WIDTH), a.v_stride, &gz, rows, 1.0f,
                VALUES ? v_mode : GRAD_SKIP);
}
