/* custom_group.c - custom attention under the group schedule: a change of the passes of
 * plain attention. */
#include "ops/custom_call.h"

/* Returns what the expressions change in the passes of attention under the group
 * schedule, but for the arguments behind the first. It refers to args, which must
 * stay. */
static cla_attention_change change_of(const custom_call *call, const custom_args *args)
{
    return (cla_attention_change){ .define = { "CUSTOM", call->exact ? "EXACT" : NULL },
                                   .lean = true,
                                   .text = call->code->scalar,
                                   .args = { cla_bytes(args, sizeof *args) } };
}

static cla_attention_change plain_change(const custom_call *call)
{
    cla_attention_change change = change_of(call, &call->args);
    cla_custom_put_inputs(change.args + 1, call);
    return change;
}

cla_status cla_custom_group_forward(cla_runtime *rt, const custom_call *call)
{
    const cla_attention_call *a = &call->attention;
    const cla_attention_change change = plain_change(call);
    CLA_TRY(cla_attention_forward(rt, a, &change));
    return call->code->two_passes ? cla_attention_weighted(rt, a, NULL, &change)
                                  : CLA_OK;
}

cla_status cla_custom_group_delta(cla_runtime *rt, const custom_call *call,
                                  const cla_attention_grads *g)
{
    const cla_attention_change change = plain_change(call);
    return cla_attention_weighted(rt, &call->attention, g, &change);
}

int cla_custom_group_rows(cla_runtime *rt, const custom_call *call)
{
    const cla_attention_change change = plain_change(call);
    int most = 0;
    return cla_attention_grad_q_rows(rt, &call->attention, &change, &most);
}

cla_status cla_custom_group_grad_q(cla_runtime *rt, const custom_call *call,
                                   const cla_attention_grads *g, const custom_grads *p,
                                   custom_args args)
{
    cla_attention_change change = change_of(call, &args);
    change.args[1] = cla_mem(args.slice ? &p->parts : NULL);
    cla_custom_put_inputs(cla_custom_put_own(change.args + 2, call, p), call);
    change.workers = p->workers;
    for (; args.turn < args.run; args.turn++) {
        CLA_TRY(cla_attention_grad_q(rt, &call->attention, g, &change, p->workers));
    }
    return CLA_OK;
}

cla_status cla_custom_group_grads_kv(cla_runtime *rt, const custom_call *call,
                                     const cla_attention_grads *g)
{
    const cla_attention_change change = plain_change(call);
    return cla_attention_grads_kv(rt, &call->attention, g, &change);
}
