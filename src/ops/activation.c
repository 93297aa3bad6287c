/* activation.c - GELU and SiLU. Their slopes do not follow from the result, so a linear
 * layer cannot fuse them; the backward pass reads the input. */
#include "clattn/feed.h"
#include "ops/spread.h"
#include "tensor/signature.h"

typedef struct saved {
    cla_tensor *y, *x;
    const char *kernel; // of the backward pass
} saved;

static cla_status backward(cla_tape *tape, void *bytes)
{
    const saved *s = bytes;
    const cla_tensor *dy = cla_grad_in(s->y);
    cla_tensor *dx = NULL;
    int add = 0;
    CLA_TRY(cla_grad_out(tape, s->x, &dx, &add));
    cla_launch launch = {
        .file = "activation",
        .kernel = s->kernel,
        .args = { cla_buf(dx), cla_buf(dy), cla_buf(s->x), cla_i32(cla_size(s->x)),
                  cla_i32(add) },
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, cla_size(s->x));
    return dx ? cla_enqueue(cla_tape_runtime(tape), &launch) : CLA_OK;
}

const cla_signature cla_gelu_signature = { "gelu", "x:N,D -> y:N,D" };
const cla_signature cla_silu_signature = { "silu", "x:N,D -> y:N,D" };

/* Queues y = kernels[0](x) and records a backward step with kernels[1]. */
static cla_status activate(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                           const cla_signature *signature, const char *const kernels[2])
{
    cla_tensor *out = NULL;
    CLA_TRY(cla_signature_check(signature, (cla_given[]){ { x } }, &(cla_sizes){ 0 }));
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, x->rank, x->shape));
    cla_launch launch = {
        .file = "activation",
        .kernel = kernels[0],
        .args = { cla_buf(out), cla_buf(x), cla_i32(cla_size(x)) },
    };
    cla_spread_elements(cla_tape_runtime(tape), &launch, cla_size(x));
    CLA_TRY(cla_enqueue(cla_tape_runtime(tape), &launch));
    const saved s = { out, x, kernels[1] };
    return cla_tape_give(tape, y, out, &(cla_note){ backward, &s, sizeof s, { x } });
}

cla_status cla_gelu(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    static const char *const kernels[] = { "gelu_forward", "gelu_backward" };
    return activate(tape, y, x, &cla_gelu_signature, kernels);
}

cla_status cla_silu(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    static const char *const kernels[] = { "silu_forward", "silu_backward" };
    return activate(tape, y, x, &cla_silu_signature, kernels);
}
