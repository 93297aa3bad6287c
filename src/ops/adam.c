/* adam.c - one step of Adam over a whole block of parameters. */
#include <math.h>

#include "clattn/optim.h"
#include "ops/spread.h"

/* As in cl/adam.cl. */
typedef struct adam_rates {
    float lr, beta1, beta2, eps;
    float rest1, rest2;
    float correct1, correct2;
} adam_rates;

static adam_rates rates_of(const cla_adam_options *o, int64_t step)
{
    const double beta1 = (double)o->beta1, beta2 = (double)o->beta2;
    return (adam_rates){ o->lr,
                         o->beta1,
                         o->beta2,
                         o->eps,
                         (float)(1 - beta1),
                         (float)(1 - beta2),
                         (float)(1 / (1 - pow(beta1, (double)step))),
                         (float)(1 / (1 - pow(beta2, (double)step))) };
}

static cla_status check(const cla_tensor *p, const cla_tensor *m, const cla_tensor *v,
                        const cla_tensor *g, int64_t step)
{
    static const char op[] = "adam";
    CLA_TRY(cla_check_f32(op, "p", p));
    CLA_TRY(cla_check_shape(op, "m", m, CLA_F32, p->rank, p->shape));
    CLA_TRY(cla_check_shape(op, "v", v, CLA_F32, p->rank, p->shape));
    CLA_TRY(cla_check_shape(op, "g", g, CLA_F32, p->rank, p->shape));
    if (step < 1) {
        return cla_fail(CLA_E_USAGE, "adam: step is %lld, must be 1 or more",
                        (long long)step);
    }
    return CLA_OK;
}

cla_status cla_adam(cla_runtime *rt, cla_tensor *p, cla_tensor *m, cla_tensor *v,
                    const cla_tensor *g, int64_t step, const cla_adam_options *options)
{
    CLA_TRY(check(p, m, v, g, step));
    const adam_rates rates = rates_of(options, step);
    cla_launch launch = {
        .file = "adam",
        .kernel = "adam",
        .args = { cla_buf(p), cla_buf(m), cla_buf(v), cla_buf(g), cla_i32(cla_size(p)),
                  cla_bytes(&rates, sizeof rates) },
    };
    cla_spread_elements(rt, &launch, cla_size(p));
    cla_tensor_changed(p);
    return cla_enqueue(rt, &launch);
}
