/* cells.c - what the tests of recurrent cells share. */
#include "support/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"

void each_cell_case(void (*check)(cla_runtime *rt, const cell_case *c))
{
    cell_case cases[] = {
        { { 1 }, 1, .in = 1, .n = 1 },
        { { 3, 0, 1, 4 }, 4, .in = 3, .n = 5, .first = true },
        { { 2, 1, 0 }, 3, .in = 2, .n = 9, .reverse = true },
        { { 5, 13, 0, 2 }, 4, .in = 8, .n = 16, .reverse = true, .first = true },
        { { 9, 1, 4, 4, 7, 0, 2, 3, 9 }, 9, .in = 7, .n = 33, .first = true },
        { { 2, 2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2,
            2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 3, 2, 2 },
          CELL_SEQUENCES,
          .in = 4,
          .n = 20 },
        { { 4, 3 }, 2, .in = 30, .n = 150, .alone = true },
        { { 1, 1, 1, 1, 1, 1 }, 6, .in = 12, .n = 64, .first = true },
        { { 0, 0 }, 2, .in = 4, .n = 4, .first = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cell_case *c = &cases[i];
        if (!test_tiny() || i == 1) {
            c->rows = test_ragged(rt, c->sequences, c->lengths, &c->offsets);
            check(rt, c);
            cla_ragged_free(&c->rows);
            free(c->offsets);
        }
    }
    cla_runtime_free(&rt);
}

void cell_result(double *y, const cell_case *c, const double *all, const double *mix,
                 const double *states)
{
    const int N = c->offsets[c->sequences];
    if (c->alone) {
        memcpy(y, all, (size_t)(N * c->n) * sizeof *y);
        return;
    }
    oracle_matmul(y, mix, all, c->sequences, c->n, N, false, false);
    for (int i = 0; i < c->sequences * c->n; i++) {
        y[i] += states[i];
    }
}

void check_cell(cla_runtime *rt, op_case *op, const cell_case *c, const char *name,
                int products, int small)
{
    const int N = c->offsets[c->sequences];
    op->rank = 2;
    op->shape[0] = c->alone ? N : c->sequences;
    op->shape[1] = c->n;
    snprintf(op->name, sizeof op->name, "%s B%d N%d in%d n%d%s%s", name, c->sequences,
             N, c->in, c->n, c->reverse ? " reverse" : "", c->first ? " first" : "");
    if (!(test_small() && products > small)) {
        check_op(rt, op);
    }
}

void fill_sines(cla_tensor *t, double s)
{
    float x[32];
    const int64_t size = cla_tensor_size(t);
    cr_assert_leq(size, (int64_t)(sizeof x / sizeof *x));
    for (int64_t k = 0; k < size; k++) {
        x[k] = (float)sin(0.9 * (double)k + 0.37 * s);
    }
    TEST_OK(cla_tensor_upload(t, x));
}
