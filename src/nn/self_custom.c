/* self_custom.c - scores of expressions, and parameters that they read. */
#include "nn/self.h"

static cla_status read_expressions(self_config *c, cla_config *s)
{
    if (!c->custom) {
        return cla_custom_know(s); // another way of attending was chosen
    }
    CLA_TRY(cla_custom_configure(c->custom, s));
    return cla_custom_refuse_length(c->custom, s);
}

static cla_status add_learned(self_layer *layer, cla_params *params, const char *prefix)
{
    return cla_custom_init(layer->config.custom, params, layer->learned, prefix,
                           layer->config.heads, 0);
}

static cla_status attend(self_layer *layer, cla_tape *tape, cla_tensor **o,
                         const self_input *in)
{
    const cla_attention_mod mod = cla_custom_mod(layer->config.custom, layer->learned);
    return cla_custom_attention(tape, o, in->q, in->k, in->v, in->q_rows, in->k_rows,
                                &mod, &in->options);
}

const self_variant self_custom = { .name = "custom",
                                   .configure = read_expressions,
                                   .init = add_learned,
                                   .forward = attend };
