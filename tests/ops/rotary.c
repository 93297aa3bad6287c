/* rotary.c - device against oracle: values, gradients, refusals; scores of turned
 * vectors depend on distances alone. */
#include <math.h>

#include "clattn/feed.h"
#include "support/check_kind.h"

static const char *const rows[] = {
    "N=5 H=3 d=4 P=7 R=4 turned=2",
    "N=1 H=1 d=2 P=1 R=2 turned=1",
    "N=9 H=2 d=7 P=4 R=4 turned=2",
    "N=3 H=4 d=5 P=9 R=0 turned=4",
    "N=6 H=2 d=4 P=5 R=4 turned=0",
    "medium N=65 H=6 d=33 P=80 R=32 turned=5",
    "large N=517 H=8 d=16 P=517 R=16 turned=6",
    "N=0 H=2 d=4 P=3 R=4 turned=1",
    "N=4 H=2 d=4 P=0 R=4 turned=2",
    NULL,
};

/* Fills in positions from -1 to P, of which the first and the last have no row. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    (void)operand;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = (int32_t)(i * 5 % (kind_size(c, "P") + 2)) - 1;
    }
}

/* Two products and a sum: three roundings of numbers near 1. */
static const kind_table table = {
    .lines = { "rotary", NULL, fill }, .rows = rows, .bar = 5e-7, .constant = "table"
};

Test(rotary, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
    check_kind_refuses(&table);
}

enum { P = 12, WIDTH = 4 };

/* The score of a query at position i and a key at position j, both turned. */
static double score(const float *turned, int i, int j)
{
    const float *q = turned + (ptrdiff_t)i * 2 * WIDTH,
                *k = turned + ((ptrdiff_t)j * 2 + 1) * WIDTH;
    double sum = 0;
    for (int c = 0; c < WIDTH; c++) {
        sum += (double)q[c] * (double)k[c];
    }
    return sum;
}

/* The same query and the same key at every position. */
DEVICE_TEST(rotary, scores_depend_on_distance)
{
    float x[P][2][WIDTH], angles[P][WIDTH], turned[P * 2 * WIDTH];
    int32_t positions[P];
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    for (int p = 0; p < P; p++) {
        positions[p] = p;
        for (int c = 0; c < WIDTH; c++) {
            x[p][0][c] = (float)(c + 1);
            x[p][1][c] = (float)(3 - c);
        }
        for (int k = 0; k < WIDTH / 2; k++) {
            angles[p][k] = cosf((float)p / (k ? 10.0f : 1.0f));
            angles[p][WIDTH / 2 + k] = sinf((float)p / (k ? 10.0f : 1.0f));
        }
    }
    cla_tensor *in = test_tensor(tape, CLA_F32, 3, (int64_t[]){ P, 2, WIDTH }, x);
    cla_tensor *rows_of =
        test_tensor(tape, CLA_F32, 2, (int64_t[]){ P, WIDTH }, angles);
    cla_tensor *at = test_tensor(tape, CLA_I32, 1, (int64_t[]){ P }, positions);
    TEST_OK(cla_rotary(tape, &y, in, rows_of, at, 2));
    TEST_OK(cla_tensor_download(y, turned));
    for (int i = 2; i < P; i++) {
        cr_assert_float_eq(score(turned, i, i - 2), score(turned, 2, 0), 1e-4);
    }
    cr_assert(fabs(score(turned, 3, 0) - score(turned, 2, 0)) > 0.1);
    cla_tape_free(&tape);
}

DEVICE_TEST(rotary, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 2, 3, 4 }, NULL);
    cla_tensor *odd = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 3 }, NULL);
    cla_tensor *wide = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 6 }, NULL);
    cla_tensor *good = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 4 }, NULL);
    cla_tensor *at = test_tensor(tape, CLA_I32, 1, (int64_t[]){ 2 }, NULL);
    TEST_FAILS(cla_rotary(tape, &y, x, odd, at, 1), CLA_E_SHAPE,
               "table has 3 columns, must be even and at most the 4 of a head");
    TEST_FAILS(cla_rotary(tape, &y, x, wide, at, 1), CLA_E_SHAPE,
               "table has 6 columns");
    TEST_FAILS(cla_rotary(tape, &y, x, good, at, 4), CLA_E_USAGE,
               "turned is 4, must be 0 to 3");
    TEST_FAILS(cla_rotary(tape, &y, x, good, at, -1), CLA_E_USAGE, "turned is -1");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
