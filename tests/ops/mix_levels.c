/* mix_levels.c - device against oracle: sums of tensors weighted by a softmax. */
#include <stdlib.h>
#include <string.h>

#include "clattn/ham.h"
#include "runtime/runtime.h"
#include "support/check_kind.h"

/* One tensor, as many as a launch takes, and more; more numbers than an item handles.
 * Sums of size 3, a few roundings. */
static const kind_table table = {
    .lines = { .op = "mix_levels" },
    .rows = (const char *const[]){ "...=1,1 depth=1 -x1 -x2 -x3 -x4 -x5 -x6 -x7",
                                   "...=3,7 depth=2 -x2 -x3 -x4 -x5 -x6 -x7",
                                   "...=0,5 depth=3 -x3 -x4 -x5 -x6 -x7",
                                   "...=65,66 depth=4 -x4 -x5 -x6 -x7 medium",
                                   "...=13,1 depth=5 -x5 -x6 -x7",
                                   "...=32,150 depth=8 medium", NULL },
    .bar = 1e-6,
};

Test(mix_levels, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* Checks that a single tensor passes through bit for bit, that masked tensors change no
 * value, and that no weight has a gradient. */
static void check_one(cla_runtime *rt, int depth)
{
    enum { N = 77 };
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *x[3] = { NULL }, *c = NULL, *out = NULL;
    const int64_t size = N, levels = depth;
    const float weights[3] = { -7, -1e30f, -1e30f };
    float *numbers = test_random(N, 1, 4), got[N], dc[3];
    numbers[5] = -0.0f;
    for (int l = 0; l < depth; l++) {
        TEST_OK(cla_tape_tensor(tape, &x[l], CLA_F32, 1, &size));
        TEST_OK(cla_tensor_upload(x[l], numbers));
    }
    TEST_OK(cla_tape_tensor(tape, &c, CLA_F32, 1, &levels));
    TEST_OK(cla_tensor_upload(c, weights));
    cla_tensor_want_grad(c, true);
    TEST_OK(cla_mix_levels(tape, &out, x, c));
    TEST_OK(cla_tensor_download(out, got));
    cr_assert(depth > 1 || !memcmp(got, numbers, sizeof got), "other bits");
    for (int i = 0; i < N; i++) {
        cr_assert(got[i] == numbers[i], "[%d] is %g", i, (double)got[i]);
    }
    test_backward(tape, out);
    TEST_OK(cla_tensor_download(cla_tensor_grad(c), dc));
    for (int l = 0; l < depth; l++) {
        cr_assert(dc[l] == 0, "dc[%d] is %g", l, (double)dc[l]);
    }
    cr_assert_null(cla_tensor_grad(x[0]));
    TEST_OK(cla_memory_check_guards(rt));
    free(numbers);
    cla_tape_free(&tape);
}

DEVICE_TEST(mix_levels, one_level_passes_through)
{
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_one(rt, 1);
        check_one(rt, 3);
    }
}

DEVICE_TEST(mix_levels, refusals)
{
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x[2] = { NULL }, *c = NULL, *none = NULL, *out = NULL;
    TEST_OK(cla_tape_tensor(tape, &x[0], CLA_F32, 2, (int64_t[]){ 3, 4 }));
    TEST_OK(cla_tape_tensor(tape, &x[1], CLA_F32, 2, (int64_t[]){ 3, 5 }));
    TEST_OK(cla_tape_tensor(tape, &c, CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tape_tensor(tape, &none, CLA_F32, 1, (int64_t[]){ 0 }));
    TEST_FAILS(cla_mix_levels(tape, &out, x, none), CLA_E_SHAPE, "depth");
    TEST_FAILS(cla_mix_levels(tape, &out, x, c), CLA_E_SHAPE, "x[l] is");
    cr_assert_null(out);
    cla_tape_free(&tape);
}
