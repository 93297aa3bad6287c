/* golden_tables.c - golden cases of attention with learned tables, and with Gaussians
 * around centres. */
#include <math.h>

#include "cli/golden.h"

cla_status golden_conv_attention_1d(golden *g)
{
    static const char *const activations[] = { "none", "relu", "tanh", NULL };
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *w = NULL, *b = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    int activation = CLA_NONE;
    CLA_TRY(golden_choice(g, "activation", activations, &activation));
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "v", &v));
    CLA_TRY(golden_tensor(g, "w", &w));
    CLA_TRY(golden_tensor(g, "b", &b));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(cla_conv_attention_1d(golden_tape(g), &o, q, k, v, w, b, rows,
                                  (cla_activation)activation, NULL));
    return golden_output(g, "o", o);
}

cla_status golden_position_attention(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *absolute = NULL, *relative = NULL;
    cla_tensor *o = NULL;
    cla_ragged *rows = NULL;
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "v", &v));
    CLA_TRY(golden_optional(g, "P", &absolute));
    CLA_TRY(golden_optional(g, "R", &relative));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(cla_position_attention(golden_tape(g), &o, q, k, v, absolute, relative,
                                   rows, NULL));
    return golden_output(g, "o", o);
}

cla_status golden_relative_attention(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *rel_k = NULL, *rel_v = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "v", &v));
    CLA_TRY(golden_tensor(g, "rel_k", &rel_k));
    CLA_TRY(golden_tensor(g, "rel_v", &rel_v));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(cla_relative_attention(golden_tape(g), &o, q, k, v, rel_k, rel_v, rows,
                                   rows, NULL));
    return golden_output(g, "o", o);
}

cla_status golden_gaussian_attention(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *v = NULL, *o = NULL;
    cla_gaussian shape = { .reach = INFINITY };
    cla_ragged *rows = NULL;
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "v", &v));
    CLA_TRY(golden_tensor(g, "center", &shape.center));
    CLA_TRY(golden_tensor(g, "sigma", &shape.sigma));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(cla_gaussian_attention(golden_tape(g), &o, q, k, v, &shape, rows, NULL));
    return golden_output(g, "o", o);
}
