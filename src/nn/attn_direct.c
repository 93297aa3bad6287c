/* attn_direct.c - attention with learned scores that are added in each head: for each
 * pair of positions (p), for each distance (r), or both. */
#include <math.h>
#include <string.h>

#include "nn/attn.h"

typedef struct direct {
    bool absolute, relative;    // at least one
    int spectral;               // r is stored as a real Fourier spectrum
    cla_tensor *absolute_table; // [H,t,t]
    cla_tensor *relative_table; // [H,2t], or its spectrum
} direct;

/* Reads the keys. Other values of "positions" than p and r, such as those of a tagger
 * with embeddings of positions, mean both tables. */
static cla_status read_scores(attn_config *config, cla_config *s)
{
    static const char *const modes[] = { "gather", "spectral", NULL };
    direct *c = cla_attn_state(config);
    const char *positions = "p_r";
    CLA_TRY(cla_config_text(s, "positions", &positions));
    c->absolute = strcmp(positions, "r") != 0;
    c->relative = strcmp(positions, "p") != 0;
    return cla_config_choice(s, "rel_mode", modes, &c->spectral);
}

static cla_status init(attn_layer *layer, cla_params *params, const char *prefix)
{
    direct *c = cla_attn_state(&layer->config);
    const int64_t H = layer->config.heads, t = layer->config.length;
    if (c->absolute) {
        const cla_init glorot = { CLA_INIT_GLOROT_NORMAL, 0, (double)t, (double)t };
        CLA_TRY(cla_param_add(params, &c->absolute_table, glorot, 3,
                              (int64_t[]){ H, t, t }, "%s.absolute", prefix));
    }
    if (!c->relative) {
        return CLA_OK;
    }
    const double fan = sqrt(2 * (double)t); // for a vector
    const cla_init glorot = { CLA_INIT_GLOROT_NORMAL, 0, fan, fan };
    return cla_param_add(params, &c->relative_table, glorot, 2, (int64_t[]){ H, 2 * t },
                         c->spectral ? "%s.spectrum" : "%s.relative", prefix);
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                         const attn_input *in)
{
    const direct *c = cla_attn_state(&layer->config);
    cla_tensor *relative = c->relative_table;
    if (relative && c->spectral) {
        CLA_TRY(cla_relative_spectrum(tape, &relative, c->relative_table));
    }
    return cla_position_attention(tape, o, in->q, in->k, in->v, c->absolute_table,
                                  relative, in->q_rows, &in->options);
}

const attn_way cla_attn_direct = { .name = "direct",
                                   .size = sizeof(direct),
                                   .configure = read_scores,
                                   .init = init,
                                   .forward = attend,
                                   .causal = true,
                                   .tied = true };
