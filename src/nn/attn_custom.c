/* attn_custom.c - attention with scores from expressions and their parameters. */
#include "nn/attn.h"
#include "nn/custom.h"

typedef struct custom {
    custom_config config;
    cla_tensor *learned[CLA_CUSTOM_INPUTS];
} custom;

static cla_status read_expressions(attn_config *config, cla_config *s)
{
    custom *c = cla_attn_state(config);
    CLA_TRY(cla_custom_configure(&c->config, s));
    return config->length ? CLA_OK : cla_custom_refuse_length(&c->config, s);
}

static cla_status add_learned(attn_layer *layer, cla_params *params, const char *prefix)
{
    custom *c = cla_attn_state(&layer->config);
    return cla_custom_init(&c->config, params, c->learned, prefix, layer->config.heads,
                           layer->config.length);
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                         const attn_input *in)
{
    const custom *c = cla_attn_state(&layer->config);
    const cla_attention_mod mod = cla_custom_mod(&c->config, c->learned);
    return cla_custom_attention(tape, o, in->q, in->k, in->v, in->q_rows, in->k_rows,
                                &mod, &in->options);
}

static const char *const small[] = {
    "score=s - slope[h] * abs(j - i)",
    "learn={\"slope\": {\"shape\": [\"heads\"], \"init\": \"alibi\"}}", NULL
};

extern const attn_way cla_attn_custom;
const attn_way cla_attn_custom = { .name = "custom",
                                   .size = sizeof(custom),
                                   .configure = read_expressions,
                                   .init = add_learned,
                                   .forward = attend,
                                   .causal = true,
                                   .small = small };
