/* golden_ham.c - golden cases of hierarchical attention. */
#include "cli/golden.h"

cla_status golden_ham_v(golden *g)
{
    cla_tensor *q = NULL, *k = NULL, *c = NULL, *o = NULL;
    cla_ragged *q_rows = NULL, *k_rows = NULL;
    CLA_TRY(golden_tensor(g, "q", &q));
    CLA_TRY(golden_tensor(g, "k", &k));
    CLA_TRY(golden_tensor(g, "c", &c));
    CLA_TRY(golden_rows(g, "q_offsets", &q_rows));
    CLA_TRY(golden_rows(g, "k_offsets", &k_rows));
    CLA_TRY(cla_ham_v(golden_tape(g), &o, q, k, c, q_rows, k_rows, NULL));
    return golden_output(g, "o", o);
}

cla_status golden_ham_s(golden *g)
{
    cla_tensor *x = NULL, *c = NULL, *o = NULL;
    cla_ragged *rows = NULL;
    CLA_TRY(golden_tensor(g, "x", &x));
    CLA_TRY(golden_tensor(g, "c", &c));
    CLA_TRY(golden_rows(g, "offsets", &rows));
    CLA_TRY(cla_ham_s(golden_tape(g), &o, x, c, rows, NULL));
    return golden_output(g, "o", o);
}
