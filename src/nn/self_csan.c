/* self_csan.c - attention inside a window of positions, and of positions and heads.
 * Yang et al. 2019, Convolutional Self-Attention Networks. */
#include "nn/self.h"

static cla_status read_window(self_config *c, cla_config *s)
{
    CLA_TRY(cla_config_int(s, "window", &c->window, 1, 65535));
    return c->window % 2 ? CLA_OK
                         : cla_fail(CLA_E_INPUT, "%s: window is %d, must be odd",
                                    s->path, c->window);
}

/* Heads in a ring would be met twice by an area larger than the ring; without a ring
 * every head sees all others from 2H-1 on. */
static cla_status read_area(self_config *c, cla_config *s)
{
    static const char *const edges[] = { "truncate", "wrap", "author", NULL };
    CLA_TRY(read_window(c, s));
    CLA_TRY(cla_config_int(s, "area", &c->area, 1, 511));
    CLA_TRY(cla_config_choice(s, "edge", edges, &c->edge));
    const int most = c->edge == CLA_EDGE_TRUNCATE ? 2 * c->heads - 1 : c->heads;
    if (c->area % 2 == 0 || c->area > most) {
        return cla_fail(CLA_E_INPUT,
                        "%s: area is %d, must be odd and at most %d for %d heads and "
                        "edge %s",
                        s->path, c->area, most, c->heads, edges[c->edge]);
    }
    return CLA_OK;
}

static cla_status attend_1d(self_layer *layer, cla_tape *tape, cla_tensor **o,
                            const self_input *in)
{
    return cla_band_attention(tape, o, in->q, in->k, in->v, in->q_rows,
                              layer->config.window, &in->options);
}

static cla_status attend_2d(self_layer *layer, cla_tape *tape, cla_tensor **o,
                            const self_input *in)
{
    const self_config *c = &layer->config;
    return cla_band_attention_2d(tape, o, in->q, in->k, in->v, in->q_rows, c->window,
                                 c->area, (cla_edge)c->edge, &in->options);
}

const self_variant self_csan1d = { .name = "csan1d",
                                   .configure = read_window,
                                   .forward = attend_1d };
const self_variant self_csan2d = { .name = "csan2d",
                                   .configure = read_area,
                                   .forward = attend_2d };
