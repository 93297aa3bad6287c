/* conv_attention_2d_tile.c - convolved attention under the tile schedule: distributes
 * maps over workers, and lays out the scratch of a worker. */
#include <string.h>

#include "ops/conv_attention_2d.h"

enum {
    FILTER_MARGIN = 3, // MARGIN in cl/conv_attention_2d_tile.clh
    SPARE_ROWS = 16,   // room for blocks of MR or CR rows behind the last row
    STEP_ROWS = 24,    // rows of a step; more if the ring has room
    ROWS_UNIT = 12,    // a multiple of MR and CR
};

static int32_t round_up(int64_t n, int64_t to)
{
    return (int32_t)((n + to - 1) / to * to);
}

conv_tile cla_conv_tile(cla_runtime *rt, const conv_call *call)
{
    const int vec = cla_vector_width(rt), width = call->base.width;
    const int vectors = (width + vec - 1) / vec;
    const int steps =
        vectors == 1 || (vec == 16 && vectors == 3) ? vectors : 2; // STEPS
    return (conv_tile){
        .vec = vec,
        .block = cla_tuned(rt, "conv_attention_2d_tile", "MR", vec == 4 ? 4 : 6),
        .panel = 2 * vec,
        .pad = round_up(width, (int64_t)steps * vec),
        .tall = round_up(call->base.longest_q, 2 * (int64_t)vec) + SPARE_ROWS,
    };
}

/* Cuts maps into chunks of rows, but only if there are too few maps to keep all compute
 * units busy: each chunk packs the keys again and has its own partial dK and dV. */
static void share_out(conv_args *s, cla_runtime *rt, const conv_call *call)
{
    const int64_t units = cla_runtime_device(rt)->compute_units,
                  T = call->base.longest_q;
    const int64_t wanted = 4 * units, size = cla_size(call->base.q);
    int64_t chunks = (wanted + call->pairs - 1) / call->pairs;
    const int64_t longest = T / (2 * (int64_t)s->rows);
    chunks = chunks < longest ? chunks : longest;
    chunks = cla_conv_share(rt, 2 * size, chunks < 1 ? 1 : chunks);
    s->chunk_rows = round_up((T + chunks - 1) / chunks, s->rows);
    s->chunks = (int32_t)((T + s->chunk_rows - 1) / s->chunk_rows);
    s->items = call->pairs * s->chunks;
    s->part = s->chunks > 1 ? (int32_t)size : 0;
}

/* Returns the place of a slab's next part, on a cache line, and advances *at. */
static int32_t part(int64_t *at, int64_t floats)
{
    const int64_t here = *at;
    *at += (floats + 15) / 16 * 16;
    return here > INT32_MAX ? INT32_MAX : (int32_t)here;
}

static int64_t lay_out(conv_args *s, const conv_tile *t, const conv_call *call)
{
    const int64_t T = call->base.longest_q, width = call->base.width, pad = t->pad;
    const int64_t wide = round_up(T, t->panel), tall = t->tall;
    const int64_t ring = s->ring * (wide + 2 * (int64_t)s->edge);
    const int64_t taps = (int64_t)s->kh * s->kw;
    const int64_t filter = taps + 2 * (int64_t)FILTER_MARGIN * s->kw;
    int64_t at = 0;
    s->keys_at = part(&at, wide * width);
    s->values_at = part(&at, tall * pad);
    s->key_rows_at = part(&at, tall * pad);
    s->map_at = part(&at, ring);
    s->slopes_at = part(&at, ring);
    s->strip_at = part(&at, (s->rows + SPARE_ROWS) * wide);
    s->queries_at = part(&at, (s->ring + SPARE_ROWS) * pad);
    s->flow_at = part(&at, (s->ring + SPARE_ROWS) * pad);
    s->key_sums_at = part(&at, tall * pad);
    s->value_sums_at = part(&at, tall * pad);
    s->filter_sums_at = part(&at, (taps + 1) * t->vec);
    s->filter_at = part(&at, filter);
    s->turned_at = part(&at, filter);
    part(&at, t->panel); // vectors may extend past the last part
    return at;
}

static cla_status plan(conv_args *s, conv_tile *t, cla_runtime *rt,
                       const conv_call *call)
{
    *t = cla_conv_tile(rt, call);
    const int32_t halo = call->kh - 1;
    *s = (conv_args){
        .kh = call->kh,
        .kw = call->kw,
        .activation = call->activation,
        .ring = cla_conv_power(STEP_ROWS + halo),
        .edge = round_up(call->kw / 2, t->vec),
        .q_mode = GRAD_SKIP,
        .k_mode = GRAD_SKIP,
        .v_mode = GRAD_SKIP,
    };
    s->rows = (s->ring - halo) / ROWS_UNIT * ROWS_UNIT;
    share_out(s, rt, call);
    const int64_t slab = lay_out(s, t, call);
    if (slab > INT32_MAX) {
        return cla_fail(CLA_E_SHAPE,
                        "conv_attention_2d: a sequence of %d tokens of width %d is too "
                        "long: its scratch is %lld floats",
                        call->base.longest_q, call->base.width, (long long)slab);
    }
    s->slab = (int32_t)slab;
    const int64_t busy = 8 * (int64_t)cla_runtime_device(rt)->compute_units;
    s->workers = (int32_t)cla_conv_share(rt, slab, busy < s->items ? busy : s->items);
    return CLA_OK;
}

static cla_status launch_walk(cla_runtime *rt, const conv_call *call,
                              const conv_tile *t, const conv_args *s,
                              cla_launch *launch)
{
    launch->file = "conv_attention_2d_tile";
    launch->define[0] = (cla_define){ "WIDTH", call->base.width };
    launch->define[1] = (cla_define){ "VEC", t->vec };
    launch->define[2] = (cla_define){ "MR", t->block };
    launch->define[3] = (cla_define){ "SIDE", call->kh == 3 && call->kw == 3 ? 3 : 0 };
    launch->groups[0] = (size_t)s->workers;
    return cla_enqueue(rt, launch);
}

cla_status cla_conv_tile_forward(cla_runtime *rt, const conv_call *call)
{
    const cla_attention_call *c = &call->base;
    conv_tile t;
    conv_args s;
    cla_memory slabs;
    CLA_TRY(plan(&s, &t, rt, call));
    CLA_TRY(cla_conv_work(rt, CLA_WORK_SLABS, &slabs, (int64_t)s.workers * s.slab));
    cla_launch launch = {
        .kernel = "conv_attention_2d_forward",
        .args = { cla_buf(c->o), cla_buf(c->lse), cla_mem(&slabs), cla_buf(c->q),
                  cla_buf(c->k), cla_buf(c->v), cla_buf(call->w), cla_buf(call->b),
                  cla_mem(&c->q_rows->device_offsets),
                  cla_bytes(&c->args, sizeof c->args), cla_bytes(&s, sizeof s) },
        .flops = cla_conv_products(call) * (4 + 2.0 * s.kh * s.kw / c->width),
    };
    return launch_walk(rt, call, &t, &s, &launch);
}

/* Queues dst (+)= sum of the chunks' partial gradients. */
static cla_status sum_parts(cla_runtime *rt, const conv_call *call, const conv_args *s,
                            const cla_tensor *dst, int mode, const cla_memory *parts)
{
    enum { GROUP_SIZE = 64 };
    if (!dst) {
        return CLA_OK;
    }
    const cla_attention_call *c = &call->base;
    const conv_tokens r = { .width = c->width,
                            .x_at = (int32_t)dst->offset,
                            .x_stride = (int32_t)dst->stride,
                            .mode = mode };
    const cla_launch launch = {
        .file = "conv_attention_2d_sums",
        .kernel = "conv_sum_parts",
        .define = { { "WG", GROUP_SIZE } },
        .groups = { (size_t)((cla_size(c->q) + GROUP_SIZE - 1) / GROUP_SIZE) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(dst), cla_mem(parts), cla_mem(&c->k_rows->device_spans),
                  cla_bytes(&r, sizeof r), cla_i32(c->heads), cla_i32(c->q->shape[0]),
                  cla_i32(s->chunk_rows) },
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_conv_tile_backward(cla_runtime *rt, const conv_call *call,
                                  conv_grads *grads)
{
    const cla_attention_call *c = &call->base;
    conv_tile t;
    conv_args s;
    cla_memory slabs, parts[2];
    CLA_TRY(plan(&s, &t, rt, call));
    CLA_TRY(cla_conv_work(rt, CLA_WORK_SLABS, &slabs, (int64_t)s.workers * s.slab));
    const size_t taps = (size_t)call->kh * (size_t)call->kw + 1;
    grads->parts = s.chunks;
    CLA_TRY(cla_tape_scratch(grads->tape, &grads->sums, (size_t)s.items * taps * 4));
    s.q_mode = grads->q_mode;
    s.k_mode = grads->k_mode;
    s.v_mode = grads->v_mode;
    memset(parts, 0, sizeof parts);
    const size_t bytes = (size_t)s.chunks * (size_t)s.part * sizeof(float);
    if (s.part && grads->k) {
        CLA_TRY(cla_tape_scratch(grads->tape, &parts[0], bytes));
        s.k_mode = GRAD_WRITE;
    }
    if (s.part && grads->v) {
        CLA_TRY(cla_tape_scratch(grads->tape, &parts[1], bytes));
        s.v_mode = GRAD_WRITE;
    }
    cla_launch launch = {
        .kernel = "conv_attention_2d_backward",
        .args = { cla_buf(grads->q), s.part ? cla_mem(&parts[0]) : cla_buf(grads->k),
                  s.part ? cla_mem(&parts[1]) : cla_buf(grads->v),
                  cla_mem(&grads->sums), cla_mem(&slabs), cla_buf(grads->o),
                  cla_buf(c->lse), cla_buf(c->q), cla_buf(c->k), cla_buf(c->v),
                  cla_buf(call->w), cla_buf(call->b),
                  cla_mem(&c->q_rows->device_offsets),
                  cla_bytes(&c->args, sizeof c->args), cla_bytes(&s, sizeof s) },
        .flops = cla_conv_products(call) * (10 + 6.0 * s.kh * s.kw / c->width),
    };
    CLA_TRY(launch_walk(rt, call, &t, &s, &launch));
    if (!s.part) {
        return CLA_OK;
    }
    CLA_TRY(sum_parts(rt, call, &s, grads->k, grads->k_mode, &parts[0]));
    return sum_parts(rt, call, &s, grads->v, grads->v_mode, &parts[1]);
}
