/* conv_attention_1d_group.c - the group schedule, one launch a step. */
#include "cl/conv_attention_1d_args.h"
#include "ops/conv_attention_1d.h"
#include "ops/product_group.h"

enum { ITEMS = CLA_TILE_ITEMS };

static rows_of rows_in(const cla_tensor *t)
{
    return (rows_of){ (int32_t)t->offset, (int32_t)t->stride };
}

static size_t tiles(int64_t rows, int64_t columns)
{
    return (size_t)(cla_tiles_down(rows) * cla_tiles_across(columns));
}

static cla_status enqueue(cla_runtime *rt, const cla_table_call *call,
                          cla_launch *launch)
{
    launch->file = "conv_attention_1d";
    launch->define[0] = (cla_define){ "WIDTH", call->attention.width };
    launch->define[1] = (cla_define){ "WG", ITEMS };
    const bool wide = cla_attention_is_wide(&call->attention) && call->args.t % 4 == 0;
    cla_tile_launch(rt, launch, 2, wide);
    return cla_enqueue(rt, launch);
}

/* Queues a launch with a work-group for each tile of the T x columns results of each
 * sequence and head. */
static cla_status enqueue_tiles(cla_runtime *rt, const cla_table_call *call,
                                int64_t columns, cla_launch *launch)
{
    const cla_attention_call *a = &call->attention;
    launch->groups[0] = tiles(a->longest_q, columns);
    launch->groups[1] = (size_t)a->heads;
    launch->groups[2] = (size_t)a->sequences;
    return a->sequences ? enqueue(rt, call, launch) : CLA_OK;
}

/* Queues map = scores of q and k. With dy = dO: map = dO v', times the slopes of the
 * activation if there is one. */
static cla_status scores(cla_runtime *rt, const cla_table_call *call,
                         const cla_memory *map, const cla_tensor *dy)
{
    const cla_attention_call *a = &call->attention;
    const bool sloped = dy && call->args.activation;
    cla_launch launch = {
        .kernel = "conv_attention_1d_scores",
        .args = { cla_mem(map), cla_buf(dy ? dy : a->q), cla_buf(dy ? a->v : a->k),
                  cla_mem(sloped ? &call->y : NULL),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(a->longest_q),
                  cla_i32(dy != NULL) },
        .flops = cla_table_flops(call, 1, 0),
    };
    return enqueue_tiles(rt, call, a->longest_q, &launch);
}

/* Queues the softmax of the rows of p in place. */
static cla_status softmax(cla_runtime *rt, const cla_table_call *call)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "conv_attention_1d_softmax",
        .groups = { (size_t)a->args.queries, (size_t)a->heads },
        .args = { cla_mem(&call->p), cla_mem(&a->q_rows->device_spans),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue(rt, call, &launch);
}

/* Queues the turning of drain's rows into the gradients of the scores. */
static cla_status softmax_back(cla_runtime *rt, const cla_table_call *call,
                               const cla_memory *drain)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "conv_attention_1d_softmax_back",
        .groups = { (size_t)a->args.queries, (size_t)a->heads },
        .args = { cla_mem(drain), cla_mem(&call->p), cla_mem(&a->q_rows->device_spans),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue(rt, call, &launch);
}

/* Queues to = the filtered map `from`, activated; or, with back, its gradient from that
 * of the filter's result. */
static cla_status filter(cla_runtime *rt, const cla_table_call *call,
                         const cla_memory *to, const cla_memory *from, bool back)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "conv_attention_1d_filter",
        .args = { cla_mem(to), cla_mem(from), cla_buf(call->w),
                  cla_buf(back ? NULL : call->b), cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(a->longest_q) },
        .flops = cla_table_flops(call, 0, 1),
    };
    return enqueue_tiles(rt, call, a->longest_q, &launch);
}

/* Queues out (+)= map x or, if turned, map' x. */
static cla_status mix(cla_runtime *rt, const cla_table_call *call,
                      const cla_tensor *out, const cla_memory *map, const cla_tensor *x,
                      bool turned, int mode)
{
    const cla_attention_call *a = &call->attention;
    if (!out || mode == GRAD_SKIP) {
        return CLA_OK;
    }
    const rows_of to = rows_in(out), from = rows_in(x);
    cla_launch launch = {
        .kernel = "conv_attention_1d_mix",
        .args = { cla_buf(out), cla_mem(map), cla_buf(x),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_bytes(&to, sizeof to),
                  cla_bytes(&from, sizeof from), cla_i32(turned),
                  cla_i32(mode == GRAD_ADD) },
        .flops = cla_table_flops(call, 1, 0),
    };
    return enqueue_tiles(rt, call, a->width, &launch);
}

cla_status cla_table_group_forward(cla_runtime *rt, const cla_table_call *call)
{
    const cla_attention_call *a = &call->attention;
    CLA_TRY(scores(rt, call, &call->p, NULL));
    CLA_TRY(softmax(rt, call));
    CLA_TRY(filter(rt, call, &call->y, &call->p, false));
    return mix(rt, call, a->o, &call->y, a->v, false, GRAD_WRITE);
}

static cla_status weights(cla_runtime *rt, const cla_table_call *call,
                          const cla_table_grads *g)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "conv_attention_1d_weights",
        .groups = { tiles(call->args.t, call->args.t), 3 * (size_t)a->heads,
                    (size_t)g->runs },
        .args = { cla_mem(&g->partial), cla_mem(&call->p), cla_mem(&g->flow),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
        .flops = cla_table_flops(call, 0, 1),
    };
    CLA_TRY(enqueue(rt, call, &launch));
    cla_launch bias = {
        .kernel = "conv_attention_1d_bias",
        .groups = { (size_t)((call->args.t + ITEMS - 1) / ITEMS), (size_t)a->heads,
                    (size_t)g->runs },
        .args = { cla_mem(&g->partial), cla_mem(&g->flow),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue(rt, call, &bias);
}

cla_status cla_table_group_backward(cla_runtime *rt, const cla_table_call *call,
                                    const cla_table_grads *grads)
{
    const cla_attention_call *a = &call->attention;
    const cla_attention_grads *g = &grads->attention;
    CLA_TRY(scores(rt, call, &grads->flow, g->o));
    CLA_TRY(mix(rt, call, g->v, &call->y, g->o, true, g->v_mode));
    if (g->q || g->k) {
        CLA_TRY(filter(rt, call, &grads->drain, &grads->flow, true));
        CLA_TRY(softmax_back(rt, call, &grads->drain));
        CLA_TRY(mix(rt, call, g->q, &grads->drain, a->k, false, g->q_mode));
        CLA_TRY(mix(rt, call, g->k, &grads->drain, a->q, true, g->k_mode));
    }
    return grads->runs ? weights(rt, call, grads) : CLA_OK;
}
