/* attn_csan.c - attention inside a window of positions, and of positions and heads.
 * Yang et al. 2019, Convolutional Self-Attention Networks. */
#include "nn/attn.h"

typedef struct csan {
    int window;     // positions, odd
    int area, edge; // csan2d: heads, odd; cla_edge
} csan;

static cla_status read_window(attn_config *config, cla_config *s)
{
    csan *c = cla_attn_state(config);
    c->window = 11;
    CLA_TRY(cla_config_int(s, "window", &c->window, 1, 65535));
    return c->window % 2
               ? CLA_OK
               : cla_config_refuse(s, "window", "is %d, must be odd", c->window);
}

/* Reads the keys of csan2d. Where heads form a ring, an area above H would reach a head
 * twice; with truncate, an area of 2H-1 already reaches all heads. */
static cla_status read_area(attn_config *config, cla_config *s)
{
    static const char *const edges[] = { "truncate", "wrap", "author", NULL };
    csan *c = cla_attn_state(config);
    c->area = 3;
    CLA_TRY(read_window(config, s));
    CLA_TRY(cla_config_int(s, "area", &c->area, 1, 511));
    CLA_TRY(cla_config_choice(s, "edge", edges, &c->edge));
    const int heads = config->heads;
    const int most = c->edge == CLA_EDGE_TRUNCATE ? 2 * heads - 1 : heads;
    if (c->area % 2 == 0 || c->area > most) {
        return cla_config_refuse(
            s, "area", "is %d, must be odd and at most %d for %d heads and edge %s",
            c->area, most, heads, edges[c->edge]);
    }
    return CLA_OK;
}

static cla_status attend_1d(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            const attn_input *in)
{
    const csan *c = cla_attn_state(&layer->config);
    return cla_band_attention(tape, o, in->q, in->k, in->v, in->q_rows, c->window,
                              &in->options);
}

static cla_status attend_2d(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            const attn_input *in)
{
    const csan *c = cla_attn_state(&layer->config);
    return cla_band_attention_2d(tape, o, in->q, in->k, in->v, in->q_rows, c->window,
                                 c->area, (cla_edge)c->edge, &in->options);
}

static const char *const small[] = { "window=3", "area=3", NULL };

extern const attn_way cla_attn_csan1d, cla_attn_csan2d;
const attn_way cla_attn_csan1d = { .name = "csan1d",
                                   .size = sizeof(csan),
                                   .configure = read_window,
                                   .forward = attend_1d,
                                   .causal = true,
                                   .small = small };
const attn_way cla_attn_csan2d = { .name = "csan2d",
                                   .size = sizeof(csan),
                                   .configure = read_area,
                                   .forward = attend_2d,
                                   .causal = true,
                                   .small = small };
