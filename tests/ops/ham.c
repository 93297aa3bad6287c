/* ham.c - device against oracle: levels on a memory and of a sequence on itself. */
#include "clattn/ham.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 5 };

typedef struct ham_case {
    int B, d, depth;
    int T[SEQUENCES], S[SEQUENCES];
    float scale; // 0: of d
    // filled in by make
    cla_ham_options options;
    oracle_ham_shape shape;
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
} ham_case;

/* Some whose keys stay in local memory, and some too big for that; more keys than a
 * tile and than a block; queries without keys and the reverse. */
static const ham_case CASES[] = {
    { .B = 1, .d = 1, .depth = 1, .T = { 1 }, .S = { 1 } },
    { .B = 2, .d = 5, .depth = 2, .T = { 1, 0 }, .S = { 2, 1 } },
    { .B = 3, .d = 7, .depth = 3, .T = { 2, 0, 5 }, .S = { 7, 4, 0 }, .scale = 0.5f },
    { .B = 5, .d = 16, .depth = 5, .T = { 6, 7, 1, 0, 12 }, .S = { 9, 1, 5, 0, 13 } },
    { .B = 2, .d = 40, .depth = 2, .T = { 31, 33 }, .S = { 33, 65 } },
    { .B = 1, .d = 24, .depth = 20, .T = { 9 }, .S = { 131 } },
    { .B = 3, .d = 130, .depth = 2, .T = { 24, 1, 49 }, .S = { 7, 65, 23 } },
    { .B = 2, .d = 33, .depth = 1, .T = { 65, 3 }, .S = { 5, 32 }, .scale = 1 },
    { .B = 2, .d = 76, .depth = 3, .T = { 1, 9 }, .S = { 22, 70 } },
    { .B = 2, .d = 8, .depth = 4, .T = { 0, 0 }, .S = { 3, 4 } },
};

static void make(ham_case *c, cla_runtime *rt, bool self)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, self ? c->T : c->S, &c->k_offsets);
    c->options.scale = c->scale;
    c->shape = (oracle_ham_shape){
        .B = c->B,
        .d = c->d,
        .depth = c->depth,
        .q_offsets = c->q_offsets,
        .k_offsets = c->k_offsets,
        .scale = c->scale != 0 ? (double)c->scale : 1 / sqrt(c->d),
    };
}

static void fini(ham_case *c)
{
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
}

/* A work-item has all levels, blocks and columns of its rows, and llvmpipe counts. */
static bool too_big(const ham_case *c)
{
    int most = 0;
    for (int b = 0; b < c->B; b++) {
        most = c->T[b] > most ? c->T[b] : most;
        most = c->S[b] > most ? c->S[b] : most;
    }
    return (test_small() && c->depth * most * c->d > 6000) || (test_tiny() && c->d > 8);
}

static cla_status device_v(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                           void *context)
{
    const ham_case *c = context;
    return cla_ham_v(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &c->options);
}

static void oracle_v(double *y, double *const *x, void *context)
{
    const ham_case *c = context;
    oracle_ham(y, x[0], x[1], x[2], &c->shape);
}

/* Scores err by eps sqrt(d) of their terms, weights by e^score of that, unscaled by up
 * to 33^(1/2) 6e-8 of scores of size 6; what is mixed with them is of size 1 or so. */
static const double BAR = 4e-6;

Test(ham, v_matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ham_case c = CASES[i];
        if (too_big(&c)) {
            continue;
        }
        make(&c, rt, false);
        op_case op = {
            .in = { { "q", 2, { c.q_offsets[c.B], c.d } },
                    { "k", 2, { c.k_offsets[c.B], c.d } },
                    { "c", 1, { c.depth } } },
            .inputs = 3,
            .rank = 2,
            .shape = { c.q_offsets[c.B], c.d },
            .device = device_v,
            .oracle = oracle_v,
            .context = &c,
            .bar = BAR,
        };
        snprintf(op.name, sizeof op.name, "ham_v %zu d%d depth %d", i, c.d, c.depth);
        check_op(rt, &op);
        fini(&c);
    }
    cla_runtime_free(&rt);
}

static cla_status device_s(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                           void *context)
{
    const ham_case *c = context;
    return cla_ham_s(tape, y, x[0], x[1], c->q_rows, &c->options);
}

static void oracle_s(double *y, double *const *x, void *context)
{
    const ham_case *c = context;
    oracle_ham(y, x[0], x[0], x[1], &c->shape);
}

static void check_s(cla_runtime *rt, ham_case c, cla_ham_memory memory)
{
    make(&c, rt, true);
    c.options.memory = memory;
    c.shape.self = memory == CLA_HAM_CURRENT;
    op_case op = {
        // not so long that a row attends to itself alone, and levels are all the same
        .in = { { "x", 2, { c.q_offsets[c.B], c.d }, .scale = 0.5f },
                { "c", 1, { c.depth } } },
        .inputs = 2,
        .rank = 2,
        .shape = { c.q_offsets[c.B], c.d },
        .device = device_s,
        .oracle = oracle_s,
        .context = &c,
        .bar = BAR,
    };
    snprintf(op.name, sizeof op.name, "ham_s %s B%d d%d depth %d",
             memory == CLA_HAM_CURRENT ? "current" : "original", c.B, c.d, c.depth);
    check_op(rt, &op);
    fini(&c);
}

Test(ham, s_matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (!too_big(&CASES[i])) {
            check_s(rt, CASES[i], CLA_HAM_CURRENT);
            if (!test_tiny()) { // the same kernels as above
                check_s(rt, CASES[i], CLA_HAM_ORIGINAL);
            }
        }
    }
    cla_runtime_free(&rt);
}

/* Without a gradient to come only two levels have room: the same bits all the same. */
Test(ham, inference_with_two_levels_gives_the_same_bits)
{
    if (test_tiny()) {
        return;
    }
    cla_runtime *rt = test_runtime();
    ham_case c = CASES[3];
    make(&c, rt, true);
    const int64_t shape[2] = { c.q_offsets[c.B], c.d }, depth = c.depth;
    const size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
    float *numbers = test_random(shape[0] * shape[1], 1, 1), *got[2];
    for (int schedule = 0; schedule < 4; schedule++) {
        cla_runtime_set_schedule(rt,
                                 schedule & 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        c.options.memory = schedule & 2 ? CLA_HAM_ORIGINAL : CLA_HAM_CURRENT;
        for (int training = 0; training < 2; training++) {
            cla_tape *tape = NULL;
            cla_tensor *x = NULL, *w = NULL, *out = NULL;
            TEST_OK(cla_tape_new(&tape, rt, training));
            TEST_OK(cla_tape_tensor(tape, &x, CLA_F32, 2, shape));
            TEST_OK(cla_tape_tensor(tape, &w, CLA_F32, 1, &depth));
            TEST_OK(cla_tensor_upload(x, numbers));
            TEST_OK(cla_tensor_fill(w, 0));
            cla_tensor_want_grad(x, true);
            TEST_OK(cla_ham_s(tape, &out, x, w, c.q_rows, &c.options));
            got[training] = malloc(bytes);
            TEST_OK(cla_tensor_download(out, got[training]));
            TEST_OK(cla_memory_check_guards(rt));
            cla_tape_free(&tape);
        }
        cr_assert(!memcmp(got[0], got[1], bytes), "run %d: not the same", schedule);
        free(got[0]);
        free(got[1]);
    }
    free(numbers);
    fini(&c);
    cla_runtime_free(&rt);
}

Test(ham, refusals)
{
    cla_runtime *rt = test_runtime();
    cla_tape *tape = NULL;
    cla_tensor *q = NULL, *k = NULL, *c = NULL, *none = NULL, *deep = NULL, *o = NULL;
    cla_ragged *two = test_ragged(rt, 2, (int[]){ 1, 2 }, NULL);
    cla_ragged *one = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(cla_tape_tensor(tape, &q, CLA_F32, 2, (int64_t[]){ 3, 4 }));
    TEST_OK(cla_tape_tensor(tape, &k, CLA_F32, 2, (int64_t[]){ 3, 5 }));
    TEST_OK(cla_tape_tensor(tape, &c, CLA_F32, 1, (int64_t[]){ 2 }));
    TEST_OK(cla_tape_tensor(tape, &none, CLA_F32, 1, (int64_t[]){ 0 }));
    TEST_OK(cla_tape_tensor(tape, &deep, CLA_F32, 1, (int64_t[]){ CLA_HAM_DEPTH + 1 }));
    TEST_FAILS(cla_ham_v(tape, &o, q, q, c, NULL, one, NULL), CLA_E_USAGE, "rows");
    TEST_FAILS(cla_ham_v(tape, &o, q, q, c, two, one, NULL), CLA_E_SHAPE,
               "2 query sequences, 1 key");
    TEST_FAILS(cla_ham_v(tape, &o, q, k, c, one, one, NULL), CLA_E_SHAPE, "k is");
    TEST_FAILS(cla_ham_v(tape, &o, q, q, none, one, one, NULL), CLA_E_SHAPE, "depth");
    TEST_FAILS(cla_ham_s(tape, &o, q, deep, one, NULL), CLA_E_SHAPE, "depth");
    TEST_FAILS(cla_ham_s(tape, &o, q, c, NULL, NULL), CLA_E_USAGE, "rows");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&one);
    cla_ragged_free(&two);
    cla_runtime_free(&rt);
}
