/* softsign.c - an activation with tails that fall slowly. */
#include "clattn/ops.h"
#include "ops/spread.h"
#include "tensor/signature.h"

const cla_signature cla_softsign_signature = { "softsign", "x:... -> y:..." };

typedef struct saved {
    cla_tensor *y, *x;
} saved;

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    if (!dy) {
        return CLA_OK;
    }
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    cla_launch launch = {
        .file = "softsign",
        .kernel = "softsign_backward",
        .args = { cla_buf(dx), cla_buf(dy), cla_buf(s->x), cla_i32(cla_size(s->x)),
                  cla_i32(add) },
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, cla_size(s->x));
    return dx ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

cla_status cla_softsign(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    cla_tensor *out = NULL;
    *y = NULL;
    CLA_TRY(cla_signature_check(&cla_softsign_signature, (cla_given[]){ { x } },
                                &(cla_sizes){ 0 }));
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, x->rank, x->shape));
    cla_launch launch = {
        .file = "softsign",
        .kernel = "softsign_forward",
        .args = { cla_buf(out), cla_buf(x), cla_i32(cla_size(x)) },
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, cla_size(x));
    CLA_TRY(cla_enqueue(cla_tape_runtime(tape), &launch));
    const saved s = { out, x };
    return cla_tape_give(tape, y, out, &(cla_note){ backward, &s, sizeof s, { x } });
}
