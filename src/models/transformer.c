/* transformer.c - the Transformer for translation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "models/transformer_embed.h"

/* ---- parameters -------------------------------------------------------------- */

static cla_status add_table(transformer *m, cla_params *params, cla_tensor **table,
                            int pieces, const char *name)
{
    const int64_t D = m->config.coder.model;
    const cla_init normal = { CLA_INIT_NORMAL, 1 / sqrt((double)D), 0, 0 };
    CLA_TRY(
        cla_param_add(params, table, normal, 2, (int64_t[]){ pieces, D }, "%s", name));
    cla_param_for(params, CLA_PARAM_TABLE);
    return CLA_OK;
}

static cla_status add_tables(transformer *m, cla_params *params)
{
    const transformer_config *c = &m->config;
    CLA_TRY(add_table(m, params, &m->target_table, c->target_pieces, "target.table"));
    if (c->tied != TRANSFORMER_TIED_ALL && c->tied != TRANSFORMER_TIED_INPUT) {
        CLA_TRY(
            add_table(m, params, &m->source_table, c->source_pieces, "source.table"));
    }
    if (c->tied == TRANSFORMER_SEPARATE || c->tied == TRANSFORMER_TIED_INPUT) {
        CLA_TRY(
            add_table(m, params, &m->output_table, c->target_pieces, "output.table"));
    }
    if (c->output_bias) {
        CLA_TRY(
            cla_param_zeros(params, &m->output_bias, c->target_pieces, "output.bias"));
    }
    const int64_t buckets[] = { c->coder.buckets, c->coder.heads };
    for (int i = 0; i < 2; i++) {
        static const char *const tables[] = { "encoder.positions",
                                              "decoder.positions" };
        static const char *const counted[] = { "encoder.buckets", "decoder.buckets" };
        const cla_init normal = { CLA_INIT_NORMAL, 0.02, 0, 0 };
        CLA_TRY(c->coder.position == CODER_BUCKETS
                    ? cla_param_add(params, &m->buckets[i], normal, 2, buckets, "%s",
                                    counted[i])
                    : CLA_OK);
        static const char *const norms[] = { "encoder.embedding_norm",
                                             "decoder.embedding_norm" };
        CLA_TRY(
            c->positions == TRANSFORMER_LEARNED
                ? add_table(m, params, &m->positions[i], c->max_positions, tables[i])
                : CLA_OK);
        CLA_TRY(c->embedding_norm ? cla_coder_norm_init(&m->embedding_norm[i],
                                                        &c->coder, params, norms[i])
                                  : CLA_OK);
    }
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    return c->source_vector
               ? cla_param_add(params, &m->source_vector, zeros, 2,
                               (int64_t[]){ 1, c->coder.model }, "source.vector")
               : CLA_OK;
}

/* Returns the settings of layer i, from 0. */
static coder_config layer_config(const transformer_config *config, int i, bool decoder)
{
    coder_config c = config->coder;
    const bool inside = i + 1 >= config->first && i + 1 <= config->last;
    const int other = decoder ? TRANSFORMER_ENCODER : TRANSFORMER_DECODER;
    if (!inside || config->where == other) {
        c.self.way = NULL;
    }
    if (!inside || decoder) {
        c.convolutions = 0;
    }
    c.hard.on = c.hard.on && decoder && i + 1 == config->decoder_layers;
    return c;
}

static cla_status add_layers(transformer *m, cla_params *params)
{
    char name[40];
    for (int i = 0; i < m->config.layers || i < m->config.decoder_layers; i++) {
        const coder_config encoder = layer_config(&m->config, i, false);
        const coder_config decoder = layer_config(&m->config, i, true);
        if (i < m->config.layers) {
            snprintf(name, sizeof name, "encoder.%d", i);
            CLA_TRY(cla_coder_init(&m->encoder[i], &encoder, params, name, false));
        }
        if (i < m->config.decoder_layers) {
            snprintf(name, sizeof name, "decoder.%d", i);
            CLA_TRY(cla_coder_init(&m->decoder[i], &decoder, params, name, true));
        }
    }
    return CLA_OK;
}

cla_status cla_transformer_init(transformer *m, const transformer_config *config,
                                cla_params *params)
{
    *m = (transformer){ .config = *config };
    m->angles = (coder_angles){ .rope = config->coder.rope };
    if (!m->config.decoder_layers) {
        m->config.decoder_layers = config->layers;
    }
    CLA_TRY(add_tables(m, params));
    CLA_TRY(add_layers(m, params));
    if (!config->coder.pre_norm) {
        return CLA_OK;
    }
    CLA_TRY(
        cla_coder_norm_init(&m->encoder_norm, &config->coder, params, "encoder.norm"));
    return cla_coder_norm_init(&m->decoder_norm, &config->coder, params,
                               "decoder.norm");
}

void cla_transformer_fini(transformer *m)
{
    cla_tensor_free(&m->signal);
    cla_angles_free(&m->angles);
    m->reach = 0;
}

/* ---- the two stacks ---------------------------------------------------------- */

/* Adds the source vector to each of the count rows of x. */
static cla_status add_vector(transformer *m, cla_tape *tape, cla_tensor **x,
                             int64_t count)
{
    int32_t *zeros = NULL;
    cla_tensor *ids = NULL, *vector = NULL;
    CLA_TRY(cla_alloc(&zeros, (size_t)count, sizeof *zeros));
    const cla_status status = cla_tape_ids(tape, &ids, count, zeros);
    free(zeros);
    CLA_TRY(status);
    CLA_TRY(cla_embedding(tape, &vector, m->source_vector, ids, 1));
    return cla_add(tape, x, *x, vector);
}

cla_status cla_transformer_encode(transformer *m, cla_tape *tape, cla_tensor **memory,
                                  const transformer_batch *b)
{
    const transformer_tokens *t = &b->source;
    coder_input in = { .rows = { .query = t->rows, .key = t->rows } };
    cla_tensor *x = NULL;
    cla_tape_rows(tape, (uint32_t)t->first);
    CLA_TRY(cla_transformer_embed(m, tape, &x, &in.turn, EMBED_ENCODER, t));
    CLA_TRY(cla_transformer_distances(m, tape, &in.rows.distances, EMBED_ENCODER));
    if (m->source_vector) {
        CLA_TRY(add_vector(m, tape, &x, t->count));
    }
    CLA_TRY(cla_coder_dropout(tape, &x, x, m->config.coder.dropout));
    for (int i = 0; i < m->config.layers; i++) {
        const attn_way *way = cla_attn_way(&m->encoder[i].self.config);
        in.rows.map = b->maps && !way->without_map ? &b->maps[i] : NULL;
        CLA_TRY(cla_coder_forward(&m->encoder[i], tape, &x, x, &in));
    }
    *memory = x;
    return m->config.coder.pre_norm
               ? cla_coder_norm_forward(&m->encoder_norm, tape, memory, x)
               : CLA_OK;
}

static cla_status scores(transformer *m, cla_tape *tape, cla_tensor **logits,
                         cla_tensor *x)
{
    if (m->config.coder.pre_norm) {
        CLA_TRY(cla_coder_norm_forward(&m->decoder_norm, tape, &x, x));
    }
    if (m->config.output_scale) {
        const float root = sqrtf((float)m->config.coder.model);
        CLA_TRY(cla_scale_by(tape, &x, x, 1 / root));
    }
    return cla_tied_linear(tape, logits, x,
                           m->output_table ? m->output_table : m->target_table,
                           m->output_bias);
}

cla_status cla_transformer_logits(transformer *m, cla_tape *tape, cla_tensor **logits,
                                  cla_tensor *memory, const transformer_batch *b)
{
    const transformer_tokens *t = &b->input;
    attn_turn turn;
    cla_tensor *x = NULL, *distances = NULL;
    cla_tape_rows(tape, (uint32_t)t->first);
    CLA_TRY(cla_transformer_embed(m, tape, &x, &turn, EMBED_DECODER, t));
    CLA_TRY(cla_transformer_distances(m, tape, &distances, EMBED_DECODER));
    CLA_TRY(cla_coder_dropout(tape, &x, x, m->config.coder.dropout));
    for (int i = 0; i < m->config.decoder_layers; i++) {
        coder_input in = { .rows = { .query = t->rows,
                                     .key = t->rows,
                                     .causal = true,
                                     .distances = distances },
                           .turn = turn,
                           .states = memory,
                           .memory = { .query = t->rows, .key = b->source.rows },
                           .pass = b->pass };
        CLA_TRY(cla_coder_forward(&m->decoder[i], tape, &x, x, &in));
    }
    return scores(m, tape, logits, x);
}

cla_status cla_transformer_loss(transformer *m, cla_tape *tape, cla_tensor **loss,
                                const transformer_batch *b, double smoothing,
                                transformer_made *made)
{
    cla_tensor *memory = NULL, *logits = NULL, *targets = NULL;
    CLA_TRY(cla_transformer_encode(m, tape, &memory, b));
    CLA_TRY(cla_transformer_logits(m, tape, &logits, memory, b));
    if (made) {
        *made = (transformer_made){ memory, logits };
    }
    CLA_TRY(cla_tape_ids(tape, &targets, b->input.count, b->target));
    return cla_cross_entropy(tape, loss, logits, targets, (float)smoothing);
}

/* ---- a token at a time ------------------------------------------------------- */

cla_status cla_transformer_remember(transformer *m, cla_tape *tape, cla_tensor **kv,
                                    cla_tensor *memory)
{
    for (int i = 0; i < m->config.decoder_layers; i++) {
        cla_tensor *value = NULL;
        CLA_TRY(cla_coder_remember(&m->decoder[i], tape, &kv[i], &value, memory));
        kv[m->config.decoder_layers] = value; // NULL unless the last layer is hard
    }
    return CLA_OK;
}

int cla_transformer_memories(const transformer *m)
{
    return m->config.decoder_layers + (m->config.coder.hard.on ? 1 : 0);
}

bool cla_transformer_steps(const transformer *m, const cla_runtime *rt)
{
    for (int i = 0; i < m->config.decoder_layers; i++) {
        if (!cla_coder_steps(&m->decoder[i], rt)) {
            return false;
        }
    }
    return true;
}

/* Runs the i'th layer of the decoder for one token of each sequence. */
static cla_status next_layer(transformer *m, cla_tape *tape, cla_tensor **x, int i,
                             transformer_step *s, const attn_turn *turn,
                             cla_tensor *distances)
{
    const coder_step_input step = { s->kv[i],        s->range,  s->store[i], s->place,
                                    s->position + 1, distances, *turn };
    const coder_input in = { .rows = { .query = s->one,
                                       .key = s->seen,
                                       .causal = true,
                                       .distances = distances },
                             .turn = *turn,
                             .kv = s->kv[i],
                             .value = s->kv[m->config.decoder_layers],
                             .pass = s->pass,
                             .memory = { .query = s->one, .key = s->memory },
                             .past = &s->past[i] };
    return s->place ? cla_coder_step(&m->decoder[i], tape, x, *x, &step)
                    : cla_coder_forward(&m->decoder[i], tape, x, *x, &in);
}

cla_status cla_transformer_next(transformer *m, cla_tape *tape, cla_tensor **logits,
                                transformer_step *s)
{
    int32_t *position = NULL;
    attn_turn turn;
    cla_tensor *x = NULL, *distances = NULL;
    CLA_TRY(cla_alloc(&position, (size_t)s->sequences, sizeof *position));
    for (int64_t i = 0; i < s->sequences; i++) {
        position[i] = s->position;
    }
    const transformer_tokens t = { s->sequences, s->token, position, s->one, 0 };
    const cla_status status =
        cla_transformer_embed(m, tape, &x, &turn, EMBED_DECODER, &t);
    free(position);
    CLA_TRY(status);
    CLA_TRY(cla_transformer_distances(m, tape, &distances, EMBED_DECODER));
    for (int i = 0; i < m->config.decoder_layers; i++) {
        CLA_TRY(next_layer(m, tape, &x, i, s, &turn, distances));
    }
    return scores(m, tape, logits, x);
}
