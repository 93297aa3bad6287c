/* additive_attention.c - device against oracle: contexts, weights and scores, one query
 * to a memory and many. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ham.h"
#include "clattn/ops.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 5 };

typedef struct additive_case {
    int B, a, d;
    int T[SEQUENCES], S[SEQUENCES];
    // filled in by make
    int64_t pairs;
    oracle_hard_shape shape;
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
} additive_case;

/* The first is all that Oclgrind sees: a query to a memory, an empty one, a memory
 * without queries. */
static const additive_case CASES[] = {
    { .B = 3, .a = 3, .d = 5, .T = { 1, 1, 0 }, .S = { 4, 0, 2 } },
    { .B = 1, .a = 1, .d = 1, .T = { 1 }, .S = { 1 } },
    { .B = 3, .a = 17, .d = 7, .T = { 2, 0, 5 }, .S = { 7, 4, 0 } },
    { .B = 5, .a = 75, .d = 150, .T = { 1, 1, 1, 1, 1 }, .S = { 30, 1, 64, 13, 65 } },
    { .B = 2, .a = 40, .d = 66, .T = { 9, 3 }, .S = { 9, 33 } },
    { .B = 2, .a = 4, .d = 8, .T = { 0, 0 }, .S = { 3, 0 } },
};

static void make(additive_case *c, cla_runtime *rt)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, c->S, &c->k_offsets);
    for (int b = 0; b < c->B; b++) {
        c->pairs += (int64_t)c->T[b] * c->S[b];
    }
    c->shape = (oracle_hard_shape){
        .B = c->B, .D = c->d, .q_offsets = c->q_offsets, .k_offsets = c->k_offsets
    };
}

static void fini(additive_case *c)
{
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
}

/* ---- contexts, of two calls that share a memory ---------------------------------- */

static cla_status device_context(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                                 void *context)
{
    const additive_case *c = context;
    cla_tensor *first = NULL, *second = NULL;
    const cla_status status = cla_additive_attention(tape, &first, x[0], x[1], x[2],
                                                     x[3], c->q_rows, c->k_rows, NULL);
    return status ? status
           : cla_additive_attention(tape, &second, x[0], x[4], x[2], x[3], c->q_rows,
                                    c->k_rows, NULL)
               ? CLA_E_DEVICE
               : cla_add(tape, y, first, second);
}

static void oracle_context(double *y, double *const *x, void *context)
{
    const additive_case *c = context;
    const int n = c->q_offsets[c->B] * c->d;
    double *map = calloc((size_t)c->pairs * 2 + 1, sizeof *map);
    double *second = calloc((size_t)n + 1, sizeof *second);
    double *const later[] = { x[0], x[4], x[2], x[3] };
    cr_assert(map && second);
    oracle_additive_attention(y, map, map + c->pairs, x, c->a, &c->shape);
    oracle_additive_attention(second, map, map + c->pairs, later, c->a, &c->shape);
    for (int i = 0; i < n; i++) {
        y[i] += second[i];
    }
    free(map);
    free(second);
}

/* ---- weights and scores ---------------------------------------------------------- */

static cla_status device_maps(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                              void *context)
{
    const additive_case *c = context;
    cla_tensor *o = NULL, *weights = NULL, *scores = NULL;
    const cla_additive_options options = { &weights, &scores };
    const cla_status status = cla_additive_attention(tape, &o, x[0], x[1], x[2], x[3],
                                                     c->q_rows, c->k_rows, &options);
    return status ? status : cla_add(tape, y, weights, scores);
}

static void oracle_maps(double *y, double *const *x, void *context)
{
    const additive_case *c = context;
    double *scores = calloc((size_t)c->pairs + 1, sizeof *scores);
    double *o = calloc((size_t)(c->q_offsets[c->B] * c->d) + 1, sizeof *o);
    cr_assert(scores && o);
    oracle_additive_attention(o, y, scores, x, c->a, &c->shape);
    for (int64_t i = 0; i < c->pairs; i++) {
        y[i] += scores[i];
    }
    free(scores);
    free(o);
}

/* ---------------------------------------------------------------------------------- */

/* A score is a sum of a terms |v tanh| < 3, each off by 2e-7; weights and contexts err
 * relative to that. v of 1/sqrt(a) keeps scores of size 1. */
static const double BAR = 3e-6;

static void check_case(cla_runtime *rt, additive_case c, bool maps)
{
    make(&c, rt);
    const int queries = c.q_offsets[c.B], keys = c.k_offsets[c.B];
    op_case op = {
        .in = { { "m", 2, { keys, c.a } },
                { "q", 2, { queries, c.a } },
                { "v", 1, { c.a }, .scale = (float)(1 / sqrt(c.a)) },
                { "values", 2, { keys, c.d }, .constant = maps },
                { "later q", 2, { queries, c.a } } },
        .inputs = maps ? 4 : 5,
        .rank = maps ? 1 : 2,
        .shape = { maps ? c.pairs : queries, c.d },
        .device = maps ? device_maps : device_context,
        .oracle = maps ? oracle_maps : oracle_context,
        .context = &c,
        .bar = BAR,
    };
    snprintf(op.name, sizeof op.name, "additive_attention %s B%d a%d d%d T%d S%d",
             maps ? "maps" : "context", c.B, c.a, c.d, c.T[0], c.S[0]);
    check_op(rt, &op);
    fini(&c);
}

Test(additive_attention, matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof CASES / sizeof *CASES); i++) {
        check_case(rt, CASES[i], false);
        check_case(rt, CASES[i], true);
    }
    cla_runtime_free(&rt);
}

/* sin(0.9 k + 0.37 s), which known answers are computed with. */
static double known(int k, int s)
{
    return sin(0.9 * k + 0.37 * s);
}

/* y [rows,2] = x [rows,2] w [2,2] of known numbers */
static void project(float *y, int rows, int x, int w)
{
    for (int i = 0; i < rows * 2; i++) {
        y[i] = (float)(known(i / 2 * 2, x) * known(i % 2, w) +
                       known(i / 2 * 2 + 1, x) * known(2 + i % 2, w));
    }
}

/* Numbers computed in double precision from the equations, elsewhere; 6 digits. */
static void check_known(cla_runtime *rt)
{
    const double alpha[3] = { 0.399692, 0.493987, 0.106320 };
    const double context[2] = { 0.474120, 0.312080 };
    float m[6], q[2], v[2], memory[6], got[3];
    cla_tape *tape = NULL;
    cla_tensor *x[4] = { NULL }, *o = NULL, *weights = NULL;
    const cla_additive_options options = { .weights = &weights };
    cla_ragged *one = test_ragged(rt, 1, (int[]){ 1 }, NULL);
    cla_ragged *three = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    project(m, 3, 1, 2);
    project(q, 1, 3, 4);
    for (int k = 0; k < 6; k++) {
        v[k % 2] = (float)known(k % 2, 5);
        memory[k] = (float)known(k, 1);
    }
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &x[0], CLA_F32, 2, (int64_t[]){ 3, 2 }));
    TEST_OK(cla_tape_tensor(tape, &x[1], CLA_F32, 2, (int64_t[]){ 1, 2 }));
    TEST_OK(cla_tape_tensor(tape, &x[2], CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tape_tensor(tape, &x[3], CLA_F32, 2, (int64_t[]){ 3, 2 }));
    TEST_OK(cla_tensor_upload(x[0], m));
    TEST_OK(cla_tensor_upload(x[1], q));
    TEST_OK(cla_tensor_upload(x[2], v));
    TEST_OK(cla_tensor_upload(x[3], memory));
    TEST_OK(
        cla_additive_attention(tape, &o, x[0], x[1], x[2], x[3], one, three, &options));
    TEST_OK(cla_tensor_download(weights, got));
    check_close("weights", got, alpha, 3, 2e-6);
    TEST_OK(cla_tensor_download(o, got));
    check_close("context", got, context, 2, 2e-6);
    cla_tape_free(&tape);
    cla_ragged_free(&one);
    cla_ragged_free(&three);
}

Test(additive_attention, known_answer)
{
    cla_runtime *rt = test_runtime();
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_known(rt);
    }
    cla_runtime_free(&rt);
}

Test(additive_attention, refusals)
{
    cla_runtime *rt = test_runtime();
    cla_tape *tape = NULL;
    cla_tensor *m = NULL, *wide = NULL, *v = NULL, *o = NULL;
    cla_ragged *two = test_ragged(rt, 2, (int[]){ 1, 2 }, NULL);
    cla_ragged *one = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &m, CLA_F32, 2, (int64_t[]){ 3, 4 }));
    TEST_OK(cla_tape_tensor(tape, &wide, CLA_F32, 2, (int64_t[]){ 3, 5 }));
    TEST_OK(cla_tape_tensor(tape, &v, CLA_F32, 1, (int64_t[]){ 4 }));
    TEST_FAILS(cla_additive_attention(tape, &o, m, m, v, m, NULL, one, NULL),
               CLA_E_USAGE, "rows");
    TEST_FAILS(cla_additive_attention(tape, &o, m, m, v, m, two, one, NULL),
               CLA_E_SHAPE, "2 query sequences");
    TEST_FAILS(cla_additive_attention(tape, &o, m, wide, v, m, one, one, NULL),
               CLA_E_SHAPE, "q is");
    TEST_FAILS(cla_additive_attention(tape, &o, wide, wide, v, m, one, one, NULL),
               CLA_E_SHAPE, "v is");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&one);
    cla_ragged_free(&two);
    cla_runtime_free(&rt);
}
