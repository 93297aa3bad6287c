/* length_sigmoid.c - a sigmoid whose range depends on the length of its sequence. */
#include "cl/length_sigmoid_args.h"
#include "clattn/gaussian.h"
#include "ops/spread.h"
#include "tensor/signature.h"

typedef struct length_call {
    cla_tensor *y, *x;
    const cla_ragged *rows;
    length_args args;
} length_call;

/* Queues a pass over sequences. */
static cla_status enqueue(cla_runtime *rt, const cla_ragged *rows, cla_launch *launch)
{
    const int wg = cla_tiled(rt) ? 1 : CLA_WG;
    launch->file = "length_sigmoid";
    launch->define[0] = (cla_define){ "WG", wg };
    launch->groups[0] = (size_t)cla_ragged_sequences(rows);
    launch->local[0] = (size_t)wg;
    return cla_ragged_tokens(rows) ? cla_enqueue(rt, launch) : CLA_OK;
}

static cla_status backward(cla_tape *tape, void *saved)
{
    const length_call *c = saved;
    const cla_tensor *dy = cla_grad_in(c->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, c->x, &dx, &add));
    cla_launch launch = {
        .kernel = "length_sigmoid_backward",
        .args = { cla_buf(dx), cla_buf(c->x), cla_buf(dy),
                  cla_mem(&c->rows->device_offsets),
                  cla_bytes(&c->args, sizeof c->args), cla_i32(add) },
    };
    return dx ? enqueue(cla_tape_runtime(tape), c->rows, &launch) : CLA_OK;
}

const cla_signature cla_length_sigmoid_signature = { "length_sigmoid",
                                                     "x:N,C rows(N,B) -> y:N,C" };

cla_status cla_length_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                              const cla_ragged *rows, float slope, float shift,
                              float base)
{
    CLA_OP(tape, y, x, rows);
    CLA_TRY(cla_signature_check(&cla_length_sigmoid_signature,
                                (cla_given[]){ { x }, { .rows = rows } },
                                &(cla_sizes){ 0 }));
    length_call c = { .x = x,
                      .rows = rows,
                      .args = { (int32_t)x->shape[1], slope, shift, base } };
    CLA_TRY(cla_tape_tensor(tape, &c.y, CLA_F32, 2, x->shape));
    cla_launch launch = {
        .kernel = "length_sigmoid_forward",
        .args = { cla_buf(c.y), cla_buf(x), cla_mem(&rows->device_offsets),
                  cla_bytes(&c.args, sizeof c.args) },
    };
    CLA_TRY(enqueue(cla_tape_runtime(tape), rows, &launch));
    const cla_note end = { backward, &c, sizeof c, { x } };
    return cla_tape_give(tape, y, c.y, &end);
}
