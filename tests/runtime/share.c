/* share.c - runtimes on shares of a device. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"
#include "support/support.h"

enum { ROWS = 96, SIZE = ROWS * ROWS, SHARES = 2, ROUNDS = 8 };

/* Repeated products of a matrix with itself, on one runtime. */
typedef struct chain {
    cla_runtime *rt;
    cla_status status;
    float out[SIZE];
} chain;

static void *multiply(void *context)
{
    chain *c = context;
    const int64_t shape[] = { ROWS, ROWS };
    float host[SIZE];
    cla_tape *tape = NULL;
    cla_tensor *x = NULL, *y = NULL;
    for (int i = 0; i < SIZE; i++) {
        host[i] = (float)((i * 7919) % 101 - 50) * 0.003f;
    }
    c->status = cla_tensor_new(&x, c->rt, CLA_F32, 2, shape);
    c->status = c->status ? c->status : cla_tensor_upload(x, host);
    for (int i = 0; i < ROUNDS && !c->status; i++) {
        c->status = cla_tape_new(&tape, c->rt, false);
        c->status = c->status ? c->status : cla_matmul(tape, &y, x, x, false, false);
        c->status = c->status ? c->status : cla_tensor_download(y, c->out);
        cla_tape_free(&tape);
    }
    cla_tensor_free(&x);
    return NULL;
}

/* Returns whether the device can be divided in parts of given sizes. */
static bool has_parts(cla_runtime *rt)
{
    cl_device_partition_property all[16] = { 0 };
    bool by_counts = false;
    cr_assert_eq(clGetDeviceInfo(cla_runtime_device_id(rt),
                                 CL_DEVICE_PARTITION_PROPERTIES, sizeof all, all, NULL),
                 CL_SUCCESS);
    for (int i = 0; i < 16; i++) {
        by_counts |= all[i] == CL_DEVICE_PARTITION_BY_COUNTS;
    }
    return by_counts && cla_runtime_device(rt)->compute_units >= SHARES;
}

/* Opens the test device, and a first share of two; skips the test without shares. */
static cla_runtime *divisible(cla_runtime **share)
{
    cla_runtime *whole = test_runtime();
    if (!has_parts(whole)) {
        cla_runtime_free(&whole);
        cr_skip_test("the device has no shares");
    }
    TEST_OK(cla_runtime_share(share, whole, 0, SHARES));
    return whole;
}

/* Two shares that work at the same time, a thread each, give the same bits as the
 * whole. */
Test(share, results_of_the_whole_device)
{
    chain *c = calloc(SHARES + 1, sizeof *c);
    pthread_t thread[SHARES];
    c[SHARES].rt = divisible(&c[0].rt);
    multiply(&c[SHARES]);
    TEST_OK(cla_runtime_share(&c[1].rt, c[SHARES].rt, 1, SHARES));
    for (int i = 0; i < SHARES; i++) {
        cr_assert_eq(pthread_create(&thread[i], NULL, multiply, &c[i]), 0);
    }
    for (int i = 0; i < SHARES; i++) {
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
        TEST_OK(c[i].status);
        cr_assert_arr_eq(c[i].out, c[SHARES].out, sizeof c->out);
    }
    TEST_OK(c[SHARES].status);
    for (int i = 0; i <= SHARES; i++) {
        cla_runtime_free(&c[i].rt);
    }
    free(c);
}

/* The units of the shares add up to those of the device; a share outlives the whole. */
Test(share, units)
{
    cla_runtime *share = NULL, *whole = divisible(&share);
    const int units = cla_runtime_device(whole)->compute_units;
    int sum = cla_runtime_device(share)->compute_units;
    cla_runtime_free(&share);
    TEST_OK(cla_runtime_share(&share, whole, 1, SHARES));
    sum += cla_runtime_device(share)->compute_units;
    cr_assert_eq(sum, units);
    cr_assert_str_eq(cla_runtime_device(share)->name, cla_runtime_device(whole)->name);
    cla_runtime_free(&whole);
    chain *c = calloc(1, sizeof *c);
    c->rt = share;
    multiply(c);
    TEST_OK(c->status);
    cla_runtime_free(&c->rt);
    free(c);
}

/* Opens and closes shares while another one works. A driver may still be busy with a
 * share's last command, and must not need objects that are gone. */
static void *come_and_go(void *context)
{
    chain *c = context;
    cla_runtime *whole = c->rt;
    for (int i = 0; i < 100 && !c->status; i++) {
        c->rt = NULL;
        c->status = cla_runtime_share(&c->rt, whole, i % SHARES, SHARES);
        if (!c->status) multiply(c);
        cla_runtime_free(&c->rt);
    }
    return NULL;
}

Test(share, come_and_go)
{
    chain *c = calloc(SHARES, sizeof *c);
    pthread_t thread[SHARES];
    cla_runtime *share = NULL, *whole = divisible(&share);
    cla_runtime_free(&share);
    for (int i = 0; i < SHARES; i++) {
        c[i].rt = whole;
        cr_assert_eq(pthread_create(&thread[i], NULL, come_and_go, &c[i]), 0);
    }
    for (int i = 0; i < SHARES; i++) {
        cr_assert_eq(pthread_join(thread[i], NULL), 0);
        TEST_OK(c[i].status);
    }
    cla_runtime_free(&whole);
    free(c);
}

static void refused(const cla_runtime *whole, int share, int shares)
{
    cla_runtime *rt = NULL;
    cr_assert_eq(cla_runtime_share(&rt, whole, share, shares), CLA_E_USAGE);
    cr_assert_null(rt);
    cr_assert(strstr(cla_error(), "compute units"), "%s", cla_error());
}

Test(share, bad_shares_are_refused)
{
    cla_runtime *rt = test_runtime();
    const int units = cla_runtime_device(rt)->compute_units;
    refused(rt, 0, 0);
    refused(rt, 0, -1);
    refused(rt, -1, 1);
    refused(rt, 1, 1);
    refused(rt, 0, units + 1);
    refused(rt, 0, 1 << 30);
    cr_assert_eq(cla_runtime_share(&rt, NULL, 0, 1), CLA_E_USAGE);
    cr_assert_eq(cla_runtime_share(NULL, rt, 0, 1), CLA_E_USAGE);
    cla_runtime_free(&rt);
}
