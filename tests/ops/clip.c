/* clip.c - norms against the oracle, and clipping by norm. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clattn/optim.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

static void check_size(cla_runtime *rt, int64_t n)
{
    cla_tensor *x = NULL;
    float *host = test_random(n, 3, 1);
    double *want = calloc((size_t)n + 1, sizeof *want), first = 0, again = 0;
    cr_assert_not_null(want);
    for (int64_t i = 0; i < n; i++) {
        want[i] = (double)host[i];
    }
    const double exact = oracle_norm(want, n);
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 1, &n));
    TEST_OK(cla_tensor_upload(x, host));
    TEST_OK(cla_norm(rt, &first, x));
    TEST_OK(cla_norm(rt, &again, x));
    cr_assert_eq(first, again, "two norms of %lld differ", (long long)n);
    /* A sum of squares errs by eps sqrt(n) of itself at most; its root by half that. */
    cr_assert(fabs(first - exact) <= 1e-6 * exact, "norm of %lld is %.9g, must be %.9g",
              (long long)n, first, exact);

    TEST_OK(cla_clip(rt, NULL, x, (float)(2 * exact + 1))); // more than its norm
    check_tensor("unclipped", x, want, n, 0);
    TEST_OK(cla_clip(rt, &again, x, 0.5f));
    cr_assert(fabs(first - again) <= 1e-12 * exact, "clip says %.17g, norm %.17g",
              again, first);
    for (int64_t i = 0; i < n && exact > 0; i++) {
        want[i] *= fmin(1, 0.5 / exact);
    }
    check_tensor("clipped", x, want, n, 1e-6);
    TEST_OK(cla_memory_check_guards(rt));
    cla_tensor_free(&x);
    free(want);
    free(host);
}

DEVICE_TEST(clip, matches_oracle)
{
    static const int64_t sizes[] = { 0, 1, 7, 64, 65, 4095, 4097, 100003 };
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            if (!test_small() || sizes[i] < 5000) {
                check_size(rt, sizes[i]);
            }
        }
    }
}

DEVICE_TEST(clip, leaves_what_is_no_number)
{
    cla_tensor *x = NULL;
    float got[3];
    double norm = 0;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_upload(x, (float[]){ 3, NAN, 4 }));
    TEST_OK(cla_clip(rt, &norm, x, 1));
    TEST_OK(cla_tensor_download(x, got));
    cr_assert(isnan(norm) && got[0] == 3 && got[2] == 4);
    cla_tensor_free(&x);
}

/* Returns the verdict of cla_finite on a tensor with `number` at one place and the
 * largest floats elsewhere, whose squares would overflow. */
static bool finite_with(cla_runtime *rt, int64_t n, int64_t at, float number)
{
    bool finite = false;
    cla_tensor *x = NULL;
    float *host = calloc((size_t)n + 1, sizeof *host);
    cr_assert_not_null(host);
    for (int64_t i = 0; i < n; i++) {
        host[i] = i % 2 ? FLT_MAX : -FLT_MAX;
    }
    host[at] = number;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 1, &n));
    TEST_OK(cla_tensor_upload(x, host));
    TEST_OK(cla_finite(rt, &finite, x));
    TEST_OK(cla_memory_check_guards(rt));
    cla_tensor_free(&x);
    free(host);
    return finite;
}

DEVICE_TEST(clip, finds_every_number_that_is_not_finite)
{
    static const int64_t sizes[] = { 1, 63, 65, 4097, 300007 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i], places[] = { 0, n / 2, n - 1 };
        for (int k = 0; k < 3 && (!test_small() || n < 5000); k++) {
            cr_assert(finite_with(rt, n, places[k], FLT_MIN / 2));
            cr_assert_not(finite_with(rt, n, places[k], NAN));
            cr_assert_not(finite_with(rt, n, places[k], INFINITY));
            cr_assert_not(finite_with(rt, n, places[k], -INFINITY));
        }
    }
}

DEVICE_TEST(clip, refuses)
{
    cla_tensor *ids = NULL;
    double norm = 0;
    TEST_OK(cla_tensor_new(&ids, rt, CLA_I32, 1, (int64_t[]){ 4 }));
    bool finite = false;
    TEST_FAILS(cla_finite(rt, &finite, ids), CLA_E_SHAPE, "x holds i32");
    TEST_FAILS(cla_norm(rt, &norm, ids), CLA_E_SHAPE, "x holds i32");
    TEST_FAILS(cla_scale(rt, ids, 2), CLA_E_SHAPE, "x holds i32");
    TEST_FAILS(cla_clip(rt, &norm, ids, 0), CLA_E_USAGE, "limit is 0");
    TEST_FAILS(cla_clip(rt, &norm, NULL, 1), CLA_E_USAGE, "g is NULL");
    cla_tensor_free(&ids);
}
