/* reinforce.c - device against oracle, known answers, exact expectations, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/hard.h"
#include "metrics/bleu.h"
#include "oracle/oracle.h"
#include "support/bands.h"
#include "support/support.h"

enum { SEQUENCES = 5 };

typedef struct policy_case {
    int B, T[SEQUENCES], S[SEQUENCES];
    cla_baseline baseline;
    float entropy;
    // filled in by make
    int64_t pairs;
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
    oracle_hard_shape shape;
    double *returns, *base; // [Nq]; base is fixed while learned moves
} policy_case;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const policy_case *c = context;
    const cla_reinforce_options options = {
        .entropy = c->entropy,
        .baseline = c->baseline,
        .learned = c->baseline == CLA_BASELINE_LEARNED ? x[3] : NULL
    };
    return cla_reinforce(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &options);
}

/* Computes the loss. Rewards and the baseline of the policy are constants; learned
 * changes the squared error alone. */
static void oracle(double *y, double *const *x, void *context)
{
    const policy_case *c = context;
    const int queries = c->q_offsets[c->B];
    double *advantage = calloc((size_t)queries + 1, sizeof *advantage), error = 0;
    cr_assert_not_null(advantage);
    oracle_reinforce_returns(c->returns, x[2], &c->shape);
    if (c->baseline == CLA_BASELINE_MEAN) {
        oracle_reinforce_mean(c->base, c->returns, &c->shape);
    }
    for (int n = 0; n < queries; n++) {
        advantage[n] = c->returns[n] - c->base[n];
        if (c->baseline == CLA_BASELINE_LEARNED) {
            error += pow(c->returns[n] - x[3][n], 2) / queries;
        }
    }
    y[0] =
        error + oracle_reinforce(x[0], x[1], advantage, &c->shape, (double)c->entropy);
    free(advantage);
}

static void make(policy_case *c, cla_runtime *rt)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, c->S, &c->k_offsets);
    for (int b = 0; b < c->B; b++) {
        c->pairs += (int64_t)c->T[b] * c->S[b];
    }
    c->shape = (oracle_hard_shape){ .B = c->B,
                                    .q_offsets = c->q_offsets,
                                    .k_offsets = c->k_offsets };
    const int queries = c->q_offsets[c->B];
    c->returns = calloc((size_t)queries + 1, sizeof *c->returns);
    c->base = calloc((size_t)queries + 1, sizeof *c->base);
    cr_assert(c->returns && c->base);
    if (c->baseline == CLA_BASELINE_LEARNED) {
        // the numbers of input 3 in check_op
        float *learned = test_random(queries, 1, 4);
        for (int n = 0; n < queries; n++) {
            c->base[n] = (double)learned[n];
        }
        free(learned);
    }
}

static void fini(policy_case *c)
{
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
    free(c->returns);
    free(c->base);
}

/* A query costs about its keys times its return, some hundred at most, each term to a
 * few eps; the tolerance is relative to a loss of that size. Gates are random numbers
 * here, not 0 and 1: the loss is linear in them. */
static const double BAR = 5e-6;

DEVICE_TEST(reinforce, matches_oracle_and_gradient)
{
    const policy_case cases[] = {
        { .B = 1, .T = { 1 }, .S = { 1 }, .entropy = 0.5f },
        { .B = 3, .T = { 4, 0, 2 }, .S = { 3, 5, 0 } },
        { .B = 5, .T = { 9, 7, 1, 0, 12 }, .S = { 9, 1, 5, 0, 13 }, .entropy = 1e-3f },
        { .B = 3, .T = { 3, 8, 5 }, .S = { 63, 2, 7 }, .baseline = CLA_BASELINE_MEAN },
        { .B = 2,
          .T = { 65, 3 },
          .S = { 5, 64 },
          .baseline = CLA_BASELINE_LEARNED,
          .entropy = 0.1f },
        { .B = 2, .T = { 2, 1 }, .S = { 2, 5 }, .baseline = CLA_BASELINE_MEAN },
        { .B = 2, .T = { 1, 2 }, .S = { 4, 3 }, .baseline = CLA_BASELINE_LEARNED },
        { .B = 2, .T = { 0, 0 }, .S = { 3, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        policy_case c = cases[i];
        if (test_tiny() && (c.T[0] > 8 || c.S[0] > 8)) {
            continue;
        }
        make(&c, rt);
        const int queries = c.q_offsets[c.B];
        op_case op = {
            .in = { { "scores", 1, { c.pairs }, .scale = 3 },
                    { "gates", 1, { c.pairs }, .constant = true },
                    { "rewards", 1, { queries }, .constant = true },
                    { "learned", 1, { queries } } },
            .inputs = c.baseline == CLA_BASELINE_LEARNED ? 4 : 3,
            .rank = 1,
            .shape = { 1 },
            .device = device,
            .oracle = oracle,
            .context = &c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "reinforce %zu baseline %d", i,
                 (int)c.baseline);
        check_op(rt, &op);
        fini(&c);
    }
}

/* ---- small batches by hand ------------------------------------------------------- */

/* B sequences of one query and S keys each, with the same scores. */
typedef struct batch {
    int B, S;
    const float *scores;  // [S]
    const float *gates;   // [B,S]
    const float *rewards; // [B]
    float entropy;
} batch;

static cla_tensor *tensor_of(cla_tape *tape, int64_t n, const float *x)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tape_tensor(tape, &t, CLA_F32, 1, &n));
    TEST_OK(cla_tensor_upload(t, x));
    return t;
}

/* Returns the loss and computes its gradient by the scores of each sequence [B,S]. */
static double run_batch(cla_runtime *rt, const batch *b, float *gradient)
{
    int T[32], S[32];
    float scores[128], loss = 0;
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *y = NULL;
    cr_assert(b->B <= 32 && b->B * b->S <= 128);
    for (int i = 0; i < b->B; i++) {
        T[i] = 1;
        S[i] = b->S;
        memcpy(scores + (ptrdiff_t)i * b->S, b->scores, (size_t)b->S * sizeof(float));
    }
    cla_ragged *q_rows = test_ragged(rt, b->B, T, NULL);
    cla_ragged *k_rows = test_ragged(rt, b->B, S, NULL);
    const cla_reinforce_options options = { .entropy = b->entropy };
    cla_tensor *s = tensor_of(tape, (int64_t)b->B * b->S, scores);
    cla_tensor *g = tensor_of(tape, (int64_t)b->B * b->S, b->gates);
    cla_tensor *r = tensor_of(tape, b->B, b->rewards);
    cla_tensor_want_grad(s, true);
    TEST_OK(cla_reinforce(tape, &y, s, g, r, q_rows, k_rows, &options));
    test_backward(tape, y);
    TEST_OK(cla_tensor_download(y, &loss));
    TEST_OK(cla_tensor_download(cla_tensor_grad(s), gradient));
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
    return (double)loss;
}

/* Known values of ln pi, the entropy H and their slopes for three gates, from an
 * independent computation. */
DEVICE_TEST(reinforce, known_policy)
{
    const float scores[3] = { 0.5f, -1, 2 }, gates[3] = { 1, 0, 1 }, one = 1, none = 0;
    float slope[3];
    const batch policy = { 1, 3, scores, gates, &one, 0 };
    float got = (float)-run_batch(rt, &policy, slope);
    check_close("ln pi", &got, (double[]){ -0.914267 }, 1, 1e-6);
    check_close("slope of -ln pi", slope, (double[]){ -0.377541, 0.268941, -0.119203 },
                3, 1e-6);
    const batch disorder = { 1, 3, scores, gates, &none, 1 };
    got = (float)-run_batch(rt, &disorder, slope);
    check_close("H", &got, (double[]){ 1.610384 }, 1, 1e-6);
    check_close("slope of -H", slope, (double[]){ 0.117502, -0.196612, 0.209987 }, 3,
                1e-6);
}

/* The entropy is m ln 2 at most, with a slope of 0 there. Scores far from 0 neither
 * overflow nor lose the small probability. */
static void check_extremes(cla_runtime *rt)
{
    const float flat[4] = { 0, 0, 0, 0 }, far[2] = { 100, -30 }, shut[4] = { 0 };
    const float one = 1, none = 0;
    float slope[4];
    const batch level = { 1, 4, flat, shut, &none, 1 };
    float got = (float)-run_batch(rt, &level, slope);
    check_close("H at 0", &got, (double[]){ 4 * log(2) }, 1, 1e-6);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(slope[i], 0, "slope of H at 0 is %g", (double)slope[i]);
    }
    const batch sure = { 1, 2, far, shut, &one, 0 };
    got = (float)run_batch(rt, &sure, slope);
    check_close("-ln pi", &got, (double[]){ 100 + exp(-30) }, 1, 1e-6);
    cr_assert_float_eq(slope[0], 1, 1e-6);
    cr_assert(fabs((double)slope[1] / exp(-30) - 1) < 1e-5, "%g", (double)slope[1]);
}

DEVICE_TEST(reinforce, extremes)
{
    EACH_SCHEDULE(rt)
    {
        check_extremes(rt);
    }
}

/* ---- exact expectations ---------------------------------------------------------- */

enum { KEYS = 4, ACTIONS = 1 << KEYS };

/* Returns the expectation of the reward over all gates; p [ACTIONS] gets their
 * probabilities. */
static double expectation(const double *scores, const float *rewards, double *p)
{
    double sum = 0;
    for (int a = 0; a < ACTIONS; a++) {
        p[a] = 1;
        for (int j = 0; j < KEYS; j++) {
            const double open = oracle_sigmoid(scores[j]);
            p[a] *= a >> j & 1 ? open : 1 - open;
        }
        sum += p[a] * (double)rewards[a];
    }
    return sum;
}

/* Computes slope [KEYS] from the device's gradients, weighted by p: dE/dscore[j] if
 * they are right. */
static void expected_slope(cla_runtime *rt, const float *scores, const float *rewards,
                           const double *p, double *slope)
{
    float gates[ACTIONS * KEYS], gradient[ACTIONS * KEYS];
    for (int i = 0; i < ACTIONS * KEYS; i++) {
        gates[i] = (float)(i / KEYS >> i % KEYS & 1);
    }
    const batch all = { ACTIONS, KEYS, scores, gates, rewards, 0 };
    run_batch(rt, &all, gradient);
    for (int i = 0; i < ACTIONS * KEYS; i++) {
        slope[i % KEYS] -= p[i / KEYS] * ACTIONS * (double)gradient[i];
    }
}

/* The policy gradient, averaged over all actions, is the slope of the expected reward,
 * and 0 for a constant reward. */
DEVICE_TEST(reinforce, expectation_is_exact)
{
    const float scores[KEYS] = { 0.3f, -1.2f, 2.1f, -0.4f };
    const double step = 1e-6;
    for (int constant = 0; constant < 2; constant++) {
        float *rewards = test_random(ACTIONS, 2, 5);
        double p[ACTIONS], moved[ACTIONS], at[KEYS], got[KEYS] = { 0 };
        for (int a = 0; a < ACTIONS; a++) {
            rewards[a] = constant ? 3 : rewards[a];
        }
        for (int j = 0; j < KEYS; j++) {
            at[j] = (double)scores[j];
        }
        expectation(at, rewards, p);
        expected_slope(rt, scores, rewards, p, got);
        for (int j = 0; j < KEYS; j++) {
            at[j] = (double)scores[j] + step;
            const double above = expectation(at, rewards, moved);
            at[j] = (double)scores[j] - step;
            const double want = (above - expectation(at, rewards, moved)) / (2 * step);
            at[j] = (double)scores[j];
            cr_assert(fabs(got[j] - want) < 1e-6, "key %d: slope %.9g, must be %.9g", j,
                      got[j], want);
        }
        free(rewards);
    }
}

/* ---- rewards --------------------------------------------------------------------- */

/* Known returns of prefix BLEU of "the cat the on the mat ." against "the cat sat on
 * the mat", times the reference's length, from an independent computation. */
Test(reinforce, returns_of_prefix_bleu)
{
    enum { N = 7, REF = 6 };
    const int32_t ref[REF] = { 1, 2, 3, 4, 1, 5 }, hyp[N] = { 1, 2, 1, 4, 1, 5, 6 };
    const double want[N] = { 2.466802, 2.426374, 1.654790, 0.789634,
                             0.511523, 0.247381, -0.466736 };
    double r[N];
    float rewards[N], gate = 0, got[N];
    cla_runtime *rt = test_runtime();
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *loss = NULL, *returns = NULL;
    TEST_OK(cla_prefix_bleu(ref, REF, hyp, N, -1, r));
    for (int t = 0; t < N; t++) {
        rewards[t] = (float)(REF * (r[t] - (t ? r[t - 1] : 0)));
    }
    cla_ragged *q_rows = test_ragged(rt, 1, (int[]){ N }, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, (int[]){ 0 }, NULL);
    const cla_reinforce_options options = { .returns = &returns };
    cla_tensor *nothing = tensor_of(tape, 0, &gate);
    TEST_OK(cla_reinforce(tape, &loss, nothing, nothing, tensor_of(tape, N, rewards),
                          q_rows, k_rows, &options));
    TEST_OK(cla_tensor_download(returns, got));
    check_close("returns", got, want, N, 2e-6);
    for (int t = 0; t + 1 < N; t++) {
        cr_assert_float_eq(got[t] - got[t + 1], rewards[t], 2e-6);
    }
    cr_assert_float_eq(got[0], REF * r[N - 1], 2e-6);
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
    cla_runtime_free(&rt);
}

DEVICE_TEST(reinforce, refuses)
{
    const float x[6] = { 0 };
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *loss = NULL;
    cla_ragged *two = test_ragged(rt, 1, (int[]){ 2 }, NULL);
    cla_ragged *three = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    cla_tensor *map = tensor_of(tape, 6, x), *r = tensor_of(tape, 2, x);
    const cla_reinforce_options negative = { .entropy = -1 };
    const cla_reinforce_options lacking = { .baseline = CLA_BASELINE_LEARNED };
    const cla_reinforce_options extra = { .learned = r };
    const cla_reinforce_options shape = { .baseline = CLA_BASELINE_LEARNED,
                                          .learned = map };
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, r, two, NULL, NULL), CLA_E_USAGE,
               "k_rows is NULL");
    TEST_FAILS(cla_reinforce(tape, &loss, r, map, r, two, three, NULL), CLA_E_SHAPE,
               "scores is [2], must be [6]");
    TEST_FAILS(cla_reinforce(tape, &loss, map, r, r, two, three, NULL), CLA_E_SHAPE,
               "gates is [2], must be [6]");
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, map, two, three, NULL), CLA_E_SHAPE,
               "rewards is [6], must be [2]");
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, r, two, three, &negative),
               CLA_E_USAGE, "entropy is -1");
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, r, two, three, &lacking),
               CLA_E_USAGE, "learned is not given");
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, r, two, three, &extra), CLA_E_USAGE,
               "learned is given");
    TEST_FAILS(cla_reinforce(tape, &loss, map, map, r, two, three, &shape), CLA_E_SHAPE,
               "learned is [6], must be [2]");
    cr_assert_null(loss);
    cla_tape_free(&tape);
    cla_ragged_free(&two);
    cla_ragged_free(&three);
}
