/* attn_direct.c - learned numbers for positions in the scores of each head. */
#include <math.h>

#include "nn/attn.h"

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    const int64_t H = layer->config.heads, t = layer->config.length;
    if (layer->config.absolute) {
        const cla_init glorot = { CLA_INIT_GLOROT_NORMAL, 0, t, t };
        CLA_TRY(cla_param_add(params, &layer->absolute, glorot, 3,
                              (int64_t[]){ H, t, t }, "%s.absolute", prefix));
    }
    if (!layer->config.relative) {
        return CLA_OK;
    }
    const double fan = sqrt(2 * (double)t); // of a vector
    const cla_init glorot = { CLA_INIT_GLOROT_NORMAL, 0, fan, fan };
    return cla_param_add(params, &layer->relative, glorot, 2, (int64_t[]){ H, 2 * t },
                         layer->config.spectral ? "%s.spectrum" : "%s.relative",
                         prefix);
}

static cla_status forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    const cla_attention_options options = { .map = in->map };
    cla_tensor *relative = layer->relative;
    if (relative && layer->config.spectral) {
        CLA_TRY(cla_relative_spectrum(tape, &relative, layer->relative));
    }
    return cla_position_attention(tape, o, in->q, in->k, in->v, layer->absolute,
                                  relative, in->rows, &options);
}

const attn_variant attn_direct = { "direct", init, forward };
