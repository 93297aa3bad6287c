/* matmul.c - products against the oracle: shapes, transposes, batches, gradients. */

#include "ops/matmul.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

/* A sum of K products of normal numbers: partial sums grow as sqrt(k), each is rounded
 * by u = 6e-8 of itself at most, so the errors' deviation is u K / sqrt(6). The bar is
 * five of those. */
static double bar_of(int64_t K)
{
    return 2 * 5.96e-8 * (double)(4 + K);
}

typedef struct public_case {
    int B, M, N, K; // B < 0: rank 2
    bool ta, tb, shared;
} public_case;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const public_case *c = context;
    return cla_matmul(tape, y, x[0], x[1], c->ta, c->tb);
}

static void oracle(double *y, double *const *x, void *context)
{
    const public_case *c = context;
    for (int64_t b = 0; b < (c->B < 0 ? 1 : c->B); b++) {
        oracle_matmul(y + b * c->M * c->N, x[0] + b * c->M * c->K,
                      x[1] + (c->shared ? 0 : b * c->K * c->N), c->M, c->N, c->K, c->ta,
                      c->tb);
    }
}

static void set_shape(op_input *in, int B, int rows, int cols)
{
    const int64_t shape[] = { B, rows, cols };
    in->rank = B >= 0 ? 3 : 2;
    memcpy(in->shape, shape + (B >= 0 ? 0 : 1), sizeof shape - (B >= 0 ? 0 : 8));
}

static void check_public(cla_runtime *rt, public_case *c)
{
    op_case op = { .in = { { .name = "a" }, { .name = "b" } },
                   .inputs = 2,
                   .rank = c->B >= 0 ? 3 : 2,
                   .shape = { c->B, c->M, c->N },
                   .device = device,
                   .oracle = oracle,
                   .context = c,
                   .bar = bar_of(c->K) };
    set_shape(&op.in[0], c->B, c->ta ? c->K : c->M, c->ta ? c->M : c->K);
    set_shape(&op.in[1], c->shared ? -1 : c->B, c->tb ? c->N : c->K,
              c->tb ? c->K : c->N);
    if (c->B < 0) {
        memmove(op.shape, op.shape + 1, 2 * sizeof *op.shape);
    }
    snprintf(op.name, sizeof op.name, "matmul B%d M%d N%d K%d ta%d tb%d shared%d", c->B,
             c->M, c->N, c->K, c->ta, c->tb, c->shared);
    check_op(rt, &op);
}

DEVICE_TEST(matmul, matches_oracle_and_gradient)
{
    static const int sizes[][3] = { { 1, 1, 1 },   { 7, 17, 5 },  { 63, 65, 64 },
                                    { 3, 0, 4 },   { 0, 3, 4 },   { 5, 3, 0 },
                                    { 11, 5, 20 }, { 65, 7, 17 }, { 129, 33, 63 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *n = sizes[i];
        if ((test_tiny() && n[0] > 8) || (test_small() && n[0] > 64)) continue;
        for (int t = test_tiny() ? 2 : 0; t < 4; t++) {
            check_public(rt,
                         &(public_case){ -1, n[0], n[1], n[2], t & 1, t >> 1, false });
        }
    }
}

DEVICE_TEST(matmul, matches_oracle_in_batches)
{
    static const int sizes[][4] = {
        { 3, 5, 6, 7 }, { 0, 2, 3, 4 }, { 2, 0, 3, 4 }, { 2, 33, 18, 20 }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *n = sizes[i];
        if (test_tiny() && n[1] > 8) continue;
        for (int t = test_tiny() ? 6 : 0; t < 8; t++) {
            check_public(rt, &(public_case){ n[0], n[1], n[2], n[3], t & 1,
                                             (t & 2) != 0, (t & 4) != 0 });
        }
    }
}

/* The tiles of GPUs work, with loads of 16 bytes and without, and parts of sums. */
DEVICE_TEST(matmul, takes_the_tiles_of_gpus)
{
    static const struct {
        int items, side, rows, columns;
        public_case c;
    } cases[] = { { 1, 128, 128, 128, { 2, 252, 124, 36, .tb = true } },
                  { 1, 64, 64, 64, { -1, 67, 61, 35, .tb = true } },
                  { 65536, 128, 32, 32, { -1, 700, 19, 33, .tb = false } } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !test_small(); i++) {
        public_case c = cases[i].c;
        const cla_product p = {
            .M = c.M, .N = c.N, .K = c.K, .batch = c.B > 0 ? c.B : 1
        };
        TEST_OK(cla_tuning_set(rt, "matmul_group", "ITEMS", cases[i].items));
        TEST_OK(cla_tuning_set(rt, "matmul_group", "SIDE", cases[i].side));
        const cla_group_tile tile = cla_product_plan(rt, &p, false).tile;
        cr_assert_eq(cla_group_tile_rows(&tile), cases[i].rows);
        cr_assert_eq(cla_group_tile_columns(&tile), cases[i].columns);
        check_public(rt, &c);
    }
}

/* Products of models, and the tiles that they get on an H100, a 7900 XTX and an A770.
 * Each core has work; a tile is not far wider than the result. */
Test(matmul, plans_keep_cores_busy)
{
    static const struct {
        int M, N, K;
        bool ta;
    } products[] = { { 1024, 1024, 1024, false }, { 2048, 512, 512, false },
                     { 40000, 64, 128, false },   { 512, 512, 2048, true },
                     { 512, 2048, 2048, true },   { 64, 64, 40000, true },
                     { 256, 1024, 8000, true } };
    static const int cores[] = { 132, 96, 32 };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        for (size_t c = 0; c < sizeof cores / sizeof *cores; c++) {
            const cla_product p = { .M = products[i].M,
                                    .N = products[i].N,
                                    .K = products[i].K,
                                    .batch = 1,
                                    .transpose_a = products[i].ta };
            const cla_group_plan plan = cla_group_plan_of(cores[c], 128, &p, false);
            const int rows = cla_group_tile_rows(&plan.tile);
            const int columns = cla_group_tile_columns(&plan.tile);
            cr_expect_geq(5 * plan.groups * plan.parts, 4 * cores[c]);
            cr_expect_geq(rows * columns, 64 * 64);
            cr_expect_leq(columns, products[i].N > 64 ? 128 : 64);
        }
    }
}

DEVICE_TEST(matmul, refuses)
{
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *a = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 3 }, NULL);
    cla_tensor *b = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 4, 3, 5 }, NULL);
    cla_tensor *c = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 2, 2, 3 }, NULL);
    cla_tensor *flat = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, NULL);
    cla_tensor *ids = test_tensor(tape, CLA_I32, 2, (int64_t[]){ 3, 3 }, NULL);
    cla_tensor *tall = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 50000, 1 }, NULL);
    TEST_FAILS(cla_matmul(tape, &y, a, a, false, false), CLA_E_SHAPE,
               "matmul: a is [2,3], b is [2,3]: inner sizes differ");
    TEST_FAILS(cla_matmul(tape, &y, a, ids, true, true), CLA_E_SHAPE,
               "matmul: b holds i32, must hold f32");
    TEST_FAILS(cla_matmul(tape, &y, c, b, false, false), CLA_E_SHAPE,
               "matmul: a is [2,2,3], b is [4,3,5]: batches differ");
    TEST_FAILS(cla_matmul(tape, &y, a, b, false, false), CLA_E_SHAPE,
               "matmul: a is [2,3], b is [4,3,5]: batches differ");
    TEST_FAILS(cla_matmul(tape, &y, flat, a, false, false), CLA_E_SHAPE,
               "matmul: a is [3], must be [*,*]");
    TEST_FAILS(cla_matmul(tape, &y, a, NULL, false, false), CLA_E_USAGE,
               "matmul: b is NULL");
    TEST_FAILS(cla_matmul(tape, &y, tall, tall, false, true), CLA_E_SHAPE,
               "[50000,50000] has more than 2147483647 elements");
    cr_assert_null(y);
    cla_tape_free(&tape);
}
