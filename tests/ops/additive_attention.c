/* additive_attention.c - device against oracle: contexts, weights and scores, for one
 * and for many queries to a memory. */
#include <math.h>
#include <string.h>

#include "clattn/ham.h"
#include "support/check_kind.h"

/* Oclgrind runs the first case only: a query to a memory, a query to an empty memory, a
 * memory without queries. A score is a sum of a terms |v tanh| < 3, each off by 2e-7;
 * weights and contexts err relative to that. v of 1/sqrt(a) keeps scores of size 1. */
static const char *const cases[] = {
    "q_rows=1,1,0 k_rows=4,0,2 a=3 d=5",
    "q_rows=1 k_rows=1 a=1 d=1 medium",
    "q_rows=2,0,5 k_rows=7,4,0 a=17 d=7 medium",
    "q_rows=5x1 k_rows=30,1,64,13,65 a=75 d=150 medium",
    "q_rows=9,3 k_rows=9,33 a=40 d=66 medium",
    "q_rows=0,0 k_rows=3,0 a=4 d=8 medium",
    NULL,
};
static const kind_table table = {
    .lines = { .op = "additive_attention" },
    .rows = cases,
    .bar = 3e-6,
    .scale = { [2] = -1 },
};

/* The call gives all three results at once, or the context alone. */
Test(additive_attention, matches_oracle_and_gradient)
{
    kind_table maps = table;
    maps.lines.all = "+weights +scores";
    check_kind_cases(&maps);
    check_kind_cases(&table);
}

/* Returns sin(0.9 k + 0.37 s), the input of the known answers. */
static double known(int k, int s)
{
    return sin(0.9 * k + 0.37 * s);
}

/* Computes y [rows,2] = x [rows,2] w [2,2] of such inputs. */
static void project(float *y, int rows, int x, int w)
{
    for (int i = 0; i < rows * 2; i++) {
        y[i] = (float)(known(i / 2 * 2, x) * known(i % 2, w) +
                       known(i / 2 * 2 + 1, x) * known(2 + i % 2, w));
    }
}

/* Compares with results of an independent computation in double precision, given to 6
 * digits. */
static void check_known(cla_runtime *rt)
{
    const double alpha[3] = { 0.399692, 0.493987, 0.106320 };
    const double context[2] = { 0.474120, 0.312080 };
    float m[6], q[2], v[2], memory[6];
    cla_tape *tape = test_tape(rt, false);
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
    check_tensor("weights", weights, alpha, 3, 2e-6);
    check_tensor("context", o, context, 2, 2e-6);
    cla_tape_free(&tape);
    cla_ragged_free(&one);
    cla_ragged_free(&three);
}

DEVICE_TEST(additive_attention, known_answer)
{
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_known(rt);
    }
}

Test(additive_attention, refusals)
{
    check_kind_refuses(&table);
}
