/* coder.c - a layer of a Transformer's encoder or decoder. */
#include "nn/coder.h"

#include <math.h>
#include <stdio.h>

#include "clattn/feed.h"
#include "ops/block.h"

cla_status cla_coder_norm_init(coder_norm *norm, const coder_config *config,
                               cla_params *params, const char *name)
{
    const int64_t D = config->model;
    norm->epsilon =
        (float)(config->norm_epsilon > 0 ? config->norm_epsilon : CODER_NORM_EPSILON);
    const cla_init ones = { CLA_INIT_ONES, 0, 0, 0 };
    CLA_TRY(cla_param_add(params, &norm->gain, ones, 1, &D, "%s.gain", name));
    norm->bias = NULL;
    return config->rms ? CLA_OK
                       : cla_param_zeros(params, &norm->bias, D, "%s.bias", name);
}

cla_status cla_coder_norm_forward(coder_norm *norm, cla_tape *tape, cla_tensor **y,
                                  cla_tensor *x)
{
    return norm->bias
               ? cla_layer_norm(tape, y, x, norm->gain, norm->bias, norm->epsilon)
               : cla_rms_norm(tape, y, x, norm->gain, norm->epsilon);
}

cla_status cla_coder_dropout(cla_tape *tape, cla_tensor **y, cla_tensor *x, double p)
{
    return cla_dropout(tape, y, x, cla_tape_training(tape) ? (float)p : 0);
}

void cla_coder_signal(float *signal, int64_t count, int64_t D)
{
    const int64_t n = D / 2;
    const double step = n > 1 ? log(10000) / (double)(n - 1) : 0;
    for (int64_t at = 0; at < count; at++) {
        float *row = signal + at * D;
        for (int64_t k = 0; k < n; k++) {
            const double angle = (double)at * exp(-(double)k * step);
            row[k] = (float)sin(angle);
            row[n + k] = (float)cos(angle);
        }
        if (D % 2) {
            row[D - 1] = 0;
        }
    }
}

void cla_coder_signal_marian(float *signal, int64_t count, int64_t D)
{
    const int64_t sines = (D + 1) / 2;
    for (int64_t at = 0; at < count; at++) {
        float *row = signal + at * D;
        for (int64_t k = 0; k < sines; k++) {
            const double angle = (double)at / pow(10000, 2 * (double)k / (double)D);
            row[k] = (float)sin(angle);
            if (sines + k < D) {
                row[sines + k] = (float)cos(angle);
            }
        }
    }
}

void cla_coder_signal_opennmt(float *signal, int64_t count, int64_t D)
{
    for (int64_t i = 0; i < count * D; i++) {
        const int64_t at = i / D, d = i % D;
        const double angle = (double)at / pow(10000, (double)(d - d % 2) / (double)D);
        signal[i] = (float)(d % 2 ? cos(angle) : sin(angle));
    }
}

/* ---- parameters -------------------------------------------------------------- */

/* Adds a matrix and, unless the layers have none, its bias. */
static cla_status add_linear(const coder_layer *l, cla_params *params, cla_tensor **w,
                             cla_tensor **b, const int64_t shape[2], const char *name)
{
    if (!l->config.unbiased) {
        return cla_param_linear(params, w, b, shape[0], shape[1], name);
    }
    CLA_TRY(cla_param_matrix(params, w, shape[0], shape[1], "%s", name));
    cla_param_for(params, CLA_PARAM_LINEAR);
    return CLA_OK;
}

static cla_status add_feed(coder_layer *l, cla_params *params, const char *prefix)
{
    const int64_t in[] = { l->config.model, l->config.inner };
    const int64_t out[] = { in[1], in[0] };
    char name[48];
    snprintf(name, sizeof name, "%s.feed.in", prefix);
    CLA_TRY(add_linear(l, params, &l->w1, &l->b1, in, name));
    if (l->config.gated) {
        snprintf(name, sizeof name, "%s.feed.gate", prefix);
        CLA_TRY(add_linear(l, params, &l->gate, &l->gate_bias, in, name));
    }
    snprintf(name, sizeof name, "%s.feed.out", prefix);
    CLA_TRY(add_linear(l, params, &l->w2, &l->b2, out, name));
    snprintf(name, sizeof name, "%s.feed.norm", prefix);
    return cla_coder_norm_init(&l->feed_norm, &l->config, params, name);
}

static cla_status add_attention(const coder_layer *l, attn_layer *a, coder_norm *norm,
                                cla_params *params, const char *prefix)
{
    char name[48];
    const bool cross = a == &l->cross;
    attn_config config = l->config.self;
    config.way = cross ? NULL : config.way;
    config.model = l->config.model;
    config.heads = l->config.heads;
    config.width = cla_coder_head_width(&l->config);
    config.unscaled = l->config.unscaled;
    config.alibi = l->config.position == CODER_ALIBI && !cross;
    config.kv_heads = cross ? 0 : l->config.kv_heads;
    config.unbiased = l->config.unbiased;
    config.dropout = l->config.attention_dropout;
    CLA_TRY(cla_attn_init(a, &config, params, prefix, cross));
    snprintf(name, sizeof name, "%s.norm", prefix);
    return cla_coder_norm_init(norm, &l->config, params, name);
}

static cla_status add_convolution(coder_conv *conv, const coder_config *config,
                                  cla_params *params, const char *prefix)
{
    const int64_t D = config->model, K = config->taps;
    const double fan = (double)(K * D); // of a filter, in and out
    char name[48];
    if (config->full) {
        const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, fan, fan };
        CLA_TRY(cla_param_add(params, &conv->w, glorot, 3, (int64_t[]){ K, D, D }, "%s",
                              prefix));
        CLA_TRY(cla_param_zeros(params, &conv->b, D, "%s_bias", prefix));
    } else {
        const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, (double)K, (double)K };
        CLA_TRY(cla_param_add(params, &conv->depth, glorot, 2, (int64_t[]){ K, D },
                              "%s.depth", prefix));
        CLA_TRY(cla_param_linear(params, &conv->w, &conv->b, D, D, prefix));
    }
    snprintf(name, sizeof name, "%s.norm", prefix);
    return cla_coder_norm_init(&conv->norm, config, params, name);
}

/* Adds the attention to the memory, and its norm. */
static cla_status add_cross(coder_layer *l, cla_params *params, const char *prefix)
{
    char name[48];
    if (!l->config.hard.on) {
        return add_attention(l, &l->cross, &l->cross_norm, params, prefix);
    }
    l->hard = (cross_hard){ .config = l->config.hard, .model = l->config.model };
    CLA_TRY(cla_cross_hard_init(&l->hard, params, prefix));
    snprintf(name, sizeof name, "%s.norm", prefix);
    return cla_coder_norm_init(&l->cross_norm, &l->config, params, name);
}

cla_status cla_coder_init(coder_layer *l, const coder_config *config,
                          cla_params *params, const char *prefix, bool decoder)
{
    char name[40];
    *l = (coder_layer){ .config = *config, .decoder = decoder };
    for (int i = 0; i < config->convolutions; i++) {
        snprintf(name, sizeof name, "%s.conv.%d", prefix, i);
        CLA_TRY(add_convolution(&l->conv[i], config, params, name));
    }
    snprintf(name, sizeof name, "%s.self", prefix);
    CLA_TRY(add_attention(l, &l->self, &l->self_norm, params, name));
    if (decoder) {
        snprintf(name, sizeof name, "%s.cross", prefix);
        CLA_TRY(add_cross(l, params, name));
    }
    return add_feed(l, params, prefix);
}

/* ---- forward ----------------------------------------------------------------- */

/* Computes the input u of a block: x, normalised in a pre-norm layer. */
static cla_status enter(const coder_layer *l, cla_tape *tape, cla_tensor **u,
                        cla_tensor *x, coder_norm *norm)
{
    *u = x;
    return l->config.pre_norm ? cla_coder_norm_forward(norm, tape, u, x) : CLA_OK;
}

/* Adds the output of a block to x, with dropout; then the norm of a post-norm layer. */
static cla_status leave(const coder_layer *l, cla_tape *tape, cla_tensor **x,
                        cla_tensor *made, coder_norm *norm)
{
    const float p = cla_tape_training(tape) ? (float)l->config.dropout : 0;
    CLA_TRY(cla_dropout_add(tape, x, *x, made, p, false));
    return l->config.pre_norm ? CLA_OK : cla_coder_norm_forward(norm, tape, x, *x);
}

static cla_status convolution(coder_conv *conv, cla_tape *tape, cla_tensor **u,
                              const cla_ragged *rows)
{
    if (!conv->depth) {
        return cla_conv1d(tape, u, *u, conv->w, conv->b, rows, CLA_RELU);
    }
    CLA_TRY(cla_depthwise_conv1d(tape, u, *u, conv->depth, rows));
    return cla_linear(tape, u, *u, conv->w, conv->b, CLA_RELU, NULL);
}

static cla_status convolve(coder_layer *l, cla_tape *tape, cla_tensor **x,
                           const coder_input *in)
{
    for (int i = 0; i < l->config.convolutions; i++) {
        coder_conv *conv = &l->conv[i];
        cla_tensor *u = NULL;
        CLA_TRY(enter(l, tape, &u, *x, &conv->norm));
        CLA_TRY(convolution(conv, tape, &u, in->rows.query));
        CLA_TRY(leave(l, tape, x, u, &conv->norm));
    }
    return CLA_OK;
}

/* Appends qkv to *past; key is a view of all tokens so far. */
static cla_status recall(cla_tape *tape, cla_tensor **key, cla_tensor *qkv,
                         cla_tensor **past)
{
    const int64_t width = cla_tensor_dim(qkv, 1);
    if (*past) {
        CLA_TRY(cla_concat(tape, past, *past, qkv));
    } else {
        *past = qkv;
    }
    const int64_t shape[] = { cla_tensor_size(*past) / width, width };
    return cla_tensor_reshape(tape, key, *past, 2, shape);
}

static cla_status attend_self(coder_layer *l, cla_tape *tape, cla_tensor **u,
                              const coder_input *in)
{
    cla_tensor *qkv = NULL;
    CLA_TRY(cla_attn_project(&l->self, tape, &qkv, *u, &in->turn));
    cla_tensor *key = qkv;
    if (in->past) {
        CLA_TRY(recall(tape, &key, qkv, in->past));
    }
    return cla_attn_self(&l->self, tape, u, qkv, key, &in->rows);
}

cla_status cla_coder_remember(coder_layer *l, cla_tape *tape, cla_tensor **kv,
                              cla_tensor **value, cla_tensor *memory)
{
    *value = NULL;
    return l->config.hard.on
               ? cla_cross_hard_remember(&l->hard, tape, kv, value, memory)
               : cla_attn_remember(&l->cross, tape, kv, memory);
}

static cla_status attend_memory(coder_layer *l, cla_tape *tape, cla_tensor **u,
                                const coder_input *in)
{
    cla_tensor *kv = in->kv, *value = in->value;
    if (!kv) {
        CLA_TRY(cla_coder_remember(l, tape, &kv, &value, in->states));
    }
    if (l->config.hard.on) {
        const cla_ragged *rows[] = { in->memory.query, in->memory.key };
        return cla_cross_hard_forward(&l->hard, tape, u, *u, kv, value, rows, in->pass);
    }
    attn_rows rows = in->memory;
    rows.map = in->pass && in->pass->look ? &in->pass->map : NULL;
    return cla_attn_cross(&l->cross, tape, u, *u, kv, &rows);
}

/* Returns whether nothing outside of a layer's blocks reads their results: no map, no
 * keys for later, no gates that a reward trains. */
static bool may_hold(const coder_layer *l, const coder_input *in)
{
    const bool look = in->pass && in->pass->look;
    return !in->rows.map && !in->past && !look && !l->config.hard.on;
}

cla_status cla_coder_feed(coder_layer *l, cla_tape *tape, cla_tensor **y, cla_tensor *u,
                          cla_tensor *residual)
{
    const cla_activation kind = (cla_activation)l->config.activation;
    const bool gated = l->gate != NULL;
    cla_tensor *gate = NULL;
    if (gated) {
        CLA_TRY(cla_linear(tape, &gate, u, l->gate, l->gate_bias, kind, NULL));
    }
    CLA_TRY(cla_linear(tape, &u, u, l->w1, l->b1, gated ? CLA_NONE : kind, NULL));
    CLA_TRY(gated ? cla_multiply(tape, &u, gate, u) : CLA_OK);
    CLA_TRY(cla_coder_dropout(tape, &u, u, l->config.relu_dropout));
    return cla_linear(tape, y, u, l->w2, l->b2, CLA_NONE, residual);
}

static cla_status feed(coder_layer *l, cla_tape *tape, cla_tensor **u,
                       const coder_input *in)
{
    (void)in;
    return cla_coder_feed(l, tape, u, *u, NULL);
}

typedef cla_status (*coder_part)(coder_layer *l, cla_tape *tape, cla_tensor **u,
                                 const coder_input *in);

/* A block of a layer: *x becomes the sum of itself and what `part` makes of it. */
static cla_status pass(coder_layer *l, cla_tape *tape, cla_tensor **x, coder_norm *norm,
                       coder_part part, const coder_input *in)
{
    const bool held = may_hold(l, in);
    cla_tensor *u = NULL;
    CLA_TRY(held ? cla_block_begin(tape) : CLA_OK);
    CLA_TRY(enter(l, tape, &u, *x, norm));
    CLA_TRY(part(l, tape, &u, in));
    CLA_TRY(leave(l, tape, x, u, norm));
    return held ? cla_block_end(tape, *x) : CLA_OK;
}

cla_status cla_coder_forward(coder_layer *l, cla_tape *tape, cla_tensor **y,
                             cla_tensor *x, const coder_input *in)
{
    CLA_TRY(convolve(l, tape, &x, in));
    CLA_TRY(pass(l, tape, &x, &l->self_norm, attend_self, in));
    if (l->decoder) {
        CLA_TRY(pass(l, tape, &x, &l->cross_norm, attend_memory, in));
    }
    CLA_TRY(pass(l, tape, &x, &l->feed_norm, feed, in));
    *y = x;
    return CLA_OK;
}
