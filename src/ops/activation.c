/* activation.c - the table of activations; GELU, SiLU and the sigmoid as operators,
 * whose backward pass reads the input. */
#include "ops/activation.h"

#include <math.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "ops/spread.h"
#include "tensor/signature.h"

/* ---- the table --------------------------------------------------------------- */

const char *const cla_activation_names[] = {
    [CLA_NONE] = "none",
    [CLA_RELU] = "relu",
    [CLA_TANH] = "tanh",
    [CLA_SIGMOID] = "sigmoid",
    [CLA_GELU] = "gelu",
    [CLA_SILU] = "silu",
    NULL,
};

/* An activation whose slope does not follow from its result is an operator; NULL: the
 * slope does. */
typedef cla_status (*apart)(cla_tape *tape, cla_tensor **y, cla_tensor *x);
static apart operator_of(cla_activation activation)
{
    return activation == CLA_GELU ? cla_gelu : activation == CLA_SILU ? cla_silu : NULL;
}

bool cla_activation_fuses(cla_activation activation)
{
    return !operator_of(activation);
}

cla_status cla_activate(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        cla_activation activation)
{
    return operator_of(activation)(tape, y, x);
}

cla_status cla_activation_check(const char *who, cla_activation activation, bool fused)
{
    int last = 0;
    while (cla_activation_names[last + 1]) {
        last++;
    }
    CLA_TRY(cla_known(who, "activation", (int)activation, last,
                      cla_activation_names[last]));
    return !fused || cla_activation_fuses(activation)
               ? CLA_OK
               : cla_fail(CLA_E_USAGE,
                          "%s: activation is %s, whose slope does not follow from its "
                          "result",
                          who + strlen("cla_"), cla_activation_names[activation]);
}

double cla_activation_of(cla_activation activation, double x)
{
    switch (activation) {
    case CLA_RELU:
        return x < 0 ? 0 : x; // NaN stays NaN
    case CLA_TANH:
        return tanh(x);
    case CLA_SIGMOID:
        return 1 / (1 + exp(-x));
    case CLA_GELU:
        return x * (1 + erf(x / sqrt(2))) / 2;
    case CLA_SILU:
        return x / (1 + exp(-x));
    case CLA_NONE:
        break;
    }
    return x;
}

/* ---- activations by their input ----------------------------------------------- */

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
const cla_signature cla_sigmoid_signature = { "sigmoid", "x:... -> y:..." };

/* Queues y = kernels[0](x) and records a backward step with kernels[1]. */
static cla_status run(cla_tape *tape, cla_tensor **y, cla_tensor *x,
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
    return run(tape, y, x, &cla_gelu_signature, kernels);
}

cla_status cla_silu(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    static const char *const kernels[] = { "silu_forward", "silu_backward" };
    return run(tape, y, x, &cla_silu_signature, kernels);
}

cla_status cla_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x)
{
    CLA_OP(tape, y, x);
    static const char *const kernels[] = { "sigmoid_forward", "sigmoid_backward" };
    return run(tape, y, x, &cla_sigmoid_signature, kernels);
}
