/* golden_layers.c - runs golden cases of the operators around the attention. */
#include "cli/golden.h"

/* Runs a character CNN. Files hold x as [words,length,channels]. */
cla_status golden_char_cnn(golden *g)
{
    cla_tensor *x = NULL, *flat = NULL, *w = NULL, *b = NULL, *len = NULL, *y = NULL;
    cla_ragged *rows = NULL;
    CLA_TRY(golden_tensor(g, "x", &x));
    CLA_TRY(golden_tensor(g, "w", &w));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(golden_tensor(g, "len", &len));
    const int64_t words = cla_tensor_dim(x, 0), length = cla_tensor_dim(x, 1);
    const int64_t shape[2] = { words * length, cla_tensor_dim(x, 2) };
    CLA_TRY(golden_even_rows(g, words, length, &rows));
    CLA_TRY(cla_tensor_reshape(golden_tape(g), &flat, x, 2, shape));
    CLA_TRY(cla_char_cnn(golden_tape(g), &y, flat, w, b, rows, len));
    return golden_output(g, "y", y);
}

cla_status golden_matmul(golden *g)
{
    cla_tensor *a = NULL, *b = NULL, *y = NULL;
    bool transpose_a = false, transpose_b = false;
    CLA_TRY(golden_bool(g, "transpose_a", &transpose_a));
    CLA_TRY(golden_bool(g, "transpose_b", &transpose_b));
    CLA_TRY(golden_tensor(g, "a", &a));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(cla_matmul(golden_tape(g), &y, a, b, transpose_a, transpose_b));
    return golden_output(g, "y", y);
}

/* ---- optimisers ----------------------------------------------------------------- */

/* Gives row `step` of gradients as a vector. */
static cla_status gradient_of(golden *g, cla_tensor **row, cla_tensor *gradients,
                              int32_t step)
{
    const int64_t one = 1, n = cla_tensor_dim(gradients, 1);
    cla_tape *tape = golden_tape(g);
    cla_tensor *which = NULL, *wide = NULL;
    CLA_TRY(cla_tape_tensor(tape, &which, CLA_I32, 1, &one));
    CLA_TRY(cla_tensor_upload(which, &step));
    CLA_TRY(cla_embedding(tape, &wide, gradients, which, 1));
    return cla_tensor_reshape(tape, row, wide, 1, &n);
}

/* Makes running means that start at 0, one for each number of p. */
static cla_status moment(golden *g, cla_tensor **t, const cla_tensor *p)
{
    const int64_t n = cla_tensor_size(p);
    CLA_TRY(cla_tape_tensor(golden_tape(g), t, CLA_F32, 1, &n));
    return cla_tensor_fill(*t, 0);
}

static cla_status rates_of(golden *g, const cla_optimiser *o, cla_optimiser_rates *r)
{
    CLA_TRY(golden_double(g, "lr", &r->lr));
    if (o->usual.epsilon > 0) {
        CLA_TRY(golden_double(g, "eps", &r->epsilon));
    }
    if (o->usual.weight_decay > 0) {
        CLA_TRY(golden_double(g, "weight_decay", &r->weight_decay));
    }
    for (int i = 0; i < CLA_OPTIMISER_DECAYS && o->decay[i]; i++) {
        CLA_TRY(golden_double(g, o->decay[i], &r->decay[i]));
    }
    return CLA_OK;
}

cla_status golden_optimiser(golden *g, const cla_optimiser *o)
{
    cla_tensor *p = NULL, *gradients = NULL, *row = NULL;
    cla_tensor *moments[CLA_OPTIMISER_MOMENTS] = { NULL };
    cla_optimiser_rates rates = { 0 };
    CLA_TRY(rates_of(g, o, &rates));
    CLA_TRY(golden_tensor(g, "p", &p));
    CLA_TRY(golden_tensor(g, "g", &gradients));
    for (int i = 0; i < cla_optimiser_moments(o); i++) {
        CLA_TRY(moment(g, &moments[i], p));
    }
    for (int32_t step = 0; step < cla_tensor_dim(gradients, 0); step++) {
        CLA_TRY(gradient_of(g, &row, gradients, step));
        CLA_TRY(cla_optimiser_step(golden_runtime(g), o, p, moments, row, step + 1,
                                   &rates));
    }
    return golden_output(g, "p", p);
}
