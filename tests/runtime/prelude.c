/* prelude.c - the helpers that all kernels share, against the host: Philox bit for bit,
 * reductions, the fast exponential and tanh over their whole range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "runtime/runtime.h"
#include "support/kernels.h"
#include "support/support.h"

enum { COUNT = 4096 };

static void run(cla_runtime *rt, const char *kernel, float *y, const float *x)
{
    cla_memory in = { 0 }, out = { 0 };
    TEST_OK(cla_memory_new(&in, rt, COUNT * 4));
    TEST_OK(cla_memory_new(&out, rt, COUNT * 4));
    TEST_OK(cla_memory_write(rt, &in, 0, x, COUNT * 4));
    const cla_launch launch = {
        .file = "probe",
        .kernel = kernel,
        .define = { { "VEC", cla_vector_width(rt) }, { "WG", 64 } },
        .groups = { COUNT / 64 },
        .local = { 64 },
        .args = { cla_mem(&out), cla_mem(&in) },
    };
    TEST_OK(cla_enqueue(rt, &launch));
    TEST_OK(cla_memory_read(rt, &out, 0, y, COUNT * 4));
    TEST_OK(cla_memory_check_guards(rt));
    cla_memory_free(&in, rt);
    cla_memory_free(&out, rt);
}

Test(prelude, philox_is_random123)
{
    cla_runtime *rt = test_kernels();
    float x[COUNT] = { 0 }, y[COUNT];
    run(rt, "probe_philox", y, x);
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t counter[4] = { i, 7, 9, 11 }, key[2] = { 13, 17 };
        uint32_t got;
        memcpy(&got, &y[i], sizeof got);
        cr_assert_eq(got, cla_philox4x32(counter, key).v[i % 4], "word %u", i);
    }
    cla_runtime_free(&rt);
}

/* Scalar and vector forms agree with the C library's double function to 2e-7, and are 0
 * below -87. */
Test(prelude, exp_fast)
{
    cla_runtime *rt = test_kernels();
    float x[COUNT], y[COUNT];
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < COUNT; i++) {
            x[i] = i == 0   ? -3e38f
                   : i == 1 ? -88.0f
                            : -87.0f + 175.0f * (float)i / COUNT;
        }
        run(rt, form ? "probe_exp_vector" : "probe_exp", y, x);
        cr_assert(y[0] == 0 && y[1] == 0);
        for (int i = 2; i < COUNT; i++) {
            const double want = exp((double)x[i]);
            cr_assert(fabs((double)y[i] - want) <= 2e-7 * want,
                      "exp(%g) is %g, must be %g", (double)x[i], (double)y[i], want);
        }
    }
    cla_runtime_free(&rt);
}

/* Over and beyond the range, one vector at a time and four by one division; 0 gives
 * 0. */
Test(prelude, tanh)
{
    cla_runtime *rt = test_kernels();
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) { // the arguments of one division are far apart
        x[i] = 24.0f * (float)(i * 1031 % COUNT) / COUNT - 12.0f;
    }
    x[0] = 0;
    x[1] = -3e38f;
    x[2] = 3e38f;
    run(rt, "probe_tanh", y, x);
    cr_assert(y[0] == 0);
    for (int i = 0; i < COUNT; i++) {
        const double want = tanh((double)x[i]);
        cr_assert(fabs((double)y[i] - want) <= 8e-7 * fabs(want),
                  "tanh(%g) is %g, must be %g", (double)x[i], (double)y[i], want);
    }
    cla_runtime_free(&rt);
}

Test(prelude, group_reductions)
{
    cla_runtime *rt = test_kernels();
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i * 37) % 101 - 50);
    }
    for (int kind = 0; kind < 2; kind++) {
        run(rt, kind ? "probe_max" : "probe_sum", y, x);
        for (int g = 0; g < COUNT / 64; g++) {
            float sum = 0, top = x[g * 64];
            for (int i = 0; i < 64; i++) {
                sum += x[g * 64 + i];
                top = fmaxf(top, x[g * 64 + i]);
            }
            for (int i = 0; i < 64; i++) {
                cr_assert_eq(y[g * 64 + i], kind ? top : sum, "group %d item %d", g, i);
            }
        }
    }
    cla_runtime_free(&rt);
}

/* The lanes of a vector give the same sum and maximum as a loop. */
Test(prelude, lane_folds)
{
    cla_runtime *rt = test_kernels();
    const int width = cla_vector_width(rt);
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i * 29) % 97 - 48);
    }
    run(rt, "probe_lanes", y, x);
    for (int i = 0; i + width <= COUNT; i += width) {
        float sum = 0, top = x[i];
        for (int k = 0; k < width; k++) {
            sum += x[i + k];
            top = fmaxf(top, x[i + k]);
        }
        cr_assert(y[i] == sum && y[i + 1] == top, "lanes from %d", i);
    }
    cla_runtime_free(&rt);
}

/* The relative errors are small; exp2 gives 0 below 2^-100 and keeps NaN. */
Test(prelude, exp2_fast_and_log_fast)
{
    cla_runtime *rt = test_kernels();
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = -100.0f + 227.0f * (float)i / COUNT;
    }
    x[0] = -101.0f;
    x[1] = -INFINITY;
    x[2] = NAN;
    run(rt, "probe_exp2", y, x);
    cr_assert(y[0] == 0 && y[1] == 0 && isnan(y[2]));
    for (int i = 3; i < COUNT; i++) {
        const double want = exp2((double)x[i]);
        cr_assert(fabs((double)y[i] - want) <= 2e-7 * want, "2^%g is %g, must be %g",
                  (double)x[i], (double)y[i], want);
    }
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)exp(-20 + 60.0 * i / COUNT);
    }
    run(rt, "probe_log", y, x);
    for (int i = 0; i < COUNT; i++) {
        const double want = log((double)x[i]);
        cr_assert(fabs((double)y[i] - want) <= 2e-7 * fmax(1, fabs(want)),
                  "ln %g is %g, must be %g", (double)x[i], (double)y[i], want);
    }
    cla_runtime_free(&rt);
}

Test(prelude, four_vectors_at_once)
{
    cla_runtime *rt = test_kernels();
    const int vec = cla_vector_width(rt);
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)((i * 37) % 101 - 50);
    }
    run(rt, "probe_four", y, x);
    for (int i = 0; i < COUNT; i += 4 * vec) {
        for (int u = 0; u < 4; u++) {
            float sum = 0, most = -1000;
            for (int c = 0; c < vec; c++) {
                sum += x[i + u * vec + c];
                most = fmaxf(most, x[i + u * vec + c]);
            }
            cr_assert(y[i + u] == sum && y[i + 4 + u] == most, "vector %d of run %d", u,
                      i);
        }
    }
    cla_runtime_free(&rt);
}

/* erf is not among the functions that cl/builtins.clh declares for PoCL: the program is
 * built with the driver's own header instead. */
Test(prelude, other_functions_are_found)
{
    cla_runtime *rt = test_kernels();
    cla_memory out = { 0 };
    float y[4];
    TEST_OK(cla_memory_new(&out, rt, sizeof y));
    const cla_launch launch = {
        .file = "undeclared",
        .kernel = "undeclared_erf",
        .groups = { 4 },
        .args = { cla_mem(&out) },
    };
    TEST_OK(cla_enqueue(rt, &launch));
    TEST_OK(cla_memory_read(rt, &out, 0, y, sizeof y));
    for (int i = 0; i < 4; i++) {
        cr_expect_float_eq(y[i], (float)erf(0.25 * i), 1e-6f);
    }
    cla_memory_free(&out, rt);
    cla_runtime_free(&rt);
}
