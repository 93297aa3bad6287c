/* attn.c - attention layers. */
#include "nn/attn.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/custom.h"
#include "clattn/feed.h"
#include "ops/step_attention.h"
#include "tensor/tensor.h"

/* ---- softmax attention ------------------------------------------------------- */

static cla_status softmax(attn_layer *layer, cla_tape *tape, cla_tensor **o,
                          const attn_input *in)
{
    (void)layer;
    return cla_attention(tape, o, in->q, in->k, in->v, in->q_rows, in->k_rows,
                         &in->options);
}

const attn_way cla_attn_softmax = { .name = "softmax",
                                    .forward = softmax,
                                    .decoder = true };

/* ---- parameters -------------------------------------------------------------- */

const attn_way *cla_attn_way(const attn_config *config)
{
    return config->way ? config->way : &cla_attn_softmax;
}

static int64_t heads_width(const attn_layer *layer)
{
    return (int64_t)layer->config.heads * layer->config.width;
}

/* Returns K, the heads of keys and of values. */
static int kv_heads(const attn_layer *layer)
{
    return layer->config.kv_heads ? layer->config.kv_heads : layer->config.heads;
}

/* Returns the width of the way's result in units of H*d. */
static int parts_of(const attn_layer *layer)
{
    const int parts = cla_attn_way(&layer->config)->parts;
    return parts ? parts : 1;
}

/* Adds matrices of `heads` heads in all side by side, with the fans of H of them, and
 * their biases.
 * In a bare layer each head has its own matrices, so the fans are those of a head, and
 * there are no biases. */
static cla_status add_projection(const attn_layer *layer, cla_params *params,
                                 cla_tensor **w, cla_tensor **b, int heads,
                                 const char *name)
{
    const attn_config *c = &layer->config;
    const int64_t shape[] = { c->model, (int64_t)heads * c->width };
    const double fan_out = (double)(c->bare ? c->width : heads_width(layer));
    const cla_init glorot = { c->bare ? CLA_INIT_GLOROT_NORMAL
                                      : CLA_INIT_GLOROT_UNIFORM,
                              0, c->model, fan_out };
    CLA_TRY(cla_param_add(params, w, glorot, 2, shape, "%s", name));
    cla_param_for(params, CLA_PARAM_LINEAR);
    return c->bare || c->unbiased
               ? CLA_OK
               : cla_param_zeros(params, b, shape[1], "%s_bias", name);
}

/* Adds W_o and its bias. A bare layer has no bias, and W_o only for several parts. */
static cla_status add_output(attn_layer *layer, cla_params *params, const char *prefix)
{
    const int64_t in = parts_of(layer) * heads_width(layer), D = layer->config.model;
    char name[48];
    snprintf(name, sizeof name, "%s.out", prefix);
    if (layer->config.unbiased) {
        CLA_TRY(cla_param_matrix(params, &layer->out, in, D, "%s", name));
        cla_param_for(params, CLA_PARAM_LINEAR);
        return CLA_OK;
    }
    if (!layer->config.bare) {
        return cla_param_linear(params, &layer->out, &layer->out_bias, in, D, name);
    }
    return parts_of(layer) > 1
               ? cla_param_matrix(params, &layer->out, in, D, "%s", name)
               : CLA_OK;
}

cla_status cla_attn_init(attn_layer *layer, const attn_config *config,
                         cla_params *params, const char *prefix, bool cross)
{
    const attn_way *way = cla_attn_way(config);
    const cla_init ones = { CLA_INIT_ONES, 0, 0, 0 };
    const int64_t factors = 3 * (int64_t)config->heads;
    const int heads = config->heads;
    char name[48];
    *layer = (attn_layer){ .config = *config };
    assert(heads % kv_heads(layer) == 0 && !(config->temperature && config->kv_heads));
    snprintf(name, sizeof name, config->bare ? "%s.qkv" : "%s.in", prefix);
    CLA_TRY(add_projection(layer, params, &layer->in, &layer->in_bias,
                           cross ? heads : heads + 2 * kv_heads(layer), name));
    if (cross) {
        snprintf(name, sizeof name, "%s.memory", prefix);
        CLA_TRY(add_projection(layer, params, &layer->memory, &layer->memory_bias,
                               2 * heads, name));
    }
    if (config->temperature) {
        CLA_TRY(cla_param_add(params, &layer->gamma, ones, 1, &factors, "%s.gamma",
                              prefix));
    }
    CLA_TRY(way->init ? way->init(layer, params, prefix) : CLA_OK);
    return add_output(layer, params, prefix);
}

/* ---- forward ----------------------------------------------------------------- */

/* Scales q, k and v by a learned factor for each head. */
static cla_status scale(attn_layer *layer, cla_tape *tape, cla_tensor **qkv)
{
    const int64_t N = cla_tensor_dim(*qkv, 0), d = layer->config.width;
    const int64_t heads = 3 * (int64_t)layer->config.heads;
    cla_tensor *split = NULL, *scaled = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &split, *qkv, 3, (int64_t[]){ N, heads, d }));
    CLA_TRY(cla_scale_heads(tape, &scaled, split, layer->gamma));
    return cla_tensor_reshape(tape, qkv, scaled, 2, (int64_t[]){ N, heads * d });
}

/* Turns the heads of queries and keys by the angles of their positions. */
static cla_status turn_heads(attn_layer *layer, cla_tape *tape, cla_tensor **qkv,
                             const attn_turn *turn)
{
    const int64_t N = cla_tensor_dim(*qkv, 0), d = layer->config.width;
    const int H = layer->config.heads, K = kv_heads(layer);
    const int64_t heads[] = { N, H + 2 * K, d }, flat[] = { N, heads[1] * d };
    cla_tensor *split = NULL;
    CLA_TRY(cla_tensor_reshape(tape, &split, *qkv, 3, heads));
    CLA_TRY(cla_rotary(tape, &split, split, turn->table, turn->positions, H + K));
    return cla_tensor_reshape(tape, qkv, split, 2, flat);
}

/* Lists for each token the H heads of queries, then those of keys and of values, of
 * which each stands for H / K heads: [N*3H] of N*(H+2K). */
static void list_heads(int32_t *id, int64_t N, int H, int K)
{
    for (int64_t n = 0; n < N; n++) {
        for (int h = 0; h < 3 * H; h++) {
            const int part = h / H, head = h % H / (H / K);
            const int at = part ? H + (part - 1) * K + head : h;
            *id++ = (int32_t)(n * (H + 2 * K) + at);
        }
    }
}

/* Repeats the heads of keys and values: qkv [N,(H+2K)d] becomes [N,3Hd]. */
static cla_status repeat_heads(attn_layer *layer, cla_tape *tape, cla_tensor **qkv)
{
    const int64_t N = cla_tensor_dim(*qkv, 0), d = layer->config.width;
    const int H = layer->config.heads, K = kv_heads(layer);
    const int64_t rows[] = { N * (H + 2 * K), d }, flat[] = { N, (int64_t)3 * H * d };
    int32_t *id = NULL;
    cla_tensor *ids = NULL, *heads = NULL;
    CLA_TRY(cla_alloc(&id, (size_t)(N * 3 * H) + 1, sizeof *id));
    list_heads(id, N, H, K);
    const cla_status status = cla_tape_ids(tape, &ids, N * 3 * H, id);
    free(id);
    CLA_TRY(status);
    CLA_TRY(cla_tensor_reshape(tape, &heads, *qkv, 2, rows));
    CLA_TRY(cla_embedding(tape, &heads, heads, ids, 1));
    return cla_tensor_reshape(tape, qkv, heads, 2, flat);
}

cla_status cla_attn_project(attn_layer *layer, cla_tape *tape, cla_tensor **qkv,
                            cla_tensor *x, const attn_turn *turn)
{
    CLA_TRY(cla_linear(tape, qkv, x, layer->in, layer->in_bias, CLA_NONE, NULL));
    CLA_TRY(layer->gamma ? scale(layer, tape, qkv) : CLA_OK);
    CLA_TRY(turn && turn->table ? turn_heads(layer, tape, qkv, turn) : CLA_OK);
    return kv_heads(layer) < layer->config.heads ? repeat_heads(layer, tape, qkv)
                                                 : CLA_OK;
}

cla_status cla_attn_remember(attn_layer *layer, cla_tape *tape, cla_tensor **kv,
                             cla_tensor *memory)
{
    return cla_linear(tape, kv, memory, layer->memory, layer->memory_bias, CLA_NONE,
                      NULL);
}

/* Makes a view of H*d columns of x, from part*H*d on, as heads. */
void cla_attn_sum_parts(float *map, const float *p, int T, int parts)
{
    for (int i = 0; i < T * T * parts; i++) {
        map[i / (T * parts) * T + i % T] += p[i];
    }
}

static cla_status heads_of(const attn_layer *layer, cla_tape *tape, cla_tensor **heads,
                           cla_tensor *x, int part)
{
    return cla_tensor_columns(tape, heads, x, part * heads_width(layer),
                              layer->config.heads, layer->config.width);
}

/* Makes the slopes [H] of Press et al. 2022, section 3. */
static cla_status make_slopes(cla_tape *tape, cla_tensor **slopes, int H)
{
    const int64_t count = H;
    float *host = NULL;
    CLA_TRY(cla_tape_tensor(tape, slopes, CLA_F32, 1, &count));
    CLA_TRY(cla_alloc(&host, (size_t)H, sizeof *host));
    for (int h = 0; h < H; h++) {
        host[h] = (float)exp2(-8.0 * (h + 1) / H);
    }
    const cla_status status = cla_tensor_upload(*slopes, host);
    free(host);
    return status;
}

/* Computes attention whose scores are not scaled, or depend on distances. */
static cla_status attend_modified(const attn_layer *layer, cla_tape *tape,
                                  cla_tensor **o, const attn_input *in,
                                  cla_tensor *distances)
{
    const float factor = layer->config.unscaled ? sqrtf((float)layer->config.width) : 1;
    char score[96];
    cla_attention_mod mod = { .score = score };
    snprintf(score, sizeof score, "%.9g * s", (double)factor);
    if (distances) {
        const long long reach = (long long)(cla_tensor_dim(distances, 0) - 1) / 2;
        snprintf(score, sizeof score, "%.9g * s + distances[j - i + T - S + %lld][h]",
                 (double)factor, reach);
        mod.inputs[0] = (cla_custom_input){ "distances", distances };
    } else if (layer->config.alibi) {
        cla_tensor *slopes = NULL;
        CLA_TRY(make_slopes(tape, &slopes, layer->config.heads));
        snprintf(score, sizeof score, "%.9g * s - slope[h] * abs(j - i + T - S)",
                 (double)factor);
        mod.inputs[0] = (cla_custom_input){ "slope", slopes };
    }
    assert(cla_attn_way(&layer->config) == &cla_attn_softmax);
    return cla_custom_attention(tape, o, in->q, in->k, in->v, in->q_rows, in->k_rows,
                                &mod, &in->options);
}

/* Takes of y [Nk,..] the rows of the last tokens of each sequence, as many as `asked`
 * has. */
static cla_status take_last(cla_tape *tape, cla_tensor **y, const cla_ragged *asked,
                            const cla_ragged *all)
{
    int32_t *id = NULL, *to = NULL;
    cla_tensor *ids = NULL;
    CLA_TRY(cla_alloc(&id, (size_t)asked->tokens + 1, sizeof *id));
    to = id;
    for (int64_t b = 0; b < asked->sequences; b++) {
        const int32_t n = asked->offsets[b + 1] - asked->offsets[b];
        for (int32_t i = 0; i < n; i++) {
            *to++ = all->offsets[b + 1] - n + i;
        }
    }
    const cla_status status = cla_tape_ids(tape, &ids, asked->tokens, id);
    free(id);
    CLA_TRY(status);
    return cla_embedding(tape, y, *y, ids, 1);
}

static cla_status attend(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                         attn_input *in, const attn_rows *rows)
{
    const float dropout = cla_tape_training(tape) ? (float)layer->config.dropout : 0;
    const int64_t width = parts_of(layer) * heads_width(layer);
    in->q_rows = rows->query;
    in->k_rows = rows->key;
    in->options = (cla_attention_options){ .causal = rows->causal,
                                           .dropout = dropout,
                                           .map = rows->map };
    CLA_TRY(rows->distances || layer->config.unscaled || layer->config.alibi
                ? attend_modified(layer, tape, y, in, rows->distances)
                : cla_attn_way(&layer->config)->forward(layer, tape, y, in));
    const int64_t shape[] = { cla_tensor_size(*y) / width, width };
    CLA_TRY(cla_tensor_reshape(tape, y, *y, 2, shape));
    CLA_TRY(rows->asked ? take_last(tape, y, rows->asked, rows->key) : CLA_OK);
    return layer->out
               ? cla_linear(tape, y, *y, layer->out, layer->out_bias, CLA_NONE, NULL)
               : CLA_OK;
}

cla_status cla_attn_self(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                         cla_tensor *query, cla_tensor *key, const attn_rows *rows)
{
    const bool reads_all =
        rows->query != rows->key && !cla_attn_way(&layer->config)->decoder;
    attn_rows all = *rows;
    attn_input in = { 0 };
    if (reads_all) {
        all.asked = rows->query;
        all.query = rows->key;
    }
    CLA_TRY(heads_of(layer, tape, &in.q, reads_all ? key : query, 0));
    CLA_TRY(heads_of(layer, tape, &in.k, key, 1));
    CLA_TRY(heads_of(layer, tape, &in.v, key, 2));
    return attend(layer, tape, y, &in, &all);
}

bool cla_attn_steps(const attn_layer *layer, const cla_runtime *rt)
{
    return cla_attn_way(&layer->config) == &cla_attn_softmax && !layer->gamma &&
           !layer->config.alibi && layer->out &&
           cla_step_attention_runs(rt, layer->config.width);
}

cla_status cla_attn_cross(attn_layer *layer, cla_tape *tape, cla_tensor **y,
                          cla_tensor *x, cla_tensor *kv, const attn_rows *rows)
{
    cla_tensor *q = NULL;
    attn_input in = { 0 };
    CLA_TRY(cla_linear(tape, &q, x, layer->in, layer->in_bias, CLA_NONE, NULL));
    CLA_TRY(heads_of(layer, tape, &in.q, q, 0));
    CLA_TRY(heads_of(layer, tape, &in.k, kv, 0));
    CLA_TRY(heads_of(layer, tape, &in.v, kv, 1));
    return attend(layer, tape, y, &in, rows);
}
