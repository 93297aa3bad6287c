/* relative_attention.c - attention with learned vectors for distances.
 *
 * Matrix products with the vectors use arrays [H,Nq,2R+1], a number for each head,
 * query and distance. The passes over tiles only read such arrays and sum into them. No
 * array has the size of a map. */
#include "cl/relative_map_args.h"
#include "cl/relative_products_args.h"
#include "ops/attention_common.h"
#include "ops/column_sum.h"
#include "ops/matmul.h"
#include "tensor/signature.h"

typedef struct relative_call {
    cla_attention_call attention;
    cla_tensor *rel_k, *rel_v; // [2R+1,d], or [H,2R+1,d]
    int32_t clip;              // R
    int64_t apart;             // floats from a head's vectors to the next; 0: shared
    cla_memory near, weights;  // [H,Nq,2R+1]: <q, rel_k>; weights summed by distance
} relative_call;

static int64_t distances(const relative_call *call)
{
    return 2 * (int64_t)call->clip + 1;
}

/* Makes an array; passes read rows of a whole tile where a sequence has fewer. */
static cla_status new_array(cla_tape *tape, const relative_call *call, cla_memory *out)
{
    const cla_attention_call *a = &call->attention;
    const int64_t rows = a->heads * a->q->shape[0] + CLA_ATTENTION_TILE;
    return cla_tape_scratch(tape, out,
                            (size_t)(rows * distances(call)) * sizeof(float));
}

/* ---- products -------------------------------------------------------------------- */

/* Returns x [Nq,H,d] as a matrix for each head. */
static cla_matrix heads_of(const cla_tensor *x)
{
    return (cla_matrix){ &x->memory, x->offset, x->stride, x->shape[2] };
}

static cla_matrix array_of(const relative_call *call, const cla_memory *array)
{
    const int64_t queries = call->attention.q->shape[0];
    return (cla_matrix){ .memory = array, .stride = queries * distances(call) };
}

/* Makes an array and queues array[h,i,n] = <x[i,h], rel[h,n]>. */
static cla_status meet(cla_tape *tape, const relative_call *call, cla_memory *array,
                       const cla_tensor *x, const cla_tensor *rel)
{
    CLA_TRY(new_array(tape, call, array));
    const cla_product p = {
        .M = x->shape[0],
        .N = distances(call),
        .K = x->shape[2],
        .batch = x->shape[1],
        .transpose_b = true,
        .a = heads_of(x),
        .b = { .memory = &rel->memory, .stride = call->apart },
        .y = array_of(call, array),
    };
    return cla_product_run(cla_tape_runtime(tape), &p);
}

/* Groups and items of kernels of relative_products. */
enum { PRODUCT_GROUPS = 16, PRODUCT_ITEMS = 64 };

static bool in_groups(const cla_runtime *rt)
{
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_GROUP;
}

/* The argument of kernels of relative_products; x are rows as of q or o. */
static product_shape shape_of(cla_runtime *rt, const relative_call *call,
                              const cla_tensor *x)
{
    const attention_args *a = &call->attention.args;
    return (product_shape){ a->heads,
                            a->queries,
                            (int32_t)distances(call),
                            call->attention.width,
                            (int32_t)x->offset,
                            (int32_t)x->stride,
                            PRODUCT_GROUPS,
                            in_groups(rt) ? RELATIVE_FLAGS : 1,
                            (int32_t)cla_size(call->rel_k),
                            (int32_t)call->apart };
}

static cla_status enqueue_products(cla_runtime *rt, cla_launch *launch)
{
    const int items = in_groups(rt) ? PRODUCT_ITEMS : 1;
    launch->file = "relative_products";
    launch->define[0] = (cla_define){ "WG", items };
    launch->groups[0] = PRODUCT_GROUPS;
    launch->local[0] = (size_t)items;
    return cla_enqueue(rt, launch);
}

/* Makes room for a copy of rel without numbers that are not finite, see copy_finite. */
static cla_status new_finite(cla_tape *tape, const cla_tensor *rel, cla_memory *out)
{
    const size_t count = (size_t)cla_size(rel) + RELATIVE_FLAGS;
    return cla_tape_scratch(tape, out, count * sizeof(float));
}

/* Queues y[i,h] += sum_n array[h,i,n] rel[h,n], where finite is that copy of rel. A
 * distance that a query does not see adds nothing, whatever rel holds. */
static cla_status mix(cla_runtime *rt, const relative_call *call, const cla_tensor *y,
                      const cla_memory *array, const cla_tensor *rel,
                      const cla_memory *finite)
{
    const product_shape s = shape_of(rt, call, y);
    const cla_product p = {
        .M = y->shape[0],
        .N = y->shape[2],
        .K = distances(call),
        .batch = y->shape[1],
        .a = array_of(call, array),
        .b = { .memory = finite, .stride = call->apart },
        .y = heads_of(y),
        .add = true,
    };
    CLA_TRY(cla_product_run(rt, &p));
    cla_launch rest = {
        .kernel = "relative_rest",
        .args = { cla_buf(y), cla_buf(rel), cla_mem(array), cla_mem(finite),
                  cla_bytes(&s, sizeof s) },
    };
    return enqueue_products(rt, &rest);
}

/* Queues grad[h,n] (+)= sum over i of array[h,i,n] x[i,h], without queries that do not
 * see distance n; vectors that heads share get the sum over heads, in order. */
static cla_status gather(cla_tape *tape, const relative_call *call, cla_tensor *grad,
                         int add, const cla_memory *array, const cla_tensor *x)
{
    const int64_t H = x->shape[1], size = distances(call) * x->shape[2];
    cla_memory parts;
    CLA_TRY(cla_tape_scratch(tape, &parts, (size_t)(H * size) * sizeof(float)));
    const cla_product p = {
        .M = distances(call),
        .N = x->shape[2],
        .K = x->shape[0],
        .batch = H,
        .transpose_a = true,
        .a = array_of(call, array),
        .b = heads_of(x),
        .y = { .memory = &parts, .stride = size },
    };
    CLA_TRY(cla_product_run(cla_tape_runtime(tape), &p));
    const product_shape s = shape_of(cla_tape_runtime(tape), call, x);
    cla_launch again = {
        .kernel = "relative_again",
        .args = { cla_mem(&parts), cla_mem(array), cla_buf(x),
                  cla_bytes(&s, sizeof s) },
    };
    CLA_TRY(enqueue_products(cla_tape_runtime(tape), &again));
    const cla_partials heads = { .memory = &parts,
                                 .rows = call->apart ? 1 : H,
                                 .stride = call->apart ? H * size : size };
    return cla_column_sum(cla_tape_runtime(tape), grad, &heads, add);
}

/* ---- passes ---------------------------------------------------------------------- */

static near_shape near_of(const relative_call *call)
{
    return (near_shape){ call->clip, (int32_t)cla_size(call->rel_k) };
}

static const char TILE_FILE[] = "relative_attention_tile";

static cla_status forward(cla_tape *tape, relative_call *call)
{
    const cla_attention_call *a = &call->attention;
    cla_runtime *rt = cla_tape_runtime(tape);
    const near_shape n = near_of(call);
    cla_memory finite;
    CLA_TRY(meet(tape, call, &call->near, a->q, call->rel_k));
    CLA_TRY(new_array(tape, call, &call->weights));
    CLA_TRY(new_finite(tape, call->rel_v, &finite));
    const cla_attention_change change = {
        .tile = TILE_FILE,
        .define = { "NEAR" },
        .lean = true,
        .args = { cla_buf(call->rel_v), cla_mem(&finite), cla_bytes(&n, sizeof n),
                  cla_mem(&call->weights), cla_mem(&call->near) },
    };
    CLA_TRY(cla_attention_forward(rt, a, &change));
    return mix(rt, call, a->o, &call->weights, call->rel_v, &finite);
}

/* Tensors and arrays that backward fills beside the gradients of q, k and v. */
typedef struct relative_grads {
    cla_tensor *rel_k, *rel_v;
    int add_k, add_v;
    cla_memory near_dp, scores; // [H,Nq,2R+1]: <dO, rel_v>; ds summed by distance
} relative_grads;

static cla_status grad_q(cla_tape *tape, const relative_call *call,
                         const cla_attention_grads *g, relative_grads *r)
{
    const cla_attention_call *a = &call->attention;
    cla_runtime *rt = cla_tape_runtime(tape);
    const near_shape n = near_of(call);
    cla_memory finite;
    CLA_TRY(new_array(tape, call, &r->scores));
    CLA_TRY(new_finite(tape, call->rel_k, &finite));
    const cla_attention_change change = {
        .tile = TILE_FILE,
        .define = { "NEAR" },
        .lean = true,
        .args = { cla_buf(call->rel_k), cla_mem(&finite), cla_bytes(&n, sizeof n),
                  cla_mem(&r->scores), cla_mem(&call->near), cla_mem(&r->near_dp) },
    };
    CLA_TRY(cla_attention_grad_q(rt, a, g, &change, a->sequences));
    return g->q ? mix(rt, call, g->q, &r->scores, call->rel_k, &finite) : CLA_OK;
}

static cla_status grads_kv(cla_runtime *rt, const relative_call *call,
                           const cla_attention_grads *g, const relative_grads *r)
{
    const cla_attention_change change = {
        .tile = TILE_FILE,
        .define = { "NEAR" },
        .lean = true,
        .args = { cla_i32(call->clip), cla_mem(&call->near), cla_mem(&r->near_dp) },
    };
    return cla_attention_grads_kv(rt, &call->attention, g, &change);
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const relative_call *call = saved;
    const cla_attention_call *a = &call->attention;
    cla_attention_grads g;
    relative_grads r = { .rel_k = NULL };
    bool any = false;
    CLA_TRY(cla_attention_grads_take(&g, &any, tape, a));
    if (!any) {
        return CLA_OK;
    }
    CLA_TRY(cla_grad_out(tape, call->rel_k, &r.rel_k, &r.add_k));
    CLA_TRY(cla_grad_out(tape, call->rel_v, &r.rel_v, &r.add_v));
    CLA_TRY(meet(tape, call, &r.near_dp, g.o, call->rel_v));
    CLA_TRY(cla_attention_delta(tape, a, &g, g.q || r.rel_k));
    if (g.q || r.rel_k) {
        CLA_TRY(grad_q(tape, call, &g, &r));
    }
    if (g.k || g.v) {
        CLA_TRY(grads_kv(cla_tape_runtime(tape), call, &g, &r));
    }
    if (r.rel_k) {
        CLA_TRY(gather(tape, call, r.rel_k, r.add_k, &r.scores, a->q));
    }
    return r.rel_v ? gather(tape, call, r.rel_v, r.add_v, &call->weights, g.o) : CLA_OK;
}

/* ---- the operator ---------------------------------------------------------------- */

static cla_status make_map(cla_tape *tape, const relative_call *call, cla_tensor **map)
{
    enum { GROUP_SIZE = 64 };
    const cla_attention_call *a = &call->attention;
    const int64_t shape[] = { a->sequences, a->heads, a->longest_q, a->longest_k };
    const map_shape m = { a->sequences, a->longest_q, a->longest_k, call->clip };
    cla_tensor *out = NULL;
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 4, shape));
    const cla_launch launch = {
        .file = "relative_map",
        .kernel = "relative_map",
        .define = { { "WIDTH", a->width },
                    { "WG", GROUP_SIZE },
                    { a->unit ? "BF16" : NULL, 1 } },
        .groups = { (size_t)(shape[3] ? shape[0] * shape[1] * shape[2] : 0) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(out), cla_buf(a->q), cla_buf(a->k), cla_mem(&call->near),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(&m, sizeof m) },
        .flops = 2.0 * a->width * (double)cla_size(out),
    };
    CLA_TRY(cla_enqueue(cla_tape_runtime(tape), &launch));
    *map = out;
    return CLA_OK;
}

const cla_signature cla_relative_attention_signature = {
    "relative_attention",
    "q~:Nq,H,d k~:Nk,H,d v~:Nk,H,d rel_k:Hr?,2R+1,d rel_v:Hr?,2R+1,d "
    "q_rows(Nq,B,T) k_rows(Nk,B,S) -> o:Nq,H,d map?:B,H,T,S"
};

static cla_status check(const relative_call *call, const cla_given *given,
                        const cla_attention_options *options)
{
    static const char op[] = "relative_attention";
    const cla_tensor *q = given[0].tensor, *rel_k = call->rel_k;
    CLA_TRY(cla_attention_check(op, q, given[1].tensor, given[2].tensor, given[5].rows,
                                given[6].rows, options));
    CLA_TRY(cla_signature_check(&cla_relative_attention_signature, given,
                                &(cla_sizes){ 0 }));
    if (rel_k->rank == 3 && rel_k->shape[0] != q->shape[1]) {
        return cla_fail(CLA_E_SHAPE,
                        "%s: rel_k is %s, must be [2R+1,%lld] or [%lld,2R+1,%lld]", op,
                        cla_shape_text(rel_k), (long long)q->shape[2],
                        (long long)q->shape[1], (long long)q->shape[2]);
    }
    if (q->shape[0] * q->shape[1] > INT32_MAX / rel_k->shape[rel_k->rank - 2]) {
        return cla_fail(CLA_E_SHAPE,
                        "%s: q is %s and rel_k %s: a number for each query, head and "
                        "distance, which must stay below 2^31",
                        op, cla_shape_text(q), cla_shape_text(rel_k));
    }
    return CLA_OK;
}

cla_status cla_relative_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                  cla_tensor *k, cla_tensor *v, cla_tensor *rel_k,
                                  cla_tensor *rel_v, const cla_ragged *q_rows,
                                  const cla_ragged *k_rows,
                                  const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, rel_k, rel_v, q_rows, k_rows);
    relative_call call = { .rel_k = rel_k, .rel_v = rel_v };
    const cla_given given[] = { { q },
                                { k },
                                { v },
                                { rel_k },
                                { rel_v },
                                { .rows = q_rows },
                                { .rows = k_rows } };
    CLA_TRY(check(&call, given, options));
    call.clip = (int32_t)(rel_k->shape[rel_k->rank - 2] / 2);
    call.apart = rel_k->rank == 3 ? distances(&call) * q->shape[2] : 0;
    CLA_TRY(
        cla_attention_begin(&call.attention, tape, q, k, v, q_rows, k_rows, options));
    CLA_TRY(cla_attention_round(&call.attention, tape));
    CLA_TRY(cla_attention_needs(&call.attention, tape, 2,
                                (cla_tensor *[]){ rel_k, rel_v }));
    CLA_TRY(forward(tape, &call));
    if (options && options->map) {
        CLA_TRY(make_map(tape, &call, options->map));
    }
    const cla_note end = { backward, &call, sizeof call, { q, k, v, rel_k, rel_v } };
    return cla_tape_give(tape, o, call.attention.o, &end);
}
