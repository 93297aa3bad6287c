/* activation.c - the table of activations. */
#include "ops/activation.h"

#include <math.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "ops/spread.h"
#include "tensor/signature.h"

/* ---- the table --------------------------------------------------------------- */

const char *const cla_activation_names[] = {
    [CLA_NONE] = "none",           [CLA_RELU] = "relu",
    [CLA_TANH] = "tanh",           [CLA_SIGMOID] = "sigmoid",
    [CLA_GELU] = "gelu",           [CLA_SILU] = "silu",
    [CLA_GELU_TANH] = "gelu_tanh", NULL,
};

/* An activation whose slope does not follow from its result is an operator; NULL: the
 * slope does. */
typedef cla_status (*apart)(cla_tape *tape, cla_tensor **y, cla_tensor *x);
static apart operator_of(cla_activation activation)
{
    return activation == CLA_GELU        ? cla_gelu
           : activation == CLA_SILU      ? cla_silu
           : activation == CLA_GELU_TANH ? cla_gelu_tanh
                                         : NULL;
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
    case CLA_GELU_TANH:
        return x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))) / 2;
    case CLA_NONE:
        break;
    }
    return x;
}
