/* lm.c - a causal language model. */
#include "models/lm.h"

#include <stdio.h>

#include "clattn/feed.h"
#include "clattn/rows.h"

/* Initial deviation of the tables (Radford et al. 2018). */
static const double DEVIATION = 0.02;

/* ---- parameters -------------------------------------------------------------- */

static cla_status add_table(const lm *m, cla_params *params, cla_tensor **table,
                            int rows, const char *name)
{
    const cla_init normal = { CLA_INIT_NORMAL, DEVIATION, 0, 0 };
    const int64_t shape[] = { rows, m->config.coder.model };
    CLA_TRY(cla_param_add(params, table, normal, 2, shape, "%s", name));
    cla_param_for(params, CLA_PARAM_TABLE);
    return CLA_OK;
}

static cla_status add_layers(lm *m, cla_params *params)
{
    const lm_config *c = &m->config;
    char name[40];
    for (int i = 0; i < c->layers; i++) {
        coder_config layer = c->coder;
        if (i + 1 < c->first || i + 1 > c->last) {
            layer.self.way = NULL;
        }
        snprintf(name, sizeof name, "layer.%d", i);
        CLA_TRY(cla_coder_init(&m->layer[i], &layer, params, name, false));
    }
    return CLA_OK;
}

cla_status cla_lm_init(lm *m, const lm_config *config, cla_params *params)
{
    *m = (lm){ .config = *config };
    m->angles = (coder_angles){ .rope = config->coder.rope };
    CLA_TRY(add_table(m, params, &m->table, config->pieces, "table"));
    if (config->coder.position == CODER_LEARNED) {
        CLA_TRY(add_table(m, params, &m->places, config->context, "places"));
    }
    if (!config->tied) {
        CLA_TRY(add_table(m, params, &m->output, config->pieces, "output"));
    }
    CLA_TRY(add_layers(m, params));
    return config->coder.pre_norm
               ? cla_coder_norm_init(&m->norm, &config->coder, params, "norm")
               : CLA_OK;
}

void cla_lm_fini(lm *m)
{
    cla_tensor_free(&m->signal);
    cla_angles_free(&m->angles);
}

/* ---- forward ----------------------------------------------------------------- */

/* Makes the sinusoidal encodings of all positions, once. */
static cla_status make_signal(lm *m, cla_runtime *rt)
{
    const int64_t T = m->config.context, D = m->config.coder.model;
    float *host = NULL;
    if (m->signal) {
        return CLA_OK;
    }
    CLA_TRY(cla_tensor_new(&m->signal, rt, CLA_F32, 2, (int64_t[]){ T, D }));
    CLA_TRY(cla_alloc(&host, (size_t)(T * D), sizeof *host));
    cla_coder_signal(host, T, D);
    const cla_status status = cla_tensor_upload(m->signal, host);
    free(host);
    return status;
}

/* Adds the encodings of the positions, or the learned vectors. */
static cla_status add_places(lm *m, cla_tape *tape, cla_tensor **x,
                             cla_tensor *positions)
{
    cla_tensor *places = m->places;
    if (m->config.coder.position == CODER_SINE) {
        CLA_TRY(make_signal(m, cla_tape_runtime(tape)));
        places = m->signal;
    }
    if (!places) {
        return CLA_OK;
    }
    CLA_TRY(cla_embedding(tape, &places, places, positions, 1));
    return cla_add(tape, x, *x, places);
}

/* Computes the embeddings x [N,D] of the tokens, and their rotary positions. */
static cla_status embed(lm *m, cla_tape *tape, cla_tensor **x, attn_turn *turn,
                        const lm_tokens *t)
{
    cla_tensor *ids = NULL, *positions = NULL;
    CLA_TRY(cla_tape_ids(tape, &ids, t->count, t->id));
    CLA_TRY(cla_tape_ids(tape, &positions, t->count, t->position));
    CLA_TRY(cla_embedding(tape, x, m->table, ids, 1));
    CLA_TRY(add_places(m, tape, x, positions));
    CLA_TRY(cla_angles_turn(&m->angles, tape, turn, t->position, t->count, positions));
    return cla_coder_dropout(tape, x, *x, m->config.coder.dropout);
}

static cla_status score(lm *m, cla_tape *tape, cla_tensor **logits, cla_tensor *x)
{
    if (m->config.coder.pre_norm) {
        CLA_TRY(cla_coder_norm_forward(&m->norm, tape, &x, x));
    }
    return cla_tied_linear(tape, logits, x, m->output ? m->output : m->table, NULL);
}

/* maps [layers]: as cla_lm_maps, or NULL. */
static cla_status read_all(lm *m, cla_tape *tape, cla_tensor **logits,
                           const lm_tokens *t, cla_tensor **maps)
{
    coder_input in = { .rows = { .query = t->rows, .key = t->rows, .causal = true } };
    cla_tensor *x = NULL;
    cla_tape_rows(tape, (uint32_t)t->first);
    CLA_TRY(embed(m, tape, &x, &in.turn, t));
    for (int i = 0; i < m->config.layers; i++) {
        in.rows.map = maps ? &maps[i] : NULL;
        CLA_TRY(cla_coder_forward(&m->layer[i], tape, &x, x, &in));
    }
    return score(m, tape, logits, x);
}

cla_status cla_lm_logits(lm *m, cla_tape *tape, cla_tensor **logits, const lm_tokens *t)
{
    return read_all(m, tape, logits, t, NULL);
}

cla_status cla_lm_maps(lm *m, cla_tape *tape, cla_tensor **logits, const lm_tokens *t,
                       cla_tensor **maps)
{
    for (int i = 0; i < m->config.layers; i++) {
        const attn_way *way = cla_attn_way(&m->layer[i].self.config);
        if (way->without_map) {
            return cla_fail(CLA_E_INPUT,
                            "attention is '%s': it has no map of pieces by pieces",
                            way->name);
        }
    }
    return read_all(m, tape, logits, t, maps);
}

cla_status cla_lm_loss(lm *m, cla_tape *tape, cla_tensor **loss,
                       const lm_tokens *tokens, const int32_t *target)
{
    cla_tensor *logits = NULL, *targets = NULL;
    CLA_TRY(cla_lm_logits(m, tape, &logits, tokens));
    CLA_TRY(cla_tape_ids(tape, &targets, tokens->count, target));
    return cla_cross_entropy(tape, loss, logits, targets, 0);
}

/* ---- a token at a time ------------------------------------------------------- */

/* Makes one sequence of n tokens, owned by the tape. */
static cla_status one_sequence(cla_tape *tape, const cla_ragged **out, int64_t n)
{
    cla_ragged *rows = NULL;
    CLA_TRY(
        cla_ragged_new(&rows, cla_tape_runtime(tape), 1, (int32_t[]){ 0, (int32_t)n }));
    cla_tape_keep(tape, rows);
    *out = rows;
    return CLA_OK;
}

/* Computes x [n,D] behind all layers; past gets the tokens. */
static cla_status read_on(lm *m, cla_tape *tape, cla_tensor **x, lm_past *past,
                          const lm_tokens *t)
{
    coder_input in = { .rows = { .query = t->rows, .causal = true } };
    CLA_TRY(embed(m, tape, x, &in.turn, t));
    past->count += t->count;
    CLA_TRY(one_sequence(tape, &in.rows.key, past->count));
    for (int i = 0; i < m->config.layers; i++) {
        in.past = &past->qkv[i];
        CLA_TRY(cla_coder_forward(&m->layer[i], tape, x, *x, &in));
        const int64_t shape[] = { 1, cla_tensor_size(past->qkv[i]) };
        CLA_TRY(cla_tensor_reshape(tape, &past->qkv[i], past->qkv[i], 2, shape));
    }
    return CLA_OK;
}

cla_status cla_lm_next(lm *m, cla_tape *tape, cla_tensor **logits, lm_past *past,
                       const int32_t *id, int64_t n)
{
    int32_t *position = NULL;
    lm_tokens t = { .count = n, .id = id };
    cla_tensor *x = NULL;
    CLA_TRY(cla_alloc(&position, (size_t)n + 1, sizeof *position));
    for (int64_t i = 0; i < n; i++) {
        position[i] = (int32_t)(past->count + i);
    }
    t.position = position;
    cla_status status = one_sequence(tape, &t.rows, n);
    status = status ? status : read_on(m, tape, &x, past, &t);
    free(position);
    CLA_TRY(status);
    CLA_TRY(cla_slice(tape, &x, x, n - 1, 1));
    return score(m, tape, logits, x);
}
