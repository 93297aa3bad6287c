/* band_attention_2d.c - attention inside a window of positions and of heads. */
#include "ops/band_common.h"
#include "tensor/signature.h"

static const cla_band_op OP = {
    .name = "band_attention_2d",
    .tile = "band_attention_2d_tile",
    .forward = "band_attention_2d_forward",
    .backward = "band_attention_2d_backward",
    .backward_dq = "band_attention_2d_dq",
    .backward_dkdv = "band_attention_2d_dkdv",
};

/* Checks area and edge. If heads wrap around, a larger area would hold a head twice. */
static cla_status check_area(const cla_tensor *q, int area, cla_edge edge)
{
    if (area < 1 || area % 2 == 0) {
        return cla_fail(CLA_E_USAGE, "%s: area is %d, must be odd and at least 1",
                        OP.name, area);
    }
    if (edge != CLA_EDGE_TRUNCATE && area > q->shape[1]) {
        return cla_fail(CLA_E_USAGE, "%s: area is %d, but only %lld heads wrap around",
                        OP.name, area, (long long)q->shape[1]);
    }
    return CLA_OK;
}

const cla_signature cla_band_attention_2d_signature = {
    "band_attention_2d",
    "q~:N,H,d k~:N,H,d v~:N,H,d rows(N,B,T) -> o:N,H,d map?:B,H,T,*"
};

cla_status cla_band_attention_2d(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                                 cla_tensor *k, cla_tensor *v, const cla_ragged *rows,
                                 int window, int area, cla_edge edge,
                                 const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, rows);
    CLA_KNOWN("edge", edge, CLA_EDGE_AUTHOR);
    const cla_attention_reach reach = { .window = window, .area = area, .edge = edge };
    cla_attention_call call;
    CLA_TRY(cla_band_check_window(OP.name, window));
    CLA_TRY(cla_attention_check(OP.name, q, k, v, rows, rows, options));
    CLA_TRY(check_area(q, area, edge));
    CLA_TRY(cla_attention_begin(&call, tape, q, k, v, rows, rows, options));
    return cla_band_run(&OP, tape, o, &call, &reach, options);
}
