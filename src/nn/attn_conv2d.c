/* attn_conv2d.c - attention maps convolved after the softmax. */
#include "nn/attn.h"

static const int64_t TAPS = 3;

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    const int64_t H = layer->config.heads;
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, TAPS * TAPS, TAPS * TAPS };
    CLA_TRY(cla_param_add(params, &layer->filter, glorot, 3,
                          (int64_t[]){ H, TAPS, TAPS }, "%s.filter", prefix));
    return cla_param_zeros(params, &layer->bias, H, "%s.bias", prefix);
}

static cla_status forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    const cla_attention_options options = { .map = in->map };
    return cla_conv_attention_2d(tape, o, in->q, in->k, in->v, layer->filter,
                                 layer->bias, in->rows, layer->config.activation,
                                 CLA_CONV_AUTO, &options);
}

const attn_variant attn_conv2d = { "conv2d", init, forward };
