/* sru.c - device against oracle: values, gradients, a gate that is open, refusals. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"
#include "support/bands.h"
#include "support/cells.h"

enum { X, W, W_G, B_G, C0, MIX, INPUTS };

/* alone: y; else mix y + c, so that both results have gradients at once. */
static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const cell_case *m = context;
    cla_tensor *c = NULL, *mixed = NULL;
    const cla_recurrent_options options = { .reverse = m->reverse,
                                            .c0 = m->first ? x[C0] : NULL,
                                            .c = m->alone ? NULL : &c };
    const cla_sru_weights weights = { x[W], x[W_G], m->alone ? NULL : x[B_G] };
    if (m->alone) {
        return cla_sru(tape, y, x[X], &weights, m->rows, &options);
    }
    cla_status status = cla_sru(tape, y, x[X], &weights, m->rows, &options);
    status = status ? status : cla_matmul(tape, &mixed, x[MIX], *y, false, false);
    return status ? status : cla_add(tape, y, mixed, c);
}

static void oracle(double *y, double *const *x, void *context)
{
    const cell_case *m = context;
    const int N = m->offsets[m->sequences], states = m->sequences * m->n;
    double *all = calloc((size_t)(N * m->n + states + 1), sizeof *all);
    double *c = all + (int64_t)N * m->n;
    const oracle_cell s = { .B = m->sequences,
                            .in = m->in,
                            .n = m->n,
                            .offsets = m->offsets,
                            .reverse = m->reverse,
                            .w = x[W],
                            .w_c = x[W_G],
                            .b_c = m->alone ? NULL : x[B_G] };
    cr_assert_not_null(all);
    oracle_sru(all, c, x[X], m->first ? x[C0] : NULL, &s);
    cell_result(y, m, all, x[MIX], c);
    free(all);
}

/* Sums of up to 180 products whose size is 1, and tanh with a relative error of 4e-7;
 * cells are at most 1, the mix of some rows a few. */
static const double BAR = 5e-6;

static void check(cla_runtime *rt, const cell_case *m)
{
    const int N = (int)cla_ragged_tokens(m->rows), states = m->sequences, n = m->n;
    const float scale = 1 / sqrtf((float)m->in);
    op_case op = {
        .in = { { "x", 2, { N, m->in } },
                { "w", 2, { m->in, n }, .scale = scale },
                { "w_g", 2, { m->in, 2 * n }, .scale = scale },
                { "b_g", 1, { 2 * n }, .constant = m->alone },
                { "c0", 2, { states, n }, .constant = !m->first },
                { "mix", 2, { states, N }, .scale = 0.5f, .constant = true } },
        .inputs = INPUTS,
        .device = device,
        .oracle = oracle,
        .context = (void *)m,
        .bar = BAR,
    };
    check_cell(rt, &op, m, "sru", N * m->in * n, 5000);
}

Test(sru, matches_oracle_and_gradient)
{
    each_cell_case(check);
}

/* With the reset gate wide open the output is the cell. */
Test(sru, open_reset_gives_the_cell)
{
    static const int lengths[] = { 3, 1, 0 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 3, lengths, NULL);
    cla_tensor *x = NULL;
    cla_sru_weights w = { NULL };
    float *x_host = test_random(8, 1, 1), *w_host = test_random(10, 1, 2);
    const float zeros[20] = { 0 }, b_host[10] = { 0, 0, 0, 0, 0, 50, 50, 50, 50, 50 };
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    TEST_OK(cla_tensor_new(&w.w, rt, CLA_F32, 2, (int64_t[]){ 2, 5 }));
    TEST_OK(cla_tensor_new(&w.w_g, rt, CLA_F32, 2, (int64_t[]){ 2, 10 }));
    TEST_OK(cla_tensor_new(&w.b_g, rt, CLA_F32, 1, (int64_t[]){ 10 }));
    TEST_OK(cla_tensor_upload(x, x_host));
    TEST_OK(cla_tensor_upload(w.w, w_host));
    TEST_OK(cla_tensor_upload(w.w_g, zeros));
    TEST_OK(cla_tensor_upload(w.b_g, b_host));
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = NULL;
        cla_tensor *y = NULL, *c = NULL;
        float got[20], cell[15];
        double want[10];
        TEST_OK(cla_tape_new(&tape, rt, false));
        TEST_OK(cla_sru(tape, &y, x, &w, rows, &(cla_recurrent_options){ .c = &c }));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(c, cell));
        for (int j = 0; j < 10; j++) {
            want[j] = (double)cell[j];
        }
        check_close("last outputs", got + 10, want, 10, 1e-6); // r is 1 - 2e-22
        for (int j = 10; j < 15; j++) {
            cr_assert(cell[j] == 0);
        }
        cla_tape_free(&tape);
    }
    free(x_host);
    free(w_host);
    cla_tensor_free(&x);
    cla_tensor_free(&w.w);
    cla_tensor_free(&w.w_g);
    cla_tensor_free(&w.b_g);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}

Test(sru, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *w = NULL, *w_g = NULL, *state = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 3, 2 }));
    TEST_OK(cla_tensor_new(&w_g, rt, CLA_F32, 2, (int64_t[]){ 3, 4 }));
    TEST_OK(cla_tensor_new(&state, rt, CLA_F32, 2, (int64_t[]){ 2, 2 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    const cla_sru_weights weights = { w, w_g, NULL };
    TEST_FAILS(cla_sru(tape, &y, x, &weights, NULL, NULL), CLA_E_USAGE, "rows is NULL");
    TEST_FAILS(cla_sru(tape, &y, w, &weights, rows, NULL), CLA_E_SHAPE,
               "x is [3,2], must be [5,*]");
    TEST_FAILS(cla_sru(tape, &y, x, &(cla_sru_weights){ x, w_g, NULL }, rows, NULL),
               CLA_E_SHAPE, "w is [5,3], must be [3,3]");
    TEST_FAILS(cla_sru(tape, &y, x, &(cla_sru_weights){ w, w, NULL }, rows, NULL),
               CLA_E_SHAPE, "w_g is [3,2], must be [3,4]");
    TEST_FAILS(cla_sru(tape, &y, x, &(cla_sru_weights){ w, w_g, state }, rows, NULL),
               CLA_E_SHAPE, "b_g is [2,2], must be [4]");
    TEST_FAILS(
        cla_sru(tape, &y, x, &weights, rows, &(cla_recurrent_options){ .c0 = x }),
        CLA_E_SHAPE, "c0 is [5,3], must be [2,2]");
    TEST_FAILS(
        cla_sru(tape, &y, x, &weights, rows, &(cla_recurrent_options){ .h0 = state }),
        CLA_E_USAGE, "c0 and c");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&state);
    cla_tensor_free(&w_g);
    cla_tensor_free(&w);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
