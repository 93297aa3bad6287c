/* hard_attention.c - device against oracle: scores, gates, sums, draws, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/hard.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { SEQUENCES = 5 };

typedef struct hard_case {
    int B, D;
    int T[SEQUENCES], S[SEQUENCES];
    float scale;
    // filled in by make
    cla_hard_options options;
    int64_t pairs;
    oracle_hard_shape shape;
    int32_t *q_offsets, *k_offsets;
    cla_ragged *q_rows, *k_rows;
    double *gates; // [P], zeros and ones
    cla_tensor *given;
} hard_case;

static const hard_case CASES[] = {
    { .B = 1, .D = 1, .T = { 1 }, .S = { 1 } },
    { .B = 3, .D = 7, .T = { 2, 0, 5 }, .S = { 7, 4, 0 }, .scale = 0.5f },
    { .B = 5, .D = 16, .T = { 6, 7, 1, 0, 12 }, .S = { 9, 1, 5, 0, 13 } },
    { .B = 2, .D = 40, .T = { 31, 32 }, .S = { 33, 25 }, .scale = 0.158f },
    { .B = 1, .D = 64, .T = { 9 }, .S = { 131 }, .scale = 0.125f },
    { .B = 3, .D = 130, .T = { 24, 1, 49 }, .S = { 7, 65, 23 }, .scale = 0.0877f },
    { .B = 2, .D = 8, .T = { 0, 0 }, .S = { 3, 4 } },
};

static void make(hard_case *c, cla_runtime *rt)
{
    c->q_rows = test_ragged(rt, c->B, c->T, &c->q_offsets);
    c->k_rows = test_ragged(rt, c->B, c->S, &c->k_offsets);
    for (int b = 0; b < c->B; b++) {
        c->pairs += (int64_t)c->T[b] * c->S[b];
    }
    c->options.scale = c->scale;
    c->shape = (oracle_hard_shape){ .B = c->B,
                                    .D = c->D,
                                    .q_offsets = c->q_offsets,
                                    .k_offsets = c->k_offsets,
                                    .scale = c->scale != 0 ? (double)c->scale
                                                           : 1 / sqrt(c->D) };
    float *gates = test_random(c->pairs, 1, 77);
    c->gates = calloc((size_t)c->pairs + 1, sizeof *c->gates);
    cr_assert_not_null(c->gates);
    for (int64_t i = 0; i < c->pairs; i++) {
        gates[i] = gates[i] > 0.3f ? 1 : 0;
        c->gates[i] = (double)gates[i];
    }
    TEST_OK(cla_tensor_new(&c->given, rt, CLA_F32, 1, &c->pairs));
    TEST_OK(cla_tensor_upload(c->given, gates));
    free(gates);
}

static void fini(hard_case *c)
{
    cla_tensor_free(&c->given);
    cla_ragged_free(&c->q_rows);
    cla_ragged_free(&c->k_rows);
    free(c->q_offsets);
    free(c->k_offsets);
    free(c->gates);
}

static bool too_big(const hard_case *c)
{
    return (test_small() && c->D > 100) || (test_tiny() && c->D > 8);
}

static op_case op_of(hard_case *c, bool of_scores)
{
    const int queries = c->q_offsets[c->B], keys = c->k_offsets[c->B];
    return (op_case){
        .in = { { "q", 2, { queries, c->D }, .constant = !of_scores },
                { "k", 2, { keys, c->D }, .constant = !of_scores },
                { "v", 2, { keys, c->D }, .constant = of_scores } },
        .inputs = 3,
        .context = c,
    };
}

/* ---- scores ---------------------------------------------------------------------- */

static cla_status device_scores(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                                void *context)
{
    const hard_case *c = context;
    cla_hard_options options = c->options;
    cla_tensor *o = NULL;
    options.scores = y;
    return cla_hard_attention(tape, &o, x[0], x[1], x[2], c->q_rows, c->k_rows,
                              &options);
}

static void oracle_scores(double *y, double *const *x, void *context)
{
    const hard_case *c = context;
    oracle_hard_scores(y, x[0], x[1], &c->shape);
}

/* A sum of D products errs by eps sqrt(D) of its size, which is sqrt(D) unscaled. */
static const double SCORE_BAR = 2e-6;

DEVICE_TEST(hard_attention, scores_match_oracle_and_gradient)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        hard_case c = CASES[i];
        if (too_big(&c)) {
            continue;
        }
        make(&c, rt);
        op_case op = op_of(&c, true);
        op.rank = 1;
        op.shape[0] = c.pairs;
        op.device = device_scores;
        op.oracle = oracle_scores;
        op.bar = SCORE_BAR;
        snprintf(op.name, sizeof op.name, "hard_attention scores %zu D%d", i, c.D);
        check_op(rt, &op);
        fini(&c);
    }
}

/* ---- sums ------------------------------------------------------------------------ */

static cla_status device_sums(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                              void *context)
{
    const hard_case *c = context;
    return cla_hard_attention(tape, y, x[0], x[1], x[2], c->q_rows, c->k_rows,
                              &c->options);
}

static void oracle_sums(double *y, double *const *x, void *context)
{
    const hard_case *c = context;
    oracle_hard_attention(y, c->gates, x[2], &c->shape);
}

/* Up to 131 terms of size 1: eps sqrt(131), and relative to a sum above 1. */
static const double SUM_BAR = 1.5e-6;

static void check_sums(cla_runtime *rt, hard_case c, cla_hard_form form, bool mean)
{
    make(&c, rt);
    c.options.gate = CLA_GATE_GIVEN;
    c.options.given = c.given;
    c.options.form = form;
    c.options.mean = c.shape.mean = mean;
    op_case op = op_of(&c, false);
    op.rank = 2;
    op.shape[0] = c.q_offsets[c.B];
    op.shape[1] = c.D;
    op.device = device_sums;
    op.oracle = oracle_sums;
    op.bar = SUM_BAR;
    snprintf(op.name, sizeof op.name, "hard_attention %s %s B%d T%d D%d",
             form == CLA_HARD_DENSE ? "dense" : "sparse", mean ? "mean" : "sum", c.B,
             c.T[0], c.D);
    check_op(rt, &op);
    fini(&c);
}

DEVICE_TEST(hard_attention, sums_match_oracle_and_gradient)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const bool skip = too_big(&CASES[i]) || (test_tiny() && CASES[i].D != 7);
        for (int variant = 0; variant < 4 && !skip; variant++) {
            check_sums(rt, CASES[i], variant & 1 ? CLA_HARD_SPARSE : CLA_HARD_DENSE,
                       variant & 2);
        }
    }
}

/* ---- gates ----------------------------------------------------------------------- */

/* Scores, gates and result of a case under some options. */
typedef struct outcome {
    float *scores, *gates, *o;
} outcome;

static void take(float **to, const cla_tensor *t)
{
    *to = calloc((size_t)cla_tensor_size(t) + 1, sizeof **to);
    cr_assert_not_null(*to);
    TEST_OK(cla_tensor_download(t, *to));
}

static outcome open_gates(cla_runtime *rt, const hard_case *c, cla_hard_options options,
                          uint32_t step, uint32_t first_row)
{
    cla_tensor *x[3], *scores = NULL, *gates = NULL, *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    outcome out;
    cla_tape_random(tape, test_seed(), step);
    cla_tape_rows(tape, first_row);
    for (uint32_t i = 0; i < 3; i++) {
        const int64_t shape[2] = { (i ? c->k_offsets : c->q_offsets)[c->B], c->D };
        float *numbers = test_random(shape[0] * shape[1], 1, 20 + i);
        TEST_OK(cla_tape_tensor(tape, &x[i], CLA_F32, 2, shape));
        TEST_OK(cla_tensor_upload(x[i], numbers));
        free(numbers);
    }
    options.scores = &scores;
    options.gates = &gates;
    options.scale = c->scale;
    TEST_OK(
        cla_hard_attention(tape, &o, x[0], x[1], x[2], c->q_rows, c->k_rows, &options));
    take(&out.scores, scores);
    take(&out.gates, gates);
    take(&out.o, o);
    TEST_OK(cla_memory_check_guards(rt));
    cla_tape_free(&tape);
    return out;
}

static void drop(outcome *out)
{
    free(out->scores);
    free(out->gates);
    free(out->o);
}

/* Returns whether fewer than top of S scores come before score j. */
static bool is_top(const float *scores, int S, int j, int top)
{
    int before = 0;
    for (int k = 0; k < S; k++) {
        before += scores[k] > scores[j] || (scores[k] == scores[j] && k < j);
    }
    return before < top;
}

static void check_top(const hard_case *c, const outcome *out, int top)
{
    int64_t at = 0;
    for (int b = 0; b < c->B; b++) {
        for (int i = 0; i < c->T[b]; i++, at += c->S[b]) {
            for (int j = 0; j < c->S[b]; j++) {
                const bool want = is_top(out->scores + at, c->S[b], j, top);
                cr_assert_eq(out->gates[at + j], want ? 1 : 0, "top %d: gate %d,%d,%d",
                             top, b, i, j);
            }
        }
    }
}

/* Checks the device's gates against its own scores. A draw within 1e-6 of the
 * probability may fall on either side, as that is rounded. */
static void check_gates(cla_runtime *rt, const hard_case *c, cla_hard_gate gate)
{
    enum { TOP = 3 };
    const cla_hard_options options = { .gate = gate, .top = TOP };
    outcome out = open_gates(rt, c, options, 9, 4);
    double *draws = calloc((size_t)c->pairs + 1, sizeof *draws);
    cr_assert_not_null(draws);
    oracle_hard_draws(draws, &c->shape, test_seed(), 9, 0, 4);
    for (int64_t i = 0; i < c->pairs; i++) {
        const double p = oracle_sigmoid((double)out.scores[i]);
        const double g = (double)out.gates[i];
        if (gate == CLA_GATE_THRESHOLD) {
            cr_assert_eq(g, out.scores[i] >= 0 ? 1 : 0);
        } else if (gate == CLA_GATE_EXPECTED) {
            cr_assert(fabs(g - p) <= 3e-7, "p is %.9g, must be %.9g", g, p);
        } else if (gate == CLA_GATE_SAMPLE && fabs(draws[i] - p) > 1e-6) {
            cr_assert_eq(g, draws[i] < p ? 1 : 0, "pair %lld: p %g, draw %g, gate %g",
                         (long long)i, p, draws[i], g);
        }
    }
    if (gate == CLA_GATE_TOP) {
        check_top(c, &out, TOP);
    }
    free(draws);
    drop(&out);
}

DEVICE_TEST(hard_attention, gates_follow_their_scores)
{
    hard_case c = CASES[test_tiny() ? 1 : 2];
    make(&c, rt);
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (int gate = 0; gate < CLA_GATE_GIVEN; gate++) {
            check_gates(rt, &c, (cla_hard_gate)gate);
        }
    }
    fini(&c);
}

/* Under either schedule the same key draws the same gates; another step or other rows
 * draw others. Dense and sparse sums have the same bits, as a gate of 0 or 1 rounds
 * nothing. */
DEVICE_TEST(hard_attention, draws_and_forms_repeat)
{
    hard_case c = CASES[test_tiny() ? 1 : 2];
    make(&c, rt);
    const cla_hard_options dense = { .gate = CLA_GATE_SAMPLE };
    const cla_hard_options sparse = { .gate = CLA_GATE_SAMPLE,
                                      .form = CLA_HARD_SPARSE };
    const size_t map = (size_t)c.pairs * 4;
    const size_t rows = (size_t)c.q_offsets[c.B] * (size_t)c.D * 4;
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        outcome first = open_gates(rt, &c, dense, 5, 0);
        outcome again = open_gates(rt, &c, sparse, 5, 0);
        outcome other = open_gates(rt, &c, dense, 6, 0);
        outcome below = open_gates(rt, &c, dense, 5, 7);
        cr_assert(!memcmp(first.gates, again.gates, map), "other gates for one key");
        cr_assert(!memcmp(first.o, again.o, rows), "dense and sparse differ");
        cr_assert(memcmp(first.gates, other.gates, map), "two steps, the same gates");
        cr_assert(memcmp(first.gates, below.gates, map), "other rows, the same gates");
        drop(&first);
        drop(&again);
        drop(&other);
        drop(&below);
    }
    fini(&c);
}

/* Gates open with their probability p: of n draws, n p +- 5 sqrt(n p (1 - p)) are open
 * in all but one of a million seeds. */
DEVICE_TEST(hard_attention, gates_open_as_often_as_they_should)
{
    enum { S = 6 };
    const int N = test_tiny() ? 20 : 500;
    const float logits[S] = { -3, -1, -0.2f, 0, 0.7f, 2.5f };
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL, *gates = NULL;
    cla_ragged *q_rows = test_ragged(rt, 1, (int[]){ N }, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, (int[]){ S }, NULL);
    const cla_hard_options options = { .gate = CLA_GATE_SAMPLE, .gates = &gates };
    float *got = NULL;
    cla_tape_random(tape, test_seed(), 1);
    cla_tensor *q = test_tensor(tape, CLA_F32, 2, (int64_t[]){ N, 1 }, NULL);
    TEST_OK(cla_tensor_fill(q, 1));
    cla_tensor *k = test_tensor(tape, CLA_F32, 2, (int64_t[]){ S, 1 }, logits);
    TEST_OK(cla_hard_attention(tape, &o, q, k, k, q_rows, k_rows, &options));
    take(&got, gates);
    for (int j = 0; j < S; j++) {
        const double p = oracle_sigmoid((double)logits[j]);
        double open = 0;
        for (int i = 0; i < N; i++) {
            open += (double)got[i * S + j];
        }
        cr_assert(fabs(open - N * p) <= 5 * sqrt(N * p * (1 - p)),
                  "key %d: %g of %d open, p is %g (CLATTN_SEED=%u)", j, open, N, p,
                  test_seed());
    }
    free(got);
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
}
