/* cells.c - shared by the tests of recurrent cells. */
#include "support/cells.h"

#include <math.h>

const char *const cell_rows[] = {
    "rows=3,0,1,4 in=3 n=5 +h +c",
    "rows=1 in=1 n=1 -h0 -c0 +h +c medium",
    "rows=2,1,0 in=2 n=9 reverse=1 -h0 -c0 +h +c medium",
    "rows=5,13,0,2 in=8 n=16 reverse=1 +h +c medium",
    "rows=9,1,4,4,7,0,2,3,9 in=7 n=33 +h +c large",
    "rows=8x2,1,12x2,1,5x2,3,2x2 in=4 n=20 -h0 -c0 +h +c large",
    "rows=4,3 in=30 n=150 -b -b_g -b_c -h0 -c0 large",
    "rows=6x1 in=12 n=64 +h +c medium",
    "rows=4 in=3 n=6 +h +c",
    "rows=2,1 in=2 n=192 reverse=1 +h +c large",
    "rows=1,3 in=1 n=193 -h0 -c0 large",
    "rows=0,0 in=4 n=4 +h +c medium",
    NULL,
};

/* Widths that fill tiles and do not, sequences for one tile and for several, and states
 * wider than a work-group walks with. */
static const char *const step_rows[] = {
    "rows=3,0,1 in=3 n=5 +h +c",
    "rows=2,8x1,0 in=2 n=9 reverse=1 -h0 -c0",
    "rows=3,0,2 in=2 n=200 +h +c medium",
    "rows=1,2 in=1 n=256 reverse=1 +h +c large",
    "rows=2,1 in=1 n=513 -h0 -c0 large",
    "rows=2x1,20x2,3,15x1,0 in=3 n=33 -b -b_g -b_c +h +c large",
    NULL,
};

void check_steps(const kind_table *t)
{
    enum { NEVER = 0, ALWAYS = 65536 };
    cla_runtime *rt = test_runtime();
    kind_table table = *t;
    table.rows = step_rows;
    TEST_OK(cla_tuning_set(rt, "recurrent", "WALK", 0));
    for (int small = 0; small < 2; small++) {
        TEST_OK(cla_tuning_set(rt, "recurrent", "GROUPS", small ? ALWAYS : NEVER));
        check_kind(rt, &table);
    }
    cla_runtime_free(&rt);
}

void fill_sines(cla_tensor *t, double s)
{
    float x[32];
    const int64_t size = cla_tensor_size(t);
    cr_assert_leq(size, (int64_t)(sizeof x / sizeof *x));
    for (int64_t k = 0; k < size; k++) {
        x[k] = (float)sin(0.9 * (double)k + 0.37 * s);
    }
    TEST_OK(cla_tensor_upload(t, x));
}
