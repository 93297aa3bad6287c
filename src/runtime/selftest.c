/* selftest.c - compares results of a device and driver with known ones before any work.
 *
 * Some drivers get reductions, barriers and products wrong (docs/kernels.md names
 * cases), and a wrong result is worse than none. A pass is remembered beside the cached
 * binaries. */
#include <string.h>

#include "base/rng.h"
#include "runtime/driver.h"
#include "runtime/internal.h"

enum { WG = 64, SIZE = WG * WG };

typedef struct known {
    const char *kernel;
    void (*answer)(float *y, const float *x);
    bool reads_x;
} known;

static void answer_reduce(float *y, const float *x)
{
    for (int g = 0; g < WG; g++, x += WG, y += WG) {
        float total = 0, top = x[0];
        for (int i = 0; i < WG; i++) {
            total += x[i];
            top = x[i] > top ? x[i] : top;
        }
        for (int i = 0; i < WG; i++) {
            y[i] = total + x[i] * top;
        }
    }
}

static void answer_product(float *y, const float *x)
{
    for (int i = 0; i < WG; i++) {
        for (int j = 0; j < WG; j++) {
            float sum = 0;
            for (int k = 0; k < WG; k++) {
                sum += x[i * WG + k] * x[k * WG + j];
            }
            y[i * WG + j] = sum;
        }
    }
}

static void answer_philox(float *y, const float *x)
{
    (void)x;
    for (uint32_t i = 0; i < SIZE; i++) {
        const uint32_t counter[4] = { i, 1, 2, 3 }, key[2] = { 4, 5 };
        y[i] = cla_uniform(cla_philox4x32(counter, key).v[0]);
    }
}

static const known tests[] = {
    { "selftest_reduce", answer_reduce, true },
    { "selftest_product", answer_product, true },
    { "selftest_philox", answer_philox, false },
};

static cla_status run_one(cla_runtime *rt, const known *t, const cla_memory *y,
                          const cla_memory *x, const float *host)
{
    static const uint32_t nan_bits = 0x7FFFFFFF;
    float got[SIZE], want[SIZE];
    CLA_TRY(cla_memory_fill(rt, y, nan_bits));
    cla_launch launch = {
        .file = "selftest",
        .kernel = t->kernel,
        .define = { { "WG", WG } },
        .groups = { WG },
        .local = { WG },
        .args = { cla_mem(y) },
    };
    if (t->reads_x) {
        launch.args[1] = cla_mem(x);
    }
    CLA_TRY(cla_enqueue(rt, &launch));
    CLA_TRY(cla_memory_read(rt, y, 0, got, sizeof got));
    t->answer(want, host);
    for (int i = 0; i < SIZE; i++) {
        if (got[i] != want[i]) {
            return cla_fail(
                CLA_E_DEVICE,
                "device '%s' (driver %s) fails its self-test: %s[%d] is %g, must be "
                "%g; choose another with CLATTN_DEVICE",
                rt->device.name, rt->device.driver, t->kernel, i, (double)got[i],
                (double)want[i]);
        }
    }
    return CLA_OK;
}

/* Warns if the device does not finish a long loop. Mesa's llvmpipe silently leaves
 * loops after 65535 rounds in all, so that large inputs give wrong results. Results of
 * small ones are right, hence only a warning. */
static cla_status check_loop(cla_runtime *rt, const cla_memory *y, bool *whole)
{
    enum { ROUNDS = 100000 };
    float got[WG];
    const cla_launch launch = {
        .file = "selftest",
        .kernel = "selftest_loop",
        .define = { { "WG", WG } },
        .groups = { 1 },
        .local = { WG },
        .args = { cla_mem(y), cla_i32(ROUNDS) },
    };
    CLA_TRY(cla_enqueue(rt, &launch));
    CLA_TRY(cla_memory_read(rt, y, 0, got, sizeof got));
    *whole = true;
    for (uint32_t lane = 0; lane < WG; lane++) {
        uint32_t x = lane;
        for (int i = 0; i < ROUNDS; i++) {
            x = x * 1664525u + 1013904223u;
        }
        *whole = *whole && got[lane] == (float)(x >> 8);
    }
    if (!*whole) {
        cla_log(CLA_LOG_WARN,
                "device '%s' (driver %s) leaves long loops early: results of large "
                "inputs will be wrong",
                rt->device.name, rt->device.driver);
    }
    return CLA_OK;
}

static cla_status run_all(cla_runtime *rt, cla_memory *x, cla_memory *y, bool *whole)
{
    float host[SIZE];
    for (int i = 0; i < SIZE; i++) {
        host[i] = (float)((i * 7) % 13 - 6);
    }
    CLA_TRY(cla_memory_new(x, rt, sizeof host));
    CLA_TRY(cla_memory_new(y, rt, sizeof host));
    CLA_TRY(cla_memory_write(rt, x, 0, host, sizeof host));
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        CLA_TRY(run_one(rt, &tests[i], y, x, host));
    }
    return check_loop(rt, y, whole);
}

cla_status cla_selftest(cla_runtime *rt)
{
    static const char passed[] = "passed";
    cla_text source = { 0 };
    cla_status status = cla_source_get(rt, "selftest", NULL, &source);
    char id[33] = { 0 };
    if (!status) {
        cla_cache_id(rt, source.data, "verdict", id);
    }
    cla_text_free(&source);
    CLA_TRY(status);

    unsigned char *verdict = NULL;
    size_t size = 0;
    cla_cache_load(rt, id, &verdict, &size);
    const bool known_good = verdict && size == sizeof passed;
    free(verdict);
    if (known_good) {
        return CLA_OK;
    }
    CLA_TRY(cla_driver_ready(&rt->device));
    cla_memory x = { 0 }, y = { 0 };
    bool whole = false;
    status = run_all(rt, &x, &y, &whole);
    cla_memory_free(&x, rt);
    cla_memory_free(&y, rt);
    if (!status && whole && rt->cache_folder) { // else it warns at every start
        cla_cache_store(rt, id, passed, sizeof passed);
    }
    return status;
}
