/* ema.c - exponential moving average of a block of parameters; swaps the two. */
#include "clattn/optim.h"
#include "ops/spread.h"

static const char OP[] = "ema";

static cla_status check(const cla_tensor *e, const cla_tensor *p)
{
    CLA_TRY(cla_check_f32(OP, "e", e));
    return cla_check_shape(OP, "p", p, CLA_F32, e->rank, e->shape);
}

cla_status cla_ema(cla_runtime *rt, cla_tensor *e, const cla_tensor *p, float decay)
{
    CLA_NEED(rt, e, p);
    CLA_HOLD(rt);
    CLA_SAME(rt, e, p);
    CLA_TRY(check(e, p));
    const float rest = (float)(1 - (double)decay);
    cla_launch launch = {
        .file = OP,
        .kernel = OP,
        .args = { cla_buf(e), cla_buf(p), cla_i32(cla_size(e)),
                  cla_bytes(&rest, sizeof rest) },
    };
    cla_spread_elements(rt, &launch, cla_size(e));
    cla_tensor_changed(e);
    return cla_enqueue(rt, &launch);
}

cla_status cla_swap(cla_runtime *rt, cla_tensor *e, cla_tensor *p)
{
    CLA_NEED(rt, e, p);
    CLA_HOLD(rt);
    CLA_SAME(rt, e, p);
    CLA_TRY(check(e, p));
    cla_launch launch = {
        .file = OP,
        .kernel = "swap",
        .args = { cla_buf(e), cla_buf(p), cla_i32(cla_size(e)) },
    };
    cla_spread_elements(rt, &launch, cla_size(e));
    cla_tensor_changed(e);
    cla_tensor_changed(p);
    return cla_enqueue(rt, &launch);
}
