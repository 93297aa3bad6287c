/* custom_attention.c - device against oracle: values, gradients (of inputs, too),
 * masks, dropout. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/custom.h"
#include "ops/custom_recipes.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 6 };

typedef struct custom_case {
    const recipe *recipe;
    int B, H, d;
    int T[SEQUENCES], S[SEQUENCES]; // S[0] = 0: self-attention
    bool causal, view;
    float dropout;
    // filled in by prepare
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
    double *keep;
    int Smax;
} custom_case;

/* ---- one case -------------------------------------------------------------------- */

static cla_status attend(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                         const custom_case *c, cla_tensor **map)
{
    const cla_attention_options options = { .causal = c->causal,
                                            .dropout = c->dropout,
                                            .map = map };
    cla_attention_mod mod = { .score = c->recipe->score,
                              .mask = c->recipe->mask,
                              .weight = c->recipe->weight,
                              .window = c->recipe->window };
    int n = 0;
    for (; n < FLOATS && c->recipe->floats[n].name; n++) {
        mod.inputs[n] = (cla_custom_input){ c->recipe->floats[n].name, x[3 + n] };
    }
    return cla_custom_attention(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows, &mod,
                                &options);
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

static void run_oracle(double *y, double *map, double *const *x, const custom_case *c)
{
    const oracle_attention_shape s = {
        .B = c->B,
        .H = c->H,
        .d = c->d,
        .q_offsets = c->q_offsets,
        .k_offsets = c->k_offsets,
        .causal = c->causal,
        .window = c->recipe->window,
        .keep = c->keep,
        .Smax = c->Smax,
    };
    oracle_custom_attention(y, map, x, &c->recipe->is, &s);
}

static void oracle(double *y, double *const *x, void *context)
{
    run_oracle(y, NULL, x, context);
}

static void oracle_map(double *map, double *const *x, void *context)
{
    const custom_case *c = context;
    double *o = calloc((size_t)c->q_offsets[c->B] * c->H * c->d + 1, sizeof *o);
    run_oracle(o, map, x, c);
    free(o);
}

/* Scores of modifiers stay below 20 and carry a handful of roundings of 6e-8 each; a
 * raw score's is about sqrt(d) eps, at most 1e-6; exp adds 4e-7; values reach 4. */
static const double BAR = 1e-5;

static void prepare(cla_runtime *rt, custom_case *c, op_case *op)
{
    static const char *const names[] = { "q", "k", "v" };
    const recipe *r = c->recipe;
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = c->q_rows; // self-attention, for which narrow windows have kernels
    c->k_offsets = c->q_offsets;
    if (c->S[0]) {
        c->k_rows = test_ragged(rt, c->B, c->S, &c->k_offsets);
    }
    c->Smax = (int)cla_ragged_longest(c->k_rows);
    c->keep = oracle_keep(c->q_offsets[c->B], c->H, c->Smax, c->dropout);
    for (int i = 0; i < 3; i++) {
        const cla_ragged *rows = i ? c->k_rows : c->q_rows;
        op->in[i] = (op_input){
            names[i], 3, { cla_ragged_tokens(rows), c->H, c->d }, .column = c->view
        };
    }
    op->inputs = 3;
    for (int n = 0; n < FLOATS && r->floats[n].name; n++) {
        op_input *in = &op->in[op->inputs];
        *in = (op_input){ r->floats[n].name, r->floats[n].rank,
                          .scale = r->floats[n].scale };
        for (int a = 0; a < in->rank; a++) {
            const int64_t size = r->floats[n].shape[a];
            in->shape[a] = size == -1   ? c->H
                           : size == -2 ? cla_ragged_tokens(c->q_rows)
                                        : size;
        }
        op->shift[op->inputs++] = r->floats[n].shift;
    }
    op->rank = 3;
    op->context = c;
    op->bar = BAR;
    memcpy(op->shape, op->in[0].shape, sizeof op->shape);
    snprintf(op->name, sizeof op->name, "custom_attention %s B%d H%d T%d.. S%d.. d%d%s",
             r->name, c->B, c->H, c->T[0], c->S[0], c->d, c->causal ? " causal" : "");
}

static void unprepare(custom_case *c)
{
    if (c->S[0]) {
        cla_ragged_free(&c->k_rows);
        free(c->k_offsets);
    }
    cla_ragged_free(&c->q_rows);
    free(c->q_offsets);
    free(c->keep);
}

static void check(cla_runtime *rt, custom_case *c)
{
    op_case op = { .device = device, .oracle = oracle };
    prepare(rt, c, &op);
    check_op(rt, &op);
    unprepare(c);
}

static void check_all(custom_case *cases, size_t count)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < count; i++) {
        if (!test_tiny() || cases[i].T[0] < 8) {
            check(rt, &cases[i]);
        }
    }
    cla_runtime_free(&rt);
}

Test(custom_attention, matches_oracle_and_gradient)
{
    custom_case cases[] = {
        { &ALIBI, .B = 1, .H = 1, .d = 3, .T = { 1 } },
        { &ALIBI, .B = 0, .H = 2, .d = 3 },
        { &ALIBI, .B = 6, .H = 2, .d = 3, .T = { 5, 0, 3, 7, 1, 2 } },
        { &ALIBI, .B = 2, .H = 3, .d = 24, .T = { 33, 17 }, .causal = true },
        { &ALIBI, .B = 2, .H = 2, .d = 24, .T = { 131, 70 }, .view = true },
        { &ALIBI, .B = 2, .H = 2, .d = 24, .T = { 9, 40 }, .S = { 70, 3 } },
        { &SOFT_CAP, .B = 3, .H = 2, .d = 3, .T = { 5, 0, 9 } },
        { &RELATIVE, .B = 3, .H = 2, .d = 3, .T = { 7, 0, 35 } },
        { &TEMPERATURE, .B = 3, .H = 3, .d = 3, .T = { 4, 1, 37 } },
        { &RELATIVE, .B = 2, .H = 1, .d = 130, .T = { 9, 40 }, .S = { 36, 3 } },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

/* More tiles than copies of the inputs' gradients, so that a copy serves several. */
Test(custom_attention, shares_copies_of_gradients)
{
    custom_case cases[] = {
        { &ALIBI, .B = 6, .H = 180, .d = 1, .T = { 2, 0, 1, 1, 3, 1 } },
        { &RELATIVE, .B = 6, .H = 180, .d = 1, .T = { 1, 2, 0, 1, 1, 3 } },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

Test(custom_attention, hides_what_masks_say)
{
    custom_case cases[] = {
        { &WINDOW, .B = 3, .H = 1, .d = 3, .T = { 5, 0, 90 } },
        { &WINDOW, .B = 2, .H = 2, .d = 3, .T = { 3, 80 }, .S = { 90, 3 } },
        { &WINDOW, .B = 1, .H = 2, .d = 3, .T = { 131 }, .causal = true },
        { &NARROW, .B = 6, .H = 2, .d = 3, .T = { 5, 0, 33, 1, 2, 41 } },
        { &NARROW, .B = 2, .H = 2, .d = 24, .T = { 7, 70 }, .causal = true,
          .view = true },
        { &NARROW, .B = 2, .H = 3, .d = 3, .T = { 40, 6 }, .dropout = 0.2f },
        { &NARROW, .B = 2, .H = 2, .d = 3, .T = { 40, 6 }, .S = { 40, 6 } },
        { &WIDE, .B = 2, .H = 1, .d = 3, .T = { 99, 7 } },
        { &DILATED, .B = 2, .H = 2, .d = 3, .T = { 7, 90 }, .dropout = 0.2f },
        { &DOCUMENTS, .B = 6, .H = 2, .d = 3, .T = { 5, 0, 99, 7, 60, 3 } },
        { &POSITIVE, .B = 2, .H = 2, .d = 3, .T = { 7, 37 } },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

/* Backward works by heads, as devices with few units choose, and by tiles. */
Test(custom_attention, goes_back_by_heads_and_by_tiles)
{
    custom_case cases[] = {
        { &TEMPERATURE, .B = 3, .H = 2, .d = 3, .T = { 7, 0, 37 }, .dropout = 0.2f },
        { &DOCUMENTS, .B = 2, .H = 2, .d = 3, .T = { 99, 70 }, .S = { 40, 99 } },
        { &ALIBI, .B = 2, .H = 1, .d = 3, .T = { 9, 40 }, .S = { 70, 3 },
          .causal = true },
    };
    cla_runtime *rt = test_runtime();
    for (int items = 0; items <= 1024; items += 1024) {
        TEST_OK(cla_tuning_set(rt, "attention_tile", "ITEMS", items));
        for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
            check(rt, &cases[i]);
        }
    }
    cla_runtime_free(&rt);
}

/* Gradients of which each query of a head has an element of its own. */
Test(custom_attention, sums_over_the_keys_of_a_query)
{
    custom_case cases[] = {
        { &BELLS, .B = 3, .H = OWN_HEADS, .d = 3, .T = { 5, 0, 2 } },
        { &BELLS, .B = 2, .H = OWN_HEADS, .d = 3, .T = { 37, 7 }, .S = { 40, 70 },
          .dropout = 0.2f },
        { &HEATS, .B = 3, .H = OWN_HEADS, .d = 3, .T = { 40, 0, 4 } },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

Test(custom_attention, changes_weights)
{
    custom_case cases[] = {
        { &GATES, .B = 3, .H = 2, .d = 3, .T = { 5, 0, 40 } },
        { &GATES, .B = 2, .H = 2, .d = 3, .T = { 7, 19 }, .dropout = 0.2f },
        { &SQUARES, .B = 3, .H = 2, .d = 3, .T = { 5, 0, 90 } },
        { &SQUARES, .B = 2, .H = 2, .d = 3, .T = { 7, 19 }, .causal = true,
          .dropout = 0.2f },
    };
    check_all(cases, sizeof cases / sizeof *cases);
}

Test(custom_attention, shows_its_map)
{
    custom_case cases[] = {
        { &DILATED, .B = 2, .H = 2, .d = 3, .T = { 7, 30 }, .causal = true },
        { &SQUARES, .B = 2, .H = 1, .d = 3, .T = { 5, 30 }, .dropout = 0.2f },
    };
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
        custom_case *c = &cases[i];
        op_case op = { .device = device_map, .oracle = oracle_map };
        prepare(rt, c, &op);
        const int64_t shape[] = { c->B, c->H, cla_ragged_longest(c->q_rows), c->Smax };
        memcpy(op.shape, shape, sizeof shape);
        op.rank = 4;
        for (int n = 0; n < op.inputs; n++) {
            op.in[n].constant = true;
        }
        check_op(rt, &op);
        unprepare(c);
    }
    cla_runtime_free(&rt);
}
