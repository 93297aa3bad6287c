/* attn_gaussian.c - attention that favours keys near a centre: the query's own token,
 * with a width that is learned for each head (neighbor) or predicted
 * (neighbor_predicted); or a predicted centre, with a fixed width and a cut
 * (local_hard) or a predicted width (local_soft).
 *
 *   u = tanh(Q W + b), Q [N,D] as projected; centres (len-1) sigmoid(u U_c + b_c), one
 *   a head, widths 2 sigma = len sigmoid(u U_w + b_w) + 0.1, len the tokens that the
 *   query may see
 *
 * The first "local_heads" heads are such. The others have an infinite sigma, which
 * makes softmax attention.
 * Yang et al. 2018, Modeling Localness; Luong et al. 2015, section 3.2; Sperber et al.
 * 2018, Self-Attentional Acoustic Models. */
#include <math.h>
#include <stdio.h>

#include "clattn/arithmetic.h"
#include "clattn/gaussian.h"
#include "nn/attn.h"
#include "tensor/tensor.h"

typedef struct linear {
    cla_tensor *w, *b; // [in,out], [out]
} linear;

typedef struct gaussian {
    int local, predictor;          // heads with a Gaussian; width m
    double sigma;                  // neighbor: initial sigma
    double width;                  // local_hard: 2 sigma
    bool truncate;                 // local_hard: hide keys beyond width
    cla_tensor *root;              // neighbor: [local], sigma = root^2
    linear hidden, center, spread; // [H*d,m], [m,local] twice
} gaussian;

/* ---- keys -------------------------------------------------------------------- */

static cla_status read_heads(attn_config *config, cla_config *s)
{
    gaussian *c = cla_attn_state(config);
    c->local = config->heads;
    return cla_config_int(s, "local_heads", &c->local, 1, config->heads);
}

/* Reads the width of the predictor (default: width) and the heads. */
static cla_status read_predictor(attn_config *config, cla_config *s, int width)
{
    gaussian *c = cla_attn_state(config);
    c->predictor = width > 0 ? width : 1;
    CLA_TRY(cla_config_int(s, "local_predictor", &c->predictor, 1, 65535));
    return read_heads(config, s);
}

static cla_status read_neighbor(attn_config *config, cla_config *s)
{
    gaussian *c = cla_attn_state(config);
    c->sigma = 3;
    CLA_TRY(cla_config_double(s, "local_sigma", &c->sigma, 1e-3, 1e6));
    return read_heads(config, s);
}

static cla_status read_neighbor_predicted(attn_config *config, cla_config *s)
{
    return read_predictor(config, s, config->model / 2);
}

static cla_status read_hard(attn_config *config, cla_config *s)
{
    gaussian *c = cla_attn_state(config);
    c->width = 10;
    c->truncate = true;
    CLA_TRY(cla_config_double(s, "local_width", &c->width, 1e-3, 1e6));
    CLA_TRY(cla_config_bool(s, "local_truncate", &c->truncate));
    return read_predictor(config, s, config->model / 2);
}

static cla_status read_soft(attn_config *config, cla_config *s)
{
    return read_predictor(config, s, config->model);
}

/* ---- parameters -------------------------------------------------------------- */

static cla_status init_neighbor(attn_layer *layer, cla_params *params,
                                const char *prefix)
{
    gaussian *c = cla_attn_state(&layer->config);
    const int64_t heads = c->local;
    const cla_init root = { CLA_INIT_CONSTANT, sqrt(c->sigma), 0, 0 };
    return cla_param_add(params, &c->root, root, 1, &heads, "%s.local_root", prefix);
}

static cla_status add_linear(cla_params *params, linear *l, int in, int out,
                             const char *prefix, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", prefix, what);
    return cla_param_linear(params, &l->w, &l->b, in, out, name);
}

/* Adds the predictor and its outputs: centres, widths or both. */
static cla_status init_predictor(attn_layer *layer, cla_params *params,
                                 const char *prefix, bool centers, bool widths)
{
    gaussian *c = cla_attn_state(&layer->config);
    const int in = layer->config.heads * layer->config.width, m = c->predictor;
    CLA_TRY(add_linear(params, &c->hidden, in, m, prefix, "local"));
    if (centers) {
        CLA_TRY(add_linear(params, &c->center, m, c->local, prefix, "local_center"));
    }
    return widths ? add_linear(params, &c->spread, m, c->local, prefix, "local_width")
                  : CLA_OK;
}

static cla_status init_widths(attn_layer *layer, cla_params *params, const char *prefix)
{
    return init_predictor(layer, params, prefix, false, true);
}

static cla_status init_centers(attn_layer *layer, cla_params *params,
                               const char *prefix)
{
    return init_predictor(layer, params, prefix, true, false);
}

static cla_status init_both(attn_layer *layer, cla_params *params, const char *prefix)
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

/* Widens x [N,local] to [N,H], with a column of value for each other head. */
static cla_status fill_up(attn_config *config, cla_tape *tape, cla_tensor **x,
                          float value)
{
    const gaussian *c = cla_attn_state(config);
    const int64_t others = config->heads - c->local;
    cla_tensor *rest = NULL;
    if (others == 0) {
        return CLA_OK;
    }
    CLA_TRY(constant(tape, &rest, cla_tensor_dim(*x, 0), others, value));
    return cla_concat(tape, x, *x, rest);
}

/* Widens x, one number for each local head, to [H], with infinity for the others. */
static cla_status by_head(attn_config *c, cla_tape *tape, cla_tensor **x)
{
    const int64_t heads = c->heads, one[] = { 1, cla_tensor_size(*x) };
    CLA_TRY(cla_tensor_reshape(tape, x, *x, 2, one));
    CLA_TRY(fill_up(c, tape, x, INFINITY));
    return cla_tensor_reshape(tape, x, *x, 1, &heads);
}

/* Computes u [N,m] from the projected queries. Scaling q, a view, by 1 copies it. */
static cla_status predict(attn_layer *layer, cla_tape *tape, cla_tensor **u,
                          const attn_input *in)
{
    const gaussian *c = cla_attn_state(&layer->config);
    const int64_t heads = layer->config.heads;
    const int64_t shape[] = { cla_tensor_dim(in->q, 0), heads * layer->config.width };
    cla_tensor *one = NULL, *q = NULL;
    CLA_TRY(constant(tape, &one, 1, heads, 1));
    CLA_TRY(cla_tensor_reshape(tape, &one, one, 1, &heads));
    CLA_TRY(cla_scale_heads(tape, &q, in->q, one));
    CLA_TRY(cla_tensor_reshape(tape, &q, q, 2, shape));
    return cla_linear(tape, u, q, c->hidden.w, c->hidden.b, CLA_TANH, NULL);
}

/* Computes y [N,C] = (slope n + shift) sigmoid(x) + base, n the tokens that a query may
 * see: all of its sequence or, where later ones are hidden, those up to its own. */
static cla_status seen_sigmoid(cla_tape *tape, cla_tensor **y, cla_tensor *x,
                               const attn_input *in, const float line[3])
{
    const cla_ragged *rows = in->q_rows;
    const int64_t N = cla_tensor_dim(x, 0), C = cla_tensor_dim(x, 1);
    cla_tensor *factor = NULL, *base = NULL;
    float *host = NULL;
    if (!in->options.causal) {
        return cla_length_sigmoid(tape, y, x, rows, line[0], line[1], line[2]);
    }
    CLA_TRY(constant(tape, &base, N, C, line[2]));
    CLA_TRY(cla_tape_tensor(tape, &factor, CLA_F32, 2, (int64_t[]){ N, C }));
    CLA_TRY(cla_alloc(&host, (size_t)(N * C) + 1, sizeof *host));
    for (int64_t b = 0; b < rows->sequences; b++) {
        for (int64_t n = rows->offsets[b]; n < rows->offsets[b + 1]; n++) {
            const float seen = (float)(n - rows->offsets[b] + 1);
            for (int64_t c = 0; c < C; c++) {
                host[n * C + c] = line[0] * seen + line[1];
            }
        }
    }
    const cla_status status = cla_tensor_upload(factor, host);
    free(host);
    CLA_TRY(status);
    CLA_TRY(cla_sigmoid(tape, y, x));
    CLA_TRY(cla_multiply(tape, y, *y, factor));
    return cla_add(tape, y, *y, base);
}

static cla_status predict_centers(attn_layer *layer, cla_tape *tape,
                                  cla_gaussian *shape, cla_tensor *u,
                                  const attn_input *in)
{
    cla_tensor **to = &shape->center;
    const gaussian *c = cla_attn_state(&layer->config);
    const linear *l = &c->center;
    CLA_TRY(cla_linear(tape, to, u, l->w, l->b, CLA_NONE, NULL));
    CLA_TRY(seen_sigmoid(tape, to, *to, in, (const float[]){ 1, -1, 0 }));
    return fill_up(&layer->config, tape, to, 0);
}

static cla_status predict_widths(attn_layer *layer, cla_tape *tape, cla_gaussian *shape,
                                 cla_tensor *u, const attn_input *in)
{
    cla_tensor **to = &shape->sigma;
    const gaussian *c = cla_attn_state(&layer->config);
    const linear *l = &c->spread;
    CLA_TRY(cla_linear(tape, to, u, l->w, l->b, CLA_NONE, NULL));
    CLA_TRY(seen_sigmoid(tape, to, *to, in, (const float[]){ 0.5f, 0, 0.05f }));
    return fill_up(&layer->config, tape, to, INFINITY);
}

static cla_status attend(cla_tape *tape, cla_tensor **o, const cla_gaussian *shape,
                         const attn_input *in)
{
    return cla_gaussian_attention(tape, o, in->q, in->k, in->v, shape, in->q_rows,
                                  &in->options);
}

/* Attends with sigma = root^2, which is never negative. */
static cla_status neighbor(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                           const attn_input *in)
{
    const gaussian *c = cla_attn_state(&layer->config);
    const int64_t square[] = { 1, c->local, 1 };
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *root = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &root, c->root, 3, square));
    CLA_TRY(cla_scale_heads(tape, &shape.sigma, root, c->root));
    CLA_TRY(by_head(&layer->config, tape, &shape.sigma));
    return attend(tape, o, &shape, in);
}

static cla_status neighbor_predicted(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                                     const attn_input *in)
{
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_widths(layer, tape, &shape, u, in));
    return attend(tape, o, &shape, in);
}

/* Attends with 2 sigma = "local_width". With "local_truncate", keys further than that
 * from the centre are hidden. */
static cla_status local_hard(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                             const attn_input *in)
{
    const gaussian *c = cla_attn_state(&layer->config);
    cla_gaussian shape = { .reach = c->truncate ? 2 : INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_centers(layer, tape, &shape, u, in));
    CLA_TRY(constant(tape, &shape.sigma, 1, c->local, (float)c->width / 2));
    CLA_TRY(by_head(&layer->config, tape, &shape.sigma));
    return attend(tape, o, &shape, in);
}

static cla_status local_soft(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                             const attn_input *in)
{
    cla_gaussian shape = { .reach = INFINITY };
    cla_tensor *u = NULL;
    CLA_TRY(predict(layer, tape, &u, in));
    CLA_TRY(predict_centers(layer, tape, &shape, u, in));
    CLA_TRY(predict_widths(layer, tape, &shape, u, in));
    return attend(tape, o, &shape, in);
}

extern const attn_way cla_attn_neighbor, cla_attn_neighbor_predicted,
    cla_attn_local_hard, cla_attn_local_soft;
const attn_way cla_attn_neighbor = { .name = "neighbor",
                                     .size = sizeof(gaussian),
                                     .configure = read_neighbor,
                                     .init = init_neighbor,
                                     .forward = neighbor,
                                     .causal = true };
const attn_way cla_attn_neighbor_predicted = { .name = "neighbor_predicted",
                                               .size = sizeof(gaussian),
                                               .configure = read_neighbor_predicted,
                                               .init = init_widths,
                                               .forward = neighbor_predicted,
                                               .causal = true };
const attn_way cla_attn_local_hard = { .name = "local_hard",
                                       .size = sizeof(gaussian),
                                       .configure = read_hard,
                                       .init = init_centers,
                                       .forward = local_hard,
                                       .causal = true };
const attn_way cla_attn_local_soft = { .name = "local_soft",
                                       .size = sizeof(gaussian),
                                       .configure = read_soft,
                                       .init = init_both,
                                       .forward = local_soft,
                                       .causal = true };
