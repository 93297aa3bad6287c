/* attn_conv.c - attention with convolved maps: along the queries, with a channel for
 * each key (conv), or along queries and keys (conv2d). */
#include "nn/attn_conv.h"

#include <math.h>
#include <string.h>

#include "ops/activation.h"
#include "tensor/tensor.h"

static cla_status configure(attn_config *config, cla_config *s)
{
    conv *c = cla_attn_state(config);
    static const char *const places[] = { "after", "before", NULL };
    c->activation = CLA_RELU;
    c->side = 3;
    CLA_TRY(cla_config_choice(s, "conv_pos", places, &c->before));
    CLA_TRY(
        cla_config_choice(s, "map_activation", cla_activation_names, &c->activation));
    return cla_activation_fuses((cla_activation)c->activation)
               ? CLA_OK
               : cla_config_refuse(s, "map_activation",
                                   "is '%s', whose slope does not follow from its "
                                   "result: a convolved map cannot have it",
                                   cla_activation_names[c->activation]);
}

static cla_status configure_2d(attn_config *config, cla_config *s)
{
    conv *c = cla_attn_state(config);
    CLA_TRY(configure(config, s));
    CLA_TRY(cla_config_int(s, "map_filter", &c->side, 1, CLA_CONV_SIDE));
    return c->side % 2
               ? CLA_OK
               : cla_config_refuse(s, "map_filter",
                                   "is %d: the side of a filter must be odd", c->side);
}

/* ---- parameters -------------------------------------------------------------- */

static cla_status init_1d(attn_layer *layer, cla_params *params, const char *prefix)
{
    conv *m = cla_attn_state(&layer->config);
    const int64_t H = layer->config.heads, t = layer->config.length, u = m->side;
    const double fan = (double)(u * t);
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, fan, fan };
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    CLA_TRY(cla_param_add(params, &m->filter, glorot, 4, (int64_t[]){ H, u, t, t },
                          "%s.filter", prefix));
    return cla_param_add(params, &m->bias, zeros, 2, (int64_t[]){ H, t }, "%s.bias",
                         prefix);
}

static cla_status init_2d(attn_layer *layer, cla_params *params, const char *prefix)
{
    conv *m = cla_attn_state(&layer->config);
    const int64_t H = layer->config.heads, side = m->side;
    const double fan = (double)(side * side);
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, fan, fan };
    CLA_TRY(cla_param_add(params, &m->filter, glorot, 3, (int64_t[]){ H, side, side },
                          "%s.filter", prefix));
    return m->before ? CLA_OK : cla_param_zeros(params, &m->bias, H, "%s.bias", prefix);
}

/* ---- forward ----------------------------------------------------------------- */

static cla_status attend_1d(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            const attn_input *in)
{
    conv *m = cla_attn_state(&layer->config);
    m->causal = in->options.causal;
    if (m->before || m->causal) {
        return cla_conv_dense(layer, tape, o, in);
    }
    return cla_conv_attention_1d(tape, o, in->q, in->k, in->v, m->filter, m->bias,
                                 in->q_rows, (cla_activation)m->activation,
                                 &in->options);
}

static cla_status attend_2d(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                            const attn_input *in)
{
    conv *m = cla_attn_state(&layer->config);
    m->causal = in->options.causal;
    if (m->before || m->causal) {
        return cla_conv_dense(layer, tape, o, in);
    }
    return cla_conv_attention_2d(tape, o, in->q, in->k, in->v, m->filter, m->bias,
                                 in->q_rows, (cla_activation)m->activation,
                                 CLA_CONV_AUTO, &in->options);
}

/* ---- maps on the host -------------------------------------------------------- */

/* The device returns the map of the softmax. A sentence is small, so the host repeats
 * the convolution. */
/* Computes s[i,j] = act(b + sum_{u,v} w[u,v] p[i+u-n, j+v-c]), w [side,side], c its
 * middle, n that of cla_conv_back. */
static void convolve_2d(float *s, const float *p, const float *w, float b, int T,
                        const conv *m)
{
    const int side = m->side, middle = side / 2;
    const int back = (int)cla_conv_back(side, m->causal);
    for (int i = 0; i < T; i++) {
        for (int j = 0; j < T; j++) {
            float sum = b;
            for (int at = 0; at < side * side; at++) {
                const int y = i + at / side - back, x = j + at % side - middle;
                const bool inside = y >= 0 && y < T && x >= 0 && x < T;
                sum += inside ? w[at] * p[y * T + x] : 0;
            }
            const bool hidden = m->causal && j > i;
            s[i * T + j] =
                hidden ? 0 : cla_activation_of((cla_activation)m->activation, sum);
        }
    }
}

/* Computes s[i,o] = act(b[o] + sum_{u,c} w[u,c,o] p[i+u-n,c]); w [3,t,t], b [t]. */
static void convolve_1d(float *s, const float *p, const float *w, const float *b, int T,
                        ptrdiff_t t, const conv *m)
{
    for (int i = 0; i < T; i++) {
        for (int o = 0; o < T; o++) {
            float sum = b[o];
            for (int u = 0; u < 3; u++) {
                const int from = i + u - (int)cla_conv_back(3, m->causal);
                for (int c = 0; c < T && from >= 0 && from < T; c++) {
                    sum += p[from * T + c] * w[(u * t + c) * t + o];
                }
            }
            const bool hidden = m->causal && o > i;
            s[i * T + o] =
                hidden ? 0 : cla_activation_of((cla_activation)m->activation, sum);
        }
    }
}

static cla_status download(const cla_tensor *t, float **host)
{
    CLA_TRY(cla_alloc(host, (size_t)cla_size(t) + 1, sizeof **host));
    return cla_tensor_download(t, *host);
}

static cla_status show(attn_layer *layer, const float *map, int head, int T,
                       float *shown)
{
    const conv *m = cla_attn_state(&layer->config);
    const ptrdiff_t t = layer->config.length;
    float *w = NULL, *b = NULL;
    if (m->before) { // the softmax's map weights the values
        memcpy(shown, map, (size_t)T * (size_t)T * sizeof *shown);
        return CLA_OK;
    }
    cla_status status = download(m->filter, &w);
    status = status ? status : download(m->bias, &b);
    if (!status && m->filter->rank == 4) { // the one-dimensional filter
        convolve_1d(shown, map, w + 3 * t * t * head, b + t * head, T, t, m);
    } else if (!status) {
        const ptrdiff_t taps = (ptrdiff_t)m->side * m->side;
        convolve_2d(shown, map, w + taps * head, b[head], T, m);
    }
    free(w);
    free(b);
    return status;
}

extern const attn_way cla_attn_conv, cla_attn_conv2d;
const attn_way cla_attn_conv = { .name = "conv",
                                 .size = sizeof(conv),
                                 .configure = configure,
                                 .init = init_1d,
                                 .forward = attend_1d,
                                 .show = show,
                                 .causal = true,
                                 .tied = true,
                                 .whole = true };
const attn_way cla_attn_conv2d = { .name = "conv2d",
                                   .size = sizeof(conv),
                                   .configure = configure_2d,
                                   .init = init_2d,
                                   .forward = attend_2d,
                                   .show = show,
                                   .causal = true,
                                   .whole = true };
