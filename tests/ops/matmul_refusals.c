/* matmul_refusals.c - errors of products: sizes, and a CLBlast that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/matmul.h"
#include "support/support.h"

DEVICE_TEST(matmul_refusals, refuses_what_reaches_too_far)
{
    cla_memory memory = { 0 };
    TEST_OK(cla_memory_new(&memory, rt, 16));
    const cla_matrix all = { .memory = &memory };
    const cla_product p = { .M = 2,
                            .N = 2,
                            .K = 2,
                            .a = all,
                            .b = { .memory = &memory, .ld = INT32_MAX },
                            .y = all };
    TEST_FAILS(cla_product_run(rt, &p), CLA_E_SHAPE,
               "matmul: b reaches element 2147483649, must stay below 2^31");
    cla_memory_free(&memory, rt);
}

/* A CLBlast that cannot build its kernels gives an error and prints nothing to
 * stdout. */
Test(matmul_refusals, clblast_keeps_off_stdout, .timeout = 600)
{
    setenv("CLBLAST_BUILD_OPTIONS", "-no-such-option", 1);
    if (!cla_clblast_built() || test_small()) { // small devices compile it for minutes
        cr_skip_test("no CLBlast here");
    }
    cla_runtime *rt = test_runtime();
    TEST_OK(cla_product_set_provider(rt, CLA_PROVIDER_CLBLAST));
    cla_memory memory = { 0 };
    TEST_OK(cla_memory_new(&memory, rt, 16));
    const cla_matrix m = { .memory = &memory };
    const cla_product p = { .M = 2, .N = 2, .K = 2, .a = m, .b = m, .y = m };
    fflush(stdout);
    FILE *file = tmpfile();
    const int saved = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    const cla_status status = cla_product_run(rt, &p);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    cr_assert_eq(status, CLA_E_DEVICE);
    cr_assert(strstr(cla_error(), "matmul: CLBlast on"), "%s", cla_error());
    cr_assert(fseek(file, 0, SEEK_END) == 0 && ftell(file) == 0, "stdout got %ld bytes",
              ftell(file));
    fclose(file);
    char fault[400]; // clattn's own kernels replace it
    TEST_OK(cla_clblast_check(rt, fault, sizeof fault));
    cr_expect(*fault);
    cla_memory_free(&memory, rt);
    cla_runtime_free(&rt);
}
