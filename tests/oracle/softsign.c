/* softsign.c - the definition of softsign. */
#include <math.h>

#include "clattn/ops.h"
#include "oracle/kind.h"

extern const cla_signature cla_softsign_signature; // of the launcher

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_softsign(tape, y, c->in[0]);
}

static void oracle(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = c->x[0][i] / (1 + fabs(c->x[0][i]));
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 5.0 : 2.0) * 4 * (double)kind_total(c) };
}

static const op_kind softsign_kind = {
    &cla_softsign_signature, { NULL }, device, oracle, cost
};

const op_kind *const softsign_kinds[] = { &softsign_kind, NULL };
