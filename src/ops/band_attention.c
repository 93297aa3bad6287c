/* band_attention.c - attention inside a window of positions. */
#include "ops/band_common.h"
#include "tensor/signature.h"

static const cla_band_op OP = {
    .name = "band_attention",
    .tile = "band_attention_tile",
    .forward = "band_attention_forward",
    .backward = "band_attention_backward",
    .backward_dq = "band_attention_dq",
    .backward_dkdv = "band_attention_dkdv",
};

const cla_signature cla_band_attention_signature = {
    "band_attention", "q~:N,H,d k~:N,H,d v~:N,H,d rows(N,B,T) -> o:N,H,d map?:B,H,T,*"
};

cla_status cla_band_attention(cla_tape *tape, cla_tensor **o, cla_tensor *q,
                              cla_tensor *k, cla_tensor *v, const cla_ragged *rows,
                              int window, const cla_attention_options *options)
{
    CLA_OP(tape, o, q, k, v, rows);
    const cla_attention_reach reach = { .window = window, .area = 1 };
    cla_attention_call call;
    CLA_TRY(cla_band_check_window(OP.name, window));
    CLA_TRY(cla_attention_check(OP.name, q, k, v, rows, rows, options));
    CLA_TRY(cla_attention_begin(&call, tape, q, k, v, rows, rows, options));
    return cla_band_run(&OP, tape, o, &call, &reach, options);
}
