/* custom_attention.c - attention with expressions for scores, mask and weights.
 *
 * The expressions become code that the kernels include. The pass for dQ computes the
 * gradient of every score, and so those of the inputs, too: each worker adds to its own
 * copy of them, and the copies are summed in order. */
#include <string.h>

#include "ops/attention_common.h"
#include "ops/column_sum.h"
#include "ops/custom_call.h"
#include "ops/spread.h"

static const char OP[] = "custom_attention";

enum { GRAD_Q_ARGS = 14 }; // before gradients of inputs

void cla_custom_put_inputs(cla_arg *args, const custom_call *call)
{
    for (int i = 0; i < CLA_CUSTOM_INPUTS && call->input[i]; i++) {
        *args++ = cla_buf(call->input[i]);
    }
}

void cla_custom_add_inputs(cla_launch *launch, const custom_call *call)
{
    int n = 0;
    while (launch->args[n].kind != CLA_ARG_END) {
        n++;
    }
    if (call->code->cells && launch->text == call->code->tile) {
        launch->args[n++] = cla_mem(call->cells.mem ? &call->cells : NULL);
    }
    cla_custom_put_inputs(launch->args + n, call);
}

/* Sets file, text and defines of a launch of the tile schedule; returns the rows of a
 * tile. */
static int plan(cla_runtime *rt, const custom_call *call, int longest,
                cla_launch *launch)
{
    launch->text = call->code->tile;
    launch->define[3] = (cla_define){ call->exact ? "EXACT" : NULL, 1 };
    return cla_attention_plan(rt, &call->attention, longest, "custom_attention_tile",
                              launch);
}

static double flops_of(const cla_attention_call *a, int products)
{
    return 2.0 * products * a->width * a->heads * a->sequences * (double)a->longest_q *
           a->longest_k;
}

/* Queues a pass over tiles of sequences of at most longest rows. whole: as
 * cla_attention_whole. */
static cla_status enqueue_tiles(cla_runtime *rt, const custom_call *call, int longest,
                                int products, bool whole, cla_launch *launch)
{
    const cla_attention_call *a = &call->attention;
    const int tile = plan(rt, call, longest, launch);
    cla_custom_add_inputs(launch, call);
    launch->groups[0] = (size_t)((longest + tile - 1) / tile);
    launch->groups[1] = (size_t)a->heads;
    launch->groups[2] = (size_t)a->sequences;
    if (whole) {
        cla_attention_whole(rt, a, launch);
    }
    launch->flops = flops_of(a, products);
    return a->sequences ? cla_enqueue(rt, launch) : CLA_OK;
}

static cla_status forward(cla_runtime *rt, const custom_call *call)
{
    const cla_attention_call *a = &call->attention;
    if (cla_custom_is_narrow(rt, call)) {
        return cla_custom_band_forward(rt, call);
    }
    if (!cla_tiled(rt)) {
        return cla_custom_group_forward(rt, call);
    }
    cla_launch launch = {
        .kernel = "custom_attention_forward",
        .args = { cla_buf(a->o), cla_buf(a->lse), cla_buf(a->q), cla_buf(a->k),
                  cla_buf(a->v), cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue_tiles(rt, call, a->longest_q, 2, true, &launch);
}

/* Queues the cells: whether the mask shows a pair of each block, for all passes. */
static cla_status make_cells(cla_tape *tape, custom_call *call)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_attention_call *a = &call->attention;
    if (!call->code->cells || !cla_tiled(rt) || !a->sequences) {
        return CLA_OK;
    }
    custom_args *c = &call->args;
    cla_launch launch = {
        .kernel = "custom_attention_cells",
        .args = { cla_mem(&call->cells), cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(c, sizeof *c) },
    };
    const int vec = cla_vector_width(rt);
    c->cell_heads = call->code->cells_by_head ? a->heads : 1;
    c->cell_rows = (a->longest_q + vec - 1) / vec;
    c->cell_columns = (a->longest_k + vec - 1) / vec;
    plan(rt, call, a->longest_q, &launch);
    cla_custom_add_inputs(&launch, call); // its argument cells stays NULL
    const size_t bytes = (size_t)a->sequences * (size_t)c->cell_heads *
                         (size_t)c->cell_rows * (size_t)c->cell_columns;
    CLA_TRY(cla_tape_scratch(tape, &call->cells, bytes ? bytes : 1));
    launch.args[0] = cla_mem(&call->cells);
    launch.groups[0] = (size_t)c->cell_rows;
    launch.groups[1] = (size_t)c->cell_heads;
    launch.groups[2] = (size_t)a->sequences;
    return cla_enqueue(rt, &launch);
}

/* Makes *map [B,H,Tmax,Smax]. */
static cla_status make_map(cla_tape *tape, cla_tensor **map, const custom_call *call)
{
    enum { GROUP_SIZE = 64 };
    const cla_attention_call *a = &call->attention;
    const int64_t shape[] = { a->sequences, a->heads, a->longest_q, a->longest_k };
    CLA_TRY(cla_tape_tensor(tape, map, CLA_F32, 4, shape));
    cla_launch launch = {
        .file = "custom_attention_map",
        .kernel = "custom_attention_map",
        .text = call->code->scalar,
        .define = { { "WIDTH", a->width },
                    { "WG", GROUP_SIZE },
                    { a->unit ? "BF16" : NULL, 1 } },
        .groups = { (size_t)(shape[3] ? shape[0] * shape[1] * shape[2] : 0) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(*map), cla_buf(a->q), cla_buf(a->k),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(a->longest_q),
                  cla_i32(a->longest_k) },
        .flops = 2.0 * a->width * (double)(shape[0] * shape[1] * shape[2] * shape[3]),
    };
    cla_custom_add_inputs(&launch, call);
    return cla_enqueue(cla_tape_runtime(tape), &launch);
}

/* ---- backward -------------------------------------------------------------------- */

cla_arg *cla_custom_put_own(cla_arg *args, const custom_call *call,
                            const custom_grads *p)
{
    for (int i = 0; i < CLA_CUSTOM_INPUTS; i++) {
        if (call->code->own[i] >= 0) {
            *args++ = cla_buf(call->direct[i] ? p->grad[i] : NULL);
        }
    }
    return args;
}

static cla_status grad_q(cla_runtime *rt, const custom_call *call,
                         const cla_attention_grads *g, const custom_grads *p,
                         const custom_args *args)
{
    const cla_attention_call *a = &call->attention;
    if (!cla_tiled(rt)) {
        return cla_custom_group_grad_q(rt, call, g, p, *args);
    }
    cla_launch launch = {
        .kernel = "custom_attention_grad_q",
        .args = { cla_buf(g->q), cla_mem(args->slice ? &p->parts : NULL),
                  cla_mem(&g->delta), cla_buf(g->o),
                  cla_buf(call->code->two_passes ? NULL : a->o), cla_buf(a->q),
                  cla_buf(a->k), cla_buf(a->v), cla_buf(a->lse),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(args, sizeof *args),
                  cla_i32(g->q_mode) },
    };
    plan(rt, call, a->longest_q, &launch);
    cla_custom_put_own(launch.args + GRAD_Q_ARGS, call, p);
    cla_custom_add_inputs(&launch, call);
    launch.groups[0] = (size_t)p->workers;
    launch.flops = flops_of(a, 3);
    return cla_enqueue(rt, &launch);
}

static cla_status grad_kv(cla_runtime *rt, const custom_call *call,
                          const cla_attention_grads *g)
{
    const cla_attention_call *a = &call->attention;
    if (!cla_tiled(rt)) {
        return cla_custom_group_grads_kv(rt, call, g);
    }
    cla_launch launch = {
        .kernel = "custom_attention_grad_kv",
        .args = { cla_buf(g->k), cla_buf(g->v), cla_buf(g->o), cla_buf(a->q),
                  cla_buf(a->k), cla_buf(a->v), cla_buf(a->lse), cla_mem(&g->delta),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(g->k_mode),
                  cla_i32(g->v_mode) },
    };
    return enqueue_tiles(rt, call, a->longest_k, 4, false, &launch);
}

/* Distributes the tiles of queries over workers: one for each tile, unless inputs get
 * gradients. CUSTOM_WORKERS and CUSTOM_COPIES_BYTES limit their copies. */
static void share_tiles(cla_runtime *rt, const custom_call *call, custom_grads *p,
                        custom_args *args)
{
    const cla_attention_call *a = &call->attention;
    cla_launch unused = { .file = NULL };
    const int tile = cla_tiled(rt) ? plan(rt, call, a->longest_q, &unused)
                                   : cla_custom_group_rows(rt, call);
    args->tiles = (a->longest_q + tile - 1) / tile;
    args->items = args->tiles * a->heads * a->sequences;
    int64_t workers = args->items;
    if (args->slice) {
        const int64_t copies = CUSTOM_COPIES_BYTES / 4 / args->slice;
        workers = workers > CUSTOM_WORKERS ? CUSTOM_WORKERS : workers;
        workers = workers > copies ? copies : workers;
        workers = workers < 1 ? 1 : workers;
    }
    args->run = workers ? (int32_t)((args->items + workers - 1) / workers) : 1;
    args->run = args->run ? args->run : 1;
    p->workers = (args->items + args->run - 1) / args->run;
}

/* Gets the inputs' gradients and zeroed copies of them: one for each worker or, with
 * heads, for each head of a sequence. */
static cla_status inputs_begin(cla_tape *tape, const custom_call *call, custom_grads *p,
                               custom_args *args, bool heads)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    for (int i = 0; i < CLA_CUSTOM_INPUTS && call->input[i]; i++) {
        if (call->wanted[i]) {
            CLA_TRY(cla_grad_out(tape, call->input[i], &p->grad[i], &p->add[i]));
            args->add |= p->add[i] << i;
        }
    }
    share_tiles(rt, call, p, args);
    if (heads) {
        p->workers = (int64_t)call->attention.heads * call->attention.sequences;
    }
    if (!args->slice) {
        return CLA_OK;
    }
    const int64_t numbers = (p->workers ? p->workers : 1) * args->slice;
    CLA_TRY(cla_tape_scratch(tape, &p->parts, (size_t)numbers * sizeof(float)));
    return cla_memory_fill(rt, &p->parts, 0);
}

static cla_status inputs_end(cla_runtime *rt, const custom_call *call,
                             const custom_grads *p, const custom_args *args)
{
    for (int i = 0; i < CLA_CUSTOM_INPUTS; i++) {
        if (p->grad[i] && !call->direct[i]) {
            const cla_partials parts = { &p->parts, p->workers, args->start[i],
                                         args->slice };
            CLA_TRY(cla_column_sum(rt, p->grad[i], &parts, p->add[i]));
        }
    }
    return CLA_OK;
}

/* Queues delta_i = sum_j p_ij weight'(p_ij) keep_ij <dO_i, v_j>, which replaces
 * <dO_i, o_i>. */
static cla_status launch_delta(cla_tape *tape, const custom_call *call,
                               cla_attention_grads *g)
{
    const cla_attention_call *a = &call->attention;
    const size_t rows = (size_t)a->heads * (size_t)a->args.queries;
    CLA_TRY(cla_tape_scratch(tape, &g->delta, rows * sizeof(float)));
    if (!cla_tiled(cla_tape_runtime(tape))) {
        return cla_custom_group_delta(cla_tape_runtime(tape), call, g);
    }
    cla_launch launch = {
        .kernel = "custom_attention_delta",
        .args = { cla_mem(&g->delta), cla_buf(g->o), cla_buf(a->q), cla_buf(a->k),
                  cla_buf(a->v), cla_buf(a->lse), cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue_tiles(cla_tape_runtime(tape), call, a->longest_q, 2, false, &launch);
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const custom_call *call = saved;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_attention_grads grads;
    custom_grads inputs = { .workers = 0 };
    custom_args args = call->args;
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads, &any, tape, &call->attention));
    if (!any) {
        return CLA_OK;
    }
    const bool narrow = !call->learns && cla_custom_is_narrow(rt, call);
    const bool queries = !narrow && (grads.q || call->learns);
    CLA_TRY(call->code->two_passes
                ? launch_delta(tape, call, &grads)
                : cla_attention_delta(tape, &call->attention, &grads, queries));
    if (narrow) {
        return cla_custom_band_backward(rt, call, &grads);
    }
    const bool heads = cla_custom_by_heads(rt, call, &grads);
    CLA_TRY(inputs_begin(tape, call, &inputs, &args, heads));
    if (heads) {
        CLA_TRY(cla_custom_grad_heads(rt, call, &grads, &inputs.parts));
        return inputs_end(rt, call, &inputs, &args);
    }
    if (queries && inputs.workers) {
        CLA_TRY(grad_q(rt, call, &grads, &inputs, &args));
    }
    if (grads.k || grads.v) {
        CLA_TRY(grad_kv(rt, call, &grads));
    }
    return inputs_end(rt, call, &inputs, &args);
}

/* ---- the operator ---------------------------------------------------------------- */

/* Begins the call, with lse also for a gradient that only an input needs. */
static cla_status begin(custom_call *call, cla_tape *tape, cla_tensor *const qkv[3],
                        const cla_ragged *const rows[2],
                        const cla_attention_options *options)
{
    cla_attention_call *a = &call->attention;
    CLA_TRY(cla_attention_begin(a, tape, qkv[0], qkv[1], qkv[2], rows[0], rows[1],
                                options));
    if (!cla_custom_is_narrow(cla_tape_runtime(tape), call)) {
        CLA_TRY(cla_attention_round(a, tape));
    }
    call->args.sequences = a->sequences;
    CLA_TRY(cla_attention_needs(a, tape, CLA_CUSTOM_INPUTS, call->input));
    return call->code->two_passes ? cla_attention_make_lse(a, tape) : CLA_OK;
}

cla_status cla_custom_run(custom_call *call, cla_tape *tape, cla_tensor **o,
                          cla_tensor *const qkv[3], const cla_ragged *const rows[2],
                          const cla_attention_mod *mod,
                          const cla_attention_options *options)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_custom_inputs_take(call, tape, mod);
    CLA_TRY(cla_custom_code_get(&call->code, rt, mod, call->wanted));
    CLA_TRY(begin(call, tape, qkv, rows, options));
    CLA_TRY(cla_custom_inputs_place(call, rt));
    CLA_TRY(make_cells(tape, call));
    CLA_TRY(forward(rt, call));
    if (options && options->map) {
        CLA_TRY(make_map(tape, options->map, call));
    }
    if (call->attention.o->wants_grad) {
        CLA_TRY(cla_tape_record(tape, backward, call, sizeof *call,
                                (cla_tensor *[CLA_RESULTS]){ call->attention.o }));
    }
    *o = call->attention.o;
    return CLA_OK;
}

cla_status cla_custom_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                                const cla_ragged *k_rows, const cla_attention_mod *mod,
                                const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, q_rows, k_rows, mod);
    for (int i = 0; i < CLA_CUSTOM_INPUTS && mod->inputs[i].name; i++) {
        CLA_MAY(tape, mod->inputs[i].tensor);
    }
    custom_call call = { .code = NULL };
    CLA_TRY(cla_attention_check(OP, q, k, v, q_rows, k_rows, options));
    CLA_TRY(cla_custom_inputs_check(mod));
    return cla_custom_run(&call, tape, o, (cla_tensor *[]){ q, k, v },
                          (const cla_ragged *[]){ q_rows, k_rows }, mod, options);
}
