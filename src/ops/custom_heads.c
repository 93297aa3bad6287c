/* custom_heads.c - the backward pass of custom attention with a work-item for each head
 * of a sequence. */
#include "ops/custom_call.h"

bool cla_custom_by_heads(cla_runtime *rt, const custom_call *call,
                         const cla_attention_grads *grads)
{
    const cla_attention_call *a = &call->attention;
    const int64_t items = (int64_t)a->heads * a->sequences, slice = call->args.slice;
    const bool few =
        !slice || (items <= CUSTOM_WORKERS && items <= CUSTOM_COPIES_BYTES / 4 / slice);
    return few && !(call->exact && call->learns) && !call->code->rows &&
           !call->code->reweighs && call->args.apart == CUSTOM_FAR &&
           cla_attention_by_heads(rt, a, grads);
}

cla_status cla_custom_grad_heads(cla_runtime *rt, const custom_call *call,
                                 const cla_attention_grads *g, const cla_memory *parts)
{
    const cla_attention_call *a = &call->attention;
    const attention_modes modes = { g->q_mode, g->k_mode, g->v_mode };
    cla_launch launch = {
        .kernel = "custom_attention_backward",
        .text = call->code->tile,
        .args = { cla_buf(g->q), cla_buf(g->k), cla_buf(g->v),
                  cla_mem(call->args.slice ? parts : NULL), cla_mem(&g->delta),
                  cla_buf(g->o), cla_buf(call->code->two_passes ? NULL : a->o),
                  cla_buf(a->q), cla_buf(a->k), cla_buf(a->v), cla_buf(a->lse),
                  cla_mem(&a->q_rows->device_offsets),
                  cla_mem(&a->k_rows->device_offsets),
                  cla_bytes(&a->args, sizeof a->args),
                  cla_bytes(&call->args, sizeof call->args),
                  cla_bytes(&modes, sizeof modes) },
    };
    cla_attention_plan_heads(rt, a, &launch);
    launch.file = "custom_backward_tile";
    cla_custom_add_inputs(&launch, call);
    return cla_enqueue(rt, &launch);
}
