/* attn_rel_pos.c - attention with learned vectors of distances for keys and values.
 * Shaw et al. 2018, Self-Attention with Relative Position Representations. */
#include "nn/attn.h"

typedef struct rel_pos {
    int clip;                // largest distance with vectors of its own
    bool shared;             // by the heads of a layer
    cla_tensor *key, *value; // [2*clip+1,d], or [H,2*clip+1,d]
} rel_pos;

static cla_status read_keys(attn_config *config, cla_config *s)
{
    rel_pos *c = cla_attn_state(config);
    c->clip = 16;
    c->shared = true;
    CLA_TRY(cla_config_int(s, "clip", &c->clip, 0, 65535));
    return cla_config_bool(s, "rel_shared", &c->shared);
}

static cla_status add_tables(attn_layer *layer, cla_params *params, const char *prefix)
{
    rel_pos *c = cla_attn_state(&layer->config);
    const int64_t rows = 2 * (int64_t)c->clip + 1, d = layer->config.width;
    const int64_t each[] = { layer->config.heads, rows, d };
    const int64_t *shape = each + c->shared;
    const cla_init init = { CLA_INIT_GLOROT_UNIFORM, 0, (double)rows, (double)d };
    const int rank = c->shared ? 2 : 3;
    CLA_TRY(cla_param_add(params, &c->key, init, rank, shape, "%s.rel_k", prefix));
    return cla_param_add(params, &c->value, init, rank, shape, "%s.rel_v", prefix);
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
                                    .configure = read_keys,
                                    .init = add_tables,
                                    .forward = attend,
                                    .decoder = true,
                                    .all = true };
