/* conv_attention_2d.c - device against oracle: values, gradients, refusals. */
#include <stdlib.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/check_kind.h"

/* A row of the map sums to 1, so a filter of n taps of deviation 1/sqrt(n) gives
 * entries below 1, to which the bias of about 1 is added: eps of it each. Products with
 * v take the root of T such errors together; and each sum of n or T terms adds some
 * eps: 5e-6 for few tokens, 2e-5 for up to 200. */

// clang-format off
#define TABLE(deviation, bias, limit, ...)                                        \
    { .lines = { "conv_attention_2d", "method=1", NULL },                         \
      .rows = (const char *const[]){ __VA_ARGS__, NULL },                         \
      .scale = { [3] = (deviation), [4] = (bias) },                               \
      .bar = (limit) }
// clang-format on

/* A finite difference across a kink is wrong: with ReLU a bias moves most entries away
 * from it. Partly active heads are in the golden cases, which have exact gradients.
 *
 * An item handles a head or more, and llvmpipe ends an item's loops after 65535 rounds
 * in all (docs/kernels.md): cases that are not large stay well below. */
static const kind_table tables[] = {
    TABLE(0.33f, 1, 5e-6, "rows=5,0,3 H=2 d=8 kh=3 kw=3 activation=1",
          "rows=0,0 H=2 d=8 kh=3 kw=3 activation=1",
          "rows= H=1 d=8 kh=9 kw=9 activation=1"),
    TABLE(0.33f, 1, 2e-5, "rows=33,7 H=2 d=24 kh=3 kw=3 activation=1 columns medium",
          "rows=31,64,0,65 H=2 d=24 kh=3 kw=3 activation=1 medium",
          "rows=33,0,65 H=2 d=8 kh=3 kw=3 activation=3 medium",
          "rows=200 H=1 d=8 kh=3 kw=3 activation=1 large"),
    TABLE(0.33f, 0.02f, 2e-5, "rows=1 H=2 d=8 kh=3 kw=3",
          "rows=40 H=1 d=91 kh=3 kw=3 activation=2 columns medium",
          "rows=29,4 H=1 d=256 kh=3 kw=3 large"),
    TABLE(1, 1, 5e-6, "rows=17,1 H=1 d=72 kh=1 kw=1 activation=1 medium"),
    TABLE(0.2f, 0.02f, 2e-5, "rows=40 H=3 d=24 kh=5 kw=5 activation=2 medium"),
    TABLE(0.14f, 1, 2e-5, "rows=50 H=1 d=72 kh=7 kw=7 activation=1 large"),
};

static void check_tables(const kind_table *table, size_t count)
{
    cla_runtime *rt = test_runtime();
    for (size_t i = 0; i < count; i++) {
        check_kind(rt, &table[i]);
    }
    cla_runtime_free(&rt);
}

Test(conv_attention_2d, matches_oracle_and_gradient)
{
    check_tables(tables, sizeof tables / sizeof *tables);
}

/* Filters of any size, also wider and taller than sequences. */
static const kind_table any[] = {
    TABLE(0.58f, 1, 5e-6, "rows=9 H=1 d=8 kh=1 kw=3 activation=1",
          "rows=9 H=1 d=8 kh=3 kw=1 activation=1",
          "rows=33,7 H=1 d=8 kh=3 kw=3 activation=3"),
    TABLE(0.15f, 0.02f, 2e-5, "rows=4,20 H=2 d=8 kh=5 kw=9 activation=2 medium"),
    TABLE(0.032f, 0.02f, 5e-6, "rows=3,11 H=1 d=8 kh=31 kw=31 medium"),
    TABLE(0.032f, 1, 2e-5, "rows=70 H=1 d=8 kh=31 kw=31 activation=1 large"),
    TABLE(0.1f, 1, 2e-5, "rows=45,2 H=2 d=8 kh=31 kw=3 activation=1 large"),
    TABLE(0.1f, 0.02f, 2e-5, "rows=37,1 H=1 d=8 kh=3 kw=31 activation=2 medium"),
    TABLE(0.07f, 1, 2e-5, "rows=66 H=1 d=24 kh=15 kw=13 activation=1 large"),
};

Test(conv_attention_2d, takes_any_filter)
{
    check_tables(any, sizeof any / sizeof *any);
}

/* Rings of 64 rows in the place of whole maps, which all of these fit into. */
static const kind_table steps[] = {
    TABLE(0.33f, 1, 2e-5, "rows=33,7 H=2 d=8 kh=3 kw=3 activation=1",
          "rows=31,64,0,101 H=2 d=24 kh=3 kw=3 activation=1 large"),
    TABLE(0.1f, 0.02f, 2e-5, "rows=70,2 H=1 d=8 kh=31 kw=3 activation=2 large"),
};

DEVICE_TEST(conv_attention_2d, goes_down_large_maps)
{
    TEST_OK(cla_tuning_set(rt, "conv_attention_2d", "ROWS", 1));
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        check_kind(rt, &steps[i]);
    }
}

/* ---- one tensor as q, k and v -------------------------------------------------- */

enum { WIDTH = 8, TOKENS_OF_ONE = 23 };

typedef struct one_case {
    cla_ragged *rows;
    int32_t *offsets;
    int32_t side;
    cla_conv_method method;
} one_case;

static cla_status device_one(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                             void *context)
{
    const one_case *c = context;
    return cla_conv_attention_2d(tape, y, x[0], x[0], x[0], x[1], x[2], c->rows,
                                 CLA_TANH, c->method, NULL);
}

static void oracle_one(double *y, double *const *x, void *context)
{
    const one_case *c = context;
    oracle_conv_attention_2d(y, x[0], x[0], x[0], x[1], x[2], 2, 1, WIDTH, c->offsets,
                             c->side, c->side, CLA_TANH);
}

/* Its gradient has three parts, which several groups may not add at once. */
DEVICE_TEST(conv_attention_2d, takes_one_tensor_for_all)
{
    one_case cases[] = { { .side = 3, .method = CLA_CONV_DIRECT },
                         { .side = 5, .method = CLA_CONV_DIRECT },
                         { .side = 3, .method = CLA_CONV_FFT } };
    for (int i = 0; i < (test_fft() ? 3 : 2); i++) {
        cases[i].rows = test_ragged(rt, 2, (int[]){ 19, 4 }, &cases[i].offsets);
        const op_case op = {
            .name = "conv_attention_2d of one tensor",
            .in = { { "x", 3, { TOKENS_OF_ONE, 1, WIDTH } },
                    { "w", 3, { 1, cases[i].side, cases[i].side } },
                    { "b", 1, { 1 } } },
            .inputs = 3,
            .rank = 3,
            .shape = { TOKENS_OF_ONE, 1, WIDTH },
            .device = device_one,
            .oracle = oracle_one,
            .context = &cases[i],
            .bar = 2e-5,
        };
        check_op(rt, &op);
        cla_ragged_free(&cases[i].rows);
        free(cases[i].offsets);
    }
}

/* ---- refusals ------------------------------------------------------------------ */

enum { TOKENS, FILTER, BIAS, EVEN, TALL, TENSORS };

DEVICE_TEST(conv_attention_2d, refuses)
{
    static const struct {
        int rank;
        int64_t shape[3];
    } shapes[TENSORS] = { { 3, { 5, 2, 8 } },
                          { 3, { 2, 3, 3 } },
                          { 1, { 2 } },
                          { 3, { 2, 3, 4 } },
                          { 3, { 2, 33, 3 } } };
    static const cla_attention_options causal = { .causal = true },
                                       drop = { .dropout = 0.5f };
    static const struct {
        int q, w, b;
        cla_activation activation;
        const cla_attention_options *options;
        cla_status code;
        const char *part;
    } cases[] = {
        { TOKENS, EVEN, BIAS, CLA_RELU, NULL, CLA_E_SHAPE,
          "w is [2,3,4]; its sides must be odd" },
        { TOKENS, TALL, BIAS, CLA_RELU, NULL, CLA_E_SHAPE, "at most 31" },
        { TOKENS, FILTER, BIAS, CLA_RELU, &causal, CLA_E_USAGE, "causal" },
        { TOKENS, FILTER, BIAS, CLA_RELU, &drop, CLA_E_USAGE, "dropout is 0.5" },
        { TOKENS, FILTER, BIAS, (cla_activation)8, NULL, CLA_E_USAGE,
          "activation is 8, must be 0 to 6 (gelu_tanh)" },
        { TOKENS, FILTER, BIAS, CLA_GELU, NULL, CLA_E_USAGE,
          "activation is gelu, whose slope does not follow from its result" },
    };
    cla_ragged *rows = test_ragged(rt, 2, (int[]){ 2, 3 }, NULL);
    cla_tensor *t[TENSORS] = { NULL }, *o = NULL;
    cla_tape *tape = test_tape(rt, true);
    check_refusals(rt, &tables[0]);
    for (int i = 0; i < TENSORS; i++) {
        TEST_OK(cla_tensor_new(&t[i], rt, CLA_F32, shapes[i].rank, shapes[i].shape));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_FAILS(cla_conv_attention_2d(tape, &o, t[cases[i].q], t[TOKENS], t[TOKENS],
                                         t[cases[i].w], t[cases[i].b], rows,
                                         cases[i].activation, CLA_CONV_DIRECT,
                                         cases[i].options),
                   cases[i].code, cases[i].part);
        cr_assert_null(o);
    }
    cla_tape_free(&tape);
    for (int i = 0; i < TENSORS; i++) {
        cla_tensor_free(&t[i]);
    }
    cla_ragged_free(&rows);
}
