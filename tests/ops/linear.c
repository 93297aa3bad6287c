/* linear.c - device against oracle: values, gradients, packed weights, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/activation.h"
#include "oracle/oracle.h"
#include "support/check_kind.h"
#include "tensor/tensor.h"

/* Sizes without and with a part of tails; activations come beside them. */
#define TAILS(sizes) sizes, sizes " -b", sizes " -residual", sizes " -b -residual"

static const char *const rows[] = {
    TAILS("N=1 in=1 out=1"),
    TAILS("N=7 in=5 out=3"),
    TAILS("N=0 in=4 out=3"),
    TAILS("N=3 in=0 out=5"),
    TAILS("medium N=33 in=17 out=65"),
    TAILS("medium N=63 in=64 out=129"),
    TAILS("large N=300 in=40 out=7"),
    "large N=2200 in=3 out=5 -residual",
    NULL,
};

/* Checks the rows with each activation of the table. Sums of some hundred products of
 * normal numbers, rounded at each: a few eps of their largest partial sum, about
 * 4 sqrt(in). */
Test(linear, matches_oracle_and_gradient)
{
    enum { MOST = 64, LENGTH = 80 };
    static char with[MOST][LENGTH];
    const char *lines[MOST + 1] = { NULL };
    for (int a = 0; cla_activation_names[a]; a++) {
        for (int i = 0; rows[i]; i++) {
            cr_assert(i < MOST);
            snprintf(with[i], LENGTH, "%s activation=%d", rows[i], a);
            lines[i] = with[i];
        }
        check_kind_cases(
            &(kind_table){ .lines = { .op = "linear" }, .rows = lines, .bar = 1e-5 });
    }
}

/* The tied matrix is [out,in]: a row for each output. */
static const char *const tied_rows[] = {
    "N=1 in=1 out=1",           "N=7 in=5 out=3 -b",
    "N=0 in=4 out=3",           "N=3 in=0 out=5",
    "medium N=33 in=17 out=65", "medium N=63 in=64 out=129 -b",
    "N=5 in=24 out=91 medium",  "N=2 in=3 out=66 tiny",
    "large N=300 in=40 out=7",  NULL,
};
static const kind_table tied_table = { .lines = { .op = "tied_linear" },
                                       .rows = tied_rows,
                                       .bar = 1e-5 };

Test(linear, tied_matches_oracle_and_gradient)
{
    check_kind_cases(&tied_table);
}

/* ---- packed weights ---------------------------------------------------------- */

typedef struct bed {
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *x, *w;
    float *first, *again;
} bed;

enum { ROWS = 20, IN = 70, OUT = 45 };

static void bed_init(bed *t)
{
    *t = (bed){ .rt = test_runtime() };
    cla_runtime_set_schedule(t->rt, CLA_SCHEDULE_TILE);
    float *x = test_random((int64_t)ROWS * IN, 1, 1);
    float *w = test_random((int64_t)IN * OUT, 1, 2);
    TEST_OK(cla_tape_new(&t->tape, t->rt, false));
    TEST_OK(cla_tensor_new(&t->x, t->rt, CLA_F32, 2, (int64_t[]){ ROWS, IN }));
    TEST_OK(cla_tensor_new(&t->w, t->rt, CLA_F32, 2, (int64_t[]){ IN, OUT }));
    TEST_OK(cla_tensor_upload(t->x, x));
    TEST_OK(cla_tensor_upload(t->w, w));
    t->first = malloc(ROWS * OUT * sizeof(float));
    t->again = malloc(ROWS * OUT * sizeof(float));
    free(x);
    free(w);
}

static void bed_fini(bed *t)
{
    cla_tape_free(&t->tape);
    cla_tensor_free(&t->x);
    cla_tensor_free(&t->w);
    cla_runtime_free(&t->rt);
    free(t->first);
    free(t->again);
}

static void run(const bed *t, float *y)
{
    cla_tensor *out = NULL;
    cla_tape_reset(t->tape);
    TEST_OK(cla_linear(t->tape, &out, t->x, t->w, NULL, CLA_NONE, NULL));
    TEST_OK(cla_tensor_download(out, y));
}

Test(linear, packed_weights_give_the_same_bits)
{
    bed t;
    bed_init(&t);
    run(&t, t.first);
    cr_assert_null(t.w->form[0].memory.mem, "packed for one small product");
    run(&t, t.again);
    cr_assert_not_null(t.w->form[0].memory.mem, "not packed for the second product");
    cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    run(&t, t.again);
    cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    TEST_OK(cla_memory_check_guards(t.rt));
    bed_fini(&t);
}

Test(linear, packed_weights_follow_changes)
{
    bed t;
    bed_init(&t);
    double want[ROWS * OUT];
    for (int i = 0; i < ROWS * OUT; i++) {
        want[i] = 0;
    }
    for (int i = 0; i < 3; i++) {
        run(&t, t.first);
    }
    TEST_OK(cla_tensor_fill(t.w, 0));
    for (int i = 0; i < 3; i++) {
        run(&t, t.again);
        check_close("zero weights", t.again, want, (int64_t)ROWS * OUT, 0);
    }
    // written without the tensor's functions, as by an optimiser's kernel
    float *w = test_random((int64_t)IN * OUT, 1, 2);
    TEST_OK(cla_memory_write(t.rt, &t.w->memory, 0, w, (size_t)IN * OUT * 4));
    cla_tensor_changed(t.w);
    for (int i = 0; i < 3; i++) {
        run(&t, t.again);
        cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    }
    free(w);
    bed_fini(&t);
}

DEVICE_TEST(linear, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    const kind_table table = {
        .lines = { .op = "linear" },
        .rows = (const char *const[]){ "N=1 in=1 out=1 activation=0", NULL },
    };
    check_refusals(rt, &table);
    check_refusals(rt, &tied_table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    cla_tensor *w = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 3, 4 }, NULL);
    cla_tensor *b = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, NULL);
    cla_tensor *r = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 5 }, NULL);
    TEST_FAILS(cla_linear(tape, &y, b, w, NULL, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: x is [3], must be [*,*]");
    TEST_FAILS(cla_linear(tape, &y, x, w, b, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: b is [3], must be [4]");
    TEST_FAILS(cla_linear(tape, &y, x, w, NULL, CLA_NONE, r), CLA_E_SHAPE,
               "linear: residual is [2,5], must be [2,4]");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
