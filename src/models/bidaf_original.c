/* bidaf_original.c - bidirectional attention flow as it was published.
 *
 *   two layers y = g * relu(x W + b) + (1 - g) * x, g = sigmoid(x W_g + b_g), on words
 *   and their characters;  U, H = one LSTM over question and passage, both directions
 *   G = match(H, U) with <w, [h, u, h * u]> as scores;  M = two LSTMs over G
 *   first = [G, M] w_1;  a = softmax(first) M
 *   last = [G, LSTM([G, M, a, M * a])] w_2
 *
 * Constants that published code adds to scores cancel in the softmax and are left
 * out. */
#include "clattn/ops.h"
#include "models/bidaf.h"

enum { FILTER = 5 }; // width of a filter in characters

/* ---- parameters ------------------------------------------------------------------ */

static cla_status add_filters(bidaf_original *m, cla_params *params,
                              const reader_config *c)
{
    const double in = (double)FILTER * c->char_dim;
    const cla_init glorot = { CLA_INIT_GLOROT_UNIFORM, 0, in, (double)c->char_width };
    if (!c->char_dim) {
        return CLA_OK;
    }
    CLA_TRY(cla_param_add(params, &m->filters, glorot, 3,
                          (int64_t[]){ FILTER, c->char_dim, c->char_width },
                          "bidaf.chars.w"));
    return cla_param_zeros(params, &m->filter_bias, c->char_width, "bidaf.chars.b");
}

static cla_status add_highway(bidaf_original *m, cla_params *params, int64_t in)
{
    static const char *const names[2][4] = {
        { "bidaf.highway1.w", "bidaf.highway1.b", "bidaf.highway1.gate.w",
          "bidaf.highway1.gate.b" },
        { "bidaf.highway2.w", "bidaf.highway2.b", "bidaf.highway2.gate.w",
          "bidaf.highway2.gate.b" },
    };
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k += 2) {
            cla_tensor **at = &m->highway[i][k];
            CLA_TRY(cla_param_matrix(params, at, in, in, "%s", names[i][k]));
            CLA_TRY(cla_param_zeros(params, at + 1, in, "%s", names[i][k + 1]));
        }
    }
    return CLA_OK;
}

static cla_status init(reader *r, cla_params *params)
{
    bidaf_original *m = r->network;
    const int64_t h = r->config.hidden;
    bidaf_similarity *s = &m->similarity;
    CLA_TRY(add_filters(m, params, &r->config));
    CLA_TRY(add_highway(m, params, r->in));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->encoder, r->in, h, "bidaf.encoder"));
    CLA_TRY(cla_param_matrix(params, &s->own, 2 * h, 1, "bidaf.similarity.own"));
    CLA_TRY(cla_param_matrix(params, &s->other, 1, 2 * h, "bidaf.similarity.other"));
    CLA_TRY(cla_param_matrix(params, &s->both, 1, 2 * h, "bidaf.similarity.both"));
    CLA_TRY(cla_bidaf_add_levels(params, &m->levels, &r->config));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->model[0], 8 * h, h, "bidaf.model1"));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->model[1], 2 * h, h, "bidaf.model2"));
    CLA_TRY(cla_param_matrix(params, &m->first, 10 * h, 1, "bidaf.first"));
    CLA_TRY(cla_bidaf_add_lstm(params, &m->end, 14 * h, h, "bidaf.end"));
    return cla_param_matrix(params, &m->last, 10 * h, 1, "bidaf.last");
}

/* ---- words ----------------------------------------------------------------------- */

static cla_status spell(reader *r, cla_tape *tape, cla_tensor **y, cla_tensor *x,
                        const cla_ragged *rows)
{
    const bidaf_original *m = r->network;
    return cla_char_cnn(tape, y, x, m->filters, m->filter_bias, rows, NULL);
}

/* Encodes one text to states. Question and passage share the weights. */
static cla_status encode(const reader *r, cla_tape *tape, cla_tensor **out,
                         cla_tensor *x, const cla_ragged *rows, int64_t before)
{
    const bidaf_original *m = r->network;
    for (int i = 0; i < 2; i++) {
        cla_tensor *const *w = m->highway[i];
        cla_tensor *made = NULL, *gate = NULL;
        CLA_TRY(cla_linear(tape, &made, x, w[0], w[1], CLA_RELU, NULL));
        CLA_TRY(cla_linear(tape, &gate, x, w[2], w[3], CLA_NONE, NULL));
        CLA_TRY(cla_gate(tape, &x, gate, made, x));
    }
    CLA_TRY(cla_recurrent_forward(&m->encoder, tape, out, x, rows, NULL));
    return cla_reader_drop(r, tape, out, before);
}

/* ---- pointers -------------------------------------------------------------------- */

/* Computes scores [Np,1] of words from [G, states]; G is `matched`. */
static cla_status score_words(const reader *r, cla_tape *tape, cla_tensor **score,
                              cla_tensor *matched, cla_tensor *states, cla_tensor *w,
                              const reader_batch *b)
{
    cla_tensor *both = NULL;
    CLA_TRY(cla_concat(tape, &both, matched, states));
    CLA_TRY(cla_reader_drop(r, tape, &both, b->first_passage));
    return cla_linear(tape, score, both, w, NULL, CLA_NONE, NULL);
}

/* Computes the states that score the last word: an LSTM over the passage, with the mean
 * state under the probabilities of the first word as further input. */
static cla_status read_on(const bidaf_original *m, cla_tape *tape, cla_tensor **states,
                          cla_tensor *matched, cla_tensor *first, const reader_batch *b)
{
    const cla_ragged *rows = reader_asked_rows(b), *single = NULL;
    cla_tensor *start = NULL, *both = NULL, *left = NULL, *right = NULL, *all = NULL;
    CLA_TRY(cla_reader_single_rows(tape, &single, rows->sequences, rows->sequences));
    CLA_TRY(cla_bidaf_pool(tape, &start, *states, first, NULL, NULL, rows, single));
    CLA_TRY(cla_bidaf_spread(tape, &start, start, rows));
    CLA_TRY(cla_multiply(tape, &both, *states, start));
    CLA_TRY(cla_concat(tape, &left, matched, *states));
    CLA_TRY(cla_concat(tape, &right, start, both));
    CLA_TRY(cla_concat(tape, &all, left, right));
    return cla_recurrent_forward(&m->end, tape, states, all, b->passage_rows, NULL);
}

static cla_status point(const reader *r, cla_tape *tape, reader_scores *scores,
                        cla_tensor *matched, cla_tensor *states, const reader_batch *b)
{
    const bidaf_original *m = r->network;
    const int64_t words = b->passage_rows->tokens;
    cla_tensor *first = NULL, *last = NULL;
    CLA_TRY(score_words(r, tape, &first, matched, states, m->first, b));
    CLA_TRY(read_on(m, tape, &states, matched, first, b));
    CLA_TRY(score_words(r, tape, &last, matched, states, m->last, b));
    CLA_TRY(cla_tensor_reshape(tape, &scores->first, first, 1, &words));
    return cla_tensor_reshape(tape, &scores->last, last, 1, &words);
}

/* ---- the network ----------------------------------------------------------------- */

static cla_status score(reader *r, cla_tape *tape, reader_scores *scores,
                        cla_tensor *question, cla_tensor *passage,
                        const reader_batch *b)
{
    const bidaf_original *m = r->network;
    const bidaf_levels levels = { m->levels.found, m->levels.about, r->seen };
    const cla_ragged *rows = b->passage_rows, *question_rows = NULL;
    cla_tensor *u = NULL, *h = NULL, *matched = NULL, *states = NULL;
    CLA_TRY(encode(r, tape, &u, question, b->question_rows, b->first_question));
    CLA_TRY(encode(r, tape, &h, passage, rows, b->first_passage));
    CLA_TRY(cla_bidaf_question_of(tape, &u, &question_rows, u, b));
    CLA_TRY(cla_bidaf_match_by(&m->similarity, tape, &matched, h, u, &levels, rows,
                               question_rows));
    CLA_TRY(cla_recurrent_forward(&m->model[0], tape, &states, matched, rows, NULL));
    CLA_TRY(cla_reader_drop(r, tape, &states, b->first_passage));
    CLA_TRY(cla_recurrent_forward(&m->model[1], tape, &states, states, rows, NULL));
    return point(r, tape, scores, matched, states, b);
}

const reader_kind cla_bidaf_original_kind = {
    .name = "bidaf",
    .size = sizeof(bidaf_original),
    .several = true,
    .char_ways = 1,
    .spell = spell,
    .init = init,
    .scores = score,
};
