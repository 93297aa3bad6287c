/* band_common.c - band attention in one dimension and in two: launches and tape. */
#include "ops/band_common.h"

typedef struct saved {
    const cla_band_op *op;
    cla_attention_call call;
    band_args band;
} saved;

cla_status cla_band_check_window(const char *who, int window)
{
    return window >= 1 && window % 2 == 1
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: window is %d, must be odd and at least 1",
                          who, window);
}

/* Returns twice the multiply-adds of one product over all visible pairs, at most. */
static double pairs_flops(const saved *s)
{
    const int heads = s->call.heads;
    const int area = s->band.area < heads ? s->band.area : heads;
    return 2.0 * s->call.width * heads * area * (double)s->call.q->shape[0] *
           (2.0 * s->band.radius + 1);
}

/* The defaults keep four kinds of rows and their gradients in the L2 cache. */
int cla_band_plan_tile(cla_runtime *rt, const char *tile,
                       const cla_attention_call *call, cla_launch *launch)
{
    const int vec = cla_vector_width(rt), wide = call->width > 128;
    const int run = cla_tuned(rt, tile, "QUERIES", vec > 4 && !wide ? 32 : 16);
    const int piece = cla_tuned(rt, tile, "KEYS", vec > 4 && !wide ? 96 : 48);
    const cla_define defines[] = {
        { "WIDTH", call->width }, { "VEC", vec }, { "QUERIES", run }, { "KEYS", piece }
    };
    launch->file = tile;
    for (int i = 0; i < 4; i++) {
        launch->define[i] = defines[i];
    }
    launch->groups[0] =
        (size_t)((call->args.queries + run - 1) / run) * (size_t)call->heads;
    return piece - run;
}

static void tile_launch(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    (void)cla_band_plan_tile(rt, s->op->tile, &s->call, launch);
}

/* Plans a launch of the group schedule (cl/band_group.clh): an item has eight rows, a
 * group at most ROWS. Two programs for each width serve all windows; the one with fewer
 * slots wastes less on small windows. */
static void group_launch(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    enum { NARROW = 20, BROAD = 32, MOST = 256 }; // slots; most items of a group
    const int across = 8 * ((s->call.width + 31) / 32);
    const int reach = 8 + s->band.radius * (s->call.args.causal ? 1 : 2);
    const int slots = reach <= NARROW ? NARROW : BROAD;
    int down = cla_tuned(rt, s->op->name, "ROWS", 64) / 8;
    while (down * across > MOST) {
        down /= 2;
    }
    int split = 1; // items that share a strip of four slots
    while (split < 4 && 2 * split * slots <= 4 * across) {
        split *= 2;
    }
    const cla_define defines[] = { { "WIDTH", s->call.width },
                                   { "ACROSS", across },
                                   { "DOWN", down },
                                   { "WIDE", cla_attention_is_wide(&s->call) },
                                   { "UNROLL",
                                     cla_tuned(rt, s->op->name, "UNROLL", 4) },
                                   { "SLOTS", slots },
                                   { "SPLIT", split } };
    launch->file = s->op->name;
    for (int i = 0; i < (int)(sizeof defines / sizeof *defines); i++) {
        launch->define[i] = defines[i];
    }
    launch->local[0] = (size_t)across * (size_t)down;
    launch->groups[0] = (size_t)((s->call.args.queries + 8 * down - 1) / (8 * down)) *
                        (size_t)s->call.heads;
}

static cla_status forward(cla_tape *tape, const saved *s)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_attention_call *c = &s->call;
    cla_launch launch = {
        .kernel = s->op->forward,
        .args = { cla_buf(c->o), cla_buf(c->lse), cla_buf(c->q), cla_buf(c->k),
                  cla_buf(c->v), cla_mem(&c->q_rows->device_spans),
                  cla_bytes(&c->args, sizeof c->args),
                  cla_bytes(&s->band, sizeof s->band) },
        .flops = 2 * pairs_flops(s),
    };
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE) {
        tile_launch(rt, s, &launch);
    } else {
        group_launch(rt, s, &launch);
    }
    return cla_enqueue(rt, &launch);
}

static cla_status backward_tile(cla_runtime *rt, const saved *s,
                                const cla_attention_grads *g)
{
    const cla_attention_call *c = &s->call;
    cla_launch launch = {
        .kernel = s->op->backward,
        .args = { cla_buf(g->q), cla_buf(g->k), cla_buf(g->v), cla_buf(g->o),
                  cla_buf(c->q), cla_buf(c->k), cla_buf(c->v), cla_buf(c->lse),
                  cla_mem(&g->delta), cla_mem(&c->q_rows->device_spans),
                  cla_bytes(&c->args, sizeof c->args),
                  cla_bytes(&s->band, sizeof s->band) },
        .flops = 6 * pairs_flops(s),
    };
    tile_launch(rt, s, &launch);
    return cla_enqueue(rt, &launch);
}

static cla_status backward_group(cla_runtime *rt, const saved *s,
                                 const cla_attention_grads *g)
{
    const cla_attention_call *c = &s->call;
    cla_launch dq = {
        .kernel = s->op->backward_dq,
        .args = { cla_buf(g->q), cla_mem(&g->delta), cla_buf(g->o), cla_buf(c->o),
                  cla_buf(c->q), cla_buf(c->k), cla_buf(c->v), cla_buf(c->lse),
                  cla_mem(&c->q_rows->device_spans),
                  cla_bytes(&c->args, sizeof c->args),
                  cla_bytes(&s->band, sizeof s->band) },
        .flops = 3 * pairs_flops(s),
    };
    cla_launch dkdv = {
        .kernel = s->op->backward_dkdv,
        .args = { cla_buf(g->k), cla_buf(g->v), cla_buf(g->o), cla_buf(c->q),
                  cla_buf(c->k), cla_buf(c->v), cla_buf(c->lse), cla_mem(&g->delta),
                  cla_mem(&c->q_rows->device_spans),
                  cla_bytes(&c->args, sizeof c->args),
                  cla_bytes(&s->band, sizeof s->band) },
        .flops = 4 * pairs_flops(s),
    };
    group_launch(rt, s, &dq);
    group_launch(rt, s, &dkdv);
    if (g->q) {
        CLA_TRY(cla_enqueue(rt, &dq));
    }
    return g->k || g->v ? cla_enqueue(rt, &dkdv) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    saved *s = bytes;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_attention_grads grads;
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads, &any, tape, &s->call));
    if (!any) {
        return CLA_OK;
    }
    const bool tiled = cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE;
    CLA_TRY(cla_attention_delta(tape, &s->call, &grads, !tiled && grads.q));
    s->band.q_mode = grads.q_mode;
    s->band.k_mode = grads.k_mode;
    s->band.v_mode = grads.v_mode;
    return tiled ? backward_tile(rt, s, &grads) : backward_group(rt, s, &grads);
}

cla_status cla_band_run(const cla_band_op *op, cla_tape *tape, cla_tensor **o,
                        cla_attention_call *call, const cla_attention_reach *reach,
                        const cla_attention_options *options)
{
    const int half = reach->window / 2;
    const saved s = {
        .op = op,
        .call = *call,
        .band = { .radius = half < call->longest_q ? half : call->longest_q,
                  .area = reach->area,
                  .edge = (int32_t)reach->edge },
    };
    CLA_TRY(forward(tape, &s));
    if (options && options->map) {
        CLA_TRY(cla_attention_map(tape, options->map, call, reach));
    }
    const cla_note end = { backward, &s, sizeof s, { call->q, call->k, call->v } };
    return cla_tape_give(tape, o, call->o, &end);
}
