/* poet.c - the poem generator.
 *
 *   r_c = [last forward; first backward] of a GRU over the keyword
 *   h_j = [forward; backward] of a GRU over the previous lines; memory r_c, h_1 .. h_T
 *   s_0 = tanh(W_0 r_c + b_0), ctx_t = attention of W_q s_(t-1) to the memory
 *   s_t = GRU([e(y_(t-1)); ctx_t], s_(t-1))
 *   y_t ~ softmax(W [s_t; ctx_t; e(y_(t-1))] + b), e(y_0) = 0
 *
 * Attention is hierarchical in depth levels; one level is plain attention. */
#include "models/poet.h"

#include <math.h>

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "clattn/rows.h"

enum { POET_DEPTH = 64 };

static const char *const score_names[] = { "dot", "additive", NULL };

cla_status cla_poet_configure(poet_config *c, cla_config *s)
{
    *c = (poet_config){ .hidden = 256, .depth = 1 };
    CLA_TRY(cla_config_int(s, "hidden", &c->hidden, 1, 4096));
    c->dim = c->hidden;
    CLA_TRY(cla_config_int(s, "dim", &c->dim, 1, 4096));
    CLA_TRY(cla_config_int(s, "depth", &c->depth, 1, POET_DEPTH));
    CLA_TRY(cla_config_double(s, "first_level", &c->first_level, 0, 0.99));
    CLA_TRY(cla_config_choice(s, "score", score_names, &c->score));
    return cla_config_double(s, "dropout", &c->dropout, 0, 0.99);
}

/* ---- parameters ----------------------------------------------------------------- */

static cla_status add_attention(poet *m, cla_params *params)
{
    const int64_t h = m->config.hidden;
    CLA_TRY(cla_param_matrix(params, &m->query, h, 2 * h, "query"));
    CLA_TRY(cla_param_levels(params, &m->levels, m->config.depth, m->config.first_level,
                             "levels"));
    if (!m->config.score) {
        return CLA_OK;
    }
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, (double)h, 1 };
    CLA_TRY(cla_param_matrix(params, &m->match_memory, 2 * h, h, "match.memory"));
    CLA_TRY(cla_param_matrix(params, &m->match_query, 2 * h, h, "match.query"));
    return cla_param_add(params, &m->match, glorot, 1, &h, "match.vector");
}

cla_status cla_poet_init(poet *m, const poet_config *config, cla_params *params)
{
    *m = (poet){ .config = *config };
    const int64_t h = config->hidden, dim = config->dim, V = config->characters;
    const cla_init uniform = { CLA_INIT_UNIFORM, 0.05, 0, 0 };
    CLA_TRY(cla_param_add(params, &m->table, uniform, 2, (int64_t[]){ V, dim },
                          "characters"));
    m->keyword = m->context = (recurrent){
        .kind = RECURRENT_GRU, .in = (int)dim, .width = (int)h, .both = true
    };
    m->decoder =
        (recurrent){ .kind = RECURRENT_GRU, .in = (int)(dim + 2 * h), .width = (int)h };
    CLA_TRY(cla_recurrent_init(&m->keyword, params, "keyword"));
    CLA_TRY(cla_recurrent_init(&m->context, params, "context"));
    CLA_TRY(cla_recurrent_init(&m->decoder, params, "decoder"));
    CLA_TRY(cla_param_matrix(params, &m->start, 2 * h, h, "start"));
    CLA_TRY(cla_param_zeros(params, &m->start_bias, h, "start_bias"));
    CLA_TRY(add_attention(m, params));
    CLA_TRY(cla_param_matrix(params, &m->out, 3 * h + dim, V, "out"));
    return cla_param_zeros(params, &m->out_bias, V, "out_bias");
}

/* ---- encoders ------------------------------------------------------------------- */

static cla_status make_rows(cla_tape *tape, int64_t sequences, const int32_t *offsets,
                            cla_ragged **rows)
{
    CLA_TRY(cla_ragged_new(rows, cla_tape_runtime(tape), sequences, offsets));
    cla_tape_keep(tape, *rows);
    return CLA_OK;
}

cla_status cla_poet_even_rows(cla_tape *tape, int64_t n, int64_t each,
                              const cla_ragged **rows)
{
    int32_t *offsets = NULL;
    cla_ragged *made = NULL;
    CLA_TRY(cla_alloc(&offsets, (size_t)n + 1, sizeof *offsets));
    for (int64_t i = 0; i <= n; i++) {
        offsets[i] = (int32_t)(i * each);
    }
    const cla_status status = make_rows(tape, n, offsets, &made);
    free(offsets);
    *rows = made;
    return status;
}

/* Encodes B sequences of characters to all states [N,2h] and the last ones [B,2h]. */
static cla_status read_ids(poet *m, cla_tape *tape, const recurrent *encoder,
                           const int32_t *ids, const int32_t *at, int64_t B,
                           cla_tensor **states, recurrent_state *last)
{
    cla_ragged *rows = NULL;
    cla_tensor *numbers = NULL, *x = NULL;
    CLA_TRY(make_rows(tape, B, at, &rows));
    CLA_TRY(cla_tape_ids(tape, &numbers, at[B], ids));
    CLA_TRY(cla_embedding(tape, &x, m->table, numbers, 1));
    return cla_recurrent_forward(encoder, tape, states, x, rows, last);
}

/* Builds the memory: for each line r_c, then the states of its context. */
static cla_status interleave(cla_tape *tape, poet_memory *memory, cla_tensor *keyword,
                             cla_tensor *context, const poet_batch *b)
{
    const int64_t rows = b->lines + b->context_at[b->lines];
    int32_t *from = NULL;
    cla_tensor *both = NULL, *order = NULL;
    CLA_TRY(cla_alloc(&from, (size_t)(rows + b->lines + 1), sizeof *from));
    int32_t *offsets = from + rows;
    for (int64_t i = 0, n = 0; i < b->lines; i++) {
        from[n++] = (int32_t)i;
        for (int32_t k = b->context_at[i]; k < b->context_at[i + 1]; k++) {
            from[n++] = (int32_t)b->lines + k;
        }
        offsets[i + 1] = (int32_t)n;
    }
    cla_tensor *parts[] = { keyword, context };
    cla_status status = make_rows(tape, b->lines, offsets, &memory->rows);
    status = status ? status : cla_tape_ids(tape, &order, rows, from);
    free(from);
    CLA_TRY(status);
    CLA_TRY(cla_stack(tape, &both, parts, context ? 2 : 1));
    return cla_embedding(tape, &memory->value, both, order, 1);
}

cla_status cla_poet_read(poet *m, cla_tape *tape, poet_memory *memory,
                         const poet_batch *b)
{
    cla_tensor *states = NULL, *context = NULL;
    recurrent_state keyword = { 0 };
    *memory = (poet_memory){ 0 };
    CLA_TRY(read_ids(m, tape, &m->keyword, b->keyword, b->keyword_at, b->lines, &states,
                     &keyword));
    if (b->context_at[b->lines]) {
        CLA_TRY(read_ids(m, tape, &m->context, b->context, b->context_at, b->lines,
                         &context, NULL));
    }
    CLA_TRY(interleave(tape, memory, keyword.h, context, b));
    if (m->config.score) {
        CLA_TRY(cla_linear(tape, &memory->projected, memory->value, m->match_memory,
                           NULL, CLA_NONE, NULL));
    }
    return cla_linear(tape, &memory->state, keyword.h, m->start, m->start_bias,
                      CLA_TANH, NULL);
}

/* ---- the decoder ---------------------------------------------------------------- */

static cla_status attend(poet *m, cla_tape *tape, cla_tensor **context, cla_tensor *q,
                         const cla_ragged *rows, const poet_memory *memory)
{
    const int64_t seen = cla_tensor_dim(memory->value, 0);
    cla_tensor *level[POET_DEPTH], *projected = NULL, *weights = NULL;
    const cla_additive_options options = { .weights = m->seen ? &weights : NULL };
    if (!m->config.score) {
        const float scale = 1 / sqrtf((float)cla_tensor_dim(q, 1));
        CLA_TRY(cla_look_dots(m->seen, POET_SITE, m->levels, q, memory->value, scale));
        return cla_ham_v(tape, context, q, memory->value, m->levels, rows, memory->rows,
                         NULL);
    }
    for (int i = 0; i < m->config.depth; i++) {
        CLA_TRY(cla_linear(tape, &projected, i ? level[i - 1] : q, m->match_query, NULL,
                           CLA_NONE, NULL));
        CLA_TRY(cla_additive_attention(tape, &level[i], memory->projected, projected,
                                       m->match, memory->value, rows, memory->rows,
                                       &options));
        CLA_TRY(cla_look_add(m->seen, POET_SITE, m->levels, i, weights, seen));
    }
    return cla_mix_levels(tape, context, level, m->levels);
}

cla_status cla_poet_next(poet *m, cla_tape *tape, poet_step *step,
                         const poet_memory *memory, cla_tensor *input)
{
    cla_tensor *q = NULL, *x = NULL, *both = NULL, *state = NULL;
    recurrent_state cell = { .h = step->state };
    CLA_TRY(cla_linear(tape, &q, step->state, m->query, NULL, CLA_NONE, NULL));
    CLA_TRY(attend(m, tape, &step->context, q, step->hypotheses, memory));
    CLA_TRY(cla_concat(tape, &x, input, step->context));
    CLA_TRY(cla_recurrent_step(&m->decoder, tape, &state, x, step->ones, &cell));
    step->state = state;
    CLA_TRY(cla_concat(tape, &both, step->state, step->context));
    CLA_TRY(cla_concat(tape, &step->features, both, input));
    return cla_tape_training(tape) && m->config.dropout > 0
               ? cla_dropout(tape, &step->features, step->features,
                             (float)m->config.dropout)
               : CLA_OK;
}

/* ---- the loss ------------------------------------------------------------------- */

/* Uploads characters by position: the first of all lines, then the second, ... late:
 * shifted by one position, with -1 (a zero embedding) at the first. */
static cla_status by_place(cla_tape *tape, cla_tensor **out, const poet_batch *b,
                           bool late)
{
    int32_t *ids = NULL;
    CLA_TRY(cla_alloc(&ids, (size_t)(b->lines * b->length) + 1, sizeof *ids));
    for (int64_t t = 0; t < b->length; t++) {
        for (int64_t i = 0; i < b->lines; i++) {
            ids[t * b->lines + i] =
                late && !t ? -1 : b->line[i * b->length + t - (late ? 1 : 0)];
        }
    }
    const cla_status status = cla_tape_ids(tape, out, b->lines * b->length, ids);
    free(ids);
    return status;
}

cla_status cla_poet_loss(poet *m, cla_tape *tape, cla_tensor **loss,
                         const poet_batch *b)
{
    cla_tensor *features[POET_LONGEST], *before = NULL, *inputs = NULL, *input = NULL,
                                        *all = NULL, *logits = NULL, *targets = NULL;
    poet_memory memory;
    poet_step step = { 0 };
    CLA_TRY(cla_poet_read(m, tape, &memory, b));
    CLA_TRY(cla_poet_even_rows(tape, b->lines, 1, &step.ones));
    CLA_TRY(by_place(tape, &before, b, true));
    CLA_TRY(by_place(tape, &targets, b, false));
    CLA_TRY(cla_embedding(tape, &inputs, m->table, before, 1));
    step.hypotheses = step.ones;
    step.state = memory.state;
    for (int t = 0; t < b->length; t++) {
        CLA_TRY(cla_slice(tape, &input, inputs, t * b->lines, b->lines));
        CLA_TRY(cla_poet_next(m, tape, &step, &memory, input));
        features[t] = step.features;
    }
    CLA_TRY(cla_stack(tape, &all, features, b->length));
    CLA_TRY(cla_linear(tape, &logits, all, m->out, m->out_bias, CLA_NONE, NULL));
    return cla_cross_entropy(tape, loss, logits, targets, 0);
}
