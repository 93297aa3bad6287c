/* relative_attention.c - device against oracle: values, gradients, dropout, map, laws,
 * refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

enum { SEQUENCES = 6, WIDE = 20 };

/* The head width of all cases. */
static int width(void)
{
    return test_tiny() ? 3 : WIDE;
}

typedef struct relative_case {
    int B, H, R;
    int T[SEQUENCES], S[SEQUENCES]; // S all 0: the same rows
    bool causal, view;
    float dropout;
    // filled in by check
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
    double *keep; // [Nq,H,Smax], NULL without dropout
    int Tmax, Smax;
} relative_case;

static cla_status attend(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                         const relative_case *c, cla_tensor **map)
{
    const cla_attention_options options = { c->causal, c->dropout, map };
    return cla_relative_attention(tape, y, x[0], x[1], x[2], x[3], x[4], c->q_rows,
                                  c->k_rows, &options);
}

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    return attend(tape, y, x, context, NULL);
}

static cla_status device_map(cla_tape *tape, cla_tensor **map, cla_tensor **x,
                             void *context)
{
    cla_tensor *o = NULL;
    return attend(tape, &o, x, context, map);
}

static oracle_attention_shape shape_of(const relative_case *c)
{
    return (oracle_attention_shape){
        .B = c->B,
        .H = c->H,
        .d = width(),
        .q_offsets = c->q_offsets,
        .k_offsets = c->k_offsets,
        .causal = c->causal,
        .keep = c->keep,
        .Smax = c->Smax,
    };
}

static void oracle(double *y, double *const *x, void *context)
{
    const relative_case *c = context;
    const oracle_attention_shape shape = shape_of(c);
    oracle_relative_attention(y, NULL, x, c->R, &shape);
}

static void oracle_map(double *map, double *const *x, void *context)
{
    const relative_case *c = context;
    const oracle_attention_shape s = shape_of(c);
    double *o = calloc((size_t)s.q_offsets[s.B] * s.H * s.d + 1, sizeof *o);
    oracle_relative_attention(o, map, x, c->R, &s);
    free(o);
}

/* A score's rounding is about sqrt(d) eps, at most 1e-6, and a distance adds one of the
 * same size; exp adds 2e-7; values reach 4, and vectors of distances as much again. */
static const double BAR = 5e-6;

static void prepare(cla_runtime *rt, relative_case *c, op_case *op)
{
    int lengths = 0;
    for (int b = 0; b < c->B; b++) {
        c->T[b] = test_tiny() && c->T[b] > 4 ? 4 : c->T[b];
        c->S[b] = test_tiny() && c->S[b] > 7 ? 7 : c->S[b];
        lengths += c->S[b];
    }
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows =
        lengths ? test_ragged(rt, c->B, c->S, &c->k_offsets) : (cla_ragged *)c->q_rows;
    c->k_offsets = lengths ? c->k_offsets : c->q_offsets;
    c->Tmax = (int)cla_ragged_longest(c->q_rows);
    c->Smax = (int)cla_ragged_longest(c->k_rows);
    c->keep = test_keep(c->q_offsets[c->B], c->H, c->Smax, c->dropout);
    static const char *const names[] = { "q", "k", "v", "rel_k", "rel_v" };
    for (int i = 0; i < 3; i++) {
        const int64_t N = cla_ragged_tokens(i ? c->k_rows : c->q_rows);
        op->in[i] = (op_input){ names[i], 3, { N, c->H, width() }, .column = c->view };
    }
    for (int i = 3; i < 5; i++) {
        op->in[i] =
            (op_input){ names[i], 2, { 2 * c->R + 1, width() }, 1, false, false };
    }
    op->in[3].constant = c->R == 0; // it cancels in the softmax: a gradient of rounding
    op->inputs = 5;
    op->context = c;
    snprintf(op->name, sizeof op->name,
             "relative_attention B%d H%d T%d.. S%d.. R%d %sdropout %g", c->B, c->H,
             c->T[0], c->S[0], c->R, c->causal ? "causal " : "", (double)c->dropout);
}

static void unprepare(relative_case *c)
{
    if (c->k_rows != c->q_rows) {
        cla_ragged_free(&c->k_rows);
        free(c->k_offsets);
    }
    cla_ragged_free(&c->q_rows);
    free(c->q_offsets);
    free(c->keep);
}

static void check(cla_runtime *rt, relative_case *c)
{
    op_case op = { .rank = 3, .device = device, .oracle = oracle, .bar = BAR };
    prepare(rt, c, &op);
    memcpy(op.shape, op.in[0].shape, sizeof op.shape);
    check_op(rt, &op);
    unprepare(c);
}

/* One width, a long sequence in every case, and one process, since each width and each
 * height of a tile is three kernels to compile. Windows narrower and wider than tiles,
 * blocks and sentences; lengths of several tiles and of several blocks. The oracle gets
 * the draws of dropout from the host's Philox. */
Test(relative_attention, matches_oracle_and_gradient)
{
    relative_case cases[] = {
        { .B = 2, .H = 1, .R = 1, .T = { 4, 17 }, .S = { 5, 18 }, .dropout = 0.3f },
        { .B = 0, .H = 2, .R = 2 },
        { .B = 2, .H = 2, .R = 1, .T = { 0, 0 } },
        { .B = 2, .H = 1, .R = 0, .T = { 1, 17 } },
        { .B = 6, .H = 2, .R = 2, .T = { 4, 0, 3, 17, 1, 2 } },
        { .B = 3, .H = 2, .R = 20, .T = { 1, 0, 18 }, .causal = true },
        { .B = 4, .H = 2, .R = 1, .T = { 1, 18, 3, 0 }, .S = { 7, 19, 0, 3 } },
        { .B = 3, .H = 2, .R = 16, .T = { 9, 1, 35 }, .view = true },
        { .B = 2, .H = 2, .R = 7, .T = { 19, 33 }, .dropout = 0.1f },
        { .B = 2, .H = 2, .R = 4, .T = { 33, 17 }, .causal = true },
        { .B = 2, .H = 1, .R = 3, .T = { 131, 70 } },
        { .B = 2, .H = 1, .R = 80, .T = { 21, 131 } },
        { .B = 2, .H = 1, .R = 16, .T = { 40, 37 }, .S = { 103, 31 }, .causal = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        if (!test_small() || cases[i].T[0] <= 40) {
            check(rt, &cases[i]);
        }
    }
    cla_runtime_free(&rt);
}

Test(relative_attention, shows_its_map)
{
    relative_case cases[] = {
        { .B = 3, .H = 2, .R = 1, .T = { 17, 0, 3 }, .causal = true },
        { .B = 2, .H = 2, .R = 5, .T = { 7, 19 }, .dropout = 0.2f },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        relative_case *c = &cases[i];
        op_case op = { .rank = 4, .device = device_map, .oracle = oracle_map };
        prepare(rt, c, &op);
        const int64_t shape[] = { c->B, c->H, c->Tmax, c->Smax };
        memcpy(op.shape, shape, sizeof shape);
        op.bar = 2e-6; // a weight, at most 1
        for (int n = 0; n < op.inputs; n++) {
            op.in[n].constant = true;
        }
        check_op(rt, &op);
        unprepare(c);
    }
    cla_runtime_free(&rt);
}

/* ---- laws ------------------------------------------------------------------------ */

enum { N = 19, HEADS = 2, WIDTH = WIDE, SIZE = N * HEADS * WIDTH, ROWS = 2 * N + 1 };

typedef struct law {
    cla_ragged *rows;
    cla_tensor *x[5]; // q, k, v, rel_k, rel_v
    cla_tape *tape;
} law;

static void law_begin(law *l, cla_runtime *rt, int R)
{
    static const int lengths[] = { N };
    *l = (law){ .rows = test_ragged(rt, 1, lengths, NULL) };
    for (int i = 0; i < 5; i++) {
        const int64_t packed[] = { N, HEADS, WIDTH }, table[] = { 2 * R + 1, WIDTH };
        float *x = test_random(i < 3 ? SIZE : (int64_t)ROWS * WIDTH, 1, (uint32_t)i);
        TEST_OK(cla_tensor_new(&l->x[i], rt, CLA_F32, i < 3 ? 3 : 2,
                               i < 3 ? packed : table));
        TEST_OK(cla_tensor_upload(l->x[i], x));
        free(x);
    }
    TEST_OK(cla_tape_new(&l->tape, rt, true));
}

static void law_end(law *l)
{
    cla_tape_free(&l->tape);
    for (int i = 0; i < 5; i++) {
        cla_tensor_free(&l->x[i]);
    }
    cla_ragged_free(&l->rows);
}

static void law_run(law *l, float *o, bool plain)
{
    cla_tensor *y = NULL, **x = l->x;
    if (plain) {
        TEST_OK(cla_attention(l->tape, &y, x[0], x[1], x[2], l->rows, l->rows, NULL));
    } else {
        TEST_OK(cla_relative_attention(l->tape, &y, x[0], x[1], x[2], x[3], x[4],
                                       l->rows, l->rows, NULL));
    }
    TEST_OK(cla_tensor_download(y, o));
}

static void check_same(const char *what, const float *got, const float *expected)
{
    double want[SIZE];
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)expected[i];
    }
    check_close(what, got, want, SIZE, BAR);
}

/* Tables of zeros are plain attention; so is one key vector for all distances, and the
 * value vector is then added to every result. */
static void check_neutral(cla_runtime *rt)
{
    law l;
    float got[SIZE], plain[SIZE], vector[WIDTH];
    law_begin(&l, rt, 3);
    TEST_OK(cla_tensor_fill(l.x[3], 0));
    TEST_OK(cla_tensor_fill(l.x[4], 0));
    law_run(&l, got, false);
    law_run(&l, plain, true);
    check_same("zeros", got, plain);
    law_end(&l);

    law_begin(&l, rt, 0);
    law_run(&l, got, false);
    law_run(&l, plain, true);
    TEST_OK(cla_tensor_download(l.x[4], vector));
    for (int i = 0; i < SIZE; i++) {
        plain[i] += vector[i % WIDTH];
    }
    check_same("one distance", got, plain);
    law_end(&l);
}

/* What never occurs gets nothing: distances of N and more. The others get some. */
static void check_untouched(cla_runtime *rt)
{
    law l;
    static float grad[ROWS * WIDTH];
    cla_tensor *o = NULL;
    law_begin(&l, rt, N);
    cla_tensor_want_grad(l.x[3], true); // and nothing else: q, k, v are frozen
    cla_tensor_want_grad(l.x[4], true);
    TEST_OK(cla_relative_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], l.x[3], l.x[4],
                                   l.rows, l.rows, NULL));
    TEST_OK(cla_tape_seed(l.tape, o, l.x[0]));
    TEST_OK(cla_tape_backward(l.tape));
    for (int table = 3; table < 5; table++) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(l.x[table]), grad));
        for (int n = 0; n < ROWS; n++) {
            double size = 0;
            for (int c = 0; c < WIDTH; c++) {
                size += fabs((double)grad[n * WIDTH + c]);
            }
            const bool occurs = n > 0 && n < ROWS - 1;
            cr_assert(occurs ? size > 1e-6 : size == 0, "row %d of %d: %g", n, table,
                      size);
        }
    }
    law_end(&l);
}

/* Under the device's own schedule: the other one's answers are the oracle's, too. */
Test(relative_attention, keeps_its_laws)
{
    if (test_small()) {
        return;
    }
    cla_runtime *rt = test_runtime();
    check_neutral(rt);
    check_untouched(rt);
    cla_runtime_free(&rt);
}

/* ---- refusals -------------------------------------------------------------------- */

Test(relative_attention, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *q = NULL, *r = NULL, *even = NULL, *wide = NULL, *longer = NULL;
    cla_tensor *o = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }));
    TEST_OK(cla_tensor_new(&r, rt, CLA_F32, 2, (int64_t[]){ 5, 4 }));
    TEST_OK(cla_tensor_new(&even, rt, CLA_F32, 2, (int64_t[]){ 6, 4 }));
    TEST_OK(cla_tensor_new(&wide, rt, CLA_F32, 2, (int64_t[]){ 5, 8 }));
    TEST_OK(cla_tensor_new(&longer, rt, CLA_F32, 2, (int64_t[]){ 7, 4 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
#define CALL(q, rel_k, rel_v, options) \
    cla_relative_attention(tape, &o, q, q, q, rel_k, rel_v, rows, rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, r, NULL), CLA_E_USAGE, "rel_k is NULL");
    TEST_FAILS(CALL(q, r, NULL, NULL), CLA_E_USAGE, "rel_v is NULL");
    TEST_FAILS(CALL(q, r, r, &drop), CLA_E_USAGE, "dropout is 1");
    TEST_FAILS(CALL(r, r, r, NULL), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(CALL(q, even, even, NULL), CLA_E_SHAPE,
               "rel_k is [6,4], must be [2R+1,4]");
    TEST_FAILS(CALL(q, wide, r, NULL), CLA_E_SHAPE, "rel_k is [5,8]");
    TEST_FAILS(CALL(q, r, longer, NULL), CLA_E_SHAPE, "rel_v is [7,4], must be [5,4]");
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_tensor_free(&longer);
    cla_tensor_free(&wide);
    cla_tensor_free(&even);
    cla_tensor_free(&r);
    cla_tensor_free(&q);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
