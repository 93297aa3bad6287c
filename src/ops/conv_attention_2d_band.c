/* conv_attention_2d_band.c - convolved attention under the group schedule: forward and
 * backward launches over whole maps, or over bands of rows, of many maps at once. */
#include "ops/conv_band.h"
#include "ops/product_group.h"

enum { STEP_ROWS = 32, MOST_ROWS = 96 }; // of a step, and their multiple
enum { FILTER_ROWS = 8, QUAD = 4, TAPS = 3, SLICE = 32 }; // cl/conv_filter*.cl

enum { MAP, STRIP, SLOPES };

/* The maps of a pass, or rings of their rows, for as many pairs as fit. */
typedef struct rings {
    conv_walk w;
    cla_memory band[3]; // MAP, STRIP, SLOPES
    cla_memory partials, lse;
    bool small;      // a filter of 3 x 3, which reads scores and has one way back
    bool whole;      // a step is a whole map
    int32_t step;    // rows
    int64_t fitting; // pairs
} rings;

/* ---- filters ------------------------------------------------------------------- */

static cla_status run(const rings *r, cla_launch *launch, const char *file,
                      const char *kernel)
{
    launch->file = file;
    launch->define[1] = (cla_define){ "SIDE", r->small ? 3 : 0 };
    return cla_conv_run(&r->w, launch, kernel);
}

static cla_arg offsets_of(const rings *r)
{
    return cla_mem(&r->w.call->base.q_rows->device_offsets);
}

static double filter_flops(const rings *r, conv_band m)
{
    return 2.0 * r->w.pairs * (m.last - m.first) * r->w.call->base.longest_q * m.kh *
           m.kw;
}

/* Queues STRIP = act(conv(MAP) + b), MAP being scores if lse is given; or, with back,
 * the map's gradient from SLOPES. */
static cla_status run_filter(const rings *r, conv_band m, const cla_memory *lse,
                             bool back)
{
    const conv_call *call = r->w.call;
    const int64_t runs = (int64_t)cla_conv_blocks(m.last - m.first, FILTER_ROWS);
    cla_launch launch = {
        .groups = { cla_conv_blocks(runs * (m.line / QUAD), r->w.wg) },
        .args = { cla_mem(&r->band[STRIP]), cla_mem(&r->band[back ? SLOPES : MAP]),
                  cla_buf(call->w), cla_buf(back ? NULL : call->b), cla_mem(lse),
                  offsets_of(r), cla_bytes(&m, sizeof m), cla_i32(back),
                  cla_i32(call->base.q->shape[0]) },
        .flops = filter_flops(r, m),
    };
    launch.define[2] = (cla_define){ "ACTIVATION", back ? CLA_NONE : call->activation };
    launch.define[3] = (cla_define){ "SCORES", lse != NULL };
    return run(r, &launch, "conv_filter", "conv_filter");
}

/* Return the rows of a partial sum of the filter's gradient, and how many there are. */
static int32_t part_rows(const rings *r)
{
    return r->small ? r->w.wg / CLA_CONV_TEAM : SLICE;
}
static int32_t parts_of(const rings *r)
{
    return (int32_t)cla_conv_blocks(r->w.call->base.longest_q, part_rows(r));
}

/* Queues MAP = dA and the filter's gradient, from MAP and SLOPES. */
static cla_status run_back(const rings *r, const conv_grads *g, conv_band m)
{
    cla_launch launch = {
        .groups = { cla_conv_blocks(m.last - m.first, part_rows(r)) },
        .args = { cla_mem(&r->band[MAP]), cla_mem(&g->sums), cla_mem(&r->band[SLOPES]),
                  cla_buf(r->w.call->w), offsets_of(r), cla_bytes(&m, sizeof m),
                  cla_i32(g->parts) },
        .flops = 2 * filter_flops(r, m),
    };
    return run(r, &launch, "conv_filter_back", "conv_filter_back");
}

static cla_status run_taps(const rings *r, const conv_grads *g, conv_band m)
{
    cla_launch launch = {
        .groups = { cla_conv_blocks(m.kh, TAPS) * cla_conv_blocks(m.kw, TAPS),
                    cla_conv_blocks(m.last - m.first, SLICE) },
        .args = { cla_mem(&g->sums), cla_mem(&r->band[SLOPES]), cla_mem(&r->band[MAP]),
                  offsets_of(r), cla_bytes(&m, sizeof m), cla_i32(g->parts) },
        .flops = filter_flops(r, m),
    };
    return run(r, &launch, "conv_filter_back", "conv_taps");
}

/* ---- scores -------------------------------------------------------------------- */

/* Queues MAP = scores of rows of m, and lse. */
static cla_status run_scores(const rings *r, conv_band m)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_tokens t = cla_conv_tokens(&r->w, c->q, c->k, c->args.scale, GRAD_WRITE);
    const int32_t rows = m.last - m.first, T = c->longest_q;
    const int tiles = (int)cla_tiles_across(T);
    cla_launch score = {
        .args = { cla_mem(&r->band[MAP]), cla_mem(&r->partials), cla_buf(c->q),
                  cla_buf(c->k), offsets_of(r), cla_bytes(&m, sizeof m),
                  cla_bytes(&t, sizeof t), cla_i32(tiles) },
        .flops = cla_conv_flops(&r->w, rows),
    };
    cla_launch merge = {
        .groups = { cla_conv_blocks(rows, r->w.wg) },
        .args = { cla_mem(&r->lse), cla_mem(&r->partials), offsets_of(r),
                  cla_bytes(&m, sizeof m), cla_i32(c->q->shape[0]), cla_i32(tiles),
                  cla_i32(CLA_TILE_COLUMNS) },
    };
    CLA_TRY(cla_conv_tiles(&r->w, &score, "conv_score_rows", rows, T,
                           cla_conv_wide(&m, &t)));
    return cla_conv_run(&r->w, &merge, "conv_merge");
}

/* Queues MAP = rows of m of the map, from lse. */
static cla_status run_weights(const rings *r, conv_band m)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_tokens t = cla_conv_tokens(&r->w, c->q, c->k, c->args.scale, GRAD_WRITE);
    cla_launch launch = {
        .args = { cla_mem(&r->band[MAP]), cla_buf(c->q), cla_buf(c->k), cla_buf(c->lse),
                  offsets_of(r), cla_bytes(&m, sizeof m), cla_bytes(&t, sizeof t),
                  cla_i32(c->q->shape[0]) },
        .flops = cla_conv_flops(&r->w, m.last - m.first),
    };
    return cla_conv_tiles(&r->w, &launch, "conv_weights", m.last - m.first,
                          c->longest_q, cla_conv_wide(&m, &t));
}

/* Queues SLOPES = rows of m of dY, with the activated map in STRIP. */
static cla_status run_slopes(const rings *r, const cla_tensor *flow, conv_band m)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_tokens t = cla_conv_tokens(&r->w, flow, c->v, 1, GRAD_WRITE);
    cla_launch launch = {
        .args = { cla_mem(&r->band[SLOPES]), cla_mem(&r->band[STRIP]), cla_buf(flow),
                  cla_buf(c->v), offsets_of(r), cla_bytes(&m, sizeof m),
                  cla_bytes(&t, sizeof t), cla_i32(r->w.call->activation) },
        .flops = cla_conv_flops(&r->w, m.last - m.first),
    };
    return cla_conv_tiles(&r->w, &launch, "conv_slopes", m.last - m.first, c->longest_q,
                          cla_conv_wide(&m, &t));
}

/* The same for a filter of 3 x 3, and before it STRIP from MAP. */
static cla_status run_shape_slopes(const rings *r, const cla_tensor *flow, conv_band m)
{
    const conv_call *call = r->w.call;
    const cla_tensor *v = call->base.v;
    const conv_shaping s = { m, cla_conv_tokens(&r->w, flow, v, 1, GRAD_WRITE),
                             call->activation };
    cla_launch launch = {
        .args = { cla_mem(&r->band[SLOPES]), cla_mem(&r->band[STRIP]),
                  cla_mem(&r->band[MAP]), cla_buf(flow), cla_buf(v), cla_buf(call->w),
                  cla_buf(call->b), offsets_of(r), cla_bytes(&s, sizeof s) },
        .flops = cla_conv_flops(&r->w, m.last - m.first) + filter_flops(r, m),
    };
    return cla_conv_tiles(&r->w, &launch, "conv_shape_slopes", m.last - m.first,
                          call->base.longest_q, cla_conv_wide(&m, &s.r));
}

/* ---- passes -------------------------------------------------------------------- */

/* Rounds n up to whole quads. */
static int32_t round_up(int32_t n)
{
    return (n + QUAD - 1) / QUAD * QUAD;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Lays out whole maps if one of them fits into the memory to spare, and has no more
 * rows than the constant ROWS; else rings. */
static cla_status lay_out(rings *r, cla_runtime *rt, int count)
{
    conv_band *m = &r->w.m;
    const int32_t T = r->w.call->base.longest_q, halo = m->kh - 1;
    const int32_t most = (int32_t)cla_tuned(rt, "conv_attention_2d", "ROWS", INT32_MAX);
    m->line = round_up(T);
    const int64_t map = (int64_t)T * m->line;
    r->whole = T <= most && map <= INT32_MAX / 4 && cla_conv_fitting(rt, map * count);
    if (r->whole) {
        m->mask = -1;
        m->size = (int32_t)map;
        r->step = T;
        return CLA_OK;
    }
    const int32_t rows = least((T + STEP_ROWS - 1) / STEP_ROWS * STEP_ROWS,
                               most < MOST_ROWS ? STEP_ROWS : MOST_ROWS);
    const int32_t ring = cla_conv_power(rows + halo);
    const int64_t size = (int64_t)ring * m->line;
    if (size > INT32_MAX / 4) {
        return cla_fail(CLA_E_SHAPE,
                        "conv_attention_2d: a sequence of %d tokens is too long", T);
    }
    m->mask = ring - 1;
    m->size = (int32_t)size;
    r->step = (ring - halo) / STEP_ROWS * STEP_ROWS;
    return CLA_OK;
}

/* Takes memory for r->fitting pairs, or for fewer where others use what was spare. */
static cla_status take_bands(rings *r, cla_runtime *rt, int count)
{
    cla_status status = cla_conv_bands(&r->w, r->band, count, r->fitting);
    while (status == CLA_E_NOMEM && r->fitting > 1) {
        for (int i = 0; i < count; i++) {
            cla_conv_drop(rt, CLA_WORK_BAND + i);
        }
        r->fitting = (r->fitting + 1) / 2;
        status = cla_conv_bands(&r->w, r->band, count, r->fitting);
    }
    return status;
}

static cla_status rings_init(rings *r, cla_runtime *rt, const conv_call *call,
                             int count)
{
    r->w = cla_conv_walk_begin(rt, call, false);
    r->small = call->kh == 3 && call->kw == 3;
    CLA_TRY(lay_out(r, rt, count));
    r->fitting = cla_conv_share(rt, (int64_t)r->w.m.size * count, call->pairs);
    return take_bands(r, rt, count);
}

/* Advances to the next pairs. Returns false after the last ones. */
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
    m.last = least(last, r->w.call->base.longest_q);
    return m;
}

/* Gives memory for what run_scores computes beside scores. */
static cla_status score_memory(rings *r)
{
    const cla_attention_call *c = &r->w.call->base;
    const int64_t rows = least(r->step + r->w.m.kh, c->longest_q);
    CLA_TRY(cla_conv_work(r->w.rt, CLA_WORK_PARTIALS, &r->partials,
                          2 * r->fitting * rows * cla_tiles_across(c->longest_q)));
    if (c->lse) {
        r->lse = c->lse->memory;
        return CLA_OK;
    }
    return cla_conv_work(r->w.rt, CLA_WORK_LSE, &r->lse,
                         (int64_t)2 * c->heads * c->q->shape[0]);
}

static cla_status step_forward(const rings *r, int32_t have, int32_t i, int32_t end)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_walk *w = &r->w;
    const conv_band new_rows = rows_of(r, have, end + r->w.m.kh / 2);
    const conv_band own = rows_of(r, i, end);
    if (r->small) {
        CLA_TRY(run_scores(r, new_rows));
    } else {
        CLA_TRY(cla_conv_score(w, &r->band[MAP], new_rows, c->q, c->k, c->args.scale));
        CLA_TRY(cla_conv_softmax(w, &r->band[MAP], new_rows, false));
    }
    CLA_TRY(run_filter(r, own, r->small ? &r->lse : NULL, false));
    return cla_conv_mix(w, c->o, &r->band[STRIP], own, c->v, 1, GRAD_WRITE);
}

cla_status cla_conv_band_forward(cla_runtime *rt, const conv_call *call)
{
    const int32_t T = call->base.longest_q;
    rings r = { 0 };
    CLA_TRY(rings_init(&r, rt, call, SLOPES));
    CLA_TRY(score_memory(&r));
    while (next_pairs(&r)) {
        int32_t have = 0;
        for (int32_t i = 0; i < T; i += r.step) {
            const int32_t end = least(i + r.step, T);
            CLA_TRY(step_forward(&r, have, i, end));
            have = least(end + call->kh / 2, T);
        }
    }
    return CLA_OK;
}

static conv_product values_of(const conv_grads *g, int32_t i)
{
    return (conv_product){ g->v, g->o, 1, i ? GRAD_ADD : g->v_mode };
}

/* Queues the slopes of rows i..end-1 and, but for a small filter over whole maps, dV
 * and the filter's gradient. The map's rows before `have` are in its ring. */
static cla_status step_slopes(const rings *r, const conv_grads *g, int32_t have,
                              int32_t i, int32_t end)
{
    const conv_band own = rows_of(r, i, end);
    const conv_product values[3] = { [2] = values_of(g, i) };
    CLA_TRY(run_weights(r, rows_of(r, have, end + r->w.m.kh / 2)));
    if (r->small) {
        CLA_TRY(run_shape_slopes(r, g->o, own));
    } else {
        CLA_TRY(run_filter(r, own, NULL, false));
        CLA_TRY(run_slopes(r, g->o, own));
        CLA_TRY(run_taps(r, g, own));
    }
    if (r->small && r->whole) {
        return CLA_OK; // dV comes with dQ and dK
    }
    return cla_conv_three(&r->w, NULL, &r->band[STRIP], own, values);
}

/* Queues dQ and a part of dK from rows i..end-1, whose slopes are complete. */
static cla_status step_scores(const rings *r, const conv_grads *g, int32_t i,
                              int32_t end)
{
    const cla_attention_call *c = &r->w.call->base;
    const conv_band m = rows_of(r, i, end);
    conv_product p[3] = { { g->q, c->k, c->args.scale, g->q_mode },
                          { g->k, c->q, c->args.scale, i ? GRAD_ADD : g->k_mode } };
    if (!r->small) {
        CLA_TRY(run_filter(r, m, NULL, true));
        CLA_TRY(cla_conv_softmax_back(&r->w, &r->band[STRIP], &r->band[MAP], m));
        return cla_conv_three(&r->w, &r->band[STRIP], NULL, m, p);
    }
    if (r->whole) {
        p[2] = values_of(g, i);
    }
    CLA_TRY(run_back(r, g, m));
    return cla_conv_three(&r->w, &r->band[MAP], &r->band[STRIP], m, p);
}

static cla_status walk_back(const rings *r, const conv_grads *g)
{
    const int32_t T = r->w.call->base.longest_q, up = r->w.m.kh / 2;
    const int32_t unit = r->small ? part_rows(r) : 1; // no part sum is cut in two
    int32_t have = 0, done = 0;
    for (int32_t i = 0; i < T; i += r->step) {
        const int32_t end = least(i + r->step, T);
        const int32_t ready = end == T ? T : (end - up) / unit * unit;
        CLA_TRY(step_slopes(r, g, have, i, end));
        have = least(end + up, T);
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
    grads->parts = parts_of(&r);
    grads->many = true;
    CLA_TRY(cla_tape_scratch(grads->tape, &grads->sums,
                             (size_t)call->pairs * (size_t)grads->parts * taps * 4));
    while (next_pairs(&r)) {
        CLA_TRY(walk_back(&r, grads));
    }
    return CLA_OK;
}
