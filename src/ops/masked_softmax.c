/* masked_softmax.c - softmax of a dense map under lengths and causality. */
#include "cl/masked_softmax_args.h"
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

typedef struct saved {
    cla_tensor *x, *y;
    const cla_tensor *q_len, *k_len;
    bool causal;
} saved;

static rows_shape shape_of(const saved *s)
{
    const int64_t *n = s->x->shape;
    return (rows_shape){ (int32_t)(n[0] * n[1] * n[2]), (int32_t)n[1], (int32_t)n[2],
                         (int32_t)n[3], s->causal };
}

/* Queues the forward or backward kernel over rows. */
static cla_status launch_rows(cla_runtime *rt, const saved *s, cla_launch *launch)
{
    const int wg = cla_tuned(rt, "masked_softmax", "WG", 128);
    const int run = cla_tuned(rt, "masked_softmax_tile", "ROWS", 8);
    cla_spread_each_row(rt, launch, cla_size(s->x) ? shape_of(s).rows : 0, wg, run);
    launch->file = "masked_softmax";
    if (cla_tiled(rt)) {
        launch->define[2] = (cla_define){ "ROWS", run };
    }
    launch->flops = 8.0 * (double)cla_size(s->x);
    return cla_enqueue(rt, launch);
}

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    const rows_shape shape = shape_of(s);
    cla_launch launch = {
        .kernel = "masked_softmax_backward",
        .args = { cla_buf(dx), cla_buf(s->y), cla_buf(dy), cla_buf(s->q_len),
                  cla_buf(s->k_len), cla_bytes(&shape, sizeof shape), cla_i32(add) },
    };
    return launch_rows(cla_tape_runtime(tape), s, &launch);
}

const cla_signature cla_masked_softmax_signature = {
    "masked_softmax", "x:B,H,T,S q_len?:B:i32 k_len?:B:i32 -> y:B,H,T,S"
};

cla_status cla_masked_softmax(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                              const cla_tensor *q_len, const cla_tensor *k_len,
                              bool causal)
{
    CLA_OP(tape, y, x);
    CLA_MAY(tape, q_len, k_len);
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(&cla_masked_softmax_signature,
                                (cla_given[]){ { x }, { q_len }, { k_len } },
                                &(cla_sizes){ 0 }));
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 4, x->shape));
    const saved s = { x, out, q_len, k_len, causal };
    const rows_shape shape = shape_of(&s);
    cla_launch launch = {
        .kernel = "masked_softmax_forward",
        .args = { cla_buf(out), cla_buf(x), cla_buf(q_len), cla_buf(k_len),
                  cla_bytes(&shape, sizeof shape) },
    };
    CLA_TRY(launch_rows(cla_tape_runtime(tape), &s, &launch));
    const cla_note end = { backward, &s, sizeof s, { x } };
    return cla_tape_give(tape, y, out, &end);
}
