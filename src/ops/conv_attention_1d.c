/* conv_attention_1d.c - attention with filters over the rows of its maps.
 *
 * The filters belong to absolute positions, with 3 t weights for each. A map is smaller
 * than the filter of its head, so the maps are kept for the backward pass. */
#include "ops/conv_attention_1d.h"

#include <string.h>

#include "ops/activation.h"
#include "ops/spread.h"
#include "tensor/signature.h"

enum { SHIFTS = 3, WEIGHT_RUNS = 4 }; // rows under a filter; most parts of dW's sum

double cla_table_flops(const cla_table_call *call, int products, int filters)
{
    const cla_attention_call *a = &call->attention;
    const double maps = (double)a->heads * a->sequences, T = a->longest_q;
    return 2 * maps * T * T * (products * (double)a->width + filters * SHIFTS * T);
}

/* ---- the tile schedule ---------------------------------------------------------- */

static cla_status enqueue_tile(cla_runtime *rt, const cla_table_call *call,
                               cla_launch *launch)
{
    launch->file = "conv_attention_1d_tile";
    launch->define[0] = (cla_define){ "WIDTH", call->attention.width };
    launch->define[1] = (cla_define){ "VEC", cla_vector_width(rt) };
    return cla_enqueue(rt, launch);
}

/* Packs w and b into panels, and makes a line of zeros for rows outside a sequence. */
static cla_status pack(cla_tape *tape, const cla_table_call *call, cla_memory *panels,
                       cla_memory *zeros, bool turned)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const table_args *s = &call->args;
    const int64_t width = 2 * (int64_t)cla_vector_width(rt),
                  heads = call->attention.heads;
    const int64_t count = s->line / width;
    const int64_t size = heads * count * (SHIFTS * (int64_t)s->t + 1) * width;
    CLA_TRY(cla_tape_scratch(tape, panels, (size_t)size * sizeof(float)));
    CLA_TRY(cla_tape_scratch(tape, zeros, (size_t)s->line * sizeof(float)));
    CLA_TRY(cla_memory_fill(rt, zeros, 0));
    cla_launch launch = {
        .kernel = "conv_attention_1d_pack",
        .groups = { (size_t)count, (size_t)heads },
        .args = { cla_mem(panels), cla_buf(call->w), cla_buf(call->b),
                  cla_bytes(s, sizeof *s), cla_i32(turned) },
    };
    return enqueue_tile(rt, call, &launch);
}

static cla_status tile_forward(cla_tape *tape, const cla_table_call *call)
{
    const cla_attention_call *a = &call->attention;
    cla_memory panels, zeros;
    CLA_TRY(pack(tape, call, &panels, &zeros, false));
    cla_launch launch = {
        .kernel = "conv_attention_1d_forward",
        .groups = { (size_t)a->sequences, (size_t)a->heads },
        .args = { cla_buf(a->o), cla_mem(&call->p), cla_mem(&call->y), cla_buf(a->q),
                  cla_buf(a->k), cla_buf(a->v), cla_mem(&panels), cla_mem(&zeros),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
        .flops = cla_table_flops(call, 2, 1),
    };
    return enqueue_tile(cla_tape_runtime(tape), call, &launch);
}

static cla_status tile_backward(cla_tape *tape, const cla_table_call *call,
                                const cla_table_grads *grads)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const cla_attention_call *a = &call->attention;
    const cla_attention_grads *g = &grads->attention;
    const cla_arg offsets = cla_mem(&a->q_rows->device_offsets);
    cla_memory panels, zeros;
    CLA_TRY(pack(tape, call, &panels, &zeros, true));
    cla_launch launch = {
        .kernel = "conv_attention_1d_backward",
        .groups = { (size_t)a->sequences, (size_t)a->heads },
        .args = { cla_buf(g->q), cla_buf(g->k), cla_buf(g->v), cla_mem(&grads->flow),
                  cla_mem(&grads->drain), cla_mem(&call->p), cla_mem(&call->y),
                  cla_buf(g->o), cla_buf(a->q), cla_buf(a->k), cla_buf(a->v),
                  cla_mem(&panels), cla_mem(&zeros), offsets,
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(g->q_mode),
                  cla_i32(g->k_mode), cla_i32(g->v_mode) },
        .flops = cla_table_flops(call, 4, 1),
    };
    CLA_TRY(enqueue_tile(rt, call, &launch));
    cla_launch weights = {
        .kernel = "conv_attention_1d_weights",
        .groups = { SHIFTS * (size_t)a->heads, (size_t)grads->runs },
        .args = { cla_mem(&grads->partial), cla_mem(&call->p), cla_mem(&grads->flow),
                  offsets, cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
        .flops = cla_table_flops(call, 0, 1),
    };
    return grads->runs ? enqueue_tile(rt, call, &weights) : CLA_OK;
}

/* ---- both schedules ------------------------------------------------------------- */

/* Queues the gradients of w and b, in `to`, as sums over the runs. */
static cla_status sum_runs(cla_runtime *rt, const cla_table_call *call,
                           const cla_table_grads *grads, cla_tensor *const to[2],
                           const int add[2])
{
    const cla_attention_call *a = &call->attention;
    const int64_t size = cla_size(call->w) + cla_size(call->b);
    const cla_launch launch = {
        .file = "conv_attention_1d",
        .kernel = "conv_attention_1d_sum",
        .define = { { "WIDTH", a->width }, { "WG", CLA_WG } },
        .groups = { (size_t)((size + CLA_WG - 1) / CLA_WG) },
        .local = { CLA_WG },
        .args = { cla_buf(to[0]), cla_buf(to[1]), cla_mem(&grads->partial),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(grads->runs),
                  cla_i32(add[0]), cla_i32(add[1]) },
    };
    return cla_enqueue(rt, &launch);
}

static cla_status grads_begin(cla_table_grads *grads, cla_tape *tape,
                              const cla_table_call *call, bool weights)
{
    const size_t map = call->p.bytes;
    CLA_TRY(cla_tape_scratch(tape, &grads->flow, map));
    CLA_TRY(cla_tape_scratch(tape, &grads->drain, map));
    if (!weights || !call->args.sequences) {
        return CLA_OK;
    }
    grads->runs = (call->args.sequences + call->args.run - 1) / call->args.run;
    const int64_t rows = SHIFTS * (int64_t)call->args.t + 1;
    const int64_t size = grads->runs * call->attention.heads * rows * call->args.line;
    return cla_tape_scratch(tape, &grads->partial, (size_t)size * sizeof(float));
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const cla_table_call *call = bytes;
    cla_table_grads grads = { .runs = 0 };
    cla_tensor *to[2];
    int add[2];
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads.attention, &any, tape, &call->attention));
    if (!any) {
        return CLA_OK;
    }
    CLA_TRY(cla_grad_out(tape, call->w, &to[0], &add[0]));
    CLA_TRY(cla_grad_out(tape, call->b, &to[1], &add[1]));
    CLA_TRY(grads_begin(&grads, tape, call, to[0] || to[1]));
    CLA_TRY(call->tile
                ? tile_backward(tape, call, &grads)
                : cla_table_group_backward(cla_tape_runtime(tape), call, &grads));
    return to[0] || to[1] ? sum_runs(cla_tape_runtime(tape), call, &grads, to, add)
                          : CLA_OK;
}

const cla_signature cla_conv_attention_1d_signature = {
    "conv_attention_1d", "q~:N,H,d k~:N,H,d v~:N,H,d w:H,3,t,t b:H,t "
                         "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};

static cla_status check(const cla_given *given, const cla_attention_options *options)
{
    static const char op[] = "conv_attention_1d";
    const cla_ragged *rows = given[5].rows;
    cla_sizes z = { 0 };
    CLA_TRY(cla_attention_check(op, given[0].tensor, given[1].tensor, given[2].tensor,
                                rows, rows, options));
    if (options && (options->causal || options->dropout > 0)) {
        return cla_fail(CLA_E_USAGE, "%s: neither causal nor dropout", op);
    }
    CLA_TRY(cla_signature_check(&cla_conv_attention_1d_signature, given, &z));
    if (cla_ragged_longest(rows) > cla_sizes_get(&z, "t")) {
        return cla_fail(
            CLA_E_SHAPE, "%s: a sequence of %lld tokens, the filters are for %lld", op,
            (long long)cla_ragged_longest(rows), (long long)cla_sizes_get(&z, "t"));
    }
    return CLA_OK;
}

static cla_status begin(cla_table_call *call, cla_tape *tape, cla_activation activation)
{
    cla_runtime *rt = cla_tape_runtime(tape);
    const int32_t t = (int32_t)call->w->shape[2], B = call->attention.sequences;
    const int32_t panel = cla_tiled(rt) ? 2 * cla_vector_width(rt) : 4;
    const int32_t line = (t + panel - 1) / panel * panel;
    call->tile = cla_tiled(rt);
    call->args = (table_args){ t, line, (int32_t)activation, B,
                               (B + WEIGHT_RUNS - 1) / WEIGHT_RUNS };
    const size_t map = (size_t)call->attention.heads *
                       (size_t)call->attention.q->shape[0] * (size_t)line;
    CLA_TRY(cla_tape_scratch(tape, &call->p, map * sizeof(float)));
    return cla_tape_scratch(tape, &call->y, map * sizeof(float));
}

cla_status cla_conv_attention_1d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                 cla_tensor *k, cla_tensor *v, cla_tensor *w,
                                 cla_tensor *b, const cla_ragged *rows,
                                 cla_activation activation,
                                 const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, w, b, rows);
    CLA_TRY(cla_activation_check(__func__, activation, true));
    cla_table_call call = { .w = w, .b = b };
    cla_attention_call *a = &call.attention;
    const cla_given given[] = { { q }, { k }, { v }, { w }, { b }, { .rows = rows } };
    CLA_TRY(check(given, options));
    CLA_TRY(cla_attention_begin(a, tape, q, k, v, rows, rows, options));
    CLA_TRY(begin(&call, tape, activation));
    CLA_TRY(call.tile ? tile_forward(tape, &call)
                      : cla_table_group_forward(cla_tape_runtime(tape), &call));
    if (options && options->map) {
        const cla_attention_reach all = { .window = 0, .area = 1 };
        CLA_TRY(cla_attention_map(tape, options->map, a, &all));
    }
    const cla_note end = { backward, &call, sizeof call, { q, k, v, w, b } };
    return cla_tape_give(tape, o, a->o, &end);
}
