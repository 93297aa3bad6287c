/* char_cnn.c - device against oracle: values, gradients, refusals. */
#include <string.h>

#include "support/check_kind.h"

static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    static const int32_t some[] = { 4, 0, 20, 1 };
    (void)c;
    (void)operand;
    memcpy(ids, some, (size_t)n * sizeof *ids);
}

/* Cases have few results, as a finite difference across a kink of a maximum is wrong. A
 * sum of K in products, weights scaled to keep results near 1: eps sqrt(n), n up to
 * 320. */
static const kind_table table = {
    .lines = { "char_cnn", NULL, fill },
    .rows = (const char *const[]){ "rows=5,1,7,2 K=3 in=2 out=3",
                                   "rows=1 K=1 in=1 out=1 -len",
                                   "rows=3,0,1,7 K=5 in=3 out=5 -len",
                                   "rows=20,20,20,20 K=5 in=64 out=64 large",
                                   "rows=13,2 K=5 in=33 out=24 -len medium",
                                   "rows=7,2 K=5 in=9 out=4 -len tiny",
                                   "rows=6,6 K=4 in=7 out=70 -len medium",
                                   "rows=6,6 K=4 in=2 out=66 -len tiny",
                                   "rows=2,3 K=9 in=17 out=16 -b -len medium",
                                   "rows=2,3 K=9 in=3 out=4 -b -len tiny",
                                   "rows=0,0 K=3 in=4 out=4 -len", NULL },
    .bar = 5e-6,
    .scale = { [1] = 0.1f },
};

Test(char_cnn, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* Of equal rows, such as padding, the first gets the gradient. */
DEVICE_TEST(char_cnn, first_of_equals_has_the_gradient)
{
    static const int lengths[] = { 4 };
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_tensor *x = NULL, *w = NULL, *y = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 4, 1 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 3, (int64_t[]){ 1, 1, 1 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 1, 2, 2, 2 }));
    TEST_OK(cla_tensor_fill(w, 3));
    cla_tensor_want_grad(x, true);
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_tape *tape = test_tape(rt, true);
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        cla_tensor_clear_grad(x);
        TEST_OK(cla_char_cnn(tape, &y, x, w, NULL, rows, NULL));
        test_backward(tape, y);
        check_tensor("equals", cla_tensor_grad(x), (double[]){ 0, 3, 0, 0 }, 4, 0);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&w);
    cla_tensor_free(&x);
    cla_ragged_free(&rows);
}

Test(char_cnn, refuses)
{
    check_kind_refuses(&table);
}
