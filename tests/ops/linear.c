/* linear.c - device against oracle: values, gradients, packed weights, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"
#include "tensor/tensor.h"

typedef struct layer {
    int N, in, out, activation;
    bool bias, residual;
} layer;

static cla_status device(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *c = context;
    cla_tensor *b = c->bias ? x[2] : NULL;
    cla_tensor *residual = c->residual ? x[2 + c->bias] : NULL;
    return cla_linear(tape, y, x[0], x[1], b, (cla_activation)c->activation, residual);
}

static void oracle(double *y, double *const *x, void *context)
{
    const layer *c = context;
    oracle_linear(y, x[0], x[1], c->bias ? x[2] : NULL,
                  c->residual ? x[2 + c->bias] : NULL, c->N, c->in, c->out,
                  c->activation);
}

static void check_layer(cla_runtime *rt, layer *c)
{
    op_case op = {
        .in = { { .name = "x", .rank = 2, .shape = { c->N, c->in } },
                { .name = "w", .rank = 2, .shape = { c->in, c->out } } },
        .inputs = 2,
        .rank = 2,
        .shape = { c->N, c->out },
        .device = device,
        .oracle = oracle,
        .context = c,
        // sums of some hundred products of normal numbers, rounded at each: a few eps
        // of their largest partial sum, about 4 sqrt(in)
        .bar = 1e-5,
    };
    if (c->bias) {
        op.in[op.inputs++] = (op_input){ .name = "b", .rank = 1, .shape = { c->out } };
    }
    if (c->residual) {
        op.in[op.inputs++] =
            (op_input){ .name = "residual", .rank = 2, .shape = { c->N, c->out } };
    }
    snprintf(op.name, sizeof op.name, "linear N%d in%d out%d act%d bias %d residual %d",
             c->N, c->in, c->out, c->activation, c->bias, c->residual);
    check_op(rt, &op);
}

Test(linear, matches_oracle_and_gradient)
{
    static const int sizes[][3] = { { 1, 1, 1 },   { 7, 5, 3 },    { 0, 4, 3 },
                                    { 3, 0, 5 },   { 33, 17, 65 }, { 63, 64, 129 },
                                    { 300, 40, 7 } };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int *n = sizes[i];
        if ((test_tiny() && n[0] > 7) || (test_small() && n[0] > 63)) continue;
        for (int form = 0; form < 12; form += test_tiny() ? 5 : 1) {
            check_layer(rt, &(layer){ n[0], n[1], n[2], form / 4, form & 1, form & 2 });
        }
    }
    cla_runtime_free(&rt);
}

/* ---- packed weights ---------------------------------------------------------- */

typedef struct bed {
    cla_runtime *rt;
    cla_tape *tape;
    cla_tensor *x, *w;
    float *first, *again;
} bed;

enum { ROWS = 20, IN = 70, OUT = 45 };

static void bed_init(bed *t)
{
    *t = (bed){ .rt = test_runtime() };
    cla_runtime_set_schedule(t->rt, CLA_SCHEDULE_TILE);
    float *x = test_random((int64_t)ROWS * IN, 1, 1);
    float *w = test_random((int64_t)IN * OUT, 1, 2);
    TEST_OK(cla_tape_new(&t->tape, t->rt, false));
    TEST_OK(cla_tensor_new(&t->x, t->rt, CLA_F32, 2, (int64_t[]){ ROWS, IN }));
    TEST_OK(cla_tensor_new(&t->w, t->rt, CLA_F32, 2, (int64_t[]){ IN, OUT }));
    TEST_OK(cla_tensor_upload(t->x, x));
    TEST_OK(cla_tensor_upload(t->w, w));
    t->first = malloc(ROWS * OUT * sizeof(float));
    t->again = malloc(ROWS * OUT * sizeof(float));
    free(x);
    free(w);
}

static void bed_fini(bed *t)
{
    cla_tape_free(&t->tape);
    cla_tensor_free(&t->x);
    cla_tensor_free(&t->w);
    cla_runtime_free(&t->rt);
    free(t->first);
    free(t->again);
}

static void run(const bed *t, float *y)
{
    cla_tensor *out = NULL;
    cla_tape_reset(t->tape);
    TEST_OK(cla_linear(t->tape, &out, t->x, t->w, NULL, CLA_NONE, NULL));
    TEST_OK(cla_tensor_download(out, y));
}

Test(linear, packed_weights_give_the_same_bits)
{
    bed t;
    bed_init(&t);
    run(&t, t.first);
    cr_assert_null(t.w->form[0].memory.mem, "packed for one small product");
    run(&t, t.again);
    cr_assert_not_null(t.w->form[0].memory.mem, "not packed for the second product");
    cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    run(&t, t.again);
    cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    TEST_OK(cla_memory_check_guards(t.rt));
    bed_fini(&t);
}

Test(linear, packed_weights_follow_changes)
{
    bed t;
    bed_init(&t);
    double want[ROWS * OUT];
    for (int i = 0; i < ROWS * OUT; i++) {
        want[i] = 0;
    }
    for (int i = 0; i < 3; i++) {
        run(&t, t.first);
    }
    TEST_OK(cla_tensor_fill(t.w, 0));
    for (int i = 0; i < 3; i++) {
        run(&t, t.again);
        check_close("zero weights", t.again, want, (int64_t)ROWS * OUT, 0);
    }
    // written behind the tensor's back, as an optimiser's kernel does
    float *w = test_random((int64_t)IN * OUT, 1, 2);
    TEST_OK(cla_memory_write(t.rt, &t.w->memory, 0, w, (size_t)IN * OUT * 4));
    cla_tensor_changed(t.w);
    for (int i = 0; i < 3; i++) {
        run(&t, t.again);
        cr_assert(!memcmp(t.first, t.again, ROWS * OUT * sizeof(float)));
    }
    free(w);
    bed_fini(&t);
}

Test(linear, refuses)
{
    cla_runtime *rt = test_runtime();
    cla_tensor *x = NULL, *w = NULL, *b = NULL, *r = NULL, *y = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tensor_new(&x, rt, CLA_F32, 2, (int64_t[]){ 2, 3 }));
    TEST_OK(cla_tensor_new(&w, rt, CLA_F32, 2, (int64_t[]){ 3, 4 }));
    TEST_OK(cla_tensor_new(&b, rt, CLA_F32, 1, (int64_t[]){ 3 }));
    TEST_OK(cla_tensor_new(&r, rt, CLA_F32, 2, (int64_t[]){ 2, 5 }));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_FAILS(cla_linear(tape, &y, b, w, NULL, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: x is [3], must be [*,*]");
    TEST_FAILS(cla_linear(tape, &y, x, x, NULL, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: w is [2,3], must be [3,*]");
    TEST_FAILS(cla_linear(tape, &y, x, w, b, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: b is [3], must be [4]");
    TEST_FAILS(cla_linear(tape, &y, x, w, NULL, CLA_NONE, r), CLA_E_SHAPE,
               "linear: residual is [2,5], must be [2,4]");
    TEST_FAILS(cla_linear(tape, &y, x, NULL, NULL, CLA_NONE, NULL), CLA_E_SHAPE,
               "linear: w is missing");
    cr_assert_null(y);
    cla_tape_free(&tape);
    cla_tensor_free(&x);
    cla_tensor_free(&w);
    cla_tensor_free(&b);
    cla_tensor_free(&r);
    cla_runtime_free(&rt);
}
