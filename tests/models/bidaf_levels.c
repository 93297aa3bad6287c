/* bidaf_levels.c - properties of levels of bidirectional attention flow, from passage
 * to question and from question to passage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/bidaf.h"
#include "support/reader.h"

enum { SITES = 2 };
static const char *const site[SITES] = { "bidaf.levels", "bidaf.levels_q2c" };

static void open_depth(scene *f, int depth)
{
    scene_open(f, "bidaf", (reader_config){ .depth = depth, .ham_q2c = true });
}

Test(bidaf, one_level_is_the_network_without_levels)
{
    scene f, g;
    open_depth(&f, 0);
    open_depth(&g, 1);
    cr_assert_eq(f.params.count + SITES, g.params.count);
    const float a = scene_loss(&f), b = scene_loss(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(scene_same_gradients(&f, &g), 32);
    for (int k = 0; k < SITES; k++) {
        float sum = 1, most = 1;
        scene_gradient(&g, site[k], &sum, &most);
        cr_assert_eq(most, 0);
    }
    scene_close(&f);
    scene_close(&g);
}

/* Without the key only the attention from passage to question has levels. */
Test(bidaf, q2c_levels_need_their_key)
{
    scene f;
    scene_open(&f, "bidaf", (reader_config){ .depth = 2 });
    cr_assert_not_null(cla_params_find(&f.params, site[0]));
    cr_assert_null(cla_params_find(&f.params, site[1]));
    scene_close(&f);
}

/* Masked levels leave the loss as it is; others change it. */
Test(bidaf, masked_level_has_no_effect)
{
    static const float no_part[] = { 0, -1e30F, -1e30F }, part[] = { 0, 0.5F, -0.5F };
    scene f, g;
    open_depth(&f, 1);
    open_depth(&g, 3);
    const float one = scene_loss(&f);
    for (int k = 0; k < SITES; k++) {
        TEST_OK(
            cla_tensor_upload(cla_params_find(&g.params, site[k])->tensor, no_part));
    }
    const float same = scene_loss(&g);
    cr_assert_float_eq(one, same, 1e-6F);
    for (int k = 0; k < SITES; k++) {
        cla_tensor *levels = cla_params_find(&g.params, site[k])->tensor;
        cla_params_clear_gradients(&g.params);
        cla_tape_reset(g.tape);
        TEST_OK(cla_tensor_upload(levels, part));
        cr_assert_float_neq(scene_loss(&g), same, 1e-7F, "%s", site[k]);
        TEST_OK(cla_tensor_upload(levels, no_part));
    }
    scene_close(&f);
    scene_close(&g);
}

/* A number added to all levels does not change their softmax. */
Test(bidaf, gradients_of_level_weights_sum_to_zero)
{
    static const float uneven[] = { 0.3F, -0.5F, 0.1F, 0.9F, -0.2F };
    scene f;
    open_depth(&f, 5);
    for (int k = 0; k < SITES; k++) {
        TEST_OK(cla_tensor_upload(cla_params_find(&f.params, site[k])->tensor, uneven));
    }
    scene_loss(&f);
    for (int k = 0; k < SITES; k++) {
        float sum = 1, most = 0;
        scene_gradient(&f, site[k], &sum, &most);
        cr_assert_gt(most, 1e-8F, "%s", site[k]);
        cr_assert_lt(fabsf(sum), 1e-4F * most, "%s: %g of %g", site[k], (double)sum,
                     (double)most);
    }
    scene_close(&f);
}

/* ---- the definition -------------------------------------------------------------- */

enum { P = 6, Q = 3, D = 5, DEPTH = 3 };

/* Computes g, the rows of h weighted by the softmax of s. */
static void pool(double *g, const double *s, const float *h)
{
    double sum = 0, most = s[0];
    for (int i = 1; i < P; i++) {
        most = fmax(most, s[i]);
    }
    for (int i = 0; i < P; i++) {
        sum += exp(s[i] - most);
    }
    memset(g, 0, D * sizeof *g);
    for (int i = 0; i < P; i++) {
        for (int c = 0; c < D; c++) {
            g[c] += exp(s[i] - most) / sum * (double)h[i * D + c];
        }
    }
}

/* Computes mean [D], the attention from question u to h in levels of equal weight. */
static void about(double *mean, const float *h, const float *u)
{
    double s[P], g[D];
    for (int i = 0; i < P; i++) {
        s[i] = -INFINITY;
        for (int j = 0; j < Q; j++) {
            double dot = 0;
            for (int c = 0; c < D; c++) {
                dot += (double)h[i * D + c] * (double)u[j * D + c];
            }
            s[i] = fmax(s[i], dot);
        }
    }
    memset(mean, 0, D * sizeof *mean);
    for (int level = 0; level < DEPTH; level++) {
        pool(g, s, h);
        for (int c = 0; c < D; c++) {
            mean[c] += g[c] / DEPTH;
        }
        for (int i = 0; i < P; i++) {
            s[i] = 0;
            for (int c = 0; c < D; c++) {
                s[i] += (double)h[i * D + c] * g[c];
            }
        }
    }
}

static cla_tensor *put(cla_tape *tape, const float *x, int64_t rows, int64_t columns)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tape_tensor(tape, &t, CLA_F32, 2, (int64_t[]){ rows, columns }));
    TEST_OK(cla_tensor_upload(t, x));
    return t;
}

/* Sums of a few products of numbers near 1: 1e-5. */
Test(bidaf, q2c_levels_match_the_definition)
{
    float *h = test_random(P * D, 1, 1), *u = test_random(Q * D, 1, 2), out[4 * P * D];
    float got[P * D];
    double mean[D], want[P * D];
    const int passage = P, question = Q;
    cla_runtime *rt = NULL;
    cla_tape *tape = NULL;
    bidaf_levels levels = { .found = NULL };
    cla_tensor *both = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    TEST_OK(cla_tape_new(&tape, rt, false));
    cla_ragged *rows = test_ragged(rt, 1, &passage, NULL);
    cla_ragged *memory = test_ragged(rt, 1, &question, NULL);
    TEST_OK(cla_tape_tensor(tape, &levels.about, CLA_F32, 1, (int64_t[]){ DEPTH }));
    TEST_OK(cla_tensor_fill(levels.about, 0.7F));
    TEST_OK(cla_bidaf_match(tape, &both, put(tape, h, P, D), put(tape, u, Q, D),
                            &levels, rows, memory));
    TEST_OK(cla_tensor_download(both, out));
    about(mean, h, u);
    for (int i = 0; i < P * D; i++) {
        want[i] = (double)h[i] * mean[i % D];
        got[i] = out[i / D * 4 * D + 3 * D + i % D];
    }
    check_close("about", got, want, P * D, 1e-5);
    free(u);
    free(h);
    cla_tape_free(&tape);
    cla_ragged_free(&memory);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
