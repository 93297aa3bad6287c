/* support.c - runtimes, seeded inputs, comparison. */
#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ops/conv_fft.h"
#include "runtime/runtime.h"
#include "support/kernels.h"

uint32_t test_seed(void)
{
    const char *text = getenv("CLATTN_SEED");
    return text ? (uint32_t)strtoul(text, NULL, 10) : 42;
}

static bool size_is(const char *name)
{
    const char *size = getenv("CLATTN_TEST_SIZE");
    return size && strcmp(size, name) == 0;
}

bool test_tiny(void)
{
    return size_is("tiny");
}

bool test_small(void)
{
    return size_is("small") || test_tiny();
}

bool test_takes(size_t n, int schedule)
{
    return !test_tiny() || n % 2 == (size_t)schedule;
}

bool test_fft(void)
{
    return cla_fft_built() && !test_tiny();
}

cla_runtime *test_runtime(void)
{
    cla_runtime *rt = NULL;
    cla_log_set(cla_log_to_stderr, NULL);
    TEST_OK(cla_runtime_new(&rt, NULL));
    cla_memory_guard(rt, true);
    return rt;
}

cla_runtime *test_runtime_at(const char *unit, cla_precision precision)
{
    setenv("CLATTN_UNIT", unit, 1);
    cla_runtime *rt = test_runtime();
    unsetenv("CLATTN_UNIT");
    cla_memory_guard(rt, true);
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_TILE);
    TEST_OK(cla_runtime_set_precision(rt, precision));
    return rt;
}

cla_runtime *test_runtime_emulating(int unit)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s", unit == CLA_UNIT_NONE ? "" : "emulated-",
             cla_unit_name((cla_unit)unit));
    cla_runtime *rt = test_runtime_at(name, CLA_PRECISION_MEDIUM);
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_GROUP);
    return rt;
}

float *test_random(int64_t n, float scale, uint32_t what)
{
    float *x = malloc((size_t)(n ? n : 1) * sizeof *x);
    cr_assert_not_null(x);
    cla_random_normal(x, n, scale, test_seed(), what);
    return x;
}

/* Returns |got - want|, relative above 1; infinite for NaN. */
static double error_of(float got, double want)
{
    const double error = fabs((double)got - want) / fmax(1, fabs(want));
    return isnan(error) ? INFINITY : error;
}

void check_close(const char *what, const float *got, const double *want, int64_t n,
                 double bar)
{
    double worst = 0;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        const double error = error_of(got[i], want[i]);
        if (error > worst) {
            worst = error;
            at = i;
        }
    }
    if (worst > bar && worst <= 10 * bar) {
        fprintf(stderr,
                "MARGINAL %s: [%lld] is %.9g, must be %.9g, error %.2g over bar %.2g\n",
                what, (long long)at, (double)got[at], want[at], worst, bar);
    }
    cr_assert(worst <= 10 * bar,
              "%s: [%lld] is %.9g, must be %.9g; error %.2g, bar %.2g (CLATTN_SEED=%u)",
              what, (long long)at, (double)got[at], want[at], worst, bar, test_seed());
}

cla_tape *test_tape(cla_runtime *rt, bool training)
{
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, training));
    return tape;
}

cla_tensor *test_tensor(cla_tape *tape, cla_dtype dtype, int rank, const int64_t *shape,
                        const void *x)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tape_tensor(tape, &t, dtype, rank, shape));
    if (x) {
        TEST_OK(cla_tensor_upload(t, x));
    }
    return t;
}

void test_backward(cla_tape *tape, cla_tensor *y)
{
    TEST_OK(cla_tape_seed(tape, y, NULL));
    TEST_OK(cla_tape_backward(tape));
}

void check_tensor(const char *what, const cla_tensor *t, const double *want, int64_t n,
                  double bar)
{
    const int64_t size = cla_tensor_size(t);
    cr_assert(n <= size, "%s: %lld numbers", what, (long long)size);
    float *got = malloc((size_t)(size ? size : 1) * sizeof *got);
    cr_assert_not_null(got);
    TEST_OK(cla_tensor_download(t, got));
    check_close(what, got, want, n, bar);
    free(got);
}

cla_ragged *test_ragged(cla_runtime *rt, int sequences, const int *lengths,
                        int32_t **offsets)
{
    int32_t *host = calloc((size_t)sequences + 1, sizeof *host);
    cr_assert_not_null(host);
    for (int b = 0; b < sequences; b++) {
        host[b + 1] = host[b] + lengths[b];
    }
    cla_ragged *ragged = NULL;
    TEST_OK(cla_ragged_new(&ragged, rt, sequences, host));
    if (offsets) {
        *offsets = host;
    } else {
        free(host);
    }
    return ragged;
}

cla_runtime *test_kernels(void)
{
    const char *folder = getenv("CLATTN_TEST_KERNELS");
    cr_assert_not_null(folder,
                       "CLATTN_TEST_KERNELS is not set: run through meson test");
    setenv("CLATTN_KERNEL_PATH", folder, 1);
    return test_runtime();
}
