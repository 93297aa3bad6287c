/* conv_attention_1d_tile.cl - attention with filters over its maps, for CPU devices: a
 * work-item for each sequence and head.
 *
 * Layout: as attention.clh and conv_attention_1d.clh; maps p (after the softmax) and y
 * (after the filter), flow (gradient of the activation's input) and drain (gradient of
 * scores); panels [H,ceil(t/TILE_N),3*t+1,TILE_N], w in columns of TILE_N with b below;
 * partial [runs,H,3*t+1,line]; zeros [line].
 * Work-group: 1 item; grid (B, H), for the sums of dw and db (3 H, runs).
 * Defines: WIDTH = d; VEC; MR.
 * Numerics: f32; the row's maximum is subtracted; rows and sequences in order.
 * Writes: o, p, y, flow, drain in their T x T parts; dq, dk, dv whole (added to
 * by mode); partial whole. */
#include "conv_attention_1d_tile.clh"

// panels of w[h] and b[h]; turned: of the transposed w, for the backward pass
WORK_GROUP(1, 1, 1)
kernel void conv_attention_1d_pack(global float *restrict panels,
                                   global const float *restrict w,
                                   global const float *restrict b, table_args s,
                                   int turned)
{
    const int first = GROUP(0) * TILE_N, h = GROUP(1),
              count = (s.t + TILE_N - 1) / TILE_N;
    panels += ((size_t)h * count + GROUP(0)) * (SHIFTS * s.t + 1) * TILE_N;
    w += (size_t)h * SHIFTS * s.t * s.t;
    for (int k = 0; k <= SHIFTS * s.t; k++, panels += TILE_N) {
        const int u = k / s.t, c = k % s.t;
        for (int j = 0; j < TILE_N; j++) {
            const int o = first + j;
            const size_t in = turned ? ((size_t)u * s.t + o) * s.t + c
                                     : ((size_t)u * s.t + c) * s.t + o;
            const float x = o >= s.t ? 0.0f : u == SHIFTS ? b[h * s.t + o] : w[in];
            panels[j] = x;
        }
    }
}

/* p = softmax of each of T rows in place, with zeros up to a whole vector. */
INLINE void softmax_rows(global float *p, int T, int line)
{
    const int end = (T + VEC - 1) / VEC * VEC;
    for (int i = 0; i < T; i++, p += line) {
        floatv top = (floatv)(SCORE_MIN), sum = (floatv)(0.0f);
        for (int j = 0; j < end; j += VEC) {
            const intv seen = convert_intv(LANES) + j < T;
            top = fmax(top, select((floatv)(SCORE_MIN), loadv(0, p + j), seen));
        }
        const float high = max_lanes(top);
        for (int j = 0; j < end; j += VEC) {
            const intv seen = convert_intv(LANES) + j < T;
            const floatv e = exp_fastv(loadv(0, p + j) - high);
            const floatv x = select((floatv)(0.0f), e, seen);
            storev(x, 0, p + j);
            sum += x;
        }
        const float total = sum_lanes(sum);
        const float share = total == 0.0f ? 0.0f : 1.0f / total; // 0: -inf alone
        for (int j = 0; j < end; j += VEC) {
            storev(loadv(0, p + j) * share, 0, p + j);
        }
    }
}

// p = softmax(q k' scale), y = act(b + filter of p), o = y v
WORK_GROUP(1, 1, 1)
kernel void conv_attention_1d_forward(global float *restrict o, global float *p,
                                      global float *y, global const float *restrict q,
                                      global const float *restrict k,
                                      global const float *restrict v,
                                      global const float *restrict panels,
                                      global const float *restrict zeros,
                                      global const int *restrict offsets,
                                      attention_args a, table_args s)
{
    float panel[PANEL];
    const int h = GROUP(1), first = offsets[GROUP(0)];
    const int T = offsets[GROUP(0) + 1] - first;
    const size_t at = map_row(a, s, first, h), count = (s.t + TILE_N - 1) / TILE_N;
    p += at;
    y += at;
    scores(p, q + q_row(a, first, h, WIDTH), a.q_stride, k + k_row(a, first, h, WIDTH),
           a.k_stride, T, a.scale, 0, s, panel);
    softmax_rows(p, T, s.line);
    convolve(y, p, panels + h * count * (SHIFTS * s.t + 1) * TILE_N, zeros, T, -1, 1,
             s);
    mix_values(o + o_row(a, first, h, WIDTH), (size_t)a.heads * WIDTH, y,
               v + v_row(a, first, h, WIDTH), a.v_stride, T, 0, s, panel);
}

/* drain = p (drain - <drain, p>) scale in each of T rows, in place. Past T drain holds
 * what unused columns of w made. */
INLINE void softmax_back(global float *drain, global const float *p, int T,
                         const table_args s, float scale)
{
    const int end = (T + VEC - 1) / VEC * VEC;
    for (int i = 0; i < T; i++, p += s.line, drain += s.line) {
        floatv sum = (floatv)(0.0f);
        if (T < end) {
            const floatv x = loadv(0, drain + end - VEC);
            storev(keep_below(x, end - VEC, T, (floatv)(0.0f)), 0, drain + end - VEC);
        }
        for (int j = 0; j < end; j += VEC) {
            sum += loadv(0, p + j) * loadv(0, drain + j);
        }
        const float dot = sum_lanes(sum);
        for (int j = 0; j < end; j += VEC) {
            const floatv x = loadv(0, p + j) * (loadv(0, drain + j) - dot);
            storev(x * scale, 0, drain + j);
        }
    }
}

// flow = act'(y) dO v', dv = y' dO, drain = the softmax' gradient, dq = drain k,
// dk = drain' q
WORK_GROUP(1, 1, 1)
kernel void conv_attention_1d_backward(
    global float *dq, global float *dk, global float *dv, global float *flow,
    global float *drain, global const float *p, global const float *y,
    global const float *restrict dy, global const float *restrict q,
    global const float *restrict k, global const float *restrict v,
    global const float *restrict panels, global const float *restrict zeros,
    global const int *restrict offsets, attention_args a, table_args s, int q_mode,
    int k_mode, int v_mode)
{
    float panel[PANEL];
    const int h = GROUP(1), first = offsets[GROUP(0)];
    const int T = offsets[GROUP(0) + 1] - first;
    const size_t at = map_row(a, s, first, h), count = (s.t + TILE_N - 1) / TILE_N;
    const size_t q_at = q_row(a, first, h, WIDTH), k_at = k_row(a, first, h, WIDTH);
    const size_t v_at = v_row(a, first, h, WIDTH), o_stride = (size_t)a.heads * WIDTH;
    dy += o_row(a, first, h, WIDTH);
    scores(flow + at, dy, (int)o_stride, v + v_at, a.v_stride, T, 1.0f,
           s.activation ? y + at : 0, s, panel);
    if (v_mode != GRAD_SKIP) {
        mix_turned(dv + v_at, (size_t)a.v_stride, y + at, dy, (int)o_stride, T,
                   v_mode == GRAD_ADD, s, panel);
    }
    if (q_mode == GRAD_SKIP && k_mode == GRAD_SKIP) {
        return;
    }
    convolve(drain + at, flow + at, panels + h * count * (SHIFTS * s.t + 1) * TILE_N,
             zeros, T, 1, 0, s);
    softmax_back(drain + at, p + at, T, s, a.scale);
    if (q_mode != GRAD_SKIP) {
        mix_values(dq + q_at, (size_t)a.q_stride, drain + at, k + k_at, a.k_stride, T,
                   q_mode == GRAD_ADD, s, panel);
    }
    if (k_mode != GRAD_SKIP) {
        mix_turned(dk + k_at, (size_t)a.k_stride, drain + at, q + q_at, a.q_stride, T,
                   k_mode == GRAD_ADD, s, panel);
    }
}

/* partial[c] += sum over rows i of p[i + shift][c] flow[i], one sequence's T rows. */
INLINE void add_weights(global float *partial, global const float *p,
                        global const float *flow, int T, int shift, int line)
{
    const int from = max(0, -shift), to = min(T, T - shift);
    for (int o = 0; o < T; o += TILE_N) {
        for (int c = 0; c < T; c += MR) {
            floatv sum[MR][2];
            int at[MR];
            EACH_ROW(r)
            {
                at[r] = min(c + r, T - 1);
                sum[r][0] = loadv(0, partial + at[r] * line + o);
                sum[r][1] = loadv(1, partial + at[r] * line + o);
            }
            add_columns(sum, p + (from + shift) * line, line, at,
                        flow + from * line + o, line, to - from);
            EACH_ROW(r)
            {
                for (int n = 0; n < (o + TILE_N > T ? 2 : 0); n++) { // may be 0 * NaN
                    const floatv before = loadv(n, partial + at[r] * line + o);
                    sum[r][n] = keep_below(sum[r][n], o + n * VEC, T, before);
                }
                storev(sum[r][0], 0, partial + at[r] * line + o);
                storev(sum[r][1], 1, partial + at[r] * line + o);
            }
        }
    }
}

// partial[run,h] = sums for w[h] and b[h] over the run's sequences
WORK_GROUP(1, 1, 1)
kernel void conv_attention_1d_weights(global float *restrict partial,
                                      global const float *restrict p,
                                      global const float *restrict flow,
                                      global const int *restrict offsets,
                                      attention_args a, table_args s)
{
    const int h = GROUP(0) / SHIFTS, u = GROUP(0) % SHIFTS, run = GROUP(1);
    const int last = min((run + 1) * s.run, s.sequences);
    const size_t rows = SHIFTS * s.t + 1;
    partial += ((size_t)run * a.heads + h) * rows * s.line;
    global float *bias = partial + SHIFTS * s.t * s.line;
    partial += u * s.t * s.line;
    for (int i = 0; i < s.t * s.line; i += VEC) {
        storev((floatv)(0.0f), 0, partial + i);
    }
    for (int j = 0; j < s.line && u == 1; j++) {
        bias[j] = 0.0f;
    }
    for (int b = run * s.run; b < last; b++) {
        const int T = offsets[b + 1] - offsets[b];
        const size_t at = map_row(a, s, offsets[b], h);
        add_weights(partial, p + at, flow + at, T, u - 1, s.line);
        for (int i = 0; i < T && u == 1; i++) {
            for (int j = 0; j < T; j++) {
                bias[j] += flow[at + (size_t)i * s.line + j];
            }
        }
    }
}
