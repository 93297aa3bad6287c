/* adadelta.c - one step of AdaDelta over a whole block of parameters. */
#include "clattn/optim.h"
#include "ops/spread.h"

/* As in cl/adadelta.cl. */
typedef struct adadelta_rates {
    float lr, rho, rest, eps;
} adadelta_rates;

cla_status cla_adadelta(cla_runtime *rt, cla_tensor *p, cla_tensor *a, cla_tensor *d,
                        const cla_tensor *g, float lr, float rho, float eps)
{
    static const char op[] = "adadelta";
    CLA_TRY(cla_check_f32(op, "p", p));
    CLA_TRY(cla_check_shape(op, "a", a, CLA_F32, p->rank, p->shape));
    CLA_TRY(cla_check_shape(op, "d", d, CLA_F32, p->rank, p->shape));
    CLA_TRY(cla_check_shape(op, "g", g, CLA_F32, p->rank, p->shape));
    const adadelta_rates rates = { lr, rho, (float)(1 - (double)rho), eps };
    cla_launch launch = {
        .file = op,
        .kernel = op,
        .args = { cla_buf(p), cla_buf(a), cla_buf(d), cla_buf(g), cla_i32(cla_size(p)),
                  cla_bytes(&rates, sizeof rates) },
    };
    cla_spread_elements(rt, &launch, cla_size(p));
    cla_tensor_changed(p);
    return cla_enqueue(rt, &launch);
}
