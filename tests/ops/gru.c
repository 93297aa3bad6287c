/* gru.c - device against oracle: values, gradients, known answers, refusals. */
#include <math.h>
#include <stdlib.h>

#include "oracle/oracle.h"
#include "support/bands.h"
#include "support/cells.h"

enum { X, W_G, B_G, W_C, B_C, H0, MIX, INPUTS };

/* alone: y; else mix y + h, so that both results have gradients at once. */
static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const cell_case *m = context;
    cla_tensor *h = NULL, *mixed = NULL;
    cla_recurrent_options options = { .reverse = m->reverse,
                                      .h0 = m->first ? x[H0] : NULL,
                                      .h = m->alone ? NULL : &h };
    const cla_gru_weights weights = { x[W_G], m->alone ? NULL : x[B_G], x[W_C],
                                      m->alone ? NULL : x[B_C] };
    if (m->alone) {
        return cla_gru(tape, y, x[X], &weights, m->rows, &options);
    }
    cla_status status = cla_gru(tape, y, x[X], &weights, m->rows, &options);
    status = status ? status : cla_matmul(tape, &mixed, x[MIX], *y, false, false);
    return status ? status : cla_add(tape, y, mixed, h);
}

static void oracle(double *y, double *const *x, void *context)
{
    const cell_case *m = context;
    const int N = m->offsets[m->sequences], states = m->sequences * m->n;
    double *all = calloc((size_t)(N * m->n + states + 1), sizeof *all);
    double *h = all + (int64_t)N * m->n;
    const oracle_cell s = { .B = m->sequences,
                            .in = m->in,
                            .n = m->n,
                            .offsets = m->offsets,
                            .reverse = m->reverse,
                            .w = x[W_G],
                            .b = m->alone ? NULL : x[B_G],
                            .w_c = x[W_C],
                            .b_c = m->alone ? NULL : x[B_C] };
    cr_assert_not_null(all);
    oracle_gru(all, h, x[X], m->first ? x[H0] : NULL, &s);
    cell_result(y, m, all, x[MIX], h);
    free(all);
}

/* Sums of up to 180 products whose size is 1, and tanh with a relative error of 4e-7;
 * states are at most 1, the mix of some rows a few. */
static const double BAR = 5e-6;

static void check(cla_runtime *rt, const cell_case *m)
{
    const int N = (int)cla_ragged_tokens(m->rows), states = m->sequences, n = m->n;
    const float scale = 1 / sqrtf((float)(m->in + n));
    op_case op = {
        .in = { { "x", 2, { N, m->in } },
                { "w_g", 2, { m->in + n, 2 * n }, .scale = scale },
                { "b_g", 1, { 2 * n }, .constant = m->alone },
                { "w_c", 2, { m->in + n, n }, .scale = scale },
                { "b_c", 1, { n }, .constant = m->alone },
                { "h0", 2, { states, n }, .constant = !m->first },
                { "mix", 2, { states, N }, .scale = 0.5f, .constant = true } },
        .inputs = INPUTS,
        .device = device,
        .oracle = oracle,
        .context = (void *)m,
        .bar = BAR,
    };
    check_cell(rt, &op, m, "gru", N * (m->in + n) * n, 30000);
}

Test(gru, matches_oracle_and_gradient)
{
    each_cell_case(check);
}

/* 7.15b: one token of width 2, printed to six digits. */
Test(gru, known_answer)
{
    static const int one[] = { 1 };
    const int64_t state[] = { 1, 2 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 1, one, NULL);
    cla_tensor *x = NULL, *h0 = NULL;
    cla_gru_weights w = { NULL };
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&h0, rt, CLA_F32, 2, state));
    TEST_OK(cla_tensor_new(&w.w_g, rt, CLA_F32, 2, (int64_t[]){ 4, 4 }));
    TEST_OK(cla_tensor_new(&w.b_g, rt, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_OK(cla_tensor_new(&w.w_c, rt, CLA_F32, 2, (int64_t[]){ 4, 2 }));
    fill_sines(x, 3);
    fill_sines(h0, 4);
    fill_sines(w.w_g, 1);
    fill_sines(w.w_c, 2);
    TEST_OK(cla_tensor_fill(w.b_g, 1));
    EACH_SCHEDULE(rt)
    {
        cla_tape *tape = NULL;
        cla_tensor *y = NULL, *h = NULL;
        float got[4];
        const cla_recurrent_options options = { .h0 = h0, .h = &h };
        TEST_OK(cla_tape_new(&tape, rt, false));
        TEST_OK(cla_gru(tape, &y, x, &w, rows, &options));
        TEST_OK(cla_tensor_download(y, got));
        TEST_OK(cla_tensor_download(h, got + 2));
        check_close("7.15b", got, (double[]){ 0.890013, 0.623809, 0.890013, 0.623809 },
                    4, 1e-6);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&x);
    cla_tensor_free(&h0);
    cla_tensor_free(&w.w_g);
    cla_tensor_free(&w.b_g);
    cla_tensor_free(&w.w_c);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}

Test(gru, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *x = NULL, *w_g = NULL, *w_c = NULL, *b = NULL, *state = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 5, 3 }));
    TEST_OK(cla_tensor_new(&w_g, rt, CLA_F32, 2, (int64_t[]){ 5, 4 }));
    TEST_OK(cla_tensor_new(&w_c, rt, CLA_F32, 2, (int64_t[]){ 5, 2 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_new(&state, rt, CLA_F32, 2, (int64_t[]){ 2, 2 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    const cla_gru_weights w = { w_g, NULL, w_c, NULL };
    TEST_FAILS(cla_gru(tape, &y, x, &w, NULL, NULL), CLA_E_USAGE, "rows is NULL");
    TEST_FAILS(cla_gru(tape, &y, state, &w, rows, NULL), CLA_E_SHAPE,
               "x is [2,2], must be [5,*]");
    TEST_FAILS(
        cla_gru(tape, &y, x, &(cla_gru_weights){ w_c, NULL, w_c, NULL }, rows, NULL),
        CLA_E_SHAPE, "w_g is [5,2], must be [5,4]");
    TEST_FAILS(cla_gru(tape, &y, w_g, &w, rows, NULL), CLA_E_SHAPE,
               "w_g is [5,4], must be [6,4]");
    TEST_FAILS(
        cla_gru(tape, &y, x, &(cla_gru_weights){ w_g, b, w_c, NULL }, rows, NULL),
        CLA_E_SHAPE, "b_g is [3], must be [4]");
    TEST_FAILS(
        cla_gru(tape, &y, x, &(cla_gru_weights){ w_g, NULL, w_c, b }, rows, NULL),
        CLA_E_SHAPE, "b_c is [3], must be [2]");
    TEST_FAILS(cla_gru(tape, &y, x, &w, rows, &(cla_recurrent_options){ .h0 = x }),
               CLA_E_SHAPE, "h0 is [5,3], must be [2,2]");
    TEST_FAILS(cla_gru(tape, &y, x, &w, rows, &(cla_recurrent_options){ .c0 = state }),
               CLA_E_USAGE, "no cell");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&state);
    cla_tensor_free(&b);
    cla_tensor_free(&w_c);
    cla_tensor_free(&w_g);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
