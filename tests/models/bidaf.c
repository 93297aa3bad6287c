/* bidaf.c - properties of bidirectional attention flow with any weights. */
#include "models/bidaf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/reader.h"

/* ---- match of passage and question ----------------------------------------------- */

/* Computes out [P,4d], the match of one passage and one question of width d. */
static void match(cla_runtime *rt, float *out, const float *passage, int P,
                  const float *question, int Q, int d, int depth)
{
    cla_tape *tape = NULL;
    bidaf_levels levels = { .found = NULL };
    cla_tensor *h = NULL, *u = NULL, *got = NULL;
    cla_ragged *rows = test_ragged(rt, 1, &P, NULL);
    cla_ragged *memory = test_ragged(rt, 1, &Q, NULL);
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &h, CLA_F32, 2, (int64_t[]){ P, d }));
    TEST_OK(cla_tape_tensor(tape, &u, CLA_F32, 2, (int64_t[]){ Q, d }));
    TEST_OK(cla_tape_tensor(tape, &levels.found, CLA_F32, 1, (int64_t[]){ depth }));
    TEST_OK(cla_tensor_upload(h, passage));
    TEST_OK(cla_tensor_upload(u, question));
    TEST_OK(cla_tensor_fill(levels.found, 0));
    TEST_OK(cla_bidaf_match(tape, &got, h, u, &levels, rows, memory));
    TEST_OK(cla_tensor_download(got, out));
    cla_tape_free(&tape);
    cla_ragged_free(&memory);
    cla_ragged_free(&rows);
}

/* Fills x with sin(0.9 k + 0.37 s) for k = 0, 1, ... */
static void waves(float *x, int n, int s)
{
    for (int k = 0; k < n; k++) {
        x[k] = (float)sin(0.9 * k + 0.37 * s);
    }
}

/* Known results of an independent computation in double precision, to six digits. */
Test(bidaf, match_has_the_known_numbers)
{
    enum { P = 4, Q = 2, D = 3 };
    static const double found[] = { 0.642203, 0.933685, 0.518573 };
    static const double about[] = { 0.192449, 0.186360, 0.039237 };
    static const double twice[] = { 0.638627, 0.926560, 0.513292 };
    float h[P * D], u[Q * D], out[P * 4 * D], g[D], sum = 0;
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    waves(h, P * D, 1);
    waves(u, Q * D, 2);
    match(rt, out, h, P, u, Q, D, 1);
    check_close("found", out + D, found, D, 2e-6);
    for (int c = 0; c < D; c++) {
        cr_assert_float_eq(out[c], h[c], 0);
        cr_assert_float_eq(out[2 * D + c], h[c] * out[D + c], 1e-7F);
        g[c] = out[3 * D + c] / h[c];
    }
    check_close("about", g, about, D, 2e-6);
    for (int i = 0; i < P * 4 * D; i++) {
        sum += out[i];
    }
    cr_assert_float_eq(sum, 6.905994F, 5e-6F, "%g", (double)sum);
    match(rt, out, h, P, u, Q, D, 2);
    check_close("two levels", out + D, twice, D, 2e-6);
    cla_runtime_free(&rt);
}

/* The order of the question's words does not matter; with one word, attention gives
 * that word. */
Test(bidaf, match_ignores_question_order)
{
    enum { P = 5, Q = 4, D = 8, OUT = 4 * P * D };
    float *h = test_random(P * D, 1, 1), *u = test_random(Q * D, 1, 2), turned[Q * D];
    float a[OUT], b[OUT];
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int j = 0; j < Q; j++) {
        memcpy(turned + j * D, u + (Q - 1 - j) * D, D * sizeof *u);
    }
    match(rt, a, h, P, u, Q, D, 2);
    match(rt, b, h, P, turned, Q, D, 2);
    for (int i = 0; i < OUT; i++) {
        cr_assert_float_eq(a[i], b[i], 1e-5F);
    }
    match(rt, a, h, P, u, 1, D, 2);
    for (int i = 0; i < P; i++) {
        for (int c = 0; c < D; c++) {
            cr_assert_float_eq(a[(4 * i + 1) * D + c], u[c], 1e-6F);
        }
    }
    free(u);
    free(h);
    cla_runtime_free(&rt);
}

/* One more column, of ones in the passage and of threes in the question, adds three to
 * all products: the other columns do not change. */
Test(bidaf, match_ignores_a_constant_added_to_scores)
{
    enum { P = 5, Q = 4, D = 8, MORE = D + 1 };
    float *h = test_random(P * D, 1, 1), *u = test_random(Q * D, 1, 2);
    float h2[P * MORE], u2[Q * MORE], a[4 * P * D], b[4 * P * MORE];
    cla_runtime *rt = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    for (int i = 0; i < P; i++) {
        memcpy(h2 + i * MORE, h + i * D, D * sizeof *h);
        h2[i * MORE + D] = 1;
    }
    for (int j = 0; j < Q; j++) {
        memcpy(u2 + j * MORE, u + j * D, D * sizeof *u);
        u2[j * MORE + D] = 3;
    }
    match(rt, a, h, P, u, Q, D, 1);
    match(rt, b, h2, P, u2, Q, MORE, 1);
    for (int i = 0; i < 4 * P; i++) {
        for (int c = 0; c < D; c++) {
            cr_assert_float_eq(a[i * D + c], b[i * MORE + c], 1e-5F);
        }
    }
    free(u);
    free(h);
    cla_runtime_free(&rt);
}

/* ---- pointing -------------------------------------------------------------------- */

/* Sums of at most eleven numbers. */
Test(bidaf, pointers_are_distributions)
{
    float at[2][SCENE_PASSAGES];
    scene f;
    scene_open(&f, "bidaf", (reader_config){ .depth = 1 });
    scene_scores(&f, at);
    for (int k = 0; k < 2; k++) {
        for (int b = 0, p = 0; b < SCENE_B; p += scene_passages[b++]) {
            float sum = 0;
            for (int i = 0; i < scene_passages[b]; i++) {
                cr_assert_geq(at[k][p + i], 0);
                sum += at[k][p + i];
            }
            cr_assert_float_eq(sum, 1, 2e-6F);
        }
    }
    cr_assert_float_neq(at[0][0], at[0][1], 1e-7F, "all words are the same to it");
    scene_close(&f);
}

/* Exchanges the parameters of the two pointers. */
static void exchange(scene *f)
{
    int exchanged = 0;
    for (size_t i = 0; i < f->params.count; i++) {
        const cla_param *p = &f->params.list[i];
        char name[sizeof p->name];
        if (strncmp(p->name, "bidaf.fw.", 9) != 0) {
            continue;
        }
        memcpy(name, p->name, sizeof name);
        name[6] = 'b';
        const cla_param *q = cla_params_find(&f->params, name);
        const size_t n = (size_t)cla_tensor_size(p->tensor);
        float *x = calloc(2 * n, sizeof *x);
        TEST_OK(cla_tensor_download(p->tensor, x));
        TEST_OK(cla_tensor_download(q->tensor, x + n));
        TEST_OK(cla_tensor_upload(p->tensor, x + n));
        TEST_OK(cla_tensor_upload(q->tensor, x));
        free(x);
        exchanged++;
    }
    cr_assert_eq(exchanged, 6);
    cla_params_changed(&f->params);
}

Test(bidaf, swapped_pointers_swap_first_and_last)
{
    float a[2][SCENE_PASSAGES], b[2][SCENE_PASSAGES];
    scene f;
    scene_open(&f, "bidaf", (reader_config){ .depth = 1 });
    scene_scores(&f, a);
    exchange(&f);
    scene_scores(&f, b);
    float apart = 0;
    for (int i = 0; i < SCENE_PASSAGES; i++) {
        cr_assert_float_eq(a[0][i], b[1][i], 1e-7F);
        cr_assert_float_eq(a[1][i], b[0][i], 1e-7F);
        apart = fmaxf(apart, fabsf(a[0][i] - a[1][i]));
    }
    cr_assert_gt(apart, 1e-5F, "first and last are the same");
    scene_close(&f);
}

/* ---- batches --------------------------------------------------------------------- */

Test(bidaf, independent_of_batch)
{
    scene f;
    scene_open(&f, "bidaf", (reader_config){ .depth = 2 });
    scene_company(&f);
    scene_close(&f);
}
