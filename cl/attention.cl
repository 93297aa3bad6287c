/* attention.cl - fused attention, a tile of queries to each work-group (GPUs).
 *
 * Layout: as attention.clh; q_offsets, k_offsets [B+1].
 * Work-group: DOWN x ACROSS items, see attention_strip.clh; grid (tiles of the longest
 *             sequence, H, B). Trip counts depend on the group only.
 * Defines: those of attention_strip.clh.
 * Local: 16 (ROWS + SPAN + 8) + 2 ROWS floats, an int.
 * Numerics: online softmax in f32. Scores stay in registers; weights pass through local
 *           memory 16 keys at a time. An item sums the weights of its own columns;
 *           the items' sums are added once at the end.
 * Writes: every row of o, and of lse. */
#include "attention_strip.clh"

#define RED (ACROSS + 1) // row stride of the reduction, odd

#if ROWS * RED > X_SIZE + Y_SIZE
#error the reduction needs more local memory than the tiles have
#endif

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
        float high = tops[i];
        for (int n = 0; n < ACROSS; n++) {
            high = fmax(high, red[i * RED + n]);
        }
        fades[i] = exp_below(tops[i] - high, scale);
        tops[i] = high;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* Applies dropout to the weights that this item has just put into x: eight queries by
 * its quad of keys, key .. key + 3. */
INLINE void drop(local float *x, attention_args a, int token, int head, int key)
{
    for (int i = 0; i < 8; i++) {
        const float4 keep =
            dropout_keep(a.drop, a.seed, a.step, a.stream,
                         a.first_row + (uint)(token + i), (uint)head, (uint)key / 4);
        local float *to = x + TX % 4 * 4 * X_STEP + 8 * TY + i;
        to[0] = drop_weight(to[0], keep.x);
        to[X_STEP] = drop_weight(to[X_STEP], keep.y);
        to[2 * X_STEP] = drop_weight(to[2 * X_STEP], keep.z);
        to[3 * X_STEP] = drop_weight(to[3 * X_STEP], keep.w);
    }
}

// o_i = sum_j p_ij v_j, lse_i = m_i and log2(sum_j exp(s_ij - m_i)), scores without
// scale; lse may be null
WORK_GROUP(ITEMS, 1, 1)
kernel void attention_forward(global float *restrict o, global float *restrict lse,
                              global const float *restrict q,
                              global const float *restrict k,
                              global const float *restrict v,
                              global const int *restrict q_offsets,
                              global const int *restrict k_offsets, attention_args a)
{
    local float tiles[X_SIZE + Y_SIZE] __attribute__((aligned(16)));
    local float tops[ROWS] __attribute__((aligned(16)));
    local float fades[ROWS] __attribute__((aligned(16)));
    volatile local int odd;
    local float *x = tiles, *y = tiles + X_SIZE;
    const sequence e = sequence_of(q_offsets, k_offsets, GROUP(2), a.causal);
    const int h = GROUP(1), first = GROUP(0) * ROWS, rows = min(e.T - first, ROWS);
    const int end = rows > 0 ? clamp(first + rows + e.reach, 0, e.S) : 0;
    const int row = e.q_first + first;
    eight total = { (float4)(0.0f), (float4)(0.0f) };
    strip s, z;
    strip_clear(&z);
    odd = 0;
    for (int i = LANE(0); i < ROWS; i += ITEMS) {
        tops[i] = SCORE_MIN;
    }
    for (int j = 0; TOGETHER(j < end); j += SPAN) {
        const int key = e.k_first + j;
        strip_clear(&s);
        strip_scores(&s, q + q_row(a, row, h, WIDTH), a.q_stride, rows,
                     k + k_row(a, key, h, WIDTH), a.k_stride, end - j, x, y);
        strip_hide(&s, e.S, first + 8 * TY, e.reach, j, NEVER);
        find_tops(&s, tiles, tops, fades, a.scale);
        const eight high = eight_load(tops), fade = eight_load(fades);
        total.top *= fade.top;
        total.low *= fade.low;
#define WEIGH(sums, h, i, n)                      \
    s.sums = exp_below(s.sums - high.n, a.scale); \
    total.n += s.sums.x + s.sums.y + s.sums.z + s.sums.w;
        EACH_ROW(WEIGH)
        if (j + SPAN > min(e.S, first + e.reach + 1)) {
            strip_hide(&s, e.S, first + 8 * TY, e.reach, j, HIDDEN);
        }
#define FADE(sums, h, i, n) z.sums *= fade.n;
        EACH_ROW(FADE)
        for (int n = 0; n < SPAN / DEPTH; n++) { // weights of 16 keys
            if (TX / 4 == n) {
                strip_put(x, s.top0, s.low0);
                if (a.drop > 0.0f) {
                    drop(x, a, row + 8 * TY, h, j + 4 * TX);
                }
            }
#if QUADS > 1
            if ((TX + ACROSS) / 4 == n) {
                strip_put(x, s.top1, s.low1);
                if (a.drop > 0.0f) {
                    drop(x, a, row + 8 * TY, h, j + 4 * (TX + ACROSS));
                }
            }
#endif
            const int left = end - j - n * DEPTH;
            load_straight(y, v + v_row(a, left > 0 ? key + n * DEPTH : key, h, WIDTH),
                          a.v_stride, left > 0 ? left : 1, &odd);
            barrier(CLK_LOCAL_MEM_FENCE);
            strip_multiply_seen(&z, x, y, odd);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
#define TELL_SUM(i, n) tiles[(8 * TY + i) * RED + TX] = total.n;
    TELL_SUM(0, top.x)
    TELL_SUM(1, top.y)
    TELL_SUM(2, top.z)
    TELL_SUM(3, top.w)
    TELL_SUM(4, low.x)
    TELL_SUM(5, low.y)
    TELL_SUM(6, low.z)
    TELL_SUM(7, low.w)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = LANE(0); i < ROWS; i += ITEMS) {
        float sum = 0.0f;
        for (int n = 0; n < ACROSS; n++) {
            sum += tiles[i * RED + n];
        }
        const bool none = sum == 0.0f;
        fades[i] = none ? 0.0f : 1.0f / sum;
        if (lse && i < rows) {
            const size_t at = statistic(a, row + i, h);
            lse[at] = none ? 0.0f : tops[i];
            lse[at + statistics(a)] = none ? 0.0f : log2(sum);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const eight share = eight_load(fades);
#define SHARE(sums, h, i, n) z.sums *= share.n;
    EACH_ROW(SHARE)
    strip_store(o + o_row(a, row, h, WIDTH), a.heads * WIDTH, &z, rows, 1.0f,
                GRAD_WRITE);
}
