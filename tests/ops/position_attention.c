/* position_attention.c - device against oracle: values, gradients, dropout, map, laws,
 * refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

enum { SEQUENCES = 6 };

typedef struct position_case {
    int B, H, d, t;
    int T[SEQUENCES];
    bool P, R; // absolute, relative
    bool causal, view;
    float dropout;
    // filled in by check
    int32_t *offsets;
    cla_ragged *rows;
    double *keep; // [N,H,Tmax], NULL without dropout
    int Tmax;
} position_case;

static cla_status attend(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                         const position_case *c, cla_tensor **map)
{
    const cla_attention_options options = { c->causal, c->dropout, map };
    return cla_position_attention(tape, y, x[0], x[1], x[2], c->P ? x[3] : NULL,
                                  c->R ? x[3 + c->P] : NULL, c->rows, &options);
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

static oracle_attention_shape shape_of(const position_case *c, double *const *x)
{
    return (oracle_attention_shape){
        .B = c->B,
        .H = c->H,
        .d = c->d,
        .q_offsets = c->offsets,
        .k_offsets = c->offsets,
        .causal = c->causal,
        .keep = c->keep,
        .Smax = c->Tmax,
        .absolute = c->P ? x[3] : NULL,
        .relative = c->R ? x[3 + c->P] : NULL,
        .t = c->t,
    };
}

static void oracle(double *y, double *const *x, void *context)
{
    const oracle_attention_shape shape = shape_of(context, x);
    oracle_position_attention(y, NULL, x[0], x[1], x[2], &shape);
}

static void oracle_map(double *map, double *const *x, void *context)
{
    const oracle_attention_shape s = shape_of(context, x);
    double *o = calloc((size_t)s.q_offsets[s.B] * s.H * s.d + 1, sizeof *o);
    oracle_position_attention(o, map, x[0], x[1], x[2], &s);
    free(o);
}

/* A score's rounding is about sqrt(d) eps, at most 1e-6; the tables add numbers of
 * the same size; exp adds 2e-7; values reach 4. */
static const double BAR = 5e-6;

static void prepare(cla_runtime *rt, position_case *c, op_case *op)
{
    c->rows = test_ragged(rt, c->B, c->T, &c->offsets);
    c->Tmax = (int)cla_ragged_longest(c->rows);
    c->keep = test_keep(c->offsets[c->B], c->H, c->Tmax, c->dropout);
    const int64_t N = cla_ragged_tokens(c->rows);
    static const char *const names[] = { "q", "k", "v" };
    for (int i = 0; i < 3; i++) {
        op->in[i] = (op_input){ names[i], 3, { N, c->H, c->d }, .column = c->view };
    }
    op->inputs = 3;
    if (c->P) {
        op->in[op->inputs++] =
            (op_input){ "absolute", 3, { c->H, c->t, c->t }, 1, false, false };
    }
    if (c->R) {
        op->in[op->inputs++] =
            (op_input){ "relative", 2, { c->H, 2 * c->t }, 1, false, false };
    }
    op->context = c;
    snprintf(op->name, sizeof op->name,
             "position_attention B%d H%d T%d.. t%d d%d %s%s dropout %g", c->B, c->H,
             c->T[0], c->t, c->d, c->P ? "P" : "", c->R ? "R" : "", (double)c->dropout);
}

static void unprepare(position_case *c)
{
    cla_ragged_free(&c->rows);
    free(c->offsets);
    free(c->keep);
}

static void check(cla_runtime *rt, position_case *c)
{
    op_case op = { .rank = 3, .device = device, .oracle = oracle, .bar = BAR };
    prepare(rt, c, &op);
    memcpy(op.shape, op.in[0].shape, sizeof op.shape);
    check_op(rt, &op);
    unprepare(c);
}

/* Few widths, since each is six kernels to compile. More sequences than runs of the
 * sums; a length of several tiles, and of several blocks of keys. */
Test(position_attention, matches_oracle_and_gradient)
{
    position_case cases[] = {
        { .B = 1, .H = 1, .d = 3, .t = 1, .T = { 1 }, .R = true },
        { .B = 0, .H = 2, .d = 3, .t = 4, .P = true, .R = true },
        { .B = 2, .H = 2, .d = 3, .t = 4, .T = { 0, 0 }, .P = true },
        { .B = 6, .H = 2, .d = 3, .t = 7, .T = { 3, 0, 5, 7, 1, 2 }, .P = true },
        { .B = 6, .H = 2, .d = 3, .t = 9, .T = { 3, 0, 5, 7, 1, 2 }, .R = true },
        { .B = 3,
          .H = 2,
          .d = 24,
          .t = 40,
          .T = { 9, 1, 35 },
          .view = true,
          .P = true,
          .R = true },
        { .B = 2,
          .H = 2,
          .d = 24,
          .t = 33,
          .T = { 33, 17 },
          .R = true,
          .causal = true },
        { .B = 2, .H = 1, .d = 24, .t = 131, .T = { 131, 70 }, .P = true },
        { .B = 2, .H = 1, .d = 24, .t = 140, .T = { 20, 131 }, .R = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int size = cases[i].T[0] * cases[i].d;
        if ((test_tiny() && size > 10) || (test_small() && size > 2000)) {
            continue;
        }
        check(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

/* The oracle gets the draws from the host's Philox. */
Test(position_attention, drops_weights)
{
    position_case cases[] = {
        { .B = 2, .H = 2, .d = 3, .t = 6, .T = { 3, 6 }, .dropout = 0.3f, .P = true },
        { .B = 2,
          .H = 2,
          .d = 24,
          .t = 40,
          .T = { 19, 33 },
          .dropout = 0.1f,
          .R = true },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        check(rt, &cases[i]);
    }
    cla_runtime_free(&rt);
}

Test(position_attention, shows_its_map)
{
    position_case cases[] = {
        { .B = 3, .H = 2, .d = 3, .t = 5, .T = { 5, 0, 3 }, .P = true, .R = true },
        { .B = 2,
          .H = 2,
          .d = 24,
          .t = 20,
          .T = { 7, 19 },
          .R = true,
          .dropout = 0.2f },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        position_case *c = &cases[i];
        op_case op = { .rank = 4, .device = device_map, .oracle = oracle_map };
        prepare(rt, c, &op);
        const int64_t shape[] = { c->B, c->H, c->Tmax, c->Tmax };
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

enum { T0 = 23, T1 = 40, N = T0 + T1, HEADS = 2, WIDTH = 24, SIZE = N * HEADS * WIDTH };

typedef struct law {
    cla_runtime *rt;
    cla_ragged *rows;
    cla_tensor *x[3], *table;
    cla_tape *tape;
} law;

static void law_begin(law *l, cla_runtime *rt, int rank, const int64_t *shape)
{
    static const int lengths[] = { T0, T1 };
    *l = (law){ .rt = rt, .rows = test_ragged(rt, 2, lengths, NULL) };
    for (int i = 0; i < 3; i++) {
        float *x = test_random(SIZE, 1, (uint32_t)i);
        TEST_OK(
            cla_tensor_new(&l->x[i], rt, CLA_F32, 3, (int64_t[]){ N, HEADS, WIDTH }));
        TEST_OK(cla_tensor_upload(l->x[i], x));
        free(x);
    }
    TEST_OK(cla_tensor_new(&l->table, rt, CLA_F32, rank, shape));
    TEST_OK(cla_tape_new(&l->tape, rt, true));
}

static void law_end(law *l)
{
    cla_tape_free(&l->tape);
    cla_tensor_free(&l->table);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&l->x[i]);
    }
    cla_ragged_free(&l->rows);
}

/* Differences of more than 3 hidden by -INFINITY: a window of 7. */
static void check_window(cla_runtime *rt)
{
    law l;
    static float table[HEADS * 2 * T1], got[SIZE], band[SIZE], grad[2][SIZE];
    double want[SIZE];
    cla_tensor *o = NULL, *plain = NULL;
    law_begin(&l, rt, 2, (int64_t[]){ HEADS, 2 * T1 });
    for (int i = 0; i < HEADS * 2 * T1; i++) {
        table[i] = abs(i % (2 * T1) - T1) > 3 ? -INFINITY : 0;
    }
    TEST_OK(cla_tensor_upload(l.table, table));
    cla_tensor_want_grad(l.x[1], true);
    for (int run = 0; run < 2; run++) {
        cla_tensor_clear_grad(l.x[1]);
        if (run) {
            TEST_OK(cla_band_attention(l.tape, &plain, l.x[0], l.x[1], l.x[2], l.rows,
                                       7, NULL));
        } else {
            TEST_OK(cla_position_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], NULL,
                                           l.table, l.rows, NULL));
        }
        TEST_OK(cla_tape_seed(l.tape, run ? plain : o, l.x[0]));
        TEST_OK(cla_tape_backward(l.tape));
        TEST_OK(cla_tensor_download(cla_tensor_grad(l.x[1]), grad[run]));
    }
    TEST_OK(cla_tensor_download(o, got));
    TEST_OK(cla_tensor_download(plain, band));
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)band[i];
    }
    check_close("window", got, want, SIZE, BAR);
    for (int i = 0; i < SIZE; i++) {
        want[i] = (double)grad[1][i];
    }
    check_close("window, dk", grad[0], want, SIZE, 10 * BAR);
    law_end(&l);
}

/* Each row of the scores' gradient sums to 0, so does each row of dP; and the number
 * of no difference gets nothing. */
static void check_sums(cla_runtime *rt)
{
    law l;
    static float grad[HEADS * T1 * T1];
    cla_tensor *o = NULL, *relative = NULL;
    law_begin(&l, rt, 3, (int64_t[]){ HEADS, T1, T1 });
    TEST_OK(cla_tensor_fill(l.table, 0.5f));
    TEST_OK(cla_tensor_new(&relative, rt, CLA_F32, 2, (int64_t[]){ HEADS, 2 * T1 }));
    TEST_OK(cla_tensor_fill(relative, 0));
    cla_tensor_want_grad(l.table, true); // and nothing else: q, k, v are frozen
    cla_tensor_want_grad(relative, true);
    TEST_OK(cla_position_attention(l.tape, &o, l.x[0], l.x[1], l.x[2], l.table,
                                   relative, l.rows, NULL));
    TEST_OK(cla_tape_seed(l.tape, o, l.x[0]));
    TEST_OK(cla_tape_backward(l.tape));
    TEST_OK(cla_tensor_download(cla_tensor_grad(l.table), grad));
    double most = 0;
    for (int i = 0; i < HEADS * T1; i++) {
        double sum = 0, size = 0;
        for (int j = 0; j < T1; j++) {
            sum += (double)grad[i * T1 + j];
            size += fabs((double)grad[i * T1 + j]);
        }
        most = fmax(most, size);
        cr_assert(fabs(sum) <= 1e-5 * fmax(1, size), "row %d sums to %g of %g", i, sum,
                  size);
    }
    cr_assert(most > 0.1, "the gradient of absolute is empty");
    TEST_OK(cla_tensor_download(cla_tensor_grad(relative), grad));
    for (int h = 0; h < HEADS; h++) {
        cr_assert(grad[(ptrdiff_t)h * 2 * T1] == 0);
    }
    cla_tensor_free(&relative);
    law_end(&l);
}

Test(position_attention, keeps_its_laws)
{
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < (test_tiny() ? 0 : 2); s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_window(rt);
        check_sums(rt);
    }
    cla_runtime_free(&rt);
}

/* ---- refusals -------------------------------------------------------------------- */

Test(position_attention, refuses)
{
    static const int lengths[] = { 2, 3 };
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 2, lengths, NULL);
    cla_tensor *q = NULL, *p = NULL, *tight = NULL, *r = NULL, *odd = NULL, *o = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&q, rt, CLA_F32, 3, (int64_t[]){ 5, 2, 4 }));
    TEST_OK(cla_tensor_new(&p, rt, CLA_F32, 3, (int64_t[]){ 2, 4, 4 }));
    TEST_OK(cla_tensor_new(&tight, rt, CLA_F32, 3, (int64_t[]){ 2, 2, 2 }));
    TEST_OK(cla_tensor_new(&r, rt, CLA_F32, 2, (int64_t[]){ 2, 6 }));
    TEST_OK(cla_tensor_new(&odd, rt, CLA_F32, 2, (int64_t[]){ 2, 7 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
#define CALL(q, p, r, options) \
    cla_position_attention(tape, &o, q, q, q, p, r, rows, options)
    const cla_attention_options drop = { .dropout = 1 };
    TEST_FAILS(CALL(q, NULL, NULL, NULL), CLA_E_USAGE, "are both NULL");
    TEST_FAILS(CALL(q, p, NULL, &drop), CLA_E_USAGE, "dropout is 1");
    TEST_FAILS(CALL(r, p, NULL, NULL), CLA_E_SHAPE, "must be f32 [N,H,d]");
    TEST_FAILS(CALL(q, q, NULL, NULL), CLA_E_SHAPE, "absolute is [5,2,4], must be [2,");
    TEST_FAILS(CALL(q, r, NULL, NULL), CLA_E_SHAPE, "absolute is");
    TEST_FAILS(CALL(q, p, r, NULL), CLA_E_SHAPE, "relative is [2,6], must be [2,8]");
    TEST_FAILS(CALL(q, NULL, odd, NULL), CLA_E_SHAPE,
               "relative is [2,7], must be [2,2t]");
    TEST_FAILS(CALL(q, tight, NULL, NULL), CLA_E_SHAPE,
               "a sequence of 3 tokens, the tables are for 2");
#undef CALL
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_tensor_free(&odd);
    cla_tensor_free(&r);
    cla_tensor_free(&tight);
    cla_tensor_free(&p);
    cla_tensor_free(&q);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}
