/* recurrent.c - a layer of recurrent cells. */
#include "nn/recurrent.h"

#include "base/text.h"
#include "clattn/ops.h"
#include "ops/lstm.h"

const char *const cla_recurrent_kinds[] = { "lstm", "gru", "sru", NULL };

/* ---- parameters ----------------------------------------------------------------- */

/* Adds the matrix name.w with the rows of inputs and of a state and, unless b is NULL,
 * the bias name.b. */
static cla_status add(cla_params *params, cla_tensor **w, cla_tensor **b,
                      const int64_t rows[2], int64_t columns, cla_init_kind bias,
                      const char *name)
{
    CLA_TRY(cla_param_matrix(params, w, rows[0] + rows[1], columns, "%s.w", name));
    cla_param_states(params, rows[1]);
    return b ? cla_param_add(params, b, (cla_init){ bias, 0, 0, 0 }, 1, &columns,
                             "%s.b", name)
             : CLA_OK;
}

static cla_status add_way(const recurrent *layer, recurrent_way *way,
                          cla_params *params, const char *prefix)
{
    const int64_t n = layer->width, rows[2] = { layer->in, n },
                  in[2] = { layer->in, 0 };
    cla_text gates = { 0 }, other = { 0 };
    cla_status status = cla_text_add(&gates, "%s.gates", prefix);
    status = status
                 ? status
                 : cla_text_add(&other, "%s.%s", prefix,
                                layer->kind == RECURRENT_GRU ? "candidate" : "input");
    if (!status && layer->kind == RECURRENT_LSTM) {
        status = add(params, &way->w, &way->b, rows, 4 * n, CLA_INIT_ZEROS, prefix);
    }
    if (!status && layer->kind == RECURRENT_GRU) {
        status = add(params, &way->w, &way->b, rows, 2 * n, CLA_INIT_ONES, gates.data);
        status = status ? status
                        : add(params, &way->w_c, &way->b_c, rows, n, CLA_INIT_ZEROS,
                              other.data);
    }
    if (!status && layer->kind == RECURRENT_SRU) {
        status = add(params, &way->w, &way->b, in, 2 * n, CLA_INIT_ZEROS, gates.data);
        status = status
                     ? status
                     : add(params, &way->w_c, NULL, in, n, CLA_INIT_ZEROS, other.data);
    }
    cla_text_free(&gates);
    cla_text_free(&other);
    return status;
}

cla_status cla_recurrent_init(recurrent *layer, cla_params *params, const char *prefix)
{
    static const char *const names[2] = { "forward", "backward" };
    cla_status status = CLA_OK;
    for (int i = 0; i < (layer->both ? 2 : 1) && !status; i++) {
        cla_text name = { 0 };
        status = cla_text_add(&name, "%s.%s", prefix, names[layer->reverse ? 1 : i]);
        status = status ? status : add_way(layer, &layer->way[i], params, name.data);
        cla_text_free(&name);
    }
    return status;
}

/* ---- forward -------------------------------------------------------------------- */

/* Runs one direction. Drops options for states that the cell does not have. */
static cla_status walk(const recurrent *layer, const recurrent_way *way, cla_tape *tape,
                       cla_tensor **y, cla_tensor *x, const cla_ragged *rows,
                       cla_recurrent_options options)
{
    if (layer->kind == RECURRENT_LSTM) {
        return cla_lstm(tape, y, x, way->w, way->b, rows, &options);
    }
    if (layer->kind == RECURRENT_GRU) {
        const cla_gru_weights weights = { way->w, way->b, way->w_c, way->b_c };
        options.c0 = NULL;
        options.c = NULL;
        return cla_gru(tape, y, x, &weights, rows, &options);
    }
    const cla_sru_weights weights = { way->w_c, way->w, way->b };
    options.h0 = NULL;
    options.h = NULL;
    return cla_sru(tape, y, x, &weights, rows, &options);
}

/* Runs both directions; the forward one is first. */
static cla_status walk_both(const recurrent *layer, cla_tape *tape, cla_tensor *y[2],
                            cla_tensor *x, const cla_ragged *rows,
                            const cla_recurrent_options options[2])
{
    if (layer->kind == RECURRENT_LSTM) {
        const recurrent_way *way = layer->way;
        const cla_lstm_weights weights[2] = { { way[0].w, way[0].b },
                                              { way[1].w, way[1].b } };
        return cla_lstm_both(tape, y, x, weights, rows, options);
    }
    for (int i = 0; i < 2; i++) {
        CLA_TRY(walk(layer, &layer->way[i], tape, &y[i], x, rows, options[i]));
    }
    return CLA_OK;
}

/* Concatenates the states of both directions; NULL if the cell has no such state. */
static cla_status join(cla_tape *tape, cla_tensor **y, cla_tensor *a, cla_tensor *b)
{
    *y = NULL;
    return a && b ? cla_concat(tape, y, a, b) : CLA_OK;
}

cla_status cla_recurrent_forward(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                                 cla_tensor *x, const cla_ragged *rows,
                                 recurrent_state *last)
{
    cla_tensor *out[2] = { NULL }, *h[2] = { NULL }, *c[2] = { NULL };
    *y = NULL;
    cla_recurrent_options options[2] = { { 0 } };
    for (int i = 0; i < 2; i++) {
        options[i].reverse = layer->both ? i : layer->reverse;
        options[i].h = last ? &h[i] : NULL;
        options[i].c = last ? &c[i] : NULL;
    }
    CLA_TRY(layer->both
                ? walk_both(layer, tape, out, x, rows, options)
                : walk(layer, &layer->way[0], tape, &out[0], x, rows, options[0]));
    if (layer->both && last) {
        CLA_TRY(join(tape, &h[0], h[0], h[1]));
        CLA_TRY(join(tape, &c[0], c[0], c[1]));
    }
    if (last) {
        *last = (recurrent_state){ h[0], c[0] };
    }
    if (layer->both) {
        return cla_concat(tape, y, out[0], out[1]);
    }
    *y = out[0];
    return CLA_OK;
}

/* The output y of the one token is also the state h. */
cla_status cla_recurrent_step(const recurrent *layer, cla_tape *tape, cla_tensor **y,
                              cla_tensor *x, const cla_ragged *ones,
                              recurrent_state *state)
{
    cla_tensor *c = NULL;
    *y = NULL;
    if (layer->both) {
        return cla_fail(CLA_E_USAGE, "recurrent: a step of both directions");
    }
    if (ones->longest != 1 || ones->tokens != ones->sequences) {
        return cla_fail(CLA_E_SHAPE,
                        "recurrent: a step of %lld tokens in %lld sequences",
                        (long long)ones->tokens, (long long)ones->sequences);
    }
    const cla_recurrent_options options = { .h0 = state->h, .c0 = state->c, .c = &c };
    CLA_TRY(walk(layer, &layer->way[0], tape, y, x, ones, options));
    *state = (recurrent_state){ *y, c };
    return CLA_OK;
}
