/* position_attention.c - device against oracle: values, gradients, dropout, map, laws,
 * refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check_kind.h"

/* A score's rounding is about sqrt(d) eps, at most 1e-6; the tables add numbers of
 * the same size; exp adds 2e-7; values reach 4. */
static const double BAR = 5e-6;

/* Lengths of more sequences than a sum has runs on GPUs. */
#define TEN  "1,2,0,1,1,3,1,1,2,1"
#define MANY TEN "," TEN "," TEN "," TEN "," TEN "," TEN "," TEN

/* There are few widths, as each compiles six kernels. Cases have more sequences than
 * runs of the sums, lengths of several tiles, and of several blocks of keys. */
static const kind_table cases = {
    .lines = { .op = "position_attention" },
    .rows =
        (const char *const[]){ "rows=2,1 H=2 d=3 t=4", "rows=1 H=1 d=3 t=1 -absolute",
                               "rows= H=2 d=3 t=4", "rows=0,0 H=2 d=3 t=4 -relative",
                               "rows=3,0,5,7,1,2 H=2 d=3 t=7 -relative",
                               "rows=3,0,5,7,1,2 H=2 d=3 t=9 -absolute",
                               "rows=" MANY " H=2 d=3 t=3 -relative",
                               "rows=" MANY " H=2 d=3 t=3 -absolute",
                               "rows=9,1,35 H=2 d=24 t=40 columns medium",
                               "rows=33,17 H=2 d=24 t=33 -absolute causal=1 medium",
                               "rows=131,70 H=1 d=24 t=131 -relative large",
                               "rows=20,131 H=1 d=24 t=140 -absolute medium", NULL },
    .bar = BAR,
};

Test(position_attention, matches_oracle_and_gradient)
{
    check_kind_cases(&cases);
}

/* The oracle gets its random numbers from the host's Philox. */
static const kind_table dropping = {
    .lines = { .op = "position_attention" },
    .rows =
        (const char *const[]){ "rows=3,6 H=2 d=3 t=6 dropout=0.3 -relative",
                               "rows=19,33 H=2 d=24 t=40 dropout=0.1 -absolute medium",
                               NULL },
    .bar = BAR,
};

Test(position_attention, drops_weights)
{
    check_kind_cases(&dropping);
}

/* The tolerance is that of weights, at most 1. */
static const kind_table maps = {
    .lines = { "position_attention", "-o +map", NULL },
    .rows =
        (const char *const[]){ "rows=5,0,3 H=2 d=3 t=5",
                               "rows=7,19 H=2 d=24 t=20 -absolute dropout=0.2 medium",
                               NULL },
    .bar = 2e-6,
    .constant = "*",
};

Test(position_attention, shows_its_map)
{
    check_kind_cases(&maps);
}

/* ---- laws ------------------------------------------------------------------------ */

enum { T0 = 23, T1 = 40, N = T0 + T1, HEADS = 2, WIDTH = 24, SIZE = N * HEADS * WIDTH };

typedef struct law {
    cla_runtime *rt;
    cla_ragged *rows;
    cla_tensor *x[3], *table;
    cla_tape *tape;
} law;

static void law_begin(law *l, cla_runtime *rt, int rank, const int64_t *shape)
{
    static const int lengths[] = { T0, T1 };
    *l = (law){ .rt = rt, .rows = test_ragged(rt, 2, lengths, NULL) };
    for (int i = 0; i < 3; i++) {
        float *x = test_random(SIZE, 1, (uint32_t)i);
        TEST_OK(
            cla_tensor_new(&l->x[i], rt, CLA_F32, 3, (int64_t[]){ N, HEADS, WIDTH }));
        TEST_OK(cla_tensor_upload(l->x[i], x));
        free(x);
    }
    TEST_OK(cla_tensor_new(&l->table, rt, CLA_F32, rank, shape));
    TEST_OK(cla_tape_new(&l->tape, rt, true));
}

static void law_end(law *l)
{
    cla_tape_free(&l->tape);
    cla_tensor_free(&l->table);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&l->x[i]);
    }
    cla_ragged_free(&l->rows);
}

/* Checks that -INFINITY for differences of more than 3 gives band attention with a
 * window of 7. */
static void check_window(cla_runtime *rt)
{
    law l;
    static float table[HEADS * 2 * T1], got[SIZE], band[SIZE], grad[2][SIZE];
    double want[SIZE];
    cla_tensor *o = NULL, *plain = NULL;
    law_begin(&l, rt, 2, (int64_t[]){ HEADS, 2 * T1 });
    for (int i = 0; i < HEADS * 2 * T1; i++) {
        table[i] = abs(i % (2 * T1) - T1) > 3 ? -INFINITY : 0;
    }
    TEST_OK(cla_tensor_upload(l.table, table));
    cla_tensor_want_grad(l.x[1], true);
    for (int run = 0; run < 2; run++) {
        cla_tensor_clear_grad(l.x[1]);
        if (run) {
            TEST_OK(cla_band_attention(l.tape, &plain, l.x[0], l.x[1], l.x[2], l.rows,
                                       7, NULL));
        } else {
            TEST_OK(cla_position_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], NULL,
                                           l.table, l.rows, NULL));
        }
        TEST_OK(cla_tape_seed(l.tape, run ? plain : o, l.x[0]));
        TEST_OK(cla_tape_backward(l.tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(l.x[1]), grad[run]));
    }
    TEST_OK(cla_tensor_download(o, got));
    TEST_OK(cla_tensor_download(plain, band));
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)band[i];
    }
    check_close("window", got, want, SIZE, BAR);
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)grad[1][i];
    }
    check_close("window, dk", grad[0], want, SIZE, 10 * BAR);
    law_end(&l);
}

/* Checks that the rows of the gradient of `absolute` sum to 0, like those of the
 * scores' gradient, and that the number that belongs to no difference has none. */
static void check_sums(cla_runtime *rt)
{
    law l;
    static float grad[HEADS * T1 * T1];
    cla_tensor *o = NULL, *relative = NULL;
    law_begin(&l, rt, 3, (int64_t[]){ HEADS, T1, T1 });
    TEST_OK(cla_tensor_fill(l.table, 0.5f));
    TEST_OK(cla_tensor_new(&relative, rt, CLA_F32, 2, (int64_t[]){ HEADS, 2 * T1 }));
    TEST_OK(cla_tensor_fill(relative, 0));
    cla_tensor_want_grad(l.table, true); // alone: q, k and v are frozen
    cla_tensor_want_grad(relative, true);
    TEST_OK(cla_position_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], l.table,
                                   relative, l.rows, NULL));
    TEST_OK(cla_tape_seed(l.tape, o, l.x[0]));
    TEST_OK(cla_tape_backward(l.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(l.table), grad));
    double most = 0;
    for (int i = 0; i < HEADS * T1; i++) {
        double sum = 0, size = 0;
        for (int j = 0; j < T1; j++) {
            sum += (double)grad[i * T1 + j];
            size += fabs((double)grad[i * T1 + j]);
        }
        most = fmax(most, size);
        cr_assert(fabs(sum) <= 1e-5 * fmax(1, size), "row %d sums to %g of %g", i, sum,
                  size);
    }
    cr_assert(most > 0.1, "the gradient of absolute is empty");
    TEST_OK(cla_tensor_download(cla_tensor_grad(relative), grad));
    for (int h = 0; h < HEADS; h++) {
        cr_assert(grad[(ptrdiff_t)h * 2 * T1] == 0);
    }
    cla_tensor_free(&relative);
    law_end(&l);
}

DEVICE_TEST(position_attention, keeps_its_laws)
{
    for (int s = 0; s < (test_tiny() ? 0 : 2); s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_window(rt);
        check_sums(rt);
    }
}

/* ---- refusals -------------------------------------------------------------------- */

DEVICE_TEST(position_attention, refuses)
{
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &cases);
    cla_tensor *q = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }, NULL);
    cla_tensor *p = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 2, 4, 4 }, NULL);
    cla_tensor *tight = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 2, 2, 2 }, NULL);
    cla_tensor *r = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 6 }, NULL);
    cla_tensor *odd = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 7 }, NULL);
#define CALL(q, p, r, options) \
    cla_position_attention(tape, &o, q, q, q, p, r, rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, NULL, NULL), CLA_E_USAGE, "are both NULL");
    TEST_FAILS(CALL(q, p, NULL, &drop), CLA_E_USAGE, "dropout is 1");
    TEST_FAILS(CALL(r, p, NULL, NULL), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(CALL(q, p, r, NULL), CLA_E_SHAPE, "relative is [2,6], must be [2,8]");
    TEST_FAILS(CALL(q, NULL, odd, NULL), CLA_E_SHAPE,
               "relative is [2,7], must be [2,2t]");
    TEST_FAILS(CALL(q, tight, NULL, NULL), CLA_E_SHAPE,
               "a sequence of 3 tokens, the tables are for 2");
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
