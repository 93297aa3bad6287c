/* bidaf_original.c - bidirectional attention flow as published. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/bidaf.h"
#include "support/reader.h"

static void open_original(scene *f, int depth)
{
    scene_open(f, "bidaf",
               (reader_config){ .form = 1, .depth = depth, .ham_q2c = true });
}

/* The check finds one wrong gradient, a small part of the whole network's. */
Test(bidaf_original, one_wrong_gradient_is_found)
{
    scene f;
    open_original(&f, 2);
    const char *wrong = scene_wrong_gradient(&f, "bidaf.similarity.both");
    cr_assert_str_eq(wrong ? wrong : "none", "bidaf.similarity.both");
    scene_close(&f);
}

Test(bidaf_original, gradients_match_finite_differences)
{
    scene f;
    open_original(&f, 2);
    scene_check_gradient(&f);
    scene_close(&f);
}

Test(bidaf_original, one_level_is_the_network_without_levels)
{
    scene f, g;
    open_original(&f, 0);
    open_original(&g, 1);
    cr_assert_eq(f.params.count + 2, g.params.count);
    const float a = scene_loss(&f), b = scene_loss(&g);
    cr_assert(memcmp(&a, &b, sizeof a) == 0, "%.9g and %.9g", (double)a, (double)b);
    cr_assert_eq(scene_same_gradients(&f, &g), 30);
    scene_close(&f);
    scene_close(&g);
}

/* The published form has parameters of its own, and its scores are independent of the
 * batch. */
Test(bidaf_original, independent_of_batch)
{
    float all[2][SCENE_PASSAGES], one[2][SCENE_PASSAGES];
    scene f;
    open_original(&f, 2);
    cr_assert_null(cla_params_find(&f.params, "bidaf.pool.vector"));
    cr_assert_not_null(cla_params_find(&f.params, "bidaf.highway2.gate.w"));
    const reader_batch whole = f.batch;
    scene_scores(&f, all);
    for (int b = 0, q = 0, p = 0; b < SCENE_B;
         q += scene_questions[b], p += scene_passages[b++]) {
        cla_ragged *question = test_ragged(f.rt, 1, &scene_questions[b], NULL);
        cla_ragged *passage = test_ragged(f.rt, 1, &scene_passages[b], NULL);
        f.batch = (reader_batch){ .question_rows = question,
                                  .passage_rows = passage,
                                  .question = whole.question + q,
                                  .passage = whole.passage + p };
        scene_scores(&f, one);
        for (int i = 0; i < scene_passages[b]; i++) {
            cr_assert_float_eq(one[0][i], all[0][p + i], 1e-5F);
            cr_assert_float_eq(one[1][i], all[1][p + i], 1e-5F);
        }
        cla_tape_reset(f.tape);
        cla_ragged_free(&question);
        cla_ragged_free(&passage);
    }
    scene_close(&f);
}

/* ---- the definition of the match ------------------------------------------------- */

enum { P = 5, Q = 3, D = 4, DEPTH = 2 };

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int c = 0; c < D; c++) {
        sum += a[c] * b[c];
    }
    return sum;
}

/* Computes out, the rows of x [n,D] weighted by the softmax of their scores. */
static void pool(double *out, const double *score, double (*x)[D], int n)
{
    double sum = 0, weighed[D] = { 0 };
    for (int i = 0; i < n; i++) {
        sum += exp(score[i]);
        for (int c = 0; c < D; c++) {
            weighed[c] += exp(score[i]) * x[i][c];
        }
    }
    for (int c = 0; c < D; c++) {
        out[c] = weighed[c] / sum;
    }
}

/* Returns the score <own, h> + <other, u> + <both, h * u>. w: own, other, both. */
static double score_of(double (*w)[D], const double *h, const double *u)
{
    double product[D];
    for (int c = 0; c < D; c++) {
        product[c] = h[c] * u[c];
    }
    return dot(w[0], h) + dot(w[1], u) + dot(w[2], product);
}

/* Computes the match with levels of equal weight from passage to question, and one
 * level from question to passage. */
static void match(double (*out)[4 * D], double (*w)[D], double (*h)[D], double (*u)[D])
{
    double best[P], about[D], found[P][D] = { { 0 } };
    for (int i = 0; i < P; i++) {
        double asks[D], score[Q];
        memcpy(asks, h[i], sizeof asks);
        best[i] = -INFINITY;
        for (int level = 0; level < DEPTH; level++) {
            for (int j = 0; j < Q; j++) {
                score[j] = score_of(w, asks, u[j]);
                best[i] = level ? best[i] : fmax(best[i], score[j]);
            }
            pool(asks, score, u, Q);
            for (int c = 0; c < D; c++) {
                found[i][c] += asks[c] / DEPTH;
            }
        }
    }
    pool(about, best, h, P);
    for (int i = 0; i < P; i++) {
        for (int c = 0; c < D; c++) {
            out[i][c] = h[i][c];
            out[i][D + c] = found[i][c];
            out[i][2 * D + c] = h[i][c] * found[i][c];
            out[i][3 * D + c] = h[i][c] * about[c];
        }
    }
}

/* Makes n random rows, on the device and in double precision. */
static cla_tensor *rows_of(cla_tape *tape, double (*copy)[D], int64_t n, uint32_t what,
                           bool upright)
{
    float *x = test_random(n * D, 1, what);
    const int64_t shape[2] = { upright ? D : n, upright ? n : D };
    cla_tensor *t = NULL;
    TEST_OK(cla_tape_tensor(tape, &t, CLA_F32, 2, shape));
    TEST_OK(cla_tensor_upload(t, x));
    for (int64_t i = 0; i < n * D; i++) {
        copy[i / D][i % D] = (double)x[i];
    }
    free(x);
    return t;
}

/* Computes y [rows,D], the sums of x [columns,D] weighted by a site's logged maps. */
static void taken(const look_site *s, double (*x)[D], double (*y)[D])
{
    for (int i = 0; i < s->map[0].rows; i++) {
        memset(y[i], 0, sizeof *y);
        for (int level = 0; level < s->levels; level++) {
            for (int j = 0; j < s->columns; j++) {
                const float w = s->map[level].weight[i * s->columns + j];
                for (int c = 0; c < D; c++) {
                    y[i][c] += (double)(s->share[level] * w) * x[j][c];
                }
            }
        }
    }
}

/* Checks that the logged attention gives the match. */
static void check_seen(const look_log *seen, double (*match)[4 * D], double (*h)[D],
                       double (*u)[D])
{
    double found[P][D], about[1][D];
    cr_assert_eq(seen->sites, 2);
    cr_assert_str_eq(seen->site[0]->name, LOOK_C2Q);
    cr_assert_str_eq(seen->site[1]->name, LOOK_Q2C);
    cr_assert(seen->site[0]->levels == DEPTH && seen->site[1]->levels == 1);
    cr_assert(seen->site[0]->map[0].rows == P && seen->site[1]->map[0].rows == 1);
    taken(seen->site[0], u, found);
    taken(seen->site[1], h, about);
    for (int i = 0; i < P; i++) {
        for (int c = 0; c < D; c++) {
            const double all[] = { match[i][D + c], match[i][3 * D + c] };
            cr_assert_float_eq(found[i][c], all[0], 1e-5);
            cr_assert_float_eq(h[i][c] * about[0][c], all[1], 1e-5);
        }
    }
}

/* Sums of a few products of numbers near 1, and their exponentials: 1e-5. */
Test(bidaf_original, match_equals_the_definition)
{
    const int passage = P, question = Q;
    double h[P][D], u[Q][D], w[3][D], want[P][4 * D];
    float got[P * 4 * D];
    cla_runtime *rt = NULL;
    cla_tape *tape = NULL;
    look_log seen = { .sites = 0 };
    bidaf_levels levels = { .seen = &seen };
    cla_tensor *out = NULL;
    TEST_OK(cla_runtime_new(&rt, NULL));
    TEST_OK(cla_tape_new(&tape, rt, false));
    cla_ragged *rows = test_ragged(rt, 1, &passage, NULL);
    cla_ragged *memory = test_ragged(rt, 1, &question, NULL);
    cla_tensor *x = rows_of(tape, h, P, 1, false), *y = rows_of(tape, u, Q, 2, false);
    const bidaf_similarity similarity = { rows_of(tape, w, 1, 3, true),
                                          rows_of(tape, w + 1, 1, 4, false),
                                          rows_of(tape, w + 2, 1, 5, false) };
    TEST_OK(cla_tape_tensor(tape, &levels.found, CLA_F32, 1, (int64_t[]){ DEPTH }));
    TEST_OK(cla_tensor_fill(levels.found, -0.3F));
    TEST_OK(cla_tape_tensor(tape, &levels.about, CLA_F32, 1, (int64_t[]){ 1 }));
    TEST_OK(cla_tensor_fill(levels.about, 0));
    TEST_OK(cla_bidaf_match_by(&similarity, tape, &out, x, y, &levels, rows, memory));
    TEST_OK(cla_tensor_download(out, got));
    match(want, w, h, u);
    check_close("match", got, want[0], P * 4 * D, 1e-5);
    check_seen(&seen, want, h, u);
    cla_look_free(&seen);
    cla_tape_free(&tape);
    cla_ragged_free(&memory);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
