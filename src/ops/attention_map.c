/* attention_map.c - attention weights as a dense map, for inspection. */
#include "cl/attention_map_args.h"
#include "ops/attention_common.h"

cla_status cla_attention_map(cla_tape *tape, cla_tensor **map,
                             const cla_attention_call *call,
                             const cla_attention_reach *reach)
{
    enum { GROUP_SIZE = 64 };
    const int64_t shape[4] = { call->sequences, call->heads, call->longest_q,
                               (int64_t)reach->area * call->longest_k };
    const map_shape s = {
        call->sequences, call->longest_q,      call->longest_k, reach->window,
        reach->area,     (int32_t)reach->edge, reach->t,
    };
    cla_tensor *out = NULL;
    CLA_TRY(cla_tape_tensor(tape, &out, CLA_F32, 4, shape));
    const cla_launch launch = {
        .file = "attention_map",
        .kernel = "attention_map",
        .define = { { "WIDTH", call->width },
                    { "WG", GROUP_SIZE },
                    { call->unit ? "BF16" : NULL, 1 } },
        .groups = { (size_t)(shape[3] ? shape[0] * shape[1] * shape[2] : 0) },
        .local = { GROUP_SIZE },
        .args = { cla_buf(out), cla_buf(call->q), cla_buf(call->k),
                  cla_buf(reach->absolute), cla_buf(reach->relative),
                  cla_mem(&call->q_rows->device_offsets),
                  cla_mem(&call->k_rows->device_offsets),
                  cla_bytes(&call->args, sizeof call->args), cla_bytes(&s, sizeof s) },
        .flops = 2.0 * call->width * (double)cla_size(out),
    };
    CLA_TRY(cla_enqueue(cla_tape_runtime(tape), &launch));
    *map = out;
    return CLA_OK;
}
