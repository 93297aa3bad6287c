/* matmul_product.c - products of parts of buffers, fused tails, and providers. */
#include <stdlib.h>

#include "ops/product_case.h"
#include "support/no_binaries.h"
#include "support/support.h"

static void check_both_schedules(cla_runtime *rt, const inner_case *c)
{
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_TILE);
    check_inner(rt, c, "tile");
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_GROUP);
    check_inner(rt, c, "group");
    cla_runtime_set_schedule(rt, CLA_SCHEDULE_AUTO);
}

DEVICE_TEST(matmul_product, any_part_of_a_buffer)
{
    static const int sizes[][3] = { { 1, 1, 1 },     { 1, 40, 33 },     { 2, 7, 3 },
                                    { 13, 31, 16 },  { 17, 33, 47 },    { 64, 64, 64 },
                                    { 129, 65, 70 }, { 255, 129, 300 }, { 1, 19, 300 },
                                    { 18, 1, 130 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *n = sizes[i];
        if ((test_tiny() && n[0] > 2) || (test_small() && n[0] > 64)) continue;
        for (int t = test_tiny() ? 2 : 0; t < 4; t++) {
            inner_case c = { .M = n[0],
                             .N = n[1],
                             .K = n[2],
                             .ta = t & 1,
                             .tb = t >> 1,
                             .batch = n[0] > 64 ? 1 : 3,
                             .offset = 5,
                             .gap = 3,
                             .pad = 7 };
            check_both_schedules(rt, &c);
            c.shared_b = true;
            c.add = true;
            check_both_schedules(rt, &c);
        }
    }
}

/* A single row or column has sums long enough to be split. */
DEVICE_TEST(matmul_product, fused_tail_of_vectors)
{
    for (int i = 0; i < 24; i += test_tiny() ? 7 : 1) {
        inner_case c = { .M = i < 12 ? 1 : 19,
                         .N = i < 12 ? 37 : 1,
                         .K = 64 + 5 * i,
                         .ta = i % 3 == 1,
                         .tb = i % 2,
                         .batch = 2,
                         .bias = i & 1,
                         .residual = i & 2,
                         .activation = (cla_activation)(i / 4 % 3),
                         .offset = 1,
                         .gap = 1,
                         .pad = 2 };
        check_both_schedules(rt, &c);
        if (c.activation == CLA_NONE) {
            c.add = true;
            check_both_schedules(rt, &c);
        }
    }
}

DEVICE_TEST(matmul_product, fused_tail)
{
    for (int i = 0; i < 12; i += test_tiny() ? 5 : 1) {
        inner_case c = { .M = 19,
                         .N = 37,
                         .K = i % 3 ? 21 : 0,
                         .batch = 2,
                         .bias = i & 1,
                         .residual = i & 2,
                         .activation = (cla_activation)(i / 4),
                         .offset = 1,
                         .gap = 1 };
        check_both_schedules(rt, &c);
        if (c.activation == CLA_NONE) {
            c.add = true;
            check_both_schedules(rt, &c);
        }
    }
}

/* The inner size takes several cuts, and the rows several items. */
DEVICE_TEST(matmul_product, several_cuts)
{
    TEST_OK(cla_tuning_set(rt, "matmul_tile", "DEPTH", 32));
    TEST_OK(cla_tuning_set(rt, "matmul_tile", "ROWS", 24));
    TEST_OK(cla_tuning_set(rt, "matmul_tile", "COLUMNS", 64));
    for (int t = 0; t < 4 && !test_tiny(); t++) {
        check_both_schedules(rt, &(inner_case){ .M = 61,
                                                .N = 131,
                                                .K = 150,
                                                .batch = 1,
                                                .ta = t & 1,
                                                .tb = t >> 1,
                                                .bias = true,
                                                .activation = CLA_RELU,
                                                .residual = true });
    }
}

/* A device of many cores cuts the inner index of gradients of weights, and no other. */
DEVICE_TEST(matmul_product, cuts_the_inner_index)
{
    static const int sizes[][3] = {
        { 17, 3, 400 }, { 33, 17, 1030 }, { 8, 64, 2049 }, { 130, 68, 4100 }
    };
    TEST_OK(cla_tuning_set(rt, "matmul_group", "ITEMS", 65536));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *n = sizes[i];
        if ((test_tiny() && i > 0) || (test_small() && i > 1)) continue;
        cla_product p = { .M = n[0], .N = n[1], .K = n[2], .batch = 1 };
        cr_assert_eq(cla_product_plan(rt, &p, false).parts, 1);
        p.transpose_a = true;
        cr_assert_gt(cla_product_plan(rt, &p, false).parts, 1);
        for (int t = 0; t < 4; t += test_tiny() ? 3 : 1) {
            check_both_schedules(rt, &(inner_case){ .M = n[0],
                                                    .N = n[1],
                                                    .K = n[2],
                                                    .batch = 1,
                                                    .ta = true,
                                                    .tb = t & 1,
                                                    .bias = t & 1,
                                                    .residual = t & 2,
                                                    .add = t & 2,
                                                    .gap = t & 1 ? 5 : 0 });
        }
    }
}

/* A tuning file may hold anything; a number outside the range is an error. */
DEVICE_TEST(matmul_product, survives_odd_tuning)
{
    static const int odd[] = { 0, -5, 1, 7, 1 << 20 };
    static const char *const keys[] = { "DEPTH", "ROWS", "COLUMNS" };
    for (size_t i = 0; i < sizeof odd / sizeof *odd && !test_small(); i++) {
        const bool refused = odd[i] < 1 || odd[i] > 4096;
        for (int k = 0; k < 3; k++) {
            const cla_status status =
                cla_tuning_set(rt, "matmul_tile", keys[k], odd[i]);
            cr_expect_eq(status, refused ? CLA_E_USAGE : CLA_OK, "%s %d", keys[k],
                         odd[i]);
        }
        check_both_schedules(rt,
                             &(inner_case){ .M = 31, .N = 67, .K = 50, .batch = 2 });
    }
}

/* ---- providers --------------------------------------------------------------- */

DEVICE_TEST(matmul_product, refuses_an_unknown_provider)
{
    inner_case c = { .M = 2, .N = 2, .K = 2, .batch = 1 };
    cla_memory memory = { 0 };
    TEST_OK(cla_memory_new(&memory, rt, 16));
    const cla_matrix m = { .memory = &memory };
    const cla_product p = { .M = 2, .N = 2, .K = 2, .a = m, .b = m, .y = m };
    setenv("CLATTN_GEMM", "mkl", 1);
    TEST_FAILS(cla_product_run(rt, &p), CLA_E_USAGE,
               "CLATTN_GEMM is 'mkl', must be tile, clblast or auto");
    setenv("CLATTN_GEMM", "Tile", 1);
    check_inner(rt, &c, "CLATTN_GEMM=Tile");
    cla_memory_free(&memory, rt);
}

static cla_runtime *clblast_runtime(void)
{
    if (!cla_clblast_built() || test_small()) { // small devices compile it for minutes
        cr_skip_test("no CLBlast here");
    }
    test_no_binaries();
    cla_runtime *rt = test_runtime();
    TEST_OK(cla_product_set_provider(rt, CLA_PROVIDER_CLBLAST));
    return rt;
}

/* Checks dense matrices, then each reason alone for which the matrices of a batch do
 * not simply follow each other. */
static void check_clblast(cla_runtime *rt)
{
    for (int t = 0; t < 4; t++) {
        const inner_case dense = {
            .M = 128, .N = 128, .K = 128, .batch = 2, .ta = t & 1, .tb = t >> 1
        };
        inner_case c[6] = { dense, dense, dense, dense, dense, dense };
        c[1].offset = 64;
        c[2].pad = 64;
        c[3].shared_b = true;
        c[4].gap = 16;
        c[5].add = true;
        for (int i = 0; i < 6; i++) {
            check_inner(rt, &c[i], "clblast");
        }
    }
    check_inner(rt,
                &(inner_case){ .M = 17,
                               .N = 33,
                               .K = 5,
                               .batch = 3,
                               .bias = true,
                               .residual = true,
                               .activation = CLA_TANH,
                               .gap = 3 },
                "clblast tail");
    check_inner(rt, &(inner_case){ .M = 3, .N = 4, .K = 0, .batch = 1, .bias = true },
                "clblast empty sum");
}

Test(matmul_product, clblast, .timeout = 600)
{
    cla_runtime *rt = clblast_runtime();
    check_clblast(rt);
    cla_runtime_free(&rt);
}

/* The indirect path ignores offsets and strides of batches. PoCL takes it for large
 * products only, other devices for small ones. */
Test(matmul_product, clblast_indirect, .timeout = 600)
{
    cla_runtime *rt = clblast_runtime();
    TEST_OK(cla_tuning_set(rt, "clblast_routine", "XGEMM_MIN_INDIRECT_SIZE", 1));
    check_clblast(rt);
    cla_runtime_free(&rt);
}

/* Parameters with which CLBlast computes wrong results are not passed on. */
Test(matmul_product, clblast_refuses_bad_tuning, .timeout = 600)
{
    static const struct {
        const char *key;
        int value;
    } bad[] = { { "GEMMK", 1 }, { "KREG", 1 },  { "KWG", 32 }, { "KWI", 2 },
                { "MDIMA", 8 }, { "MDIMC", 8 }, { "MWG", 64 }, { "NDIMB", 8 },
                { "NDIMC", 8 }, { "NWG", 32 },  { "SA", 0 },   { "SB", 0 },
                { "STRM", 0 },  { "STRN", 0 },  { "VWM", 1 },  { "VWN", 1 } };
    cla_runtime *rt = clblast_runtime();
    TEST_OK(cla_tuning_set(rt, "clblast_routine", "XGEMM_MIN_INDIRECT_SIZE", 1));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_OK(cla_tuning_set(rt, "clblast_gemm", bad[i].key, bad[i].value));
    }
    check_inner(rt, &(inner_case){ .M = 128, .N = 128, .K = 128, .batch = 1 },
                "clblast, bad tuning");
    cla_runtime_free(&rt);
}
