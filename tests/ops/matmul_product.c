/* matmul_product.c - products of parts of buffers, fused tails, and providers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/matmul.h"
#include "support/no_binaries.h"
#include "support/support.h"

/* A sum of K products of normal numbers: partial sums grow as sqrt(k), each is rounded
 * by u = 6e-8 of itself at most, so the errors' deviation is u K / sqrt(6). The bar is
 * five of those. */
static double bar_of(int64_t K)
{
    return 2 * 5.96e-8 * (double)(4 + K);
}

/* A product of matrices with gaps of NaN around them, each in a buffer of its own. */
typedef struct inner_case {
    int M, N, K, batch;
    bool ta, tb;
    int offset, gap, pad; // in front, between rows, between matrices
    bool shared_b;        // stride 0
    bool bias, residual, add;
    cla_activation activation;
} inner_case;

typedef struct block {
    cla_matrix at;
    cla_memory memory;
    float *host;
    int64_t size;
} block;

static block block_new(cla_runtime *rt, const inner_case *c, int rows, int cols,
                       bool shared, uint32_t what)
{
    block b = { .at = { .offset = c->offset, .ld = cols + c->gap } };
    const int64_t one = b.at.ld * rows + c->pad;
    b.at.stride = shared ? 0 : one;
    b.size = c->offset + one * (shared ? 1 : c->batch) + 1;
    float *numbers = test_random(b.size, 1, what);
    b.host = malloc((size_t)b.size * 4);
    for (int64_t i = 0; i < b.size; i++) {
        const int64_t in_one = one ? (i - c->offset) % one : 0;
        const int64_t col = one ? in_one % b.at.ld : 0;
        const bool used =
            i >= c->offset && i < b.size - 1 && in_one < b.at.ld * rows && col < cols;
        b.host[i] = used ? numbers[i] : NAN;
    }
    TEST_OK(cla_memory_new(&b.memory, rt, (size_t)b.size * 4));
    TEST_OK(cla_memory_write(rt, &b.memory, 0, b.host, (size_t)b.size * 4));
    free(numbers);
    return b;
}

static void block_free(block *b, cla_runtime *rt)
{
    cla_memory_free(&b->memory, rt);
    free(b->host);
}

static double at(const block *b, int64_t member, int64_t row, int64_t col)
{
    return (double)b->host[b->at.offset + member * b->at.stride + row * b->at.ld + col];
}

static double want_at(const inner_case *c, const block *blocks, const float *bias,
                      int64_t m, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t k = 0; k < c->K; k++) {
        sum += (c->ta ? at(&blocks[0], m, k, i) : at(&blocks[0], m, i, k)) *
               (c->tb ? at(&blocks[1], m, j, k) : at(&blocks[1], m, k, j));
    }
    sum += c->bias ? (double)bias[j] : 0;
    sum = c->activation == CLA_RELU   ? fmax(sum, 0)
          : c->activation == CLA_TANH ? tanh(sum)
                                      : sum;
    sum += c->residual ? at(&blocks[3], m, i, j) : 0;
    return sum + (c->add ? at(&blocks[2], m, i, j) : 0);
}

/* Compares every element of y's buffer: the gaps must be unchanged. */
static void compare(const char *name, const inner_case *c, const block *blocks,
                    const float *bias, const float *got)
{
    const block *y = &blocks[2];
    double *want = malloc((size_t)y->size * sizeof *want);
    float *seen = malloc((size_t)y->size * sizeof *seen);
    for (int64_t i = 0; i < y->size; i++) { // NaN equals nothing: 0 for both
        want[i] = 0;
        seen[i] = memcmp(&got[i], &y->host[i], 4) == 0 ? 0 : INFINITY;
    }
    for (int64_t m = 0; m < c->batch; m++) {
        for (int64_t i = 0; i < c->M; i++) {
            for (int64_t j = 0; j < c->N; j++) {
                const int64_t e = y->at.offset + m * y->at.stride + i * y->at.ld + j;
                want[e] = want_at(c, blocks, bias, m, i, j);
                seen[e] = got[e];
            }
        }
    }
    check_close(name, seen, want, y->size, bar_of(c->K));
    free(want);
    free(seen);
}

static void check_inner(cla_runtime *rt, const inner_case *c, const char *who)
{
    block blocks[4] = {
        block_new(rt, c, c->ta ? c->K : c->M, c->ta ? c->M : c->K, false, 1),
        block_new(rt, c, c->tb ? c->N : c->K, c->tb ? c->K : c->N, c->shared_b, 2),
        block_new(rt, c, c->M, c->N, false, 3),
        block_new(rt, c, c->M, c->N, false, 4),
    };
    for (int i = 0; i < 4; i++) {
        blocks[i].at.memory = &blocks[i].memory;
    }
    float *bias = test_random(c->N, 1, 5), *got = malloc((size_t)blocks[2].size * 4);
    cla_memory bias_memory = { 0 };
    TEST_OK(cla_memory_new(&bias_memory, rt, (size_t)c->N * 4));
    TEST_OK(cla_memory_write(rt, &bias_memory, 0, bias, (size_t)c->N * 4));
    cla_product p = { .M = c->M,
                      .N = c->N,
                      .K = c->K,
                      .batch = c->batch,
                      .transpose_a = c->ta,
                      .transpose_b = c->tb,
                      .a = blocks[0].at,
                      .b = blocks[1].at,
                      .y = blocks[2].at,
                      .bias = c->bias ? &bias_memory : NULL,
                      .activation = c->activation,
                      .add = c->add };
    if (c->residual) {
        p.residual = blocks[3].at;
    }
    char name[200];
    snprintf(
        name, sizeof name,
        "%s M%d N%d K%d batch %d ta%d tb%d offset %d gap %d pad %d shared %d bias %d "
        "act %d residual %d add %d",
        who, c->M, c->N, c->K, c->batch, c->ta, c->tb, c->offset, c->gap, c->pad,
        c->shared_b, c->bias, (int)c->activation, c->residual, c->add);
    TEST_OK(cla_product_run(rt, &p));
    TEST_OK(cla_memory_check_guards(rt));
    TEST_OK(cla_memory_read(rt, &blocks[2].memory, 0, got, (size_t)blocks[2].size * 4));
    compare(name, c, blocks, bias, got);
    for (int i = 0; i < 4; i++) {
        block_free(&blocks[i], rt);
    }
    cla_memory_free(&bias_memory, rt);
    free(bias);
    free(got);
}

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
        cr_assert_eq(cla_product_plan(rt, &p).parts, 1);
        p.transpose_a = true;
        cr_assert_gt(cla_product_plan(rt, &p).parts, 1);
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
