/* custom_band.c - custom attention inside a narrow window, by the band kernels. */
#include "ops/band_common.h"
#include "ops/custom_call.h"
#include "ops/spread.h"

/* Completes a launch; returns how many more keys than queries fit into a piece. */
static int plan(cla_runtime *rt, const custom_call *call, cla_launch *launch)
{
    const int more =
        cla_band_plan_tile(rt, "band_attention_tile", &call->attention, launch);
    launch->file = "custom_band_tile";
    launch->text = call->code->tile;
    cla_custom_add_inputs(launch, call);
    return more;
}

static double pairs_flops(const cla_attention_call *a, int32_t radius)
{
    return 2.0 * a->width * a->heads * (double)a->q->shape[0] * (2.0 * radius + 1);
}

bool cla_custom_is_narrow(cla_runtime *rt, const custom_call *call)
{
    const cla_attention_call *a = &call->attention;
    cla_launch unused = { .file = NULL };
    return cla_tiled(rt) && a->q_rows == a->k_rows && !call->code->reweighs &&
           call->args.apart != CUSTOM_FAR &&
           2 * call->args.apart <= plan(rt, call, &unused);
}

cla_status cla_custom_band_forward(cla_runtime *rt, const custom_call *call)
{
    const cla_attention_call *a = &call->attention;
    const band_args band = { .radius = call->args.apart, .area = 1 };
    cla_launch launch = {
        .kernel = "custom_band_forward",
        .args = { cla_buf(a->o), cla_buf(a->lse), cla_buf(a->q), cla_buf(a->k),
                  cla_buf(a->v), cla_mem(&a->q_rows->device_spans),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(&band, sizeof band),
                  cla_bytes(&call->args, sizeof call->args) },
        .flops = 2 * pairs_flops(a, band.radius),
    };
    plan(rt, call, &launch);
    return cla_enqueue(rt, &launch);
}

cla_status cla_custom_band_backward(cla_runtime *rt, const custom_call *call,
                                    const cla_attention_grads *grads)
{
    const cla_attention_call *a = &call->attention;
    const band_args band = { .radius = call->args.apart,
                             .area = 1,
                             .q_mode = grads->q_mode,
                             .k_mode = grads->k_mode,
                             .v_mode = grads->v_mode };
    cla_launch launch = {
        .kernel = "custom_band_backward",
        .args = { cla_buf(grads->q), cla_buf(grads->k), cla_buf(grads->v),
                  cla_buf(grads->o), cla_buf(a->q), cla_buf(a->k), cla_buf(a->v),
                  cla_buf(a->lse), cla_mem(&grads->delta),
                  cla_mem(&a->q_rows->device_spans),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args), cla_bytes(&band, sizeof band),
                  cla_bytes(&call->args, sizeof call->args) },
        .flops = 6 * pairs_flops(a, band.radius),
    };
    plan(rt, call, &launch);
    return cla_enqueue(rt, &launch);
}
