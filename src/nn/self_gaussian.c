/* self_gaussian.c - attention that favours keys near a place: a token's own, with a
 * learned width a head (neighbor) or a predicted one (neighbor_predicted), a predicted
 * one with a fixed width and a cut (local_hard), or both predicted (local_soft).
 *
 *   u = tanh(Q W + b), Q [N,D] as projected; centres (len-1) sigmoid(u U_c + b_c), one
 *   a head, widths 2 sigma = len sigmoid(u U_w + b_w) + 0.1
 *
 * Heads from local_heads on attend plainly: their sigma is infinite.
 * Yang et al. 2018, Modeling Localness; Luong et al. 2015, section 3.2; Sperber et al.
 * 2018, Self-Attentional Acoustic Models. */
#include <math.h>
#include <stdio.h>

#include "clattn/gaussian.h"
#include "nn/self.h"

/* ---- keys -------------------------------------------------------------------- */

static cla_status read_heads(self_config *c, cla_config *s)
{
    c->local_heads = c->heads;
    return cla_config_int(s, "local_heads", &c->local_heads, 1, c->heads);
}

static cla_status read_predictor(self_config *c, cla_config *s, int width)
{
    c->local_predictor = width > 0 ? width : 1;
    CLA_TRY(cla_config_int(s, "local_predictor", &c->local_predictor, 1, 65535));
    return read_heads(c, s);
}

static cla_status read_neighbor(self_config *c, cla_config *s)
{
    CLA_TRY(cla_config_double(s, "local_sigma", &c->local_sigma, 1e-3, 1e6));
    return read_heads(c, s);
}

static cla_status read_neighbor_predicted(self_config *c, cla_config *s)
{
    return read_predictor(c, s, c->model / 2);
}

static cla_status read_hard(self_config *c, cla_config *s)
{
    CLA_TRY(cla_config_double(s, "local_width", &c->local_width, 1e-3, 1e6));
    CLA_TRY(cla_config_bool(s, "local_truncate", &c->local_truncate));
    return read_predictor(c, s, c->model / 2);
}

static cla_status read_soft(self_config *c, cla_config *s)
{
    return read_predictor(c, s, c->model);
}

/* ---- parameters -------------------------------------------------------------- */

static cla_status init_neighbor(self_layer *layer, cla_params *params,
                                const char *prefix)
{
    const int64_t heads = layer->config.local_heads;
    const cla_init root = { CLA_INIT_CONSTANT, sqrt(layer->config.local_sigma), 0, 0 };
    return cla_param_add(params, &layer->local_root, root, 1, &heads, "%s.local_root",
                         prefix);
}

/* The predictor and what it gives: centres, widths or both. */
static cla_status init_predictor(self_layer *layer, cla_params *params,
                                 const char *prefix, bool centers, bool widths)
{
    const self_config *c = &layer->config;
    char name[64];
    snprintf(name, sizeof name, "%s.local", prefix);
    CLA_TRY(cla_param_linear(params, &layer->local.w, &layer->local.b, c->model,
                             c->local_predictor, name));
    if (centers) {
        snprintf(name, sizeof name, "%s.local_center", prefix);
        CLA_TRY(cla_param_linear(params, &layer->local_center.w, &layer->local_center.b,
                                 c->local_predictor, c->local_heads, name));
    }
    if (!widths) {
        return CLA_OK;
    }
    snprintf(name, sizeof name, "%s.local_width", prefix);
    return cla_param_linear(params, &layer->local_width.w, &layer->local_width.b,
                            c->local_predictor, c->local_heads, name);
}

static cla_status init_widths(self_layer *layer, cla_params *params, const char *prefix)
{
    return init_predictor(layer, params, prefix, false, true);
}

static cla_status init_centers(self_layer *layer, cla_params *params,
                               const char *prefix)
{
    return init_predictor(layer, params, prefix, true, false);
}

static cla_status init_both(self_layer *layer, cla_params *params, const char *prefix)
{
    return init_predictor(layer, params, prefix, true, true);
}

/* ---- forward ----------------------------------------------------------------- */

static cla_status constant(cla_tape *tape, cla_tensor **t, int64_t rows,
                           int64_t columns, float value)
{
    const int64_t shape[] = { rows, columns };
    CLA_TRY(cla_tape_tensor(tape, t, CLA_F32, 2, shape));
    return cla_tensor_fill(*t, value);
}

/* x [N,local_heads] with a column of value for each other head: [N,H]. */
static cla_status fill_up(const self_config *c, cla_tape *tape, cla_tensor **x,
                          float value)
{
    cla_tensor *rest = NULL;
    if (c->local_heads == c->heads) {
        return CLA_OK;
    }
    CLA_TRY(
        constant(tape, &rest, cla_tensor_dim(*x, 0), c->heads - c->local_heads, value));
    return cla_concat(tape, x, *x, rest);
}

/* The same of numbers of the local heads alone, to [H]. */
static cla_status by_head(const self_config *c, cla_tape *tape, cla_tensor **x)
{
    const int64_t heads = c->heads, one[] = { 1, c->local_heads };
    CLA_TRY(cla_tensor_reshape(tape, x, *x, 2, one));
    CLA_TRY(fill_up(c, tape, x, INFINITY));
    return cla_tensor_reshape(tape, x, *x, 1, &heads);
}

/* u [N,m] of the queries as they were projected: q's columns in one piece. */
static cla_status predict(self_layer *layer, cla_tape *tape, cla_tensor **u,
                          const self_input *in)
{
    const int64_t heads = layer->config.heads;
    const int64_t shape[] = { cla_tensor_dim(in->q, 0), layer->config.model };
    cla_tensor *one = NULL, *q = NULL;
    CLA_TRY(constant(tape, &one, 1, heads, 1));
    CLA_TRY(cla_tensor_reshape(tape, &one, one, 1, &heads));
    CLA_TRY(cla_scale_heads(tape, &q, in->q, one));
    CLA_TRY(cla_tensor_reshape(tape, &q, q, 2, shape));
    return cla_linear(tape, u, q, layer->local.w, layer->local.b, CLA_TANH, NULL);
}

static cla_status predict_centers(self_layer *layer, cla_tape *tape,
                                  cla_gaussian *shape, cla_tensor *u,
                                  const self_input *in)
{
    cla_tensor **to = &shape->center;
    const self_linear *l = &layer->local_center;
    CLA_TRY(cla_linear(tape, to, u, l->w, l->b, CLA_NONE, NULL));
    CLA_TRY(cla_length_sigmoid(tape, to, *to, in->q_rows, 1, -1, 0));
    return fill_up(&layer->config, tape, to, 0);
}

static cla_status predict_widths(self_layer *layer, cla_tape *tape, cla_gaussian *shape,
                                 cla_tensor *u, const self_input *in)
{
    cla_tensor **to = &shape->sigma;
    const self_linear *l = &layer->local_width;
    CLA_TRY(cla_linear(tape, to, u, l->w, l->b, CLA_NONE, NULL));
    CLA_TRY(cla_length_sigmoid(tape, to, *to, in->q_rows, 0.5f, 0, 0.05f));
    return fill_up(&layer->config, tape, to, INFINITY);
}

static cla_status attend(cla_tape *tape, cla_tensor **o, const cla_gaussian *shape,
                         const self_input *in)
{
    return cla_gaussian_attention(tape, o, in->q, in->k, in->v, shape, in->q_rows,
                                  &in->options);
}

/* sigma = root^2, which stays positive. */
static cla_status neighbor(self_layer *layer, cla_tape *tape, cla_tensor **o,
                           const self_input *in)
{
    const int64_t square[] = { 1, layer->config.local_heads, 1 };
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *root = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &root, layer->local_root, 3, square));
    CLA_TRY(cla_scale_heads(tape, &shape.sigma, root, layer->local_root));
    CLA_TRY(by_head(&layer->config, tape, &shape.sigma));
    return attend(tape, o, &shape, in);
}

static cla_status neighbor_predicted(self_layer *layer, cla_tape *tape, cla_tensor **o,
                                     const self_input *in)
{
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_widths(layer, tape, &shape, u, in));
    return attend(tape, o, &shape, in);
}

/* Keys further than local_width from a centre, which is two sigma, are invisible. */
static cla_status local_hard(self_layer *layer, cla_tape *tape, cla_tensor **o,
                             const self_input *in)
{
    const self_config *c = &layer->config;
    cla_gaussian shape = { .reach = c->local_truncate ? 2 : INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_centers(layer, tape, &shape, u, in));
    CLA_TRY(constant(tape, &shape.sigma, 1, c->local_heads, (float)c->local_width / 2));
    CLA_TRY(by_head(c, tape, &shape.sigma));
    return attend(tape, o, &shape, in);
}

static cla_status local_soft(self_layer *layer, cla_tape *tape, cla_tensor **o,
                             const self_input *in)
{
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_centers(layer, tape, &shape, u, in));
    CLA_TRY(predict_widths(layer, tape, &shape, u, in));
    return attend(tape, o, &shape, in);
}

const self_variant self_neighbor = { .name = "neighbor",
                                     .configure = read_neighbor,
                                     .init = init_neighbor,
                                     .forward = neighbor };
const self_variant self_neighbor_predicted = { .name = "neighbor_predicted",
                                               .configure = read_neighbor_predicted,
                                               .init = init_widths,
                                               .forward = neighbor_predicted };
const self_variant self_local_hard = { .name = "local_hard",
                                       .configure = read_hard,
                                       .init = init_centers,
                                       .forward = local_hard };
const self_variant self_local_soft = { .name = "local_soft",
                                       .configure = read_soft,
                                       .init = init_both,
                                       .forward = local_soft };
