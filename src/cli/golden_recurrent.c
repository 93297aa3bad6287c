/* golden_recurrent.c - golden cases of recurrent cells. */
#include "cli/golden.h"

cla_status golden_lstm(golden *g)
{
    cla_tensor *x = NULL, *w = NULL, *b = NULL, *y = NULL, *h = NULL, *c = NULL;
    cla_ragged *rows = NULL;
    cla_recurrent_options options = { .h = &h, .c = &c };
    CLA_TRY(golden_bool(g, "reverse", &options.reverse));
    CLA_TRY(golden_tensor(g, "x", &x));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(golden_tensor(g, "w", &w));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(cla_lstm(golden_tape(g), &y, x, w, b, rows, &options));
    CLA_TRY(golden_output(g, "y", y));
    CLA_TRY(golden_output(g, "h", h));
    return golden_output(g, "c", c);
}

cla_status golden_gru(golden *g)
{
    cla_tensor *x = NULL, *y = NULL, *h = NULL;
    cla_gru_weights w = { NULL };
    cla_ragged *rows = NULL;
    cla_recurrent_options options = { .h = &h };
    CLA_TRY(golden_bool(g, "reverse", &options.reverse));
    CLA_TRY(golden_tensor(g, "x", &x));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(golden_tensor(g, "w_g", &w.w_g));
    CLA_TRY(golden_tensor(g, "b_g", &w.b_g));
    CLA_TRY(golden_tensor(g, "w_c", &w.w_c));
    CLA_TRY(golden_tensor(g, "b_c", &w.b_c));
    CLA_TRY(cla_gru(golden_tape(g), &y, x, &w, rows, &options));
    CLA_TRY(golden_output(g, "y", y));
    return golden_output(g, "h", h);
}
