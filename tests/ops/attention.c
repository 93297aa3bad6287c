/* attention.c - device against oracle: values, gradients, dropout, map, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 4 };

typedef struct attention_case {
    int B, H, d;
    int T[SEQUENCES], S[SEQUENCES]; // S[0] = 0: self-attention
    bool causal, view;
    bool heads; // backward under the tile schedule: an item for each head, not tile
    float dropout;
    int32_t *q_offsets, *k_offsets; // filled in by prepare, like all below
    cla_ragged *q_rows, *k_rows;
    double *keep; // [Nq,H,Smax]; NULL without dropout
    int Smax;
} attention_case;

static void prepare(cla_runtime *rt, attention_case *c)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, c->S[0] ? c->S : c->T, &c->k_offsets);
    c->Smax = (int)cla_ragged_longest(c->k_rows);
    c->keep = oracle_keep(c->q_offsets[c->B], c->H, c->Smax, c->dropout);
}

static void unprepare(attention_case *c)
{
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
    free(c->keep);
}

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const attention_case *c = context;
    const cla_attention_options options = { .causal = c->causal,
                                            .dropout = c->dropout };
    return cla_attention(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &options);
}

static oracle_attention_shape shape_of(const attention_case *c)
{
    return (oracle_attention_shape){ .B = c->B,
                                     .H = c->H,
                                     .d = c->d,
                                     .q_offsets = c->q_offsets,
                                     .k_offsets = c->k_offsets,
                                     .causal = c->causal,
                                     .keep = c->keep,
                                     .Smax = c->Smax };
}

static void oracle(double *y, double *const *x, void *context)
{
    const oracle_attention_shape shape = shape_of(context);
    oracle_attention(y, NULL, x[0], x[1], x[2], &shape);
}

/* A score is a sum of d products of normal numbers over sqrt(d): its rounding is about
 * sqrt(d) eps, 1e-6 at d = 256; exp adds 2e-7; values reach 4. */
static const double BAR = 5e-6;

static void check(cla_runtime *rt, attention_case *c)
{
    const int items = c->heads ? 0 : 1024; // for each unit; these cases have fewer
    TEST_OK(cla_tuning_set(rt, "attention_tile", "ITEMS", items));
    prepare(rt, c);
    const int64_t Nq = cla_ragged_tokens(c->q_rows), Nk = cla_ragged_tokens(c->k_rows);
    op_case op = {
        .in = { { "q", 3, { Nq, c->H, c->d }, .column = c->view },
                { "k", 3, { Nk, c->H, c->d }, .column = c->view },
                { "v", 3, { Nk, c->H, c->d }, .column = c->view } },
        .inputs = 3,
        .rank = 3,
        .shape = { Nq, c->H, c->d },
        .device = device,
        .oracle = oracle,
        .context = c,
        .bar = BAR,
    };
    snprintf(op.name, sizeof op.name,
             "attention B%d H%d T%d.. S%d.. d%d causal %d dropout %g heads %d", c->B,
             c->H, c->T[0], c->S[0], c->d, c->causal, (double)c->dropout, c->heads);
    check_op(rt, &op);
    unprepare(c);
}

static void check_all(attention_case *cases, size_t count,
                      void (*check_one)(cla_runtime *, attention_case *))
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < count; i++) {
        const int size = cases[i].T[0] * cases[i].d;
        const bool big = (test_tiny() && size > 10) || (test_small() && size > 2000);
        if (!big) check_one(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

/* There are few widths, as each compiles six kernels: less than a vector, some vectors
 * with idle columns in the last, an odd number, and the largest, of whole vectors. */
Test(attention, matches_oracle_and_gradient)
{
    attention_case cases[] = {
        { .B = 1, .H = 1, .d = 3, .T = { 1 }, .S = { 1 } },
        { .B = 0, .H = 2, .d = 3, .T = { 0 } },
        { .B = 3, .H = 2, .d = 3, .T = { 5, 0, 3 }, .S = { 1, 4, 0 } },
        { .B = 3, .H = 2, .d = 3, .T = { 3, 7, 2 }, .S = { 5, 2, 2 }, .causal = true },
        { .B = 3, .H = 2, .d = 24, .T = { 9, 1, 35 }, .causal = true, .view = true },
        { .B = 2, .H = 3, .d = 24, .T = { 33, 17 }, .S = { 16, 35 }, .view = true },
        { .B = 1, .H = 1, .d = 24, .T = { 130 }, .causal = true },
        { .B = 2, .H = 1, .d = 91, .T = { 64, 20 }, .S = { 65, 131 } },
        { .B = 2, .H = 1, .d = 91, .T = { 34, 12 }, .S = { 3, 31 } },
        { .B = 2, .H = 1, .d = 256, .T = { 18, 3 }, .causal = true },
        { 3, 2, 3, .T = { 5, 0, 3 }, .S = { 1, 4, 0 }, .heads = true },
        { 3, 2, 3, .T = { 3, 7 }, .S = { 5, 2 }, .causal = true, .heads = true },
        { 2, 3, 24, .T = { 33, 17 }, .S = { 16, 35 }, .view = true, .heads = true },
        { 2, 2, 24, .T = { 130, 70 }, .causal = true, .heads = true },
        { 2, 1, 91, .T = { 64, 20 }, .S = { 65, 131 }, .heads = true },
        { 1, 1, 3, .T = { 70 }, .S = { 530 }, .heads = true }, // more than are kept
        { 1, 1, 3, .T = { 530 }, .S = { 70 }, .causal = true, .heads = true },
    };
    check_all(cases, sizeof cases / sizeof *cases, check);
}

/* The constants of GPUs work: large tiles, two quads a row, keys and values apart. */
DEVICE_TEST(attention, takes_the_tiles_of_gpus)
{
    attention_case cases[] = {
        { .B = 2, .H = 2, .d = 24, .T = { 130, 70 }, .S = { 90, 70 }, .causal = true },
        { .B = 1, .H = 1, .d = 24, .T = { 100 }, .S = { 37 }, .dropout = 0.3f },
    };
    TEST_OK(cla_tuning_set(rt, "attention", "QUADS", 2));
    TEST_OK(cla_tuning_set(rt, "attention", "ROWS", 128));
    TEST_OK(cla_tuning_set(rt, "attention", "BOTH", 0));
    for (size_t i = 0; i < sizeof cases / sizeof *cases && !test_small(); i++) {
        check(rt, &cases[i]);
    }
}

/* The oracle gets its random numbers from the host's Philox. */
Test(attention, drops_weights)
{
    attention_case cases[] = {
        { .B = 2, .H = 2, .d = 3, .T = { 3, 6 }, .S = { 5, 2 }, .dropout = 0.3f },
        { .B = 2, .H = 2, .d = 24, .T = { 19, 33 }, .causal = true, .dropout = 0.1f },
        { .B = 1, .H = 1, .d = 91, .T = { 37 }, .S = { 70 }, .dropout = 0.5f },
        { 2, 2, 24, .T = { 19, 33 }, .causal = true, .dropout = 0.1f, .heads = true },
    };
    check_all(cases, sizeof cases / sizeof *cases, check);
}

static cla_tensor *tensor_of(cla_runtime *rt, int64_t N, int H, int d, const float *x)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tensor_new(&t, rt, CLA_F32, 3, (int64_t[]){ N, H, d }));
    if (x) {
        TEST_OK(cla_tensor_upload(t, x));
    }
    return t;
}

/* ---- one tensor as q, k and v ---------------------------------------------------- */

static cla_status device_same(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                              void *context)
{
    cla_tensor *three[3] = { x[0], x[0], x[0] };
    return device(tape, y, three, context);
}

static void oracle_same(double *y, double *const *x, void *context)
{
    double *three[3] = { x[0], x[0], x[0] };
    oracle(y, three, context);
}

Test(attention, takes_one_tensor_for_all)
{
    if (test_tiny()) return; // costs as much as another case
    attention_case c = { .B = 2, .H = 2, .d = 24, .T = { 19, 4 } };
    cla_runtime *rt = test_runtime();
    prepare(rt, &c);
    const op_case op = { .name = "attention of one tensor",
                         .in = { { "x", 3, { 23, 2, 24 } } },
                         .inputs = 1,
                         .rank = 3,
                         .shape = { 23, 2, 24 },
                         .device = device_same,
                         .oracle = oracle_same,
                         .context = &c,
                         .bar = BAR };
    // allows backward by heads
    TEST_OK(cla_tuning_set(rt, "attention_tile", "ITEMS", 0));
    check_op(rt, &op); // by tiles, as sequences of q and k may cross
    cla_ragged_free(&c.k_rows);
    c.k_rows = c.q_rows;
    check_op(rt, &op);
    c.k_rows = NULL;
    unprepare(&c);
    cla_runtime_free(&rt);
}

/* ---- the map --------------------------------------------------------------------- */

static cla_status device_map(cla_tape *tape, cla_tensor **map, cla_tensor **x,
                             void *context)
{
    const attention_case *c = context;
    cla_attention_options options = { .causal = c->causal, .dropout = c->dropout };
    options.map = map;
    cla_tensor *o = NULL;
    return cla_attention(tape, &o, x[0], x[1], x[2], c->q_rows, c->k_rows, &options);
}

static void oracle_map(double *map, double *const *x, void *context)
{
    const oracle_attention_shape shape = shape_of(context);
    double *o = calloc((size_t)shape.q_offsets[shape.B] * shape.H * shape.d, sizeof *o);
    oracle_attention(o, map, x[0], x[1], x[2], &shape);
    free(o);
}

static void check_map(cla_runtime *rt, attention_case *c)
{
    prepare(rt, c);
    const int64_t Nq = cla_ragged_tokens(c->q_rows), Nk = cla_ragged_tokens(c->k_rows);
    const op_case op = {
        .name = "attention map",
        .in = { { "q", 3, { Nq, c->H, c->d }, .constant = true },
                { "k", 3, { Nk, c->H, c->d }, .constant = true },
                { "v", 3, { Nk, c->H, c->d }, .constant = true } },
        .inputs = 3,
        .rank = 4,
        .shape = { c->B, c->H, cla_ragged_longest(c->q_rows), c->Smax },
        .device = device_map,
        .oracle = oracle_map,
        .context = c,
        .bar = 2e-6, // a weight, at most 1
    };
    check_op(rt, &op);
    unprepare(c);
}

Test(attention, shows_its_map)
{
    attention_case cases[] = {
        { .B = 3, .H = 2, .d = 3, .T = { 5, 0, 3 }, .S = { 1, 4, 0 } },
        { 2, 2, 24, { 7, 19 }, { 9, 26 }, .causal = true, .dropout = 0.2f },
    };
    check_all(cases, sizeof cases / sizeof *cases, check_map);
}

/* ---- known answers --------------------------------------------------------------- */

/* Fills x [T,H,d] with sin(0.9 k + 0.37 s), where k is the index in [H,T,d], as in the
 * published tests. */
static void fill(float *x, int H, int T, int d, int s)
{
    for (int k = 0; k < H * T * d; k++) {
        const int h = k / (T * d), t = k / d % T;
        x[(t * H + h) * d + k % d] = (float)sin(0.9 * k + 0.37 * s);
    }
}

static double sum(const float *x, int n, bool absolute)
{
    double total = 0;
    for (int i = 0; i < n; i++) {
        total += absolute ? fabs((double)x[i]) : (double)x[i];
    }
    return total;
}

static void near(const char *what, double got, double want, double bar)
{
    cr_assert(fabs(got - want) <= bar, "%s is %.7g, must be %.7g", what, got, want);
}

/* Checks known results for the first len of five tokens; with gradients also the
 * gradients. */
static void check_known(cla_runtime *rt, int len, const double first[3],
                        const double last[3], double total, bool gradients)
{
    enum { H = 4, T = 5, d = 3, SIZE = H * T * d };
    float all[4][SIZE], o[SIZE], grad[3][SIZE];
    cla_tensor *x[4], *y = NULL;
    for (int i = 0; i < 4; i++) {
        fill(all[i], H, T, d, i + 1);
        x[i] = tensor_of(rt, len, H, d, all[i]); // [T,H,d]: the valid tokens come first
        cla_tensor_want_grad(x[i], i < 3);
    }
    cla_ragged *rows = test_ragged(rt, 1, &len, NULL);
    cla_tape *tape = test_tape(rt, true);
    TEST_OK(cla_attention(tape, &y, x[0], x[1], x[2], rows, rows, NULL));
    TEST_OK(cla_tape_seed(tape, y, x[3]));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(y, o));
    check_close("head 0, row 0", o, first, d, 2e-5);
    check_close("head 3, last row", o + ((len - 1) * H + 3) * d, last, d, 2e-5);
    near("sum of o", sum(o, len * H * d, false), total, 1e-4);
    static const double want[3] = { 15.453209, 14.774058, 16.921515 };
    for (int i = 0; i < 3 && gradients; i++) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(x[i]), grad[i]));
        near("sum of |gradient|", sum(grad[i], len * H * d, true), want[i], 2e-4);
    }
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&x[i]);
    }
}

DEVICE_TEST(attention, gives_known_answers)
{
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_known(rt, 5, (double[]){ 0.299897, 0.564845, 0.402329 },
                    (double[]){ 0.287746, 0.051341, -0.223917 }, 1.820268, true);
        check_known(rt, 4, (double[]){ 0.468697, 0.624865, 0.308147 },
                    (double[]){ -0.290371, 0.010184, 0.303032 }, -3.369749, false);
    }
}

/* ---- refusals -------------------------------------------------------------------- */

typedef struct refusal {
    cla_runtime *rt;
    cla_tape *tape;
    cla_ragged *q_rows, *k_rows;
} refusal;

static void refuses(refusal *r, const int64_t q[3], const int64_t k[3],
                    const int64_t v[3], float dropout, cla_status code,
                    const char *part)
{
    const int64_t *shapes[3] = { q, k, v };
    cla_tensor *x[3], *y = NULL;
    for (int i = 0; i < 3; i++) {
        x[i] =
            tensor_of(r->rt, shapes[i][0], (int)shapes[i][1], (int)shapes[i][2], NULL);
    }
    const cla_attention_options options = { .dropout = dropout };
    TEST_FAILS(
        cla_attention(r->tape, &y, x[0], x[1], x[2], r->q_rows, r->k_rows, &options),
        code, part);
    cr_assert_null(y);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&x[i]);
    }
}

#define SHAPE(...) ((int64_t[]){ __VA_ARGS__ })

Test(attention, refuses)
{
    refusal r = { .rt = test_runtime() };
    r.q_rows = test_ragged(r.rt, 2, (int[]){ 2, 1 }, NULL);
    r.k_rows = test_ragged(r.rt, 2, (int[]){ 3, 2 }, NULL);
    TEST_OK(cla_tape_new(&r.tape, r.rt, false));
    const int64_t q[] = { 3, 2, 8 }, k[] = { 5, 2, 8 };
    refuses(&r, SHAPE(4, 2, 8), k, k, 0, CLA_E_SHAPE, "q is [4,2,8], but");
    refuses(&r, q, q, k, 0, CLA_E_SHAPE, "hold 5 tokens");
    refuses(&r, q, k, SHAPE(5, 2, 4), 0, CLA_E_SHAPE, "v is [5,2,4], q is [3,2,8]");
    refuses(&r, q, SHAPE(5, 1, 8), k, 0, CLA_E_SHAPE, "k is [5,1,8], q is [3,2,8]");
    refuses(&r, SHAPE(3, 1, 257), SHAPE(5, 1, 257), SHAPE(5, 1, 257), 0, CLA_E_SHAPE,
            "width 1 to 256");
    refuses(&r, SHAPE(3, 0, 8), SHAPE(5, 0, 8), SHAPE(5, 0, 8), 0, CLA_E_SHAPE,
            "at least 1 head");
    refuses(&r, q, k, k, 1, CLA_E_USAGE, "dropout is 1, must be in [0,1)");
    refuses(&r, q, k, k, -0.5f, CLA_E_USAGE, "dropout is -0.5");
    refuses(&r, q, k, k, NAN, CLA_E_USAGE, "dropout is nan");

    cla_ragged_free(&r.k_rows);
    r.k_rows = test_ragged(r.rt, 1, (int[]){ 5 }, NULL);
    refuses(&r, q, k, k, 0, CLA_E_SHAPE, "2 query sequences, 1 key sequences");
    cla_ragged_free(&r.k_rows);
    refuses(&r, q, k, k, 0, CLA_E_USAGE, "k_rows is NULL");

    cla_tensor *y = NULL, *flat = NULL;
    TEST_OK(cla_tensor_new(&flat, r.rt, CLA_F32, 2, SHAPE(3, 16)));
    TEST_FAILS(cla_attention(r.tape, &y, flat, flat, flat, r.q_rows, r.q_rows, NULL),
               CLA_E_SHAPE, "q is f32 [3,16], must be f32 [N,H,d]");
    TEST_FAILS(cla_attention(r.tape, &y, NULL, flat, flat, r.q_rows, r.q_rows, NULL),
               CLA_E_USAGE, "q is NULL");
    cla_tensor_free(&flat);
    cla_ragged_free(&r.q_rows);
    cla_tape_free(&r.tape);
    cla_runtime_free(&r.rt);
}
