/* self_distance.c - vectors for distances beside keys and values.
 * Shaw et al. 2018, Self-Attention with Relative Position Representations. */
#include "nn/self.h"

static cla_status read_clip(self_config *c, cla_config *s)
{
    return cla_config_int(s, "clip", &c->clip, 0, 65535);
}

/* Tables for all heads of the layer. */
static cla_status add_tables(self_layer *layer, cla_params *params, const char *prefix)
{
    const self_config *c = &layer->config;
    const int64_t rows = 2 * (int64_t)c->clip + 1, d = c->model / c->heads;
    CLA_TRY(cla_param_matrix(params, &layer->rel_k, rows, d, "%s.rel_k", prefix));
    return cla_param_matrix(params, &layer->rel_v, rows, d, "%s.rel_v", prefix);
}

static cla_status attend(self_layer *layer, cla_tape *tape, cla_tensor **o,
                         const self_input *in)
{
    return cla_relative_attention(tape, o, in->q, in->k, in->v, layer->rel_k,
                                  layer->rel_v, in->q_rows, in->k_rows, &in->options);
}

const self_variant self_rel_pos = { .name = "rel_pos",
                                    .configure = read_clip,
                                    .init = add_tables,
                                    .forward = attend,
                                    .decoder = true,
                                    .all = true };
