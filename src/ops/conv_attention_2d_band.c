/* conv_attention_2d_band.c - convolved attention under the group schedule: forward and
 * backward launches over bands of rows of many maps at once. */
#include "ops/conv_band.h"

enum { STEP_ROWS = 32, MOST_ROWS = 96 };      // a step is a multiple of the first
enum { FILTER_ROWS = 8, QUAD = 4, TAPS = 3 }; // as in cl/conv_filter.cl

static cla_status run(const conv_walk *w, cla_launch *launch, const char *kernel)
{
    const conv_call *call = w->call;
    launch->file = "conv_filter";
    launch->define[1] = (cla_define){ "SIDE", call->kh == 3 && call->kw == 3 ? 3 : 0 };
    return cla_conv_run(w, launch, kernel);
}

/* Queues out = act(conv(in) + b); or, with back, the map's gradient from slopes. */
static cla_status run_filter(const conv_walk *w, const cla_memory *out,
                             const cla_memory *in, conv_band m, bool back)
{
    const conv_call *call = w->call;
    const int64_t runs = (int64_t)cla_conv_blocks(m.last - m.first, FILTER_ROWS);
    const int64_t quads = (m.line - 2 * (int64_t)m.edge) / QUAD;
    cla_launch launch = {
        .groups = { cla_conv_blocks(runs * quads, w->wg) },
        .args = { cla_mem(out), cla_mem(in), cla_buf(call->w),
                  cla_buf(back ? NULL : call->b),
                  cla_mem(&call->base.q_rows->device_offsets), cla_bytes(&m, sizeof m),
                  cla_i32(back) },
        .flops =
            2.0 * w->pairs * (m.last - m.first) * call->base.longest_q * m.kh * m.kw,
    };
    launch.define[2] = (cla_define){ "ACTIVATION", back ? CLA_NONE : call->activation };
    return run(w, &launch, "conv_filter");
}

static cla_status run_taps(const conv_walk *w, const conv_grads *grads,
                           const cla_memory *slopes, const cla_memory *map, conv_band m)
{
    cla_launch launch = {
        .groups = { cla_conv_blocks(m.kh, TAPS) * cla_conv_blocks(m.kw, TAPS) },
        .args = { cla_mem(&grads->sums), cla_mem(slopes), cla_mem(map),
                  cla_mem(&w->call->base.q_rows->device_offsets),
                  cla_bytes(&m, sizeof m), cla_i32(m.first > 0) },
        .flops =
            2.0 * w->pairs * (m.last - m.first) * w->call->base.longest_q * m.kh * m.kw,
    };
    return run(w, &launch, "conv_taps");
}

/* ---- passes over bands --------------------------------------------------------- */

/* The bands of a pass, rings of rows, for as many pairs as fit. */
typedef struct rings {
    conv_walk w;
    cla_memory band[3]; // map, strip, slopes
    int32_t step;       // rows
    int64_t fitting;    // pairs
} rings;

enum { MAP, STRIP, SLOPES };

/* Rounds n up to whole quads. */
static int32_t round_up(int32_t n)
{
    return (n + QUAD - 1) / QUAD * QUAD;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static cla_status rings_init(rings *r, cla_runtime *rt, const conv_call *call,
                             int count)
{
    r->w = cla_conv_walk_begin(rt, call, false);
    conv_band *m = &r->w.m;
    const int32_t T = call->base.longest_q;
    const int32_t rows = least((T + STEP_ROWS - 1) / STEP_ROWS * STEP_ROWS, MOST_ROWS);
    const int32_t ring = cla_conv_power((rows ? rows : STEP_ROWS) + call->kh - 1);
    m->mask = ring - 1;
    m->edge = round_up(call->kw / 2);
    m->line = round_up(T) + 2 * m->edge;
    const int64_t size = (int64_t)ring * m->line;
    if (size > INT32_MAX / 4) {
        return cla_fail(CLA_E_SHAPE,
                        "conv_attention_2d: a sequence of %d tokens is too long", T);
    }
    m->size = (int32_t)size;
    r->step = (ring - call->kh + 1) / STEP_ROWS * STEP_ROWS;
    r->fitting = cla_conv_share(rt, size * count, call->pairs);
    return cla_conv_bands(&r->w, r->band, count, r->fitting);
}

/* Advances to the next pairs; the caller zeroes the rings of map and slopes for them.
 * Returns false after the last pairs. */
static bool next_pairs(rings *r)
{
    r->w.m.pair += r->w.pairs;
    const int64_t rest = r->w.call->pairs - r->w.m.pair;
    r->w.pairs = rest < r->fitting ? rest : r->fitting;
    return r->w.pairs > 0;
}

static conv_band rows_of(const rings *r, int32_t first, int32_t last)
{
    conv_band m = r->w.m;
    m.first = first;
    m.last = last;
    return m;
}

static cla_status step_forward(const rings *r, int32_t have, int32_t i, int32_t end)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_walk *w = &r->w;
    const conv_band new_rows = rows_of(r, have, end + r->w.m.kh / 2);
    const conv_band own = rows_of(r, i, end);
    CLA_TRY(cla_conv_score(w, &r->band[MAP], new_rows, c->q, c->k, c->args.scale));
    CLA_TRY(cla_conv_softmax(w, &r->band[MAP], new_rows, false));
    CLA_TRY(run_filter(w, &r->band[STRIP], &r->band[MAP], own, false));
    return cla_conv_mix(w, c->o, &r->band[STRIP], own, c->v, 1, GRAD_WRITE);
}

cla_status cla_conv_band_forward(cla_runtime *rt, const conv_call *call)
{
    const int32_t T = call->base.longest_q;
    rings r = { 0 };
    CLA_TRY(rings_init(&r, rt, call, SLOPES));
    while (next_pairs(&r)) {
        CLA_TRY(cla_memory_fill(rt, &r.band[MAP], 0));
        int32_t have = 0;
        for (int32_t i = 0; i < T; i += r.step) {
            const int32_t end = least(i + r.step, T);
            CLA_TRY(step_forward(&r, have, i, end));
            have = end + call->kh / 2;
        }
    }
    return CLA_OK;
}

/* Queues the slopes, dV and filter gradients of rows i..end-1. The map's rows before
 * `have` are in its ring. */
static cla_status step_slopes(const rings *r, const conv_grads *g, int32_t have,
                              int32_t i, int32_t end)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_walk *w = &r->w;
    const conv_band new_rows = rows_of(r, have, end + w->m.kh / 2);
    const conv_band own = rows_of(r, i, end);
    CLA_TRY(cla_conv_score(w, &r->band[MAP], new_rows, c->q, c->k, c->args.scale));
    CLA_TRY(cla_conv_softmax(w, &r->band[MAP], new_rows, true));
    CLA_TRY(run_filter(w, &r->band[STRIP], &r->band[MAP], own, false));
    CLA_TRY(cla_conv_score(w, &r->band[SLOPES], own, g->o, c->v, 1));
    CLA_TRY(cla_conv_slope(w, &r->band[SLOPES], &r->band[STRIP], own));
    CLA_TRY(cla_conv_spread(w, g->v, &r->band[STRIP], own, g->o, 1,
                            i ? GRAD_ADD : g->v_mode));
    return run_taps(w, g, &r->band[SLOPES], &r->band[MAP], own);
}

/* Queues dQ and a part of dK from rows i..end-1, whose slopes are complete. */
static cla_status step_scores(const rings *r, const conv_grads *g, int32_t i,
                              int32_t end)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_walk *w = &r->w;
    const int32_t up = w->m.kh / 2,
                  behind = i + up > c->longest_q ? i + up : c->longest_q;
    const conv_band m = rows_of(r, i, end), zeros = rows_of(r, behind, end + up);
    if (behind < end + up) { // not earlier: their places in the ring were in use
        CLA_TRY(cla_conv_slope(w, &r->band[SLOPES], &r->band[STRIP], zeros));
    }
    CLA_TRY(run_filter(w, &r->band[STRIP], &r->band[SLOPES], m, true));
    CLA_TRY(cla_conv_softmax_back(w, &r->band[STRIP], &r->band[MAP], m));
    CLA_TRY(cla_conv_mix(w, g->q, &r->band[STRIP], m, c->k, c->args.scale, g->q_mode));
    return cla_conv_spread(w, g->k, &r->band[STRIP], m, c->q, c->args.scale,
                           i ? GRAD_ADD : g->k_mode);
}

static cla_status walk_back(const rings *r, const conv_grads *g)
{
    const int32_t T = r->w.call->base.longest_q, up = r->w.m.kh / 2;
    int32_t have = 0, done = 0;
    for (int32_t i = 0; i < T; i += r->step) {
        const int32_t end = least(i + r->step, T), ready = end == T ? T : end - up;
        CLA_TRY(step_slopes(r, g, have, i, end));
        have = end + up;
        while (done < ready) {
            const int32_t stop = least(done + r->step, ready);
            CLA_TRY(step_scores(r, g, done, stop));
            done = stop;
        }
    }
    return CLA_OK;
}

cla_status cla_conv_band_backward(cla_runtime *rt, const conv_call *call,
                                  conv_grads *grads)
{
    rings r = { 0 };
    const size_t taps = (size_t)call->kh * (size_t)call->kw + 1;
    CLA_TRY(rings_init(&r, rt, call, SLOPES + 1));
    CLA_TRY(
        cla_tape_scratch(grads->tape, &grads->sums, (size_t)call->pairs * taps * 4));
    while (next_pairs(&r)) {
        CLA_TRY(cla_memory_fill(rt, &r.band[MAP], 0));
        CLA_TRY(cla_memory_fill(rt, &r.band[SLOPES], 0));
        CLA_TRY(walk_back(&r, grads));
    }
    return CLA_OK;
}
