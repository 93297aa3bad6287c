/* step_attention.c - attention of one token of each sequence against a reference in
 * double precision. */
#include "ops/step_attention.h"

#include <math.h>
#include <stdlib.h>

#include "support/support.h"

typedef struct step_case {
    int B, H, d, count, stride;
    int reach; // R of the distances; 0: none, and scores are scaled
} step_case;

/* What a case adds to the score of key j of count, [2R+1,H] from its head on. */
static double added(const float *distances, const step_case *c, int count, int j)
{
    const int back = count - 1 - j < c->reach ? count - 1 - j : c->reach;
    return distances ? (double)distances[(c->reach - back) * c->H] : 0;
}

/* Computes o of one head. q attends to count rows of kv [.,2*D]: those in place, or
 * from first on. */
static void attend(const float *q, const float *kv, const int32_t *place, int first,
                   int count, const step_case *shape, const float *distances, double *o)
{
    const int D = shape->H * shape->d, d = shape->d;
    const double root = shape->reach ? 1 : sqrt(d);
    double *score = calloc((size_t)count + 1, sizeof *score), top = -INFINITY,
           total = 0;
    for (int j = 0; j < count; j++) {
        const float *k = kv + (size_t)(place ? place[j] : first + j) * 2 * (size_t)D;
        for (int c = 0; c < d; c++) {
            score[j] += (double)q[c] * k[c] / root;
        }
        score[j] += added(distances, shape, count, j);
        top = fmax(top, score[j]);
    }
    for (int j = 0; j < count; j++) {
        score[j] = exp(score[j] - top);
        total += score[j];
    }
    for (int c = 0; c < d; c++) {
        o[c] = 0;
        for (int j = 0; j < count; j++) {
            const float *k =
                kv + (size_t)(place ? place[j] : first + j) * 2 * (size_t)D;
            o[c] += score[j] / total * k[D + c];
        }
    }
    free(score);
}

static cla_tensor *upload(cla_runtime *rt, cla_dtype type, int64_t rows,
                          int64_t columns, const void *host)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tensor_new(&t, rt, type, 2, (int64_t[]){ rows, columns }));
    TEST_OK(cla_tensor_upload(t, host));
    return t;
}

/* Returns the rows of the sequences' tokens in the store: each pair of sequences shares
 * all but the last. */
static int32_t *places_of(const step_case *c)
{
    int32_t *place = calloc((size_t)(c->B * c->stride) + 1, sizeof *place);
    for (int b = 0; b < c->B; b++) {
        for (int j = 0; j < c->count; j++) {
            const int row = j + 1 < c->count ? b / 2 * 2 : b;
            place[b * c->stride + j] = (c->count - 1 - j) * c->B + row;
        }
    }
    return place;
}

static void check_self(cla_runtime *rt, const step_case *c)
{
    const int D = c->H * c->d, places = c->B * c->count;
    float *kv = test_random((int64_t)places * 2 * D, 2, 1);
    float *qkv = test_random((int64_t)c->B * 3 * D, 2, 2);
    float *found = calloc((size_t)(places * 2 * D) + 1, sizeof *found);
    double *want = calloc((size_t)(c->B * D) + 1, sizeof *want);
    int32_t *place = places_of(c);
    cla_tensor *store = upload(rt, CLA_F32, places, 2 * D, kv), *o = NULL;
    cla_tensor *in = upload(rt, CLA_F32, c->B, 3 * D, qkv);
    cla_tensor *list = upload(rt, CLA_I32, c->B, c->stride, place);
    float *numbers = test_random((2 * (int64_t)c->reach + 1) * c->H, 2, 6);
    cla_tensor *distances =
        c->reach ? upload(rt, CLA_F32, 2 * (int64_t)c->reach + 1, c->H, numbers) : NULL;
    const step_scores scores = { c->H, c->reach > 0, distances };
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_step_self(tape, &o, store, in, list, &scores, c->count));
    for (int b = 0; b < c->B; b++) {
        float *own = kv + (size_t)place[b * c->stride + c->count - 1] * 2 * (size_t)D;
        for (int i = 0; i < 2 * D; i++) {
            own[i] = qkv[b * 3 * D + D + i];
        }
    }
    for (int b = 0; b < c->B; b++) {
        for (int h = 0; h < c->H; h++) {
            attend(qkv + b * 3 * D + h * c->d, kv + h * c->d, place + b * c->stride, 0,
                   c->count, c, distances ? numbers + h : NULL,
                   want + b * D + h * c->d);
        }
    }
    TEST_OK(cla_tensor_download(store, found));
    for (int i = 0; i < places * 2 * D; i++) {
        cr_assert(found[i] == kv[i], "store[%d] is %g, must be %g", i, (double)found[i],
                  (double)kv[i]);
    }
    TEST_OK(cla_tensor_download(o, found));
    // Scores of up to 4 d / sqrt(d) err by d roundings; weights by e^that.
    check_close("o", found, want, c->B * D, 2e-5);
    cla_tape_free(&tape);
    cla_tensor_free(&store);
    cla_tensor_free(&in);
    cla_tensor_free(&list);
    cla_tensor_free(&distances);
    free(numbers);
    free(kv);
    free(qkv);
    free(found);
    free(want);
    free(place);
}

static void check_memory(cla_runtime *rt, const step_case *c)
{
    const int D = c->H * c->d, rows = 2 * c->count + 3;
    float *kv = test_random((int64_t)rows * 2 * D, 2, 3);
    float *q = test_random((int64_t)c->B * D, 2, 4);
    float *found = calloc((size_t)(c->B * D) + 1, sizeof *found);
    double *want = calloc((size_t)(c->B * D) + 1, sizeof *want);
    int32_t *range = calloc(2 * (size_t)c->B + 1, sizeof *range);
    for (int b = 0; b < c->B; b++) { // the last sequence has no keys
        range[2 * b] = b % 3;
        range[2 * b + 1] = b + 1 < c->B ? c->count + b % c->count : 0;
        for (int h = 0; h < c->H; h++) {
            attend(q + b * D + h * c->d, kv + h * c->d, NULL, range[2 * b],
                   range[2 * b + 1], c, NULL, want + b * D + h * c->d);
        }
    }
    cla_tensor *keys = upload(rt, CLA_F32, rows, 2 * D, kv), *o = NULL;
    cla_tensor *in = upload(rt, CLA_F32, c->B, D, q);
    cla_tensor *list = upload(rt, CLA_I32, c->B, 2, range);
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, false));
    const step_scores scores = { c->H, c->reach > 0, NULL };
    TEST_OK(cla_step_memory(tape, &o, in, keys, list, &scores));
    TEST_OK(cla_tensor_download(o, found));
    check_close("o", found, want, c->B * D, 2e-5);
    cla_tape_free(&tape);
    cla_tensor_free(&keys);
    cla_tensor_free(&in);
    cla_tensor_free(&list);
    free(kv);
    free(q);
    free(found);
    free(want);
    free(range);
}

static cla_runtime *open_tiled(void)
{
    cla_runtime *rt = test_runtime();
    if (cla_runtime_schedule(rt) != CLA_SCHEDULE_TILE) {
        cla_runtime_free(&rt);
        cr_skip_test("the device has other kernels");
    }
    cr_assert(cla_step_attention_runs(rt, 64));
    return rt;
}

Test(step_attention, equals_sums_in_double)
{
    static const step_case cases[] = {
        { 1, 1, 1, 1, 1, 0 },    { 3, 2, 5, 4, 7, 0 },      { 4, 3, 16, 9, 9, 0 },
        { 2, 4, 64, 65, 80, 0 }, { 5, 2, 40, 130, 130, 0 }, { 2, 1, 256, 3, 4, 0 },
        { 0, 2, 8, 2, 2, 0 },    { 3, 2, 5, 9, 11, 3 },     { 2, 3, 6, 130, 131, 128 },
        { 1, 5, 3, 4, 4, 8 }
    };
    cla_runtime *rt = open_tiled();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_self(rt, &cases[i]);
        check_memory(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

/* Writes o of one head of width 1, whose query is 1, to the keys and values of rows
 * 1 .. n of five; the others hold NaN. */
static float one_step(cla_runtime *rt, const float *keys, const float *values, int n)
{
    float kv[10], found = 0;
    cla_tensor *o = NULL;
    cla_tape *tape = NULL;
    for (int i = 0; i < 5; i++) {
        kv[2 * i] = i >= 1 && i <= n ? keys[i - 1] : NAN;
        kv[2 * i + 1] = i >= 1 && i <= n ? values[i - 1] : NAN;
    }
    cla_tensor *q = upload(rt, CLA_F32, 1, 1, (float[]){ 1 });
    cla_tensor *rows = upload(rt, CLA_F32, 5, 2, kv);
    cla_tensor *range = upload(rt, CLA_I32, 1, 2, (int32_t[]){ 1, n });
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_step_memory(tape, &o, q, rows, range, &(step_scores){ .heads = 1 }));
    TEST_OK(cla_tensor_download(o, &found));
    cla_tape_free(&tape);
    cla_tensor_free(&q);
    cla_tensor_free(&rows);
    cla_tensor_free(&range);
    return found;
}

/* NaN in rows that are attended to is in o; rows outside do not count. */
Test(step_attention, keeps_nan_and_low_scores)
{
    const float low = -INFINITY, least = -3.4e38f, values[] = { 1, 2, 6 };
    cla_runtime *rt = open_tiled();
    cr_assert_float_eq(one_step(rt, (float[]){ 4, 4, 4 }, values, 3), 3, 1e-6);
    cr_assert_float_eq(one_step(rt, (float[]){ low, 4, 4 }, values, 3), 4, 1e-6);
    cr_assert_float_eq(one_step(rt, (float[]){ least, least, low }, values, 3), 1.5f,
                       1e-6);
    cr_assert_eq(one_step(rt, (float[]){ low, low, low }, values, 3), 0);
    cr_assert(isnan(one_step(rt, (float[]){ 4, NAN, 4 }, values, 3)));
    cr_assert(isnan(one_step(rt, (float[]){ 4, 4, 4 }, (float[]){ 1, NAN, 2 }, 3)));
    cla_runtime_free(&rt);
}

Test(step_attention, a_store_grows)
{
    cla_runtime *rt = open_tiled();
    cla_tape *tape = NULL;
    cla_tensor *old = NULL, *store = NULL;
    float *kv = test_random(6 * 4, 2, 5), found[10 * 4];
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_step_store(tape, &old, NULL, 6, 2));
    TEST_OK(cla_tensor_upload(old, kv));
    TEST_OK(cla_step_store(tape, &store, old, 10, 2));
    TEST_OK(cla_tensor_download(store, found));
    for (int i = 0; i < 6 * 4; i++) {
        cr_assert_eq(found[i], kv[i]);
    }
    TEST_FAILS(cla_step_store(tape, &store, old, 5, 2), CLA_E_SHAPE, "room is for 5");
    TEST_FAILS(cla_step_store(tape, &store, old, 10, 3), CLA_E_SHAPE, "old is [6,4]");
    cla_tape_free(&tape);
    cla_runtime_free(&rt);
    free(kv);
}

Test(step_attention, refuses_shapes)
{
    static const float zeros[64] = { 0 };
    static const int32_t none[16] = { 0 };
    cla_runtime *rt = open_tiled();
    cla_tape *tape = NULL;
    cla_tensor *o = NULL;
    TEST_OK(cla_tape_new(&tape, rt, false));
    cla_tensor *store = upload(rt, CLA_F32, 2, 8, zeros),
               *q = upload(rt, CLA_F32, 2, 4, zeros);
    cla_tensor *qkv = upload(rt, CLA_F32, 2, 12, zeros);
    cla_tensor *place = upload(rt, CLA_I32, 2, 2, none);
    TEST_FAILS(
        cla_step_self(tape, &o, store, q, place, &(step_scores){ .heads = 2 }, 1),
        CLA_E_SHAPE, "qkv");
    TEST_FAILS(
        cla_step_self(tape, &o, store, qkv, place, &(step_scores){ .heads = 3 }, 1),
        CLA_E_SHAPE, "3 heads");
    TEST_FAILS(
        cla_step_self(tape, &o, store, qkv, place, &(step_scores){ .heads = 2 }, 3),
        CLA_E_SHAPE, "3 tokens are asked for");
    TEST_FAILS(
        cla_step_self(tape, &o, store, qkv, store, &(step_scores){ .heads = 2 }, 1),
        CLA_E_SHAPE, "place");
    TEST_FAILS(cla_step_self(tape, &o, store, qkv, place,
                             &(step_scores){ .heads = 2, .distances = q }, 1),
               CLA_E_SHAPE, "distances");
    TEST_FAILS(
        cla_step_memory(tape, &o, qkv, store, place, &(step_scores){ .heads = 2 }),
        CLA_E_SHAPE, "kv");
    TEST_FAILS(cla_step_memory(tape, &o, q, store, place, &(step_scores){ .heads = 0 }),
               CLA_E_SHAPE, "0 heads");
    TEST_FAILS(cla_step_memory(tape, &o, q, store, q, &(step_scores){ .heads = 2 }),
               CLA_E_SHAPE, "range");
    cla_tape_free(&tape);
    cla_tensor_free(&store);
    cla_tensor_free(&q);
    cla_tensor_free(&qkv);
    cla_tensor_free(&place);
    cla_runtime_free(&rt);
}
