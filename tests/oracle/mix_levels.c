/* mix_levels.c - the definition of a mixture of levels. */
#include "base/base.h"
#include "clattn/ham.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

enum { MOST = 8 };

/* A call has as many tensors as c has numbers; the operator takes a list of any
 * length. */
static const cla_signature signature = {
    "mix_levels", "x0:... x1?:... x2?:... x3?:... x4?:... x5?:... x6?:... x7?:... "
                  "c:depth -> out:..."
};

static cla_status device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    int64_t count = 0;
    while (count < MOST && c->in[count]) {
        count++;
    }
    if (cla_tensor_size(c->in[MOST]) != count) {
        return cla_fail(CLA_E_INPUT, "c has %lld numbers, there are %lld tensors x",
                        (long long)cla_tensor_size(c->in[MOST]), (long long)count);
    }
    return cla_mix_levels(tape, y, c->in, c->in[MOST]);
}

static void oracle(double *const *y, const op_call *c)
{
    const int depth = kind_size(c, "depth");
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = 0;
        for (int l = 0; l < depth; l++) {
            y[0][i] += oracle_level_weight(c->x[MOST], depth, l) * c->x[l][i];
        }
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    const double depth = kind_size(c, "depth"), size = (double)kind_total(c);
    return (kind_cost){ (backward ? 6 : 2) * depth * size,
                        4 * (backward ? 4 * depth + 2 : depth + 1) * size };
}

static const op_kind mix_levels_kind = {
    .signature = &signature,
    .device = device,
    .oracle = oracle,
    .cost = cost,
};

const op_kind *const mix_levels_kinds[] = { &mix_levels_kind, NULL };
