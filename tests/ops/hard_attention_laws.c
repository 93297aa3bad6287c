/* hard_attention_laws.c - known answers of the whole layer, and properties of any
 * gates. */
#include <math.h>
#include <string.h>

#include "clattn/clattn.h"
#include "runtime/runtime.h"
#include "support/support.h"

/* Makes a tensor of factor sin(0.9 k + 0.37 s), the input of the known answers. */
static cla_tensor *known(cla_runtime *rt, int rank, const int64_t *shape, int s,
                         double factor)
{
    float x[16];
    cla_tensor *t = NULL;
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, rank, shape));
    cr_assert(cla_tensor_size(t) <= 16);
    for (int k = 0; k < cla_tensor_size(t); k++) {
        x[k] = (float)(factor * sin(0.9 * k + 0.37 * s));
    }
    TEST_OK(cla_tensor_upload(t, x));
    return t;
}

/* A layer of width 3 for 2 queries and 3 keys. */
typedef struct layer {
    cla_tensor *y, *z;
    cla_hard_projector projector[3]; // of queries, keys, values
    cla_ragged *q_rows, *k_rows;
} layer;

static layer make_layer(cla_runtime *rt)
{
    const int64_t square[2] = { 3, 3 }, queries[2] = { 2, 3 }, width = 3;
    layer l = { .y = known(rt, 2, queries, 1, 1), .z = known(rt, 2, square, 2, 1) };
    for (int i = 0; i < 3; i++) {
        l.projector[i] = (cla_hard_projector){
            .w1 = known(rt, 2, square, 3 + 2 * i, 0.8),
            .b1 = known(rt, 1, &width, 9 + 2 * i, 0.1),
            .w2 = known(rt, 2, square, 4 + 2 * i, 0.8),
            .b2 = known(rt, 1, &width, 10 + 2 * i, 0.1),
        };
        cla_tensor_want_grad(l.projector[i].w1, true);
    }
    cla_tensor_want_grad(l.y, true);
    cla_tensor_want_grad(l.z, true);
    l.q_rows = test_ragged(rt, 1, (int[]){ 2 }, NULL);
    l.k_rows = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    return l;
}

static void free_layer(layer *l)
{
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&l->projector[i].w1);
        cla_tensor_free(&l->projector[i].b1);
        cla_tensor_free(&l->projector[i].w2);
        cla_tensor_free(&l->projector[i].b2);
    }
    cla_tensor_free(&l->y);
    cla_tensor_free(&l->z);
    cla_ragged_free(&l->q_rows);
    cla_ragged_free(&l->k_rows);
}

static cla_tensor *attend(cla_tape *tape, const layer *l, bool stop,
                          const cla_hard_options *options)
{
    cla_tensor *row[3], *o = NULL;
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_hard_project(tape, &row[i], i ? l->z : l->y, &l->projector[i],
                                 stop && i < 2));
    }
    TEST_OK(cla_hard_attention(tape, &o, row[0], row[1], row[2], l->q_rows, l->k_rows,
                               options));
    return o;
}

static void close_to(const cla_tensor *t, const double *want, const char *what)
{
    check_tensor(what, t, want, cla_tensor_size(t), 2e-6); // printed to 6 digits
}

static bool is_zero(const cla_tensor *grad)
{
    float got[16] = { 0 };
    if (!grad) {
        return true;
    }
    TEST_OK(cla_tensor_download(grad, got));
    bool zero = true;
    for (int i = 0; i < cla_tensor_size(grad); i++) {
        zero = zero && got[i] == 0;
    }
    return zero;
}

static void clear(layer *l)
{
    for (int i = 0; i < 3; i++) {
        cla_tensor_clear_grad(l->projector[i].w1);
    }
    cla_tensor_clear_grad(l->y);
    cla_tensor_clear_grad(l->z);
}

/* Checks where gradients arrive. That of the result reaches the values' projector and z
 * alone; that of the scores reaches the other projectors and, unless stopped, y and
 * z. */
static void check_ways_back(cla_runtime *rt, layer *l)
{
    for (int stop = 0; stop < 2; stop++) {
        for (int of_scores = 0; of_scores < 2; of_scores++) {
            cla_tape *tape = test_tape(rt, true);
            cla_tensor *scores = NULL;
            const cla_hard_options options = { .scale = 1, .scores = &scores };
            clear(l);
            cla_tensor *o = attend(tape, l, stop, &options);
            TEST_OK(cla_tape_seed(tape, of_scores ? scores : o, NULL));
            TEST_OK(cla_tape_backward(tape));
            for (int i = 0; i < 3; i++) {
                cr_assert_eq(is_zero(cla_tensor_grad(l->projector[i].w1)),
                             of_scores ? i == 2 : i < 2, "projector %d", i);
            }
            cr_assert_eq(is_zero(cla_tensor_grad(l->y)), !of_scores || stop);
            cr_assert_eq(is_zero(cla_tensor_grad(l->z)), of_scores && stop);
            cla_tape_free(&tape);
        }
    }
}

/* Results of an independent computation in double precision. */
DEVICE_TEST(hard_attention_laws, known_layer)
{
    const double scores[6] = { 0.018308, 0.020362, -0.002081,
                               0.027018, 0.022557, -0.045027 };
    const double sums[6] = { -0.136911, 0.040821, 0.187469,
                             -0.136911, 0.040821, 0.187469 };
    const double all[6] = {
        -0.183655, 0.038462, 0.231285, -0.183655, 0.038462, 0.231285
    };
    cla_memory_guard(rt, false);
    layer l = make_layer(rt);
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *s = NULL, *gates = NULL;
    float got[6];
    cla_hard_options options = { .scale = 1, .scores = &s, .gates = &gates };
    close_to(attend(tape, &l, false, &options), sums, "threshold");
    close_to(s, scores, "scores");
    TEST_OK(cla_tensor_download(gates, got));
    cr_assert(!memcmp(got, (float[]){ 1, 1, 0, 1, 1, 0 }, sizeof got));
    options = (cla_hard_options){ .gate = CLA_GATE_TOP, .top = 3 };
    close_to(attend(tape, &l, false, &options), all, "all gates open");
    cla_tape_free(&tape);
    check_ways_back(rt, &l);
    free_layer(&l);
}

/* ---- any gates ------------------------------------------------------------------- */

enum { T = 3, S = 4, D = 5 };

/* Computes the result for queries of ones and keys with these scores; v[j] = j + 1. */
static void sums_of(cla_runtime *rt, const float *logits, cla_hard_options options,
                    const float *given, float *o)
{
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x[3], *y = NULL, *map = NULL;
    cla_ragged *q_rows = test_ragged(rt, 1, (int[]){ T }, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, (int[]){ S }, NULL);
    float row[S * D] = { 0 };
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_tape_tensor(tape, &x[i], CLA_F32, 2, (int64_t[]){ i ? S : T, D }));
    }
    TEST_OK(cla_tensor_fill(x[0], 1));
    for (int j = 0; j < S; j++) {
        row[j * D] = logits[j];
    }
    TEST_OK(cla_tensor_upload(x[1], row));
    for (int i = 0; i < S * D; i++) {
        row[i] = (float)(i / D + 1);
    }
    TEST_OK(cla_tensor_upload(x[2], row));
    if (given) {
        TEST_OK(cla_tape_tensor(tape, &map, CLA_F32, 1, (int64_t[]){ T * S }));
        TEST_OK(cla_tensor_upload(map, given));
        options.gate = CLA_GATE_GIVEN;
        options.given = map;
    }
    TEST_OK(cla_hard_attention(tape, &y, x[0], x[1], x[2], q_rows, k_rows, &options));
    TEST_OK(cla_tensor_download(y, o));
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
}

static void expect(const float *o, const float want[T], const char *what)
{
    for (int i = 0; i < T * D; i++) {
        cr_assert_eq(o[i], want[i / D], "%s: row %d is %g, must be %g", what, i / D,
                     (double)o[i], (double)want[i / D]);
    }
}

/* With all gates open the result is the sum of all rows, with one open that row, with
 * none zeros. */
DEVICE_TEST(hard_attention_laws, sums_of_open_gates)
{
    const float logits[S] = { 200, -200, 150, -120 };
    const float map[T * S] = { 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0 };
    float o[T * D];
    for (int variant = 0; variant < 4; variant++) {
        cla_runtime_set_schedule(rt,
                                 variant & 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        cla_hard_options options = { .form = variant & 2 ? CLA_HARD_SPARSE
                                                         : CLA_HARD_DENSE };
        sums_of(rt, logits, options, map, o);
        expect(o, (float[]){ 10, 3, 0 }, "given");
        sums_of(rt, logits, options, NULL, o);
        expect(o, (float[]){ 4, 4, 4 }, "threshold");
        options.gate = CLA_GATE_EXPECTED; // probabilities that are 0 and 1
        sums_of(rt, logits, options, NULL, o);
        expect(o, (float[]){ 4, 4, 4 }, "expected");
        options.mean = true;
        sums_of(rt, logits, options, map, o);
        expect(o, (float[]){ 2.5f, 3, 0 }, "mean");
    }
}

enum { QUERIES = 3, KEYS = 150, WIDTH = 37, BAD = 131 };

/* Checks that row n of x [rows,WIDTH] is lost, not finite, where the gate is open. */
static void check_lost(const cla_tensor *x, int rows, const float *gates, int step,
                       const char *what)
{
    static float got[KEYS * WIDTH];
    TEST_OK(cla_tensor_download(x, got));
    for (int i = 0; i < rows * WIDTH; i++) {
        const bool open = gates[i / WIDTH * step] != 0;
        cr_assert(open == !isfinite(got[i]), "%s[%d] is %g, its gate %d", what, i,
                  (double)got[i], open);
    }
}

static void check_closed(cla_runtime *rt, const cla_hard_options *options,
                         const float *gates, float bad)
{
    static float v[KEYS * WIDTH], dy[QUERIES * WIDTH], zeros[KEYS * WIDTH];
    cla_tensor *o = NULL;
    cla_hard_options given = *options;
    cla_tape *tape = test_tape(rt, true);
    cla_ragged *q_rows = test_ragged(rt, 1, (int[]){ QUERIES }, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, (int[]){ KEYS }, NULL);
    for (int i = 0; i < KEYS * WIDTH; i++) {
        v[i] = i / WIDTH == BAD ? bad : 1;
    }
    for (int i = 0; i < QUERIES * WIDTH; i++) {
        dy[i] = i / WIDTH == 1 ? bad : 1;
    }
    const int64_t queries[] = { QUERIES, WIDTH }, keys[] = { KEYS, WIDTH };
    cla_tensor *q = test_tensor(tape, CLA_F32, 2, queries, zeros);
    cla_tensor *k = test_tensor(tape, CLA_F32, 2, keys, zeros);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, keys, v);
    cla_tensor *flow = test_tensor(tape, CLA_F32, 2, queries, dy);
    given.given = test_tensor(tape, CLA_F32, 1, (int64_t[]){ QUERIES * KEYS }, gates);
    cla_tensor_want_grad(x, true);
    TEST_OK(cla_hard_attention(tape, &o, q, k, x, q_rows, k_rows, &given));
    TEST_OK(cla_tape_seed(tape, o, flow));
    TEST_OK(cla_tape_backward(tape));
    check_lost(o, QUERIES, gates + BAD, KEYS, "o");
    check_lost(cla_tensor_grad(x), KEYS, gates + KEYS, 1, "dv");
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
}

/* What is behind a closed gate counts for nothing, in both directions. */
DEVICE_TEST(hard_attention_laws, closed_gates_hide_numbers_that_are_not_finite)
{
    float gates[QUERIES * KEYS];
    for (int i = 0; i < QUERIES * KEYS; i++) {
        gates[i] = i % 3 == 1 ? 0.5f : 0;
    }
    gates[BAD] = 1; // open for one query, closed for another
    gates[2 * KEYS + BAD] = 0;
    for (int variant = 0; variant < 16; variant++) {
        const cla_hard_options options = { .gate = CLA_GATE_GIVEN,
                                           .form = variant & 2 ? CLA_HARD_SPARSE
                                                               : CLA_HARD_DENSE,
                                           .mean = variant & 4 };
        cla_runtime_set_schedule(rt,
                                 variant & 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_closed(rt, &options, gates, variant & 8 ? NAN : INFINITY);
    }
}

/* A gate that depends on a NaN is NaN: its own score, or any of the row for the top. */
DEVICE_TEST(hard_attention_laws, gates_of_nan_are_nan)
{
    const float keys[] = { 1, NAN, -1 };
    for (int variant = 0; variant < 8; variant++) {
        const cla_hard_gate gate = (cla_hard_gate)(variant / 2);
        float got[6], sums[2];
        cla_tensor *o = NULL, *gates = NULL;
        cla_runtime_set_schedule(rt,
                                 variant & 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        cla_tape *tape = test_tape(rt, false);
        cla_ragged *q_rows = test_ragged(rt, 1, (int[]){ 2 }, NULL);
        cla_ragged *k_rows = test_ragged(rt, 1, (int[]){ 3 }, NULL);
        const int64_t two[] = { 2, 1 }, three[] = { 3, 1 };
        cla_tensor *q = test_tensor(tape, CLA_F32, 2, two, (float[]){ 1, 2 });
        cla_tensor *k = test_tensor(tape, CLA_F32, 2, three, keys);
        cla_tensor *v = test_tensor(tape, CLA_F32, 2, three, (float[]){ 1, 2, 3 });
        const cla_hard_options options = {
            .gate = gate, .top = 1, .mean = true, .gates = &gates
        };
        TEST_OK(cla_hard_attention(tape, &o, q, k, v, q_rows, k_rows, &options));
        TEST_OK(cla_tensor_download(gates, got));
        TEST_OK(cla_tensor_download(o, sums));
        for (int i = 0; i < 6; i++) {
            const bool lost = i % 3 == 1 || gate == CLA_GATE_TOP;
            cr_assert(lost == isnan(got[i]), "gate %d [%d] is %g", (int)gate, i,
                      (double)got[i]);
        }
        cr_assert(isnan(sums[0]) && isnan(sums[1]), "gate %d: %g, %g", (int)gate,
                  (double)sums[0], (double)sums[1]);
        cla_tape_free(&tape);
        cla_ragged_free(&q_rows);
        cla_ragged_free(&k_rows);
    }
}

DEVICE_TEST(hard_attention_laws, refuses)
{
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL;
    cla_ragged *two = test_ragged(rt, 1, (int[]){ 2 }, NULL);
    cla_ragged *three = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    cla_ragged *parts = test_ragged(rt, 2, (int[]){ 1, 1 }, NULL);
    cla_ragged *huge = test_ragged(rt, 1, (int[]){ 50000 }, NULL);
    cla_tensor *q = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 4 }, NULL);
    cla_tensor *k = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 3, 4 }, NULL);
    cla_tensor *wide = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 3, 5 }, NULL);
    cla_tensor *map = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 5 }, NULL);
    const cla_hard_options lacking = { .gate = CLA_GATE_GIVEN };
    const cla_hard_options extra = { .given = map };
    const cla_hard_options shape = { .gate = CLA_GATE_GIVEN, .given = map };
    const cla_hard_options top = { .gate = CLA_GATE_TOP };
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, NULL, three, NULL), CLA_E_USAGE,
               "q_rows is NULL");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, parts, three, NULL), CLA_E_SHAPE,
               "2 query sequences, 1 key sequences");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, huge, huge, NULL), CLA_E_SHAPE,
               "must stay below 2^31");
    TEST_FAILS(cla_hard_attention(tape, &o, k, k, k, two, three, NULL), CLA_E_SHAPE,
               "q is [3,4], must be [2,");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, wide, two, three, NULL), CLA_E_SHAPE,
               "v is [3,5], must be [3,4]");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, two, three, &lacking), CLA_E_USAGE,
               "not given");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, two, three, &extra), CLA_E_USAGE,
               "gates are given");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, two, three, &shape), CLA_E_SHAPE,
               "given is [5], must be [6]");
    TEST_FAILS(cla_hard_attention(tape, &o, q, k, k, two, three, &top), CLA_E_USAGE,
               "top is 0");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&two);
    cla_ragged_free(&three);
    cla_ragged_free(&parts);
    cla_ragged_free(&huge);
}
