/* gaussian_attention.c - device against oracle: values, gradients of centres and widths
 * too, dropout, map, published answers, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/check_kind.h"

enum { SEQUENCES = 6 };

typedef struct gaussian_case {
    int B, H, d;
    int T[SEQUENCES];
    bool own;       // centres are the queries' own places
    bool one_sigma; // [H]
    bool predicted; // centres and widths from lengths and raw numbers
    float reach;    // in widths; 0: all
    bool causal, view;
    float dropout;
    // filled in by prepare
    int32_t *offsets;
    cla_ragged *rows;
    double *keep; // [N,H,Tmax], NULL without dropout
    int Tmax;
    double *center, *sigma; // of the oracle, predicted
} gaussian_case;

static float reach_of(const gaussian_case *c)
{
    return c->reach > 0 ? c->reach : INFINITY;
}

static cla_status attend(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                         const gaussian_case *c, cla_tensor **map)
{
    const cla_attention_options options = { c->causal, c->dropout, map };
    cla_gaussian shape = { c->own ? NULL : x[3], x[3 + !c->own], reach_of(c) };
    if (c->predicted && !c->own) {
        TEST_OK(cla_length_sigmoid(tape, &shape.center, x[3], c->rows, 1, -1, 0));
    }
    if (c->predicted && !c->one_sigma) {
        TEST_OK(cla_length_sigmoid(tape, &shape.sigma, x[3 + !c->own], c->rows, 0.5f, 0,
                                   0.05f));
    }
    return cla_gaussian_attention(tape, y, x[0], x[1], x[2], &shape, c->rows, &options);
}

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    return attend(tape, y, x, context, NULL);
}

static cla_status device_map(cla_tape *tape, cla_tensor **map, cla_tensor **x,
                             void *context)
{
    cla_tensor *o = NULL;
    return attend(tape, &o, x, context, map);
}

static oracle_attention_shape shape_of(const gaussian_case *c, double *const *x)
{
    oracle_attention_shape s = {
        .B = c->B,
        .H = c->H,
        .d = c->d,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .causal = c->causal,
        .keep = c->keep,
        .Smax = c->Tmax,
        .center = c->own ? NULL : x[3],
        .sigma = x[3 + !c->own],
        .one_sigma = c->one_sigma,
        .reach = (double)reach_of(c),
    };
    if (c->predicted && !c->own) {
        oracle_length_sigmoid(c->center, s.center, c->B, c->H, c->offsets, 1, -1, 0);
        s.center = c->center;
    }
    if (c->predicted && !c->one_sigma) {
        oracle_length_sigmoid(c->sigma, s.sigma, c->B, c->H, c->offsets, 0.5, 0,
                              (double)0.05f);
        s.sigma = c->sigma;
    }
    return s;
}

static void oracle(double *y, double *const *x, void *context)
{
    const oracle_attention_shape shape = shape_of(context, x);
    oracle_gaussian_attention(y, NULL, x[0], x[1], x[2], &shape);
}

static void oracle_map(double *map, double *const *x, void *context)
{
    const oracle_attention_shape s = shape_of(context, x);
    double *o = calloc((size_t)s.q_offsets[s.B] * s.H * s.d + 1, sizeof *o);
    oracle_gaussian_attention(o, map, x[0], x[1], x[2], &s);
    free(o);
}

/* The best key of a query lies within 6 sigma of its centre, so its Gaussian is at most
 * 18 and carries three roundings of 6e-8 each; a score's rounding is about sqrt(d) eps,
 * at most 1e-6; exp adds 2e-7; values reach 4. */
static const double BAR = 1e-5;

static void prepare(cla_runtime *rt, gaussian_case *c, op_case *op)
{
    c->rows = test_ragged(rt, c->B, c->T, &c->offsets);
    c->Tmax = (int)cla_ragged_longest(c->rows);
    c->keep = test_keep(c->offsets[c->B], c->H, c->Tmax, c->dropout);
    const int64_t N = cla_ragged_tokens(c->rows);
    c->center = calloc((size_t)(N * c->H) + 1, sizeof *c->center);
    c->sigma = calloc((size_t)(N * c->H) + 1, sizeof *c->sigma);
    static const char *const names[] = { "q", "k", "v" };
    for (int i = 0; i < 3; i++) {
        op->in[i] = (op_input){ names[i], 3, { N, c->H, c->d }, .column = c->view };
    }
    op->inputs = 3;
    const bool raw = c->predicted;
    if (!c->own) {
        op->shift[op->inputs] = raw ? 0 : 3;
        op->in[op->inputs++] =
            (op_input){ "center", 2, { N, c->H }, .scale = raw ? 1 : 2 };
    }
    const bool raw_sigma = raw && !c->one_sigma;
    op_input *sigma = &op->in[op->inputs];
    *sigma = (op_input){ "sigma", 2, { N, c->H }, .scale = raw_sigma ? 1 : 0.25f };
    op->shift[op->inputs++] = raw_sigma ? 0 : 2;
    if (c->one_sigma) {
        sigma->rank = 1;
        sigma->shape[0] = c->H;
    }
    op->context = c;
    snprintf(op->name, sizeof op->name,
             "gaussian_attention B%d H%d T%d.. d%d%s%s%s reach %g dropout %g", c->B,
             c->H, c->T[0], c->d, c->own ? " own" : "", c->one_sigma ? " by head" : "",
             raw ? " predicted" : "", (double)reach_of(c), (double)c->dropout);
}

static void unprepare(gaussian_case *c)
{
    cla_ragged_free(&c->rows);
    free(c->offsets);
    free(c->keep);
    free(c->center);
    free(c->sigma);
}

static void check(cla_runtime *rt, gaussian_case *c)
{
    op_case op = { .rank = 3, .device = device, .oracle = oracle, .bar = BAR };
    prepare(rt, c, &op);
    memcpy(op.shape, op.in[0].shape, sizeof op.shape);
    check_op(rt, &op);
    unprepare(c);
}

/* Few widths, since each is six kernels to compile. A reach leaves some queries without
 * any key; one length is several tiles, and several blocks of keys. */
Test(gaussian_attention, matches_oracle_and_gradient)
{
    gaussian_case cases[] = {
        { .B = 1, .H = 1, .d = 3, .T = { 1 } },
        { .B = 2, .H = 1, .d = 3, .T = { 4, 2 }, .reach = 0.625f, .causal = true },
        { .B = 1, .H = 1, .d = 3, .T = { 3 }, .predicted = true },
        { .B = 0, .H = 2, .d = 3 },
        { .B = 2, .H = 2, .d = 3, .T = { 0, 0 }, .own = true, .one_sigma = true },
        { .B = 6, .H = 2, .d = 3, .T = { 5, 0, 3, 7, 1, 2 }, .reach = 0.625f },
        { .B = 6, .H = 2, .d = 3, .T = { 5, 0, 3, 7, 1, 2 }, .predicted = true },
        { .B = 3,
          .H = 2,
          .d = 3,
          .T = { 4, 1, 6 },
          .own = true,
          .one_sigma = true,
          .causal = true },
        { .B = 3, .H = 2, .d = 24, .T = { 9, 1, 35 }, .view = true },
        { .B = 2, .H = 3, .d = 24, .T = { 33, 17 }, .predicted = true, .causal = true },
        { .B = 2,
          .H = 2,
          .d = 24,
          .T = { 37, 20 },
          .predicted = true,
          .one_sigma = true,
          .reach = 5 },
        { .B = 2, .H = 1, .d = 24, .T = { 131, 70 }, .predicted = true },
        { .B = 2, .H = 2, .d = 24, .T = { 20, 131 }, .own = true, .one_sigma = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int size = cases[i].T[0] * cases[i].d;
        if ((test_tiny() && cases[i].B * cases[i].H > 2) ||
            (test_small() && cases[i].T[1] > 100) || (test_small() && size > 2000)) {
            continue;
        }
        check(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

/* The oracle gets the draws from the host's Philox. */
Test(gaussian_attention, drops_weights)
{
    gaussian_case cases[] = {
        { .B = 1, .H = 2, .d = 3, .T = { 6 }, .dropout = 0.3f },
        { .B = 2,
          .H = 2,
          .d = 24,
          .T = { 19, 33 },
          .dropout = 0.1f,
          .predicted = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        check(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

Test(gaussian_attention, shows_its_map)
{
    gaussian_case cases[] = {
        { .B = 2, .H = 1, .d = 3, .T = { 5, 3 }, .own = true, .one_sigma = true },
        { .B = 2, .H = 2, .d = 24, .T = { 7, 19 }, .reach = 1.25f, .dropout = 0.2f },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        gaussian_case *c = &cases[i];
        op_case op = { .rank = 4, .device = device_map, .oracle = oracle_map };
        prepare(rt, c, &op);
        const int64_t shape[] = { c->B, c->H, c->Tmax, c->Tmax };
        memcpy(op.shape, shape, sizeof shape);
        op.bar = 4e-6; // a weight, at most 1
        for (int n = 0; n < op.inputs; n++) {
            op.in[n].constant = true;
        }
        check_op(rt, &op);
        unprepare(c);
    }
    cla_runtime_free(&rt);
}

/* ---- lengths --------------------------------------------------------------------- */

/* A few roundings of numbers relative to 1 or their size. */
static const kind_table lengths = {
    .lines = { &length_sigmoid_kind, "slope=0.5 shift=-1 base=0.25", NULL },
    .rows = (const char *const[]){ "rows=4,0,1,2,7 C=3", "rows=1 C=1",
                                   "rows=31,64,9 C=8 medium", "rows= C=4", NULL },
    .bar = 4e-7,
    .scale = { 2 },
};

Test(gaussian_attention, follows_lengths)
{
    check_kind_cases(&lengths);
    check_kind_refuses(&lengths);
}

/* ---- refusals -------------------------------------------------------------------- */

Test(gaussian_attention, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *q = NULL, *c = NULL, *one = NULL, *bad = NULL, *o = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }));
    TEST_OK(cla_tensor_new(&c, rt, CLA_F32, 2, (int64_t[]){ 5, 2 }));
    TEST_OK(cla_tensor_new(&one, rt, CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tensor_new(&bad, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
#define CALL(q, center, sigma, reach, options)                                         \
    cla_gaussian_attention(tape, &o, q, q, q, &(cla_gaussian){ center, sigma, reach }, \
                           rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, NULL, 1, NULL), CLA_E_SHAPE, "sigma is missing");
    TEST_FAILS(CALL(q, NULL, one, 1, &drop), CLA_E_USAGE, "dropout is 1");
    TEST_FAILS(CALL(c, NULL, one, 1, NULL), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(CALL(q, one, one, 1, NULL), CLA_E_SHAPE, "center is [2], must be [5,2]");
    TEST_FAILS(CALL(q, c, bad, 1, NULL), CLA_E_SHAPE, "sigma is [3], must be [2]");
    TEST_FAILS(CALL(q, c, q, 1, NULL), CLA_E_SHAPE, "sigma is [5,2,4], must be [5,2]");
    TEST_FAILS(CALL(q, c, c, -1, NULL), CLA_E_USAGE, "reach is -1, must be 0 or more");
    TEST_FAILS(CALL(q, c, c, NAN, NULL), CLA_E_USAGE, "reach is");
#undef CALL
    TEST_FAILS(cla_gaussian_attention(tape, &o, q, q, q, NULL, rows, NULL), CLA_E_USAGE,
               "shape is NULL");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_tensor_free(&bad);
    cla_tensor_free(&one);
    cla_tensor_free(&c);
    cla_tensor_free(&q);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
