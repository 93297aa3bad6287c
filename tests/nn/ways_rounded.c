/* ways_rounded.c - every kind of attention at precision medium: near its own float32,
 * with the same bits with a matrix unit and without one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/way.h"

enum { H = 4, LENGTH = 80 };

/* A batch, and how its gradients are cut: an item for each head, or for each tile. */
typedef struct batch {
    int B, width, lengths[3];
    bool heads;
} batch;

/* The numbers of a step: the result, then the gradients of qkv and of parameters. */
typedef struct numbers {
    float *x;
    int64_t results, size;
} numbers;

static cla_runtime *runtime_of(const char *unit, cla_precision precision,
                               const batch *b)
{
    cla_runtime *rt = test_runtime_at(unit, precision);
    TEST_OK(cla_tuning_set(rt, "attention_tile", "ITEMS", b->heads ? 0 : 1024));
    return rt;
}

/* Appends the numbers of t; the result holds NaN where nothing was written. */
static void append(numbers *n, const cla_tensor *t)
{
    const int64_t more = cla_tensor_size(t);
    n->x = realloc(n->x, (size_t)(n->size + more + 1) * sizeof *n->x);
    cr_assert_not_null(n->x);
    for (int64_t i = 0; i < more; i++) {
        n->x[n->size + i] = NAN;
    }
    TEST_OK(cla_tensor_download(t, n->x + n->size));
    n->size += more;
}

static numbers step(cla_runtime *rt, const attn_way *way, const batch *b)
{
    const char *keys[16] = { NULL };
    char word[64];
    way_case w;
    numbers n = { .x = NULL };
    snprintf(word, sizeof word, "attention=%s", way->name);
    keys[0] = word;
    for (int i = 0; way->small && way->small[i]; i++) {
        keys[i + 1] = way->small[i];
    }
    way_open_tied(&w, H, b->width, LENGTH, keys);
    way_rows(&w, rt, b->B, b->lengths);
    TEST_OK(cla_params_build(&w.params, rt, 3));
    TEST_OK(cla_params_train(&w.params));
    const int64_t shape[] = { w.offsets[b->B], (int64_t)3 * H * b->width };
    float *x = test_random(shape[0] * shape[1], 1, 5);
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *qkv = test_tensor(tape, CLA_F32, 2, shape, x), *o = NULL;
    cla_tensor_want_grad(qkv, true);
    TEST_OK(way_attend(&w, tape, &o, qkv));
    append(&n, o);
    n.results = n.size;
    test_backward(tape, o);
    append(&n, cla_tensor_grad(qkv));
    for (size_t i = 0; i < w.params.count; i++) {
        append(&n, cla_tensor_grad(w.params.list[i].tensor));
    }
    free(x);
    cla_tape_free(&tape);
    way_close(&w);
    return n;
}

/* Returns the error of size numbers relative to the size of all. */
static double error_of(const float *got, const float *want, int64_t size)
{
    double apart = 0, all = 1e-30;
    for (int64_t i = 0; i < size; i++) {
        const double d = (double)got[i] - (double)want[i];
        apart += d * d;
        all += (double)want[i] * (double)want[i];
    }
    return sqrt(apart / all);
}

/* A factor's rounding is at most 2^-9 of it. A result is made of two products, which is
 * 2^-8; the predicted centres of windows multiply it by the distances of keys, and a
 * gradient is made of three products, whose terms cancel. */
static void check(const attn_way *way, const batch *b)
{
    cla_runtime *rt[] = { runtime_of("auto", CLA_PRECISION_HIGHEST, b),
                          runtime_of("none", CLA_PRECISION_MEDIUM, b),
                          runtime_of("auto", CLA_PRECISION_MEDIUM, b) };
    numbers n[3];
    for (int i = 0; i < 3; i++) {
        n[i] = step(rt[i], way, b);
        cla_runtime_free(&rt[i]);
        cr_assert_eq(n[i].size, n[0].size);
    }
    const int64_t results = n[0].results;
    const double value = error_of(n[1].x, n[0].x, results);
    const double slope =
        error_of(n[1].x + results, n[0].x + results, n[0].size - results);
    cr_expect(value < 1.0 / 64, "%s, width %d: error %g", way->name, b->width, value);
    cr_expect(slope < 1.0 / 16, "%s, width %d: error of gradients %g", way->name,
              b->width, slope);
    cr_expect(!memcmp(n[1].x, n[2].x, (size_t)n[1].size * sizeof *n[1].x),
              "%s, width %d: the unit gives other bits", way->name, b->width);
    for (int i = 0; i < 3; i++) {
        free(n[i].x);
    }
}

/* By turns, since each way builds kernels three times; the first meets both. */
Test(ways_rounded, are_near_float32_with_and_without_a_unit, .timeout = 900)
{
    static const batch batches[] = {
        { .B = 3, .width = 40, .lengths = { 70, 0, 33 } },
        { .B = 3, .width = 24, .lengths = { 17, 1, 66 }, .heads = true },
    };
    check(cla_attn_ways[0], &batches[1]);
    for (int i = 0; cla_attn_ways[i]; i++) {
        check(cla_attn_ways[i], &batches[i % 2]);
    }
}
