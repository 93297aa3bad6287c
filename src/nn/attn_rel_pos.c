/* attn_rel_pos.c - attention with learned vectors of distances for keys and values.
 * Shaw et al. 2018, Self-Attention with Relative Position Representations. */
#include "nn/attn.h"

typedef struct rel_pos {
    int clip;                // largest distance with vectors of its own
    cla_tensor *key, *value; // [2*clip+1,d], for all heads of the layer
} rel_pos;

static cla_status read_clip(attn_config *config, cla_config *s)
{
    rel_pos *c = cla_attn_state(config);
    c->clip = 16;
    return cla_config_int(s, "clip", &c->clip, 0, 65535);
}

static cla_status add_tables(attn_layer *layer, cla_params *params, const char *prefix)
{
    rel_pos *c = cla_attn_state(&layer->config);
    const int64_t rows = 2 * (int64_t)c->clip + 1, d = layer->config.width;
    CLA_TRY(cla_param_matrix(params, &c->key, rows, d, "%s.rel_k", prefix));
    return cla_param_matrix(params, &c->value, rows, d, "%s.rel_v", prefix);
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                         const attn_input *in)
{
    const rel_pos *c = cla_attn_state(&layer->config);
    return cla_relative_attention(tape, o, in->q, in->k, in->v, c->key, c->value,
                                  in->q_rows, in->k_rows, &in->options);
}

extern const attn_way cla_attn_rel_pos;
const attn_way cla_attn_rel_pos = { .name = "rel_pos",
                                    .size = sizeof(rel_pos),
                                    .configure = read_clip,
                                    .init = add_tables,
                                    .forward = attend,
                                    .decoder = true,
                                    .all = true };
