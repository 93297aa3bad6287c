/* attention_common.c - checks, arguments and saved state of all attention operators. */
#include "ops/attention_common.h"

#include <math.h>
#include <string.h>

static cla_status check_operand(const char *who, const char *name, const cla_tensor *t,
                                const cla_tensor *q, const cla_ragged *rows)
{
    if (t->dtype != CLA_F32 || t->rank != 3) {
        return cla_fail(CLA_E_SHAPE, "%s: %s is %s %s, must be f32 [N,H,d]", who, name,
                        cla_dtype_name(t->dtype), cla_shape_text(t));
    }
    if (t->shape[0] != cla_ragged_tokens(rows)) {
        return cla_fail(CLA_E_SHAPE, "%s: %s is %s, but its sequences hold %lld tokens",
                        who, name, cla_shape_text(t),
                        (long long)cla_ragged_tokens(rows));
    }
    if (t->shape[1] != q->shape[1] || t->shape[2] != q->shape[2]) {
        return cla_fail(CLA_E_SHAPE, "%s: %s is %s, q is %s: heads and widths differ",
                        who, name, cla_shape_text(t), cla_shape_text(q));
    }
    return CLA_OK;
}

cla_status cla_attention_check(const char *who, const cla_tensor *q,
                               const cla_tensor *k, const cla_tensor *v,
                               const cla_ragged *q_rows, const cla_ragged *k_rows,
                               const cla_attention_options *options)
{
    CLA_TRY(options ? cla_reserved(who, options->reserved) : CLA_OK);
    CLA_TRY(check_operand(who, "q", q, q, q_rows));
    CLA_TRY(check_operand(who, "k", k, q, k_rows));
    CLA_TRY(check_operand(who, "v", v, q, k_rows));

    const int64_t width = q->shape[2];
    if (q->shape[1] < 1 || width < 1 || width > CLA_ATTENTION_WIDTH) {
        return cla_fail(CLA_E_SHAPE,
                        "%s: q is %s; at least 1 head of width 1 to %d is needed", who,
                        cla_shape_text(q), CLA_ATTENTION_WIDTH);
    }
    const int64_t B = cla_ragged_sequences(q_rows);
    if (B != cla_ragged_sequences(k_rows)) {
        return cla_fail(CLA_E_SHAPE, "%s: %lld query sequences, %lld key sequences",
                        who, (long long)B, (long long)cla_ragged_sequences(k_rows));
    }
    const float drop = options ? options->dropout : 0;
    if (!(drop >= 0 && drop < 1)) {
        return cla_fail(CLA_E_USAGE, "%s: dropout is %g, must be in [0,1)", who,
                        (double)drop);
    }
    return CLA_OK;
}

static void fill_args(cla_attention_call *call, cla_tape *tape,
                      const cla_attention_options *options)
{
    attention_args *a = &call->args;

    a->heads = call->heads;
    a->queries = (int32_t)call->q->shape[0];
    a->keys = (int32_t)call->k->shape[0];
    a->q_at = (int32_t)call->q->offset;
    a->q_stride = (int32_t)call->q->stride;
    a->k_at = (int32_t)call->k->offset;
    a->k_stride = (int32_t)call->k->stride;
    a->v_at = (int32_t)call->v->offset;
    a->v_stride = (int32_t)call->v->stride;
    a->scale = 1.0f / sqrtf((float)call->width);
    if (options && options->causal) {
        a->causal = 1;
    }
    if (options && options->dropout > 0) {
        const cla_stream draws = cla_tape_stream(tape);
        a->drop = options->dropout;
        a->seed = draws.seed;
        a->step = draws.step;
        a->stream = draws.stream;
        a->first_row = draws.first_row;
    }
}

cla_status cla_attention_make_lse(cla_attention_call *call, cla_tape *tape)
{
    if (call->lse) {
        return CLA_OK;
    }
    const int64_t shape[3] = { 2, call->q->shape[1], call->q->shape[0] };
    return cla_tape_tensor(tape, &call->lse, CLA_F32, 3, shape);
}

cla_status cla_attention_begin(cla_attention_call *call, cla_tape *tape, cla_tensor *q,
                               cla_tensor *k, cla_tensor *v, const cla_ragged *q_rows,
                               const cla_ragged *k_rows,
                               const cla_attention_options *options)
{
    *call = (cla_attention_call){
        .q = q,
        .k = k,
        .v = v,
        .q_rows = q_rows,
        .k_rows = k_rows,
        .sequences = (int32_t)cla_ragged_sequences(q_rows),
        .heads = (int32_t)q->shape[1],
        .width = (int32_t)q->shape[2],
        .longest_q = (int32_t)cla_ragged_longest(q_rows),
        .longest_k = (int32_t)cla_ragged_longest(k_rows),
    };
    fill_args(call, tape, options);
    CLA_TRY(cla_tape_tensor(tape, &call->o, CLA_F32, 3, q->shape));
    call->o->wants_grad = cla_tape_needs_grad(tape, 3, (cla_tensor *[]){ q, k, v });
    return call->o->wants_grad || (options && options->map)
               ? cla_attention_make_lse(call, tape)
               : CLA_OK;
}

cla_status cla_attention_round(cla_attention_call *call, cla_tape *tape)
{
    return cla_unit_in_force(cla_tape_runtime(tape), &call->unit);
}

cla_status cla_attention_needs(cla_attention_call *call, cla_tape *tape, int n,
                               cla_tensor *const *inputs)
{
    if (!cla_tape_needs_grad(tape, n, inputs)) {
        return CLA_OK;
    }
    call->o->wants_grad = true;
    return cla_attention_make_lse(call, tape);
}

bool cla_attention_is_wide(const cla_attention_call *call)
{
    const attention_args *a = &call->args;
    const int32_t all = call->width | a->q_at | a->q_stride | a->k_at | a->k_stride |
                        a->v_at | a->v_stride;
    return all % 4 == 0;
}

cla_status cla_attention_grads_of(cla_tape *tape, const cla_attention_call *call,
                                  cla_tensor *grad[3], int mode[3])
{
    cla_tensor *const x[3] = { call->q, call->k, call->v };
    bool all = false, memory = false;
    CLA_TRY(cla_grad_all_columns(tape, 3, x, &all));
    if (!all && x[0]->memory.mem != x[1]->memory.mem) { // else dK, dV may overwrite dQ
        CLA_TRY(cla_grad_all_columns(tape, 2, x + 1, &memory));
    }
    for (int i = 0; i < 3; i++) {
        int add = 0;
        CLA_TRY(cla_grad_out(tape, x[i], &grad[i], &add));
        add = all || (memory && i) ? 0 : add;
        mode[i] = !grad[i] ? GRAD_SKIP : add ? GRAD_ADD : GRAD_WRITE;
    }
    return CLA_OK;
}

cla_status cla_attention_delta(cla_tape *tape, const cla_attention_call *call,
                               cla_attention_grads *grads, bool inside)
{
    enum { ROWS = 32 };
    cla_runtime *rt = cla_tape_runtime(tape);
    const int64_t rows = call->o->shape[0] * call->o->shape[1];

    CLA_TRY(cla_tape_scratch(tape, &grads->delta, (size_t)rows * sizeof(float)));
    if (inside) {
        return CLA_OK;
    }
    const cla_launch launch = {
        .file = "attention_delta",
        .kernel = "attention_delta",
        .define = { { "WIDTH", call->width },
                    { "VEC", cla_vector_width(rt) },
                    { "WG", ROWS },
                    { call->unit ? "BF16" : NULL, 1 } },
        .groups = { (size_t)((rows + ROWS - 1) / ROWS) },
        .local = { ROWS },
        .args = { cla_mem(&grads->delta), cla_buf(grads->o), cla_buf(call->o),
                  cla_bytes(&call->args, sizeof call->args) },
    };
    return cla_enqueue(rt, &launch);
}

cla_status cla_attention_grads_take(cla_attention_grads *grads, bool *any,
                                    cla_tape *tape, const cla_attention_call *call)
{
    *grads = (cla_attention_grads){ .o = cla_grad_in(call->o) };
    *any = grads->o != NULL;
    if (!*any) {
        return CLA_OK;
    }
    cla_tensor *grad[3];
    int mode[3];
    CLA_TRY(cla_attention_grads_of(tape, call, grad, mode));
    grads->q = grad[0];
    grads->k = grad[1];
    grads->v = grad[2];
    grads->q_mode = mode[0];
    grads->k_mode = mode[1];
    grads->v_mode = mode[2];
    return CLA_OK;
}
