/* attn_custom.c - scores of expressions, and parameters that they read. */
#include "nn/attn.h"

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    return cla_custom_init(layer->config.custom, params, layer->learned, prefix,
                           layer->config.heads, layer->config.length);
}

static cla_status forward(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    const cla_attention_options options = { .map = in->map };
    const cla_attention_mod mod = cla_custom_mod(layer->config.custom, layer->learned);
    return cla_custom_attention(tape, o, in->q, in->k, in->v, in->rows, in->rows, &mod,
                                &options);
}

const attn_variant attn_custom = { "custom", init, forward };
