/* custom_attention.c - device against oracle: values, gradients (of inputs, too),
 * masks, dropout. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/custom.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 6, FLOATS = 3 };

/* A modifier, as an expression and as a function of the oracle. x[3] is the first of
 * its float inputs, which all want gradients. */
typedef struct recipe {
    const char *name, *score, *mask, *weight;
    struct {
        const char *name;
        int rank;
        int64_t shape[4]; // -1: H
        float scale, shift;
    } floats[FLOATS];
    oracle_modifier is;
    int window;
} recipe;

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

/* ---- modifiers ------------------------------------------------------------------- */

static double alibi(const oracle_pair *p, double *const *x)
{
    return p->s - x[3][p->h] * abs(p->j - p->i);
}

static double soft_cap(const oracle_pair *p, double *const *x)
{
    (void)x;
    return 2 * tanh(p->s / 2);
}

static int clip(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

enum { REACH = 4 };

static double relative(const oracle_pair *p, double *const *x)
{
    return p->s +
           x[3][p->h * (2 * REACH + 1) + clip(p->j - p->i, -REACH, REACH) + REACH];
}

static double temperature(const oracle_pair *p, double *const *x)
{
    return p->s * x[3][p->h] + x[4][(p->ni % 5) * 2 + p->h % 2] * exp(-p->s * p->s);
}

static const recipe ALIBI = {
    .name = "alibi",
    .score = "s - slope[h] * abs(j - i)",
    .floats = { { "slope", 1, { -1 }, .scale = 0.2f, .shift = 0.4f } },
    .is = { .score = alibi },
};
static const recipe SOFT_CAP = { .name = "soft cap",
                                 .score = "2 * tanh(s / 2)",
                                 .is = { .score = soft_cap } };
static const recipe RELATIVE = {
    .name = "relative",
    .score = "s + table[h][clip(j - i, -4, 4) + 4]",
    .floats = { { "table", 2, { -1, 2 * REACH + 1 } } },
    .is = { .score = relative },
};
static const recipe TEMPERATURE = {
    .name = "temperature and bumps",
    .score = "s * heat[h] + bump[ni % 5][h % 2] * exp(-s * s)",
    .floats = { { "heat", 1, { -1 }, .scale = 0.2f, .shift = 1 },
                { "bump", 2, { 5, 2 }, .scale = 0.5f } },
    .is = { .score = temperature },
};

static bool dilated(const oracle_pair *p, double *const *x)
{
    (void)x;
    return abs(p->i - p->j) % 3 == 0;
}

static bool same_document(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->i / 20 == p->j / 20 && p->b < 5 && (p->h == 0 || p->j <= p->i);
}

static bool positive(const oracle_pair *p, double *const *x)
{
    (void)x;
    return p->s > 0 || p->i == p->j;
}

static double far_and_capped(const oracle_pair *p, double *const *x)
{
    (void)x;
    return 2 * tanh(p->s / 2) - 0.1 * (p->b + 1) * abs(p->j - p->i);
}

static bool some_of_late(const oracle_pair *p, double *const *x)
{
    (void)x;
    return (p->i + p->j) % 3 != p->b % 2 && p->i > 2;
}

static const recipe NARROW = {
    .name = "in a narrow window", // queries 0 to 2 have no keys
    .score = "2 * tanh(s / 2) - 0.1 * (b + 1) * abs(j - i)",
    .mask = "(i + j) % 3 != b % 2 && i > 2 && S == T && nj >= j",
    .is = { far_and_capped, some_of_late },
    .window = 9,
};
static const recipe WIDE = { .name = "in a wide window",
                             .score = "2 * tanh(s / 2) - 0.1 * (b + 1) * abs(j - i)",
                             .is = { .score = far_and_capped },
                             .window = 71 };
static const recipe WINDOW = { .name = "window", .window = 7 };
static const recipe DILATED = {
    .name = "dilated in a window",
    .score = "s - slope[h] * abs(j - i)",
    .mask = "abs(i - j) % 3 == 0",
    .floats = { { "slope", 1, { -1 }, .scale = 0.2f, .shift = 0.4f } },
    .is = { alibi, dilated },
    .window = 21,
};
static const recipe DOCUMENTS = {
    .name = "documents",
    .mask = "int(i / 20) == int(j / 20) && (T > 0 ? b < 5 : i < j)"
            "&& (h == 0 || j <= i)",
    .is = { .mask = same_document },
};
static const recipe POSITIVE = { .name = "positive",
                                 .mask = "s > 0 || i == j",
                                 .is = { .mask = positive } };

static double gated(double w, const oracle_pair *p, double *const *x)
{
    return w * x[3][p->h] / (1 + 0.1 * abs(p->i - p->j));
}

static double squared(double w, const oracle_pair *p, double *const *x)
{
    return w * w * x[4][p->nj % 7] + 0.1 * x[3][p->h];
}

static const recipe GATES = {
    .name = "gates",
    .weight = "w * gate[h] / (1 + 0.1 * abs(i - j))",
    .floats = { { "gate", 1, { -1 }, .shift = 1 } },
    .is = { .weight = gated },
};
static const recipe SQUARES = {
    .name = "squares",
    .score = "2 * tanh(s / 2)",
    .mask = "abs(i - j) % 3 == 0",
    .weight = "w * w * gain[nj % 7] + 0.1 * gate[h]",
    .floats = { { "gate", 1, { -1 }, .shift = 1 }, { "gain", 1, { 7 } } },
    .is = { soft_cap, dilated, squared },
};

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
            in->shape[a] = r->floats[n].shape[a] < 0 ? c->H : r->floats[n].shape[a];
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
        TEST_OK(cla_tuning_set(rt, "attention_backward_tile", "ITEMS", items));
        for (size_t i = 0; i < (test_tiny() ? 1 : sizeof cases / sizeof *cases); i++) {
            check(rt, &cases[i]);
        }
    }
    cla_runtime_free(&rt);
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
