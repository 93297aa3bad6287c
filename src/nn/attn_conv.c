/* attn_conv.c - attention maps convolved along the queries, each key a channel. */
#include "nn/attn.h"

static const int64_t TAPS = 3;

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    const int64_t H = layer->config.heads, t = layer->config.length, fan = TAPS * t;
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, fan, fan };
    CLA_TRY(cla_param_add(params, &layer->filter, glorot, 4,
                          (int64_t[]){ H, TAPS, t, t }, "%s.filter", prefix));
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    return cla_param_add(params, &layer->bias, zeros, 2, (int64_t[]){ H, t }, "%s.bias",
                         prefix);
}

static cla_status forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    const cla_attention_options options = { .map = in->map };
    return cla_conv_attention_1d(tape, o, in->q, in->k, in->v, layer->filter,
                                 layer->bias, in->rows, layer->config.activation,
                                 &options);
}

const attn_variant attn_conv = { "conv", init, forward };
