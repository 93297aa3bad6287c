/* attention_heads.c - attention with a work-item for each head of a sequence. */
#include "ops/attention_common.h"

static const char BACKWARD[] = "attention_backward_tile"; // kernel file

bool cla_attention_has_heads(cla_runtime *rt, const cla_attention_call *call)
{
    const int64_t items = (int64_t)call->heads * call->sequences;
    const int64_t units = cla_runtime_device(rt)->compute_units;
    return cla_runtime_schedule(rt) == CLA_SCHEDULE_TILE &&
           items >= units * cla_tuned(rt, "attention_tile", "ITEMS", 4);
}

void cla_attention_whole(cla_runtime *rt, const cla_attention_call *call,
                         cla_launch *launch)
{
    if (launch->groups[0] > 1 && cla_attention_has_heads(rt, call)) {
        cla_launch_define(launch, "WHOLE", 1);
        launch->groups[0] = 1;
    }
}

bool cla_attention_by_heads(cla_runtime *rt, const cla_attention_call *call,
                            const cla_attention_grads *g)
{
    const bool apart = g->q != g->k && g->q != g->v;
    return g->q && (g->k || g->v) && (apart || call->q_rows == call->k_rows) &&
           cla_attention_has_heads(rt, call);
}

void cla_attention_plan_heads(cla_runtime *rt, const cla_attention_call *call,
                              cla_launch *launch)
{
    const int vec = cla_vector_width(rt), longest = call->longest_k;
    const int most = cla_tuned(rt, BACKWARD, "ROWS", call->width > 64 ? 2 : 4);
    const int rows = longest <= vec ? 1 : longest <= 2 * vec ? 2 : 4;
    launch->file = BACKWARD;
    cla_attention_define_tile(rt, call, rows < most ? rows : most, launch);
    launch->groups[0] = (size_t)call->heads;
    launch->groups[1] = (size_t)call->sequences;
    launch->flops = 10.0 * call->width * call->heads * call->sequences *
                    (double)call->longest_q * call->longest_k;
}

cla_status cla_attention_grad_heads(cla_runtime *rt, const cla_attention_call *call,
                                    const cla_attention_grads *g)
{
    const attention_modes modes = { g->q_mode, g->k_mode, g->v_mode };
    cla_launch launch = {
        .kernel = "attention_backward",
        .args = { cla_buf(g->q), cla_buf(g->k), cla_buf(g->v), cla_mem(&g->delta),
                  cla_buf(g->o), cla_buf(call->o), cla_buf(call->q), cla_buf(call->k),
                  cla_buf(call->v), cla_buf(call->lse),
                  cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args),
                  cla_bytes(&modes, sizeof modes) },
    };
    cla_attention_plan_heads(rt, call, &launch);
    return cla_enqueue(rt, &launch);
}
