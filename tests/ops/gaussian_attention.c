/* gaussian_attention.c - device against oracle: values, gradients (of centres and
 * widths, too), dropout, map, refusals. */
#include <math.h>
#include <string.h>

#include "support/check_kind.h"

/* The best key of a query lies within 6 sigma of its centre, so its Gaussian is at most
 * 18 and carries three roundings of 6e-8 each; a score's rounding is about sqrt(d) eps,
 * at most 1e-6; exp adds 2e-7; values reach 4. */
static const double BAR = 1e-5;

/* There are few widths, as each compiles six kernels. A reach leaves some queries
 * without any key; one length is several tiles, and several blocks of keys. */
static const kind_table table = {
    .lines = { .op = "gaussian_attention" },
    .rows =
        (const char *const[]){ "rows=2,1 H=1 d=3", "rows=1 H=1 d=3",
                               "rows=4,2 H=1 d=3 reach=0.625 causal=1", "rows= H=2 d=3",
                               "rows=5,0,3,7,1,2 H=2 d=3 reach=0.625 medium",
                               "rows=5,0,3,7,1,2 H=2 d=3 -center medium",
                               "rows=9,1,35 H=2 d=24 columns medium", NULL },
    .bar = BAR,
    .scale = { [3] = 2, [4] = 0.25f },
    .shift = { [3] = 3, [4] = 2 },
};

/* Centres lie anywhere in a sentence, like predicted ones; wide Gaussians reach
 * them. */
static const kind_table wide = {
    .lines = { .op = "gaussian_attention" },
    .rows = (const char *const[]){ "rows=33,17 H=3 d=24 causal=1 medium",
                                   "rows=37,20 H=2 d=24 reach=5 medium",
                                   "rows=131,70 H=1 d=24 large", NULL },
    .bar = BAR,
    .scale = { [3] = 10, [4] = 1 },
    .shift = { [3] = 20, [4] = 9 },
};

static const kind_table by_head = {
    .lines = { .op = "gaussian_by_head" },
    .rows = (const char *const[]){ "rows=2,1 H=2 d=3", "rows=0,0 H=2 d=3 -center",
                                   "rows=4,1,6 H=2 d=3 -center causal=1 medium",
                                   "rows=20,131 H=2 d=24 -center large", NULL },
    .bar = BAR,
    .scale = { [3] = 2, [4] = 0.25f },
    .shift = { [3] = 3, [4] = 2 },
};

Test(gaussian_attention, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
    check_kind_cases(&wide);
    check_kind_cases(&by_head);
}

/* The oracle gets its random numbers from the host's Philox. */
Test(gaussian_attention, drops_weights)
{
    kind_table dropping = table;
    dropping.rows =
        (const char *const[]){ "rows=6 H=2 d=3 dropout=0.3",
                               "rows=19,33 H=2 d=24 dropout=0.1 medium", NULL };
    check_kind_cases(&dropping);
}

/* The tolerance is that of weights, at most 1. */
Test(gaussian_attention, shows_its_map)
{
    kind_table maps = table, own = by_head;
    maps.lines.all = own.lines.all = "-o +map";
    maps.constant = own.constant = "*";
    maps.bar = own.bar = 4e-6;
    own.rows = (const char *const[]){ "rows=5,3 H=1 d=3 -center", NULL };
    maps.rows =
        (const char *const[]){ "rows=7,19 H=2 d=24 reach=1.25 dropout=0.2 medium",
                               NULL };
    check_kind_cases(&own);
    check_kind_cases(&maps);
}

/* ---- lengths --------------------------------------------------------------------- */

/* A few roundings of numbers relative to 1 or their size. */
static const kind_table lengths = {
    .lines = { "length_sigmoid", "slope=0.5 shift=-1 base=0.25", NULL },
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

DEVICE_TEST(gaussian_attention, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    check_refusals(rt, &by_head);
    cla_tensor *q = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }, NULL);
    cla_tensor *c = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 5, 2 }, NULL);
    cla_tensor *one = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 2 }, NULL);
    cla_tensor *bad = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, NULL);
#define CALL(q, center, sigma, reach, options)                                         \
    cla_gaussian_attention(tape, &o, q, q, q, &(cla_gaussian){ center, sigma, reach }, \
                           rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, NULL, 1, NULL), CLA_E_USAGE, "sigma is NULL");
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
    cla_ragged_free(&rows);
}
