/* relative_spectrum.c - device against oracle, and a known answer. */
#include <math.h>
#include <string.h>

#include "support/check_kind.h"

/* The mean of 2t products: a cosine of 4 eps, a sum that errs by eps sqrt(2t) / 2t. */
static const kind_table table = {
    .lines = { .op = "relative_spectrum" },
    .rows = (const char *const[]){ "H=3 t=5", "H=1 t=1", "H=4 t=60 large", "H=2 t=32",
                                   "H=1 t=131 large", "H=0 t=4", NULL },
    .bar = 1e-6,
};

Test(relative_spectrum, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
}

/* Known c_0 .. c_4 of the spectrum sin(0.9 k + 0.37 * 6), from an independent
 * computation. */
DEVICE_TEST(relative_spectrum, known_answer)
{
    static const double c[] = { 0.002963, -0.084282, 0.192206, 0.123384, 0.111218 };
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    float host[10];
    double want[10] = { 0 };
    for (int k = 0; k < 10; k++) {
        host[k] = (float)sin(0.9 * k + 0.37 * 6);
        want[k] = k ? c[k < 5 ? 5 - k : k - 5] : 0;
    }
    cla_tensor *spectrum = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 1, 10 }, host);
    TEST_OK(cla_relative_spectrum(tape, &y, spectrum));
    check_tensor("known answer", y, want, 10, 1e-6);
    cla_tape_free(&tape);
}

DEVICE_TEST(relative_spectrum, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    check_refusals(rt, &table);
    cla_tensor *odd = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 5 }, NULL);
    cla_tensor *none = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 0 }, NULL);
    TEST_FAILS(cla_relative_spectrum(tape, &y, odd), CLA_E_SHAPE,
               "spectrum is [2,5], must be [2,2t]");
    TEST_FAILS(cla_relative_spectrum(tape, &y, none), CLA_E_SHAPE, "t must be 1");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
