/* attention.c - fused full attention of packed sequences. */
#include <string.h>

#include "ops/attention_common.h"
#include "tensor/signature.h"

int cla_attention_define_tile(cla_runtime *rt, const cla_attention_call *call, int rows,
                              cla_launch *launch)
{
    enum { SIDE = 16 }; // cl/unit.clh
    const int vec = cla_vector_width(rt);
    rows = call->unit && rows * vec < SIDE ? SIDE / vec : rows;
    launch->define[0] = (cla_define){ "WIDTH", call->width };
    launch->define[1] = (cla_define){ "VEC", vec };
    launch->define[2] = (cla_define){ "ROWS", rows };
    cla_unit_define(launch, call->unit);
    return rows * vec;
}

int cla_attention_plan(cla_runtime *rt, const cla_attention_call *call, int longest,
                       const char *tile, cla_launch *launch)
{
    const int vec = cla_vector_width(rt);
    const int usual = call->unit && longest > 2 * vec ? 4 : 2; // packs less often
    launch->file = tile;
    return cla_attention_define_tile(
        rt, call, longest <= vec ? 1 : cla_tuned(rt, tile, "ROWS", usual), launch);
}

/* Returns the first of from, 2 from, 4 from, ... that is n or more. */
static int power_of_two(int from, int n)
{
    while (from < n) {
        from *= 2;
    }
    return from;
}

/* A pass over tiles: its kernel's files, without and with a matrix unit, and quads of
 * columns of an item, all of the group schedule; its longest sequence, the number of T
 * x S x d products in it, and the groups along the sequences. */
typedef struct pass {
    const char *file, *unit_file;
    int quads, longest, products;
    int64_t layers;
    const cla_attention_change *change; // NULL: none
    bool whole; // kernels of the tile schedule can attend from all tiles of a head
} pass;

/* Sets work-group size and defines of a pass of the group schedule, with tiles in
 * registers (cl/attention_strip.clh), and returns the rows of its tile. An item has 4 x
 * quads columns of a row. Short sequences get small groups. */
static int plan_strips(cla_runtime *rt, const cla_attention_call *call, const pass *p,
                       cla_launch *launch)
{
    enum { LEAST = 4, ITEMS = 128 }; // fewest items down; most of a group (small d)
    enum { LEAN = 2 };               // longest unrolled loop of lean passes
    const int quads = p->quads, width = call->width;
    const int across = power_of_two(8 / quads, (width + 4 * quads - 1) / (4 * quads));
    const int rows = cla_tuned(rt, "attention", "ROWS", 128);
    const int most = rows / 8 < ITEMS / across ? rows / 8 : ITEMS / across;
    const int unroll = cla_tuned(rt, "attention", "UNROLL", 4);
    int down = power_of_two(LEAST, (p->longest + 7) / 8);
    while (down > LEAST && down > most) {
        down /= 2;
    }
    launch->file = p->file;
    launch->local[0] = (size_t)across * (size_t)down;
    launch->define[0] = (cla_define){ "WIDTH", width };
    launch->define[1] = (cla_define){ "QUADS", quads };
    launch->define[2] = (cla_define){ "ACROSS", across };
    launch->define[3] = (cla_define){ "DOWN", down };
    launch->define[4] = (cla_define){ "WIDE", cla_attention_is_wide(call) };
    launch->define[5] =
        (cla_define){ "UNROLL",
                      p->change && p->change->lean && unroll > LEAN ? LEAN : unroll };
    return 8 * down;
}

/* As plan_strips for a device's matrix unit (cl/attention_unit_group.clh). */
static int plan_unit(cla_runtime *rt, const cla_attention_call *call, const pass *p,
                     cla_launch *launch)
{
    enum { NARROW = 64, LEAST = 32, ITEMS = 128 }; // width; rows; of a group
    const int columns = call->width > NARROW ? 2 * NARROW : NARROW;
    const int most = cla_tuned(rt, "attention_unit", "ROWS", 64) * NARROW / columns;
    const int rows = p->longest <= LEAST || most < LEAST ? LEAST : most;
    const cla_define defines[] = {
        { "UNIT", (int)call->unit->unit },
        { "EMULATED", call->unit->emulated },
        { "TM", rows },
        { "TN", columns },
        { "WIDTH", call->width },
        { "WIDE", cla_attention_is_wide(call) },
    };
    memcpy(launch->define, defines, sizeof defines);
    launch->file = p->unit_file;
    launch->option = cla_unit_option(call->unit);
    launch->local[0] = ITEMS;
    return rows;
}

/* Returns the define of a pass whose items load the next tiles while they multiply, or
 * the end of a list of defines where that costs more registers than it is worth. */
static cla_define prefetch(cla_runtime *rt, const cla_attention_call *call,
                           const cla_attention_change *change)
{
    const int ahead = change || call->unit ? 0 : cla_tuned(rt, "attention", "AHEAD", 0);
    return (cla_define){ ahead ? "AHEAD" : NULL, ahead };
}

/* Sets file, defines and work-group size under either schedule. Returns the rows of a
 * tile. */
static int plan(cla_runtime *rt, const cla_attention_call *call, const pass *p,
                cla_launch *launch)
{
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP) {
        return call->unit ? plan_unit(rt, call, p, launch)
                          : plan_strips(rt, call, p, launch);
    }
    const char *tile = p->change ? p->change->tile : "attention_tile";
    return cla_attention_plan(rt, call, p->longest, tile, launch);
}

/* Appends what the change has to the defines and arguments of a planned launch. */
static void change_launch(const cla_attention_change *change, bool group,
                          cla_launch *launch)
{
    size_t args = 0;
    while (launch->args[args].kind != CLA_ARG_END) {
        args++;
    }
    for (const cla_arg *more = change->args; more->kind != CLA_ARG_END; more++) {
        launch->args[args++] = *more;
    }
    for (int i = 0; group && i < 2 && change->define[i]; i++) {
        cla_launch_define(launch, change->define[i], 1);
    }
    launch->text = change->text;
}

static cla_status launch_tiles(cla_runtime *rt, const cla_attention_call *call,
                               const pass *p, cla_launch *launch)
{
    const int tile = plan(rt, call, p, launch);
    if (p->change) {
        change_launch(p->change, cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP,
                      launch);
    }
    launch->groups[0] = (size_t)((p->longest + tile - 1) / tile);
    launch->groups[1] = (size_t)call->heads;
    launch->groups[2] = (size_t)p->layers;
    if (p->change && p->change->workers) {
        launch->groups[0] = (size_t)p->change->workers;
        launch->groups[1] = launch->groups[2] = 1;
    }
    if (p->whole) {
        cla_attention_whole(rt, call, launch);
    }
    launch->flops = 2.0 * p->products * call->width * call->heads * call->sequences *
                    (double)call->longest_q * call->longest_k;
    return p->layers ? cla_enqueue(rt, launch) : CLA_OK;
}

static pass pass_of_forward(cla_runtime *rt, const cla_attention_call *call,
                            const cla_attention_change *change)
{
    const int quads =
        change && change->lean ? 1 : cla_tuned(rt, "attention", "QUADS", 2);
    return (pass){ .file = "attention",
                   .unit_file = "attention_unit_group",
                   .quads = quads,
                   .longest = call->longest_q,
                   .products = 2,
                   .layers = call->sequences,
                   .change = change,
                   .whole = !change || change->whole };
}

cla_status cla_attention_forward(cla_runtime *rt, const cla_attention_call *call,
                                 const cla_attention_change *change)
{
    const pass p = pass_of_forward(rt, call, change);
    cla_launch launch = {
        .kernel = "attention_forward",
        .args = { cla_buf(call->o), cla_buf(call->lse), cla_buf(call->q),
                  cla_buf(call->k), cla_buf(call->v),
                  cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return launch_tiles(rt, call, &p, &launch);
}

static pass pass_of_grad_q(const cla_attention_call *call,
                           const cla_attention_change *change, int64_t layers)
{
    return (pass){ .file = "attention_grad_q",
                   .unit_file = "attention_unit_grad_q",
                   .quads = 1,
                   .longest = call->longest_q,
                   .products = 3,
                   .layers = layers,
                   .change = change };
}

int cla_attention_grad_q_rows(cla_runtime *rt, const cla_attention_call *call,
                              const cla_attention_change *change, int *most)
{
    const pass p = pass_of_grad_q(call, change, 1);
    const pass other = pass_of_forward(rt, call, change);
    cla_launch unused = { .file = NULL };
    const int rows = plan(rt, call, &p, &unused);
    *most = plan(rt, call, &other, &unused);
    *most = *most < rows ? rows : *most;
    return rows;
}

cla_status cla_attention_grad_q(cla_runtime *rt, const cla_attention_call *call,
                                const cla_attention_grads *g,
                                const cla_attention_change *change, int64_t layers)
{
    const pass p = pass_of_grad_q(call, change, layers);
    cla_launch launch = {
        .kernel = "attention_grad_q",
        .args = { cla_buf(g->q), cla_mem(&g->delta), cla_buf(g->o), cla_buf(call->o),
                  cla_buf(call->q), cla_buf(call->k), cla_buf(call->v),
                  cla_buf(call->lse), cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(g->q_mode) },
    };
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP) {
        launch.define[6] = prefetch(rt, call, change);
    }
    return launch_tiles(rt, call, &p, &launch);
}

/* Queues the gradients of keys, values or both. The tile kernel chooses by k_mode and
 * v_mode instead. */
static cla_status grad_kv(cla_runtime *rt, const cla_attention_call *call,
                          const cla_attention_grads *g,
                          const cla_attention_change *change, bool keys, bool values)
{
    const pass p = { .file = "attention_grad_kv",
                     .unit_file = "attention_unit_grad_kv",
                     .quads = 1,
                     .longest = call->longest_k,
                     .products = 1 + 2 * keys + values,
                     .layers = call->sequences,
                     .change = change };
    cla_launch launch = {
        .kernel = "attention_grad_kv",
        .args = { cla_buf(g->k), cla_buf(g->v), cla_buf(g->o), cla_buf(call->q),
                  cla_buf(call->k), cla_buf(call->v), cla_buf(call->lse),
                  cla_mem(&g->delta), cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(g->k_mode),
                  cla_i32(g->v_mode) },
    };
    if (cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP) {
        launch.define[6] = (cla_define){ "KEYS", keys };
        launch.define[7] = (cla_define){ "VALUES", values };
        if (keys) { // values alone leave room for more groups, which wait less
            launch.define[8] = prefetch(rt, call, change);
        }
    }
    return launch_tiles(rt, call, &p, &launch);
}

/* Returns whether the sums of both gradients fit into registers. */
static bool both_fit(cla_runtime *rt, const cla_attention_call *call,
                     const cla_attention_change *change)
{
    enum { NARROW = 64 };
    const cla_unit unit = call->unit ? call->unit->unit : CLA_UNIT_NONE;
    switch (unit) {
    case CLA_UNIT_MMA:
    case CLA_UNIT_MFMA:
        return true;
    case CLA_UNIT_WMMA:
        return call->width <= NARROW;
    default:
        return call->width <=
               cla_tuned(rt, change && change->text ? "custom_attention" : "attention",
                         "BOTH", 256);
    }
}

/* Queues one pass for the gradients of keys and values where both fit, else a pass for
 * each. */
cla_status cla_attention_grads_kv(cla_runtime *rt, const cla_attention_call *call,
                                  const cla_attention_grads *g,
                                  const cla_attention_change *change)
{
    if (cla_runtime_schedule(rt) != CLA_SCHEDULE_GROUP) {
        return grad_kv(rt, call, g, change, true, true);
    }
    if (!g->k || !g->v || both_fit(rt, call, change)) {
        return grad_kv(rt, call, g, change, g->k != NULL, g->v != NULL);
    }
    CLA_TRY(grad_kv(rt, call, g, change, true, false));
    return grad_kv(rt, call, g, change, false, true);
}

cla_status cla_attention_weighted(cla_runtime *rt, const cla_attention_call *call,
                                  const cla_attention_grads *g,
                                  const cla_attention_change *change)
{
    const pass p = { .file = "attention_weighted",
                     .quads = 1,
                     .longest = call->longest_q,
                     .products = 2,
                     .layers = call->sequences,
                     .change = change };
    cla_launch launch = {
        .kernel = g ? "attention_weighted_delta" : "attention_weighted",
        .args = { g ? cla_mem(&g->delta) : cla_buf(call->o), cla_buf(call->lse),
                  cla_buf(call->q), cla_buf(call->k), cla_buf(call->v),
                  cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args),
                  g ? cla_buf(g->o) : (cla_arg){ .kind = CLA_ARG_END } },
    };
    return launch_tiles(rt, call, &p, &launch);
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const cla_attention_call *call = saved;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_attention_grads grads;
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads, &any, tape, call));
    if (!any) {
        return CLA_OK;
    }
    CLA_TRY(cla_attention_delta(tape, call, &grads, grads.q != NULL));
    if (cla_attention_by_heads(rt, call, &grads)) {
        return cla_attention_grad_heads(rt, call, &grads);
    }
    if (grads.q) {
        CLA_TRY(cla_attention_grad_q(rt, call, &grads, NULL, call->sequences));
    }
    return grads.k || grads.v ? cla_attention_grads_kv(rt, call, &grads, NULL) : CLA_OK;
}

/* Has a GPU's matrix unit multiply under medium, where heads are not too wide for its
 * tiles. */
static cla_status use_card(cla_attention_call *call, cla_runtime *rt)
{
    enum { WIDEST = 128 };
    if (cla_runtime_precision(rt) != CLA_PRECISION_MEDIUM ||
        cla_runtime_schedule(rt) != CLA_SCHEDULE_GROUP || call->width > WIDEST) {
        return CLA_OK;
    }
    const cla_unit_state *unit = NULL;
    CLA_TRY(cla_unit_tested(rt, &unit));
    call->unit = unit->unit == CLA_UNIT_NONE ? NULL : unit;
    return CLA_OK;
}

const cla_signature cla_attention_signature = {
    "attention", "q~:Nq,H,d k~:Nk,H,d v~:Nk,H,d q_rows(Nq,B,T) k_rows(Nk,B,S) -> "
                 "o:Nq,H,d map?:B,H,T,S"
};

cla_status cla_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q, cla_tensor *k,
                         cla_tensor *v, const cla_ragged *q_rows,
                         const cla_ragged *k_rows, const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, q_rows, k_rows);
    cla_attention_call call;
    CLA_TRY(cla_attention_check("attention", q, k, v, q_rows, k_rows, options));
    CLA_TRY(cla_attention_begin(&call, tape, q, k, v, q_rows, k_rows, options));
    CLA_TRY(cla_attention_round(&call, tape));
    CLA_TRY(use_card(&call, cla_tape_runtime(tape)));
    CLA_TRY(cla_attention_forward(cla_tape_runtime(tape), &call, NULL));
    if (options && options->map) {
        const cla_attention_reach all = { .window = 0, .area = 1 };
        CLA_TRY(cla_attention_map(tape, options->map, &call, &all));
    }
    const cla_note end = { backward, &call, sizeof call, { q, k, v } };
    return cla_tape_give(tape, o, call.o, &end);
}
