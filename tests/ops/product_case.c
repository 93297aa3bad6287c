/* product_case.c - a product of parts of buffers, beside its definition in double
 * precision. */
#include "ops/product_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

/* A sum of K products of normal numbers: partial sums grow as sqrt(k), each is rounded
 * by u = 6e-8 of itself at most, so the errors' deviation is u K / sqrt(6). The bar is
 * five of those. */
static double bar_of(int64_t K)
{
    return 2 * 5.96e-8 * (double)(4 + K);
}

/* Rounds to the nearest bf16, ties to even. */
static double bf16_of(double x)
{
    const float f = (float)x;
    uint32_t bits = 0;
    memcpy(&bits, &f, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000U;
    float rounded = 0;
    memcpy(&rounded, &bits, 4);
    return (double)rounded;
}

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
        const double a = c->ta ? at(&blocks[0], m, k, i) : at(&blocks[0], m, i, k);
        const double b = c->tb ? at(&blocks[1], m, j, k) : at(&blocks[1], m, k, j);
        sum += c->rounded ? bf16_of(a) * bf16_of(b) : a * b;
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

float *check_inner_results(cla_runtime *rt, const inner_case *c, const char *who)
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
    return got;
}

void check_inner(cla_runtime *rt, const inner_case *c, const char *who)
{
    free(check_inner_results(rt, c, who));
}
