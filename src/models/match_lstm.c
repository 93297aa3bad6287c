/* match_lstm.c - Match-LSTM with an answer pointer.
 *
 *   H^q, H^p = LSTMs of question and passage
 *   h^r_i = LSTM([h^p_i; look(h^p_i, h^r_(i-1))], h^r_(i-1)), and from right to left
 *   F = tanh([->; <-] V + h^a_(k-1) W^a + b), scores = F v, twice, and between them
 *   h^a = LSTM(sum_j softmax(scores)_j h^r_j, h^a)
 *
 * Step i takes word i of all passages. They come in falling order of length, so the
 * rows of a step are the first ones, and passages that have ended cost nothing. The
 * constants that the paper adds to scores cancel in the softmax and are left out. */
#include "models/match_lstm.h"

#include <math.h>

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "clattn/recurrent.h"
#include "clattn/rows.h"
#include "models/walk.h"

/* ---- parameters ------------------------------------------------------------------ */

static cla_status configure(reader_config *config, cla_config *settings)
{
    return cla_config_bool(settings, "tie_dir", &config->tie_dir);
}

static cla_status add_lstm(cla_params *params, cla_tensor **w, cla_tensor **b,
                           int64_t in, int64_t l, const char *name)
{
    enum { GATES = 4 };
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, (double)(in + l), (double)l };
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    const int64_t columns = GATES * l;
    CLA_TRY(cla_param_add(params, w, glorot, 2, (int64_t[]){ in + l, columns },
                          "match.%s.weight", name));
    cla_param_states(params, l);
    return cla_param_add(params, b, zeros, 1, &columns, "match.%s.bias", name);
}

static cla_status add_pointer(match_lstm *m, cla_params *params, int64_t l)
{
    CLA_TRY(cla_param_matrix(params, &m->point_h, 2 * l, l, "match.point.states"));
    CLA_TRY(cla_param_matrix(params, &m->point_a, l, l, "match.point.own"));
    CLA_TRY(cla_param_zeros(params, &m->point_b, l, "match.point.bias"));
    CLA_TRY(cla_param_score(params, &m->point_v, l, "match.point.score"));
    return add_lstm(params, &m->point_w, &m->point_c, 2 * l, l, "point.lstm");
}

static cla_status init(reader *r, cla_params *params)
{
    match_lstm *m = r->network;
    const int64_t l = r->config.hidden;
    m->reader = r;
    CLA_TRY(add_lstm(params, &m->question_w, &m->question_b, r->in, l, "question"));
    CLA_TRY(add_lstm(params, &m->passage_w, &m->passage_b, r->in, l, "passage"));
    CLA_TRY(cla_param_matrix(params, &m->attend_q, l, l, "match.attend.question"));
    CLA_TRY(cla_param_matrix(params, &m->attend_p, l, l, "match.attend.passage"));
    CLA_TRY(cla_param_matrix(params, &m->attend_r, l, l, "match.attend.state"));
    CLA_TRY(cla_param_zeros(params, &m->attend_b, l, "match.attend.bias"));
    CLA_TRY(cla_param_score(params, &m->attend_v, l, "match.attend.score"));
    if (r->config.depth) {
        CLA_TRY(cla_param_levels(params, &m->levels, r->config.depth,
                                 r->config.first_level, "match.levels"));
    }
    CLA_TRY(add_lstm(params, &m->match_w[0], &m->match_b[0], 2 * l, l, "forward"));
    if (!r->config.tie_dir) {
        CLA_TRY(add_lstm(params, &m->match_w[1], &m->match_b[1], 2 * l, l, "backward"));
    }
    return add_pointer(m, params, l);
}

/* ---- attention to the question --------------------------------------------------- */

/* Computes the contexts level[1], level[2], ... from level[0]. */
static cla_status look_again(match_lstm *m, cla_tape *tape, cla_tensor **level,
                             const match_memory *memory, cla_tensor *h,
                             const cla_ragged *rows)
{
    look_log *seen = m->reader->seen;
    cla_tensor *state = NULL, *weights = NULL;
    const cla_additive_options options = { .weights = seen ? &weights : NULL };
    CLA_TRY(cla_linear(tape, &state, h, m->attend_r, m->attend_b, CLA_NONE, NULL));
    for (int i = 1; i < m->reader->config.depth; i++) {
        cla_tensor *query = NULL;
        CLA_TRY(
            cla_linear(tape, &query, level[i - 1], m->attend_p, NULL, CLA_NONE, state));
        CLA_TRY(cla_additive_attention(tape, &level[i], memory->keys, query,
                                       m->attend_v, memory->memory, rows, memory->rows,
                                       &options));
        CLA_TRY(cla_look_add(seen, memory->site, m->levels, i, weights,
                             memory->rows->tokens));
    }
    return CLA_OK;
}

cla_status cla_match_lstm_look(match_lstm *m, cla_tape *tape, cla_tensor **context,
                               const match_memory *memory, cla_tensor *p, cla_tensor *h,
                               const cla_ragged *rows, cla_tensor **weights)
{
    cla_tensor *query = NULL, *level[CLA_HAM_DEPTH] = { NULL }, *own = NULL;
    weights = weights || !m->reader->seen ? weights : &own;
    const cla_additive_options options = { .weights = weights };
    CLA_TRY(cla_linear(tape, &query, h, m->attend_r, NULL, CLA_NONE, p));
    CLA_TRY(cla_additive_attention(tape, &level[0], memory->keys, query, m->attend_v,
                                   memory->memory, rows, memory->rows, &options));
    *context = level[0];
    if (!m->levels) {
        return CLA_OK;
    }
    CLA_TRY(cla_look_add(m->reader->seen, memory->site, m->levels, 0,
                         weights ? *weights : NULL, memory->rows->tokens));
    if (m->reader->config.depth > 1) {
        CLA_TRY(look_again(m, tape, level, memory, h, rows));
    }
    return cla_mix_levels(tape, context, level, m->levels);
}

/* ---- recurrence over the passages ------------------------------------------------ */

/* One direction: the memory that it attends to, and the weights of its LSTM. */
typedef struct walker {
    match_lstm *m;
    const match_memory *memory;
    cla_tensor *w, *b;
} walker;

/* Runs one step. s->x: h^p, and its part of the scores, h^p W^p + b. */
static cla_status move(void *with, cla_tape *tape, walk_step *s)
{
    const walker *w = with;
    cla_tensor *context = NULL, *x = NULL, *h = NULL, *c = NULL;
    CLA_TRY(cla_match_lstm_look(w->m, tape, &context, w->memory, s->x[1], s->state.h,
                                s->among, NULL));
    CLA_TRY(cla_concat(tape, &x, s->x[0], context));
    const cla_recurrent_options options = { .h0 = s->state.h,
                                            .c0 = s->state.c,
                                            .c = &c };
    CLA_TRY(cla_lstm(tape, &h, x, w->w, w->b, s->ones, &options));
    s->state = (recurrent_state){ h, c };
    return CLA_OK;
}

/* Computes h^p W^p + b once for all words. */
cla_status cla_match_lstm_walk(match_lstm *m, cla_tape *tape, cla_tensor **states,
                               const match_memory *memory, cla_tensor *passage,
                               const cla_ragged *rows, bool reverse)
{
    const int set = reverse && m->match_w[1];
    const int64_t B = rows->sequences, l = passage->shape[1];
    walker who = { m, memory, m->match_w[set], m->match_b[set] };
    walk w = { move, &who, rows, reverse, { passage, NULL }, { NULL, NULL } };
    *states = NULL;
    CLA_TRY(
        cla_linear(tape, &w.x[1], passage, m->attend_p, m->attend_b, CLA_NONE, NULL));
    CLA_TRY(cla_walk_zeros(tape, &w.state.h, B, l));
    CLA_TRY(cla_walk_zeros(tape, &w.state.c, B, l));
    return cla_walk_along(&w, tape, states);
}

/* ---- the pointer ----------------------------------------------------------------- */

cla_status cla_match_lstm_point(match_lstm *m, cla_tape *tape, reader_scores *scores,
                                cla_tensor *states, const cla_ragged *rows)
{
    const cla_ragged *single = NULL;
    const int64_t B = rows->sequences;
    cla_tensor *keys = NULL, *h = NULL, *query = NULL, *context = NULL;
    cla_tensor **const out[2] = { &scores->first, &scores->last };
    CLA_TRY(cla_reader_single_rows(tape, &single, B, B));
    CLA_TRY(cla_linear(tape, &keys, states, m->point_h, NULL, CLA_NONE, NULL));
    CLA_TRY(cla_walk_zeros(tape, &h, B, m->point_a->shape[0]));
    for (int k = 0; k < 2; k++) {
        const cla_additive_options options = { .scores = out[k] };
        CLA_TRY(cla_linear(tape, &query, h, m->point_a, m->point_b, CLA_NONE, NULL));
        CLA_TRY(cla_additive_attention(tape, &context, keys, query, m->point_v, states,
                                       single, rows, &options));
        if (k == 0) {
            CLA_TRY(cla_lstm(tape, &h, context, m->point_w, m->point_c, single, NULL));
        }
    }
    return CLA_OK;
}

/* ---- the network ----------------------------------------------------------------- */

static cla_status run(reader *r, cla_tape *tape, reader_scores *scores,
                      cla_tensor *question, cla_tensor *passage, const reader_batch *b)
{
    match_lstm *m = r->network;
    match_memory memory = { .rows = b->question_rows };
    cla_tensor *hp = NULL, *left = NULL, *right = NULL, *states = NULL;
    CLA_TRY(cla_lstm(tape, &memory.memory, question, m->question_w, m->question_b,
                     b->question_rows, NULL));
    CLA_TRY(cla_reader_drop(r, tape, &memory.memory, b->first_question));
    CLA_TRY(cla_linear(tape, &memory.keys, memory.memory, m->attend_q, NULL, CLA_NONE,
                       NULL));
    CLA_TRY(cla_lstm(tape, &hp, passage, m->passage_w, m->passage_b, b->passage_rows,
                     NULL));
    CLA_TRY(cla_reader_drop(r, tape, &hp, b->first_passage));
    memory.site = "forward";
    CLA_TRY(cla_match_lstm_walk(m, tape, &left, &memory, hp, b->passage_rows, false));
    memory.site = "backward";
    CLA_TRY(cla_match_lstm_walk(m, tape, &right, &memory, hp, b->passage_rows, true));
    cla_look_turn(r->seen, memory.site);
    CLA_TRY(cla_concat(tape, &states, left, right));
    CLA_TRY(cla_reader_drop(r, tape, &states, b->first_passage));
    return cla_match_lstm_point(m, tape, scores, states, b->passage_rows);
}

const reader_kind cla_match_lstm_kind = {
    .name = "match_lstm",
    .size = sizeof(match_lstm),
    .configure = configure,
    .init = init,
    .scores = run,
};
