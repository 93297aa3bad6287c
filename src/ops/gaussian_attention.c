/* gaussian_attention.c - attention with a Gaussian around a centre in its scores.
 *
 * The kernels compute the Gaussian from the centre and width of a query and head. The
 * pass for dQ reads every key of a query, and so computes the gradients of both. */
#include "cl/gaussian_attention_args.h"
#include "ops/attention_common.h"
#include "ops/column_sum.h"
#include "tensor/signature.h"

typedef struct gaussian_call {
    cla_attention_call attention;
    cla_gaussian shape;
    gaussian_args args;
} gaussian_call;

/* The gradients of centres and widths. */
typedef struct gaussian_grads {
    cla_tensor *center, *sigma;
    int add_sigma;
    bool summed;     // sigma is [H], its gradient the sum of rows
    cla_memory rows; // [N,H]
} gaussian_grads;

/* Queues a pass over tiles of queries or keys. */
static cla_status enqueue_tiles(cla_runtime *rt, const cla_attention_call *a,
                                int products, cla_launch *launch)
{
    const int tile = cla_attention_plan(rt, a, a->longest_q, "gaussian_attention",
                                        "gaussian_attention_tile", launch);
    launch->groups[0] = (size_t)((a->longest_q + tile - 1) / tile);
    launch->groups[1] = (size_t)a->heads;
    launch->groups[2] = (size_t)a->sequences;
    launch->flops = 2.0 * products * a->width * a->heads * a->sequences *
                    (double)a->longest_q * a->longest_k;
    return a->sequences ? cla_enqueue(rt, launch) : CLA_OK;
}

static cla_status forward(cla_runtime *rt, const gaussian_call *call)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "gaussian_attention_forward",
        .args = { cla_buf(a->o), cla_buf(a->lse), cla_buf(a->q), cla_buf(a->k),
                  cla_buf(a->v), cla_buf(call->shape.center),
                  cla_buf(call->shape.sigma), cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return enqueue_tiles(rt, a, 2, &launch);
}

/* ---- backward -------------------------------------------------------------------- */

static cla_status grad_q(cla_runtime *rt, const gaussian_call *call,
                         const cla_attention_grads *g, const gaussian_grads *p,
                         const gaussian_args *args)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "gaussian_attention_grad_q",
        .args = { cla_buf(g->q), cla_buf(p->center),
                  p->summed ? cla_mem(&p->rows) : cla_buf(p->sigma), cla_mem(&g->delta),
                  cla_buf(g->o), cla_buf(a->o), cla_buf(a->q), cla_buf(a->k),
                  cla_buf(a->v), cla_buf(a->lse), cla_buf(call->shape.center),
                  cla_buf(call->shape.sigma), cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(args, sizeof *args),
                  cla_i32(g->q_mode) },
    };
    return enqueue_tiles(rt, a, 3, &launch);
}

static cla_status grad_kv(cla_runtime *rt, const gaussian_call *call,
                          const cla_attention_grads *g)
{
    const cla_attention_call *a = &call->attention;
    cla_launch launch = {
        .kernel = "gaussian_attention_grad_kv",
        .args = { cla_buf(g->k), cla_buf(g->v), cla_buf(g->o), cla_buf(a->q),
                  cla_buf(a->k), cla_buf(a->v), cla_buf(a->lse), cla_mem(&g->delta),
                  cla_buf(call->shape.center), cla_buf(call->shape.sigma),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args), cla_i32(g->k_mode),
                  cla_i32(g->v_mode) },
    };
    return enqueue_tiles(rt, a, 4, &launch);
}

/* Gets the gradients of centres and widths, and how to write each. */
static cla_status grads_begin(cla_tape *tape, const gaussian_call *call,
                              gaussian_grads *p, gaussian_args *args)
{
    int add = 0;
    CLA_TRY(cla_grad_out(tape, call->shape.center, &p->center, &add));
    args->center_mode = add ? GRAD_ADD : GRAD_WRITE;
    CLA_TRY(cla_grad_out(tape, call->shape.sigma, &p->sigma, &p->add_sigma));
    args->sigma_mode = p->add_sigma ? GRAD_ADD : GRAD_WRITE;
    p->summed = p->sigma && !args->sigma_step;
    if (p->summed) {
        args->sigma_mode = GRAD_WRITE;
        const attention_args *a = &call->attention.args;
        const size_t numbers = (size_t)a->heads * (size_t)a->queries;
        return cla_tape_scratch(tape, &p->rows, numbers * sizeof(float));
    }
    return CLA_OK;
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const gaussian_call *call = saved;
    cla_runtime *rt = cla_tape_runtime(tape);
    cla_attention_grads grads;
    gaussian_grads shapes = { .center = NULL };
    gaussian_args args = call->args;
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&grads, &any, tape, &call->attention));
    if (!any) {
        return CLA_OK;
    }
    CLA_TRY(grads_begin(tape, call, &shapes, &args));
    const bool queries = grads.q || shapes.center || shapes.sigma;
    CLA_TRY(cla_attention_delta(tape, &call->attention, &grads, queries));
    if (queries) {
        CLA_TRY(grad_q(rt, call, &grads, &shapes, &args));
    }
    if (grads.k || grads.v) {
        CLA_TRY(grad_kv(rt, call, &grads));
    }
    if (shapes.summed) {
        const cla_partials rows = { &shapes.rows, call->attention.args.queries, 0,
                                    call->attention.heads };
        return cla_column_sum(rt, shapes.sigma, &rows, shapes.add_sigma);
    }
    return CLA_OK;
}

/* ---- the operator ---------------------------------------------------------------- */

const cla_signature cla_gaussian_attention_signature = {
    "gaussian_attention", "q~:N,H,d k~:N,H,d v~:N,H,d center?:N,H sigma:N,H "
                          "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};
const cla_signature cla_gaussian_by_head_signature = {
    "gaussian_attention", "q~:N,H,d k~:N,H,d v~:N,H,d center?:N,H sigma:H "
                          "rows(N,B,T) -> o:N,H,d map?:B,H,T,T"
};

static cla_status check(const cla_given *given, const cla_gaussian *shape,
                        const cla_attention_options *options)
{
    static const char op[] = "gaussian_attention";
    const cla_ragged *rows = given[5].rows;
    const bool by_head = given[4].tensor && given[4].tensor->rank == 1;
    CLA_TRY(cla_attention_check(op, given[0].tensor, given[1].tensor, given[2].tensor,
                                rows, rows, options));
    CLA_TRY(cla_signature_check(by_head ? &cla_gaussian_by_head_signature
                                        : &cla_gaussian_attention_signature,
                                given, &(cla_sizes){ 0 }));
    return shape->reach >= 0
               ? CLA_OK
               : cla_fail(CLA_E_USAGE, "%s: reach is %g, must be 0 or more", op,
                          (double)shape->reach);
}

cla_status cla_gaussian_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                  cla_tensor *k, cla_tensor *v,
                                  const cla_gaussian *shape, const cla_ragged *rows,
                                  const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, shape, rows);
    CLA_MAY(tape, shape->center, shape->sigma);
    gaussian_call call = { .shape = *shape };
    cla_attention_call *a = &call.attention;
    cla_tensor *const center = call.shape.center, *const sigma = call.shape.sigma;
    const cla_given given[] = { { q },      { k },     { v },
                                { center }, { sigma }, { .rows = rows } };
    CLA_TRY(check(given, shape, options));
    CLA_TRY(cla_attention_begin(a, tape, q, k, v, rows, rows, options));
    CLA_TRY(cla_attention_needs(a, tape, 2, (cla_tensor *[]){ center, sigma }));
    call.args.sigma_step = sigma && sigma->rank > 1 ? a->heads : 0;
    call.args.reach = call.shape.reach;
    CLA_TRY(forward(cla_tape_runtime(tape), &call));
    if (options && options->map) {
        const cla_attention_reach all = { .area = 1, .gaussian = shape };
        CLA_TRY(cla_attention_map(tape, options->map, a, &all));
    }
    const cla_note end = { backward, &call, sizeof call, { q, k, v, center, sigma } };
    return cla_tape_give(tape, o, a->o, &end);
}
