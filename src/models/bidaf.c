/* bidaf.c - bidirectional attention flow with a pointer decoder, DuReader's baseline.
 *
 *   U, H = LSTMs of question and passage, both directions
 *   S = LSTM(match(H, U)), both directions
 *   h_0 = c_0 = q W + b, q = sum_j softmax(tanh(U W_1 + r W_2 + b) v)_j u_j, r learnt
 *   a_k = softmax(tanh(S W_f + h_(k-1) W_m + b) w), h_k = LSTM(sum_j a_kj s_j, h_(k-1))
 *
 * The last line describes one of two pointers, which have their own weights. The
 * probabilities of the first word are the mean of a_1 of one pointer and a_2 of the
 * other; those of the last word are the reverse. With several passages a question, each
 * is encoded by itself up to S, and a_k runs over the words of all of them. Constants
 * that published code adds to scores cancel in the softmax and are left out; of two
 * biases in one sum, one is left out. */
#include "models/bidaf.h"

#include <math.h>

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "tensor/tensor.h"

/* ---- parameters ------------------------------------------------------------------ */

cla_status cla_bidaf_add_lstm(cla_params *params, recurrent *layer, int64_t in,
                              int64_t h, const char *name)
{
    *layer = (recurrent){
        .kind = RECURRENT_LSTM, .in = (int)in, .width = (int)h, .both = true
    };
    return cla_recurrent_init(layer, params, name);
}

cla_status cla_bidaf_add_levels(cla_params *params, bidaf_levels *levels,
                                const reader_config *config)
{
    if (config->depth) {
        CLA_TRY(cla_param_levels(params, &levels->found, config->depth,
                                 config->first_level, "bidaf.levels"));
    }
    return config->depth && config->ham_q2c
               ? cla_param_levels(params, &levels->about, config->depth,
                                  config->first_level, "bidaf.levels_q2c")
               : CLA_OK;
}

static cla_status add_pool(bidaf *m, cla_params *params, int64_t h)
{
    const cla_init normal = { CLA_INIT_NORMAL, 1, 0, 0 };
    CLA_TRY(
        cla_param_matrix(params, &m->pool_question, 2 * h, h, "bidaf.pool.question"));
    CLA_TRY(cla_param_matrix(params, &m->pool_own, h, h, "bidaf.pool.own"));
    CLA_TRY(cla_param_zeros(params, &m->pool_bias, h, "bidaf.pool.bias"));
    CLA_TRY(cla_param_add(params, &m->pool_vector, normal, 2, (int64_t[]){ 1, h },
                          "bidaf.pool.vector"));
    CLA_TRY(cla_param_score(params, &m->pool_score, h, "bidaf.pool.score"));
    CLA_TRY(cla_param_matrix(params, &m->begin, 2 * h, h, "bidaf.begin.w"));
    return cla_param_zeros(params, &m->begin_bias, h, "bidaf.begin.b");
}

static cla_status add_pointer(bidaf_pointer *p, cla_params *params, int64_t h, int way)
{
    static const char *const names[2][5] = {
        { "bidaf.fw.passage", "bidaf.fw.bias", "bidaf.fw.state", "bidaf.fw.score",
          "bidaf.fw.cell" },
        { "bidaf.bw.passage", "bidaf.bw.bias", "bidaf.bw.state", "bidaf.bw.score",
          "bidaf.bw.cell" },
    };
    const char *const *name = names[way];
    CLA_TRY(cla_param_matrix(params, &p->passage, 2 * h, h, "%s", name[0]));
    CLA_TRY(cla_param_zeros(params, &p->bias, h, "%s", name[1]));
    CLA_TRY(cla_param_matrix(params, &p->state, h, h, "%s", name[2]));
    CLA_TRY(cla_param_score(params, &p->score, h, name[3]));
    p->cell = (recurrent){ .kind = RECURRENT_LSTM, .in = 2 * (int)h, .width = (int)h };
    return cla_recurrent_init(&p->cell, params, name[4]);
}

static cla_status configure(reader_config *c, cla_config *s)
{
    static const char *const forms[] = { "dureader", "original", NULL };
    CLA_TRY(cla_config_choice(s, "form", forms, &c->form));
    return cla_config_bool(s, "ham_q2c", &c->ham_q2c);
}

static const reader_kind *form(const reader_config *c)
{
    return c->form ? &cla_bidaf_original_kind : &cla_bidaf_kind;
}

static cla_status init(reader *r, cla_params *params)
{
    bidaf *m = r->network;
    const int64_t h = r->config.hidden;
    m->reader = r;
    CLA_TRY(cla_bidaf_add_lstm(params, &m->question, r->in, h, "bidaf.question"));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->passage, r->in, h, "bidaf.passage"));
    CLA_TRY(cla_bidaf_add_levels(params, &m->levels, &r->config));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->fuse, 8 * h, h, "bidaf.fuse"));
    CLA_TRY(add_pool(m, params, h));
    CLA_TRY(add_pointer(&m->pointer[0], params, h, 0));
    return add_pointer(&m->pointer[1], params, h, 1);
}

/* ---- pointers -------------------------------------------------------------------- */

/* Pools each question to the initial state [B,h] of both pointers. */
static cla_status pool(const bidaf *m, cla_tape *tape, cla_tensor **state,
                       cla_tensor *question, const cla_ragged *rows,
                       const cla_ragged *single)
{
    cla_tensor *keys = NULL, *query = NULL, *pooled = NULL;
    CLA_TRY(cla_linear(tape, &keys, question, m->pool_question, NULL, CLA_NONE, NULL));
    CLA_TRY(cla_linear(tape, &query, m->pool_vector, m->pool_own, m->pool_bias,
                       CLA_NONE, NULL));
    CLA_TRY(cla_bidaf_spread(tape, &query, query, single));
    CLA_TRY(cla_additive_attention(tape, &pooled, keys, query, m->pool_score, question,
                                   single, rows, NULL));
    return cla_linear(tape, state, pooled, m->begin, m->begin_bias, CLA_NONE, NULL);
}

/* Runs the two steps of a pointer: where[k] [Np] are the attention weights a_(k+1). */
static cla_status point(const bidaf_pointer *p, cla_tape *tape, cla_tensor *where[2],
                        cla_tensor *states, cla_tensor *begin, const cla_ragged *rows,
                        const cla_ragged *single)
{
    recurrent_state at = { begin, begin };
    cla_tensor *keys = NULL, *query = NULL, *context = NULL, *h = begin;
    CLA_TRY(cla_linear(tape, &keys, states, p->passage, p->bias, CLA_NONE, NULL));
    for (int k = 0; k < 2; k++) {
        const cla_additive_options options = { .weights = &where[k] };
        CLA_TRY(cla_linear(tape, &query, h, p->state, NULL, CLA_NONE, NULL));
        CLA_TRY(cla_additive_attention(tape, &context, keys, query, p->score, states,
                                       single, rows, &options));
        if (k == 0) {
            CLA_TRY(cla_recurrent_step(&p->cell, tape, &h, context, single, &at));
        }
    }
    return CLA_OK;
}

static cla_status decode(const bidaf *m, cla_tape *tape, reader_scores *scores,
                         cla_tensor *states, cla_tensor *question,
                         const reader_batch *b)
{
    const cla_ragged *single = NULL, *rows = reader_asked_rows(b);
    cla_tensor *begin = NULL, *half = NULL, *at[2][2] = { { NULL } };
    CLA_TRY(cla_reader_single_rows(tape, &single, rows->sequences, rows->sequences));
    CLA_TRY(pool(m, tape, &begin, question, b->question_rows, single));
    for (int i = 0; i < 2; i++) {
        CLA_TRY(point(&m->pointer[i], tape, at[i], states, begin, rows, single));
    }
    cla_tensor *const first[] = { at[0][0], at[1][1] };
    cla_tensor *const last[] = { at[0][1], at[1][0] };
    CLA_TRY(cla_bidaf_equal_parts(tape, &half, 2));
    CLA_TRY(cla_mix_levels(tape, &scores->first, first, half));
    return cla_mix_levels(tape, &scores->last, last, half);
}

/* ---- the network ----------------------------------------------------------------- */

static cla_status score(reader *r, cla_tape *tape, reader_scores *scores,
                        cla_tensor *question, cla_tensor *passage,
                        const reader_batch *b)
{
    const bidaf *m = r->network;
    const bidaf_levels levels = { m->levels.found, m->levels.about, r->seen };
    const cla_ragged *rows = b->passage_rows, *question_rows = NULL;
    cla_tensor *u = NULL, *h = NULL, *asked = NULL, *states = NULL;
    CLA_TRY(cla_recurrent_forward(&m->question, tape, &u, question, b->question_rows,
                                  NULL));
    CLA_TRY(cla_reader_drop(r, tape, &u, b->first_question));
    CLA_TRY(cla_recurrent_forward(&m->passage, tape, &h, passage, rows, NULL));
    CLA_TRY(cla_reader_drop(r, tape, &h, b->first_passage));
    CLA_TRY(cla_bidaf_question_of(tape, &asked, &question_rows, u, b));
    CLA_TRY(cla_bidaf_match(tape, &h, h, asked, &levels, rows, question_rows));
    CLA_TRY(cla_recurrent_forward(&m->fuse, tape, &states, h, rows, NULL));
    CLA_TRY(cla_reader_drop(r, tape, &states, b->first_passage));
    return decode(m, tape, scores, states, u, b);
}

const reader_kind cla_bidaf_kind = {
    .name = "bidaf",
    .size = sizeof(bidaf),
    .several = true,
    .probabilities = true,
    .least = 1e-9F,
    .configure = configure,
    .form = form,
    .init = init,
    .scores = score,
};
