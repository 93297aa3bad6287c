/* param.c - initialisers and the layout of the blocks. */
#include "nn/param.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { COUNT = 20000 };

/* Opens a runtime without guards: parameters are parts of a block, and a guarded block
 * is a part already. */
static cla_runtime *plain_runtime(void)
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false);
    return rt;
}

/* Checks that the mean is within 4 deviations / sqrt(n), the deviation within 3 %, and
 * no number beyond largest. */
static void check(const cla_tensor *t, double deviation, double largest)
{
    float *x = malloc(COUNT * sizeof *x);
    TEST_OK(cla_tensor_download(t, x));
    double mean = 0, square = 0, top = 0;
    for (int i = 0; i < COUNT; i++) {
        mean += (double)x[i] / COUNT;
        square += (double)x[i] * (double)x[i] / COUNT;
        top = fmax(top, fabs((double)x[i]));
    }
    const double got = sqrt(square - mean * mean);
    cr_assert(fabs(mean) <= 4 * deviation / sqrt(COUNT), "mean %g", mean);
    cr_assert(fabs(got - deviation) <= 0.03 * deviation, "deviation %g, must be %g",
              got, deviation);
    cr_assert(top <= largest, "largest %g, at most %g", top, largest);
    free(x);
}

Test(param, initialisers)
{
    cla_runtime *rt = plain_runtime();
    cla_params params = { 0 };
    cla_tensor *t[4], *one = NULL;
    const int64_t shape[] = { 100, 200 }, n = 1;
    const cla_init init[] = {
        { CLA_INIT_UNIFORM, 0.05, 0, 0 },
        { CLA_INIT_NORMAL, 0.5, 0, 0 },
        { CLA_INIT_GLOROT_UNIFORM, 0, 100, 50 },
        { CLA_INIT_GLOROT_NORMAL, 0, 100, 50 },
    };
    for (int i = 0; i < 4; i++) {
        TEST_OK(cla_param_add(&params, &t[i], init[i], 2, shape, "p%d", i));
    }
    TEST_OK(cla_param_add(&params, &one, (cla_init){ CLA_INIT_ONES, 0, 0, 0 }, 1, &n,
                          "one"));
    TEST_OK(cla_params_build(&params, rt, 7));
    cr_assert_eq(params.size, 4 * COUNT + 1);
    float value = 0;
    TEST_OK(cla_tensor_download(one, &value));
    cr_assert(value == 1);
    check(t[0], 0.05 / sqrt(3), 0.05);
    check(t[1], 0.5, 0.5 * 6);
    const double a = sqrt(6.0 / 150), s = sqrt(2.0 / 150);
    check(t[2], a / sqrt(3), a * 1.000001);
    // the deviation that remains when numbers beyond two deviations are left out
    check(t[3], s * 0.87962566, 2.000001 * s);
    cr_assert_eq(cla_params_find(&params, "p3")->tensor, t[3]);
    cr_assert_null(cla_params_find(&params, "p9"));
    cla_params_free(&params);
    cr_assert_null(t[3]);
    cla_runtime_free(&rt);
}

/* Initial weights of levels are equal, or the first is as requested; a single level has
 * the whole weight. */
Test(param, first_level_begins_with_its_weight)
{
    static const struct {
        int64_t n;
        double first, weight;
    } cases[] = { { 4, 0, 0.25 }, { 4, 0.7, 0.7 }, { 2, 0.1, 0.1 }, { 1, 0.9, 1 } };
    cla_runtime *rt = plain_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cla_params params = { 0 };
        cla_tensor *t = NULL;
        float c[4] = { NAN, NAN, NAN, NAN };
        TEST_OK(cla_param_levels(&params, &t, cases[i].n, cases[i].first, "levels"));
        TEST_OK(cla_params_build(&params, rt, 1));
        TEST_OK(cla_tensor_download(t, c));
        const double first = exp((double)c[0]);
        for (int64_t k = 1; k < cases[i].n; k++) {
            cr_assert(c[k] == 0);
        }
        const double weight = first / (first + (double)(cases[i].n - 1));
        cr_assert(fabs(weight - cases[i].weight) < 1e-6, "weight %g, must be %g",
                  weight, cases[i].weight);
        cla_params_free(&params);
    }
    cla_runtime_free(&rt);
}

/* A parameter's numbers depend on the seed and its name, not on other parameters. */
Test(param, values_have_a_stream_of_their_own)
{
    cla_runtime *rt = plain_runtime();
    float x[3][8];
    for (int i = 0; i < 3; i++) {
        cla_params params = { 0 };
        cla_tensor *other = NULL, *t = NULL;
        const int64_t n = 8;
        const cla_init normal = { CLA_INIT_NORMAL, 1, 0, 0 };
        if (i == 1) {
            TEST_OK(cla_param_add(&params, &other, normal, 1, &n, "other"));
        }
        TEST_OK(cla_param_add(&params, &t, normal, 1, &n, "t"));
        TEST_OK(cla_params_build(&params, rt, i == 2 ? 8 : 7));
        TEST_OK(cla_tensor_download(t, x[i]));
        cla_params_free(&params);
    }
    cr_assert_eq(memcmp(x[0], x[1], sizeof x[0]), 0);
    cr_assert_neq(memcmp(x[0], x[2], sizeof x[0]), 0);
    cla_runtime_free(&rt);
}

/* A step that does not use a parameter gives it a gradient of zero, not the last
 * one. */
Test(param, untouched_gradients_are_zero)
{
    cla_runtime *rt = plain_runtime();
    cla_params params = { 0 };
    cla_tensor *t = NULL;
    const int64_t n = 5;
    float got[5];
    TEST_OK(
        cla_param_add(&params, &t, (cla_init){ CLA_INIT_ONES, 0, 0, 0 }, 1, &n, "t"));
    TEST_OK(cla_params_build(&params, rt, 1));
    TEST_OK(cla_params_train(&params));
    TEST_OK(cla_tensor_fill(t->grad, 3));
    cla_params_clear_gradients(&params);
    TEST_OK(cla_params_fill_gradients(&params));
    TEST_OK(cla_tensor_download(t->grad, got));
    cr_assert(got[0] == 0 && got[4] == 0);
    cla_params_free(&params);
    cla_runtime_free(&rt);
}
