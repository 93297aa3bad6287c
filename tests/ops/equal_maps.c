/* equal_maps.c - gradients of ten equal scores of any size: their weights are a tenth
 * each, though 1e7 + ln 10 is 1e7 in single precision. */
#include <stdio.h>

#include "support/check_kind.h"
#include "tensor/tensor.h"

/* Numbers of a tensor, in the first and in all other columns. */
typedef struct columns {
    double first, rest;
} columns;

/* A call whose scores are all X, in an input or as the number at the end of its line;
 * and the gradients that it must have for a gradient of the result. Values are 0 where
 * the gradient of the scores must be exactly 0. */
typedef struct equal_case {
    const char *op, *line;
    columns in[CLA_OPERANDS], want[CLA_OPERANDS], flow;
} equal_case;

#define X NAN
static const equal_case cases[] = {
    { "masked_softmax",
      "B=1 H=1 T=1 S=10 causal=0 -q_len -k_len",
      { { X, X } },
      { { 0.09, -0.01 } },
      { 1, 0 } },
    { "additive_attention", // tanh(20) = 1
      "q_rows=10 k_rows=10 a=1 d=3 -weights -scores",
      { { 20, 0 }, { 0, 0 }, { X, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 1, 1 } },
      { 1, 1 } },
    { "max_attention",
      "q_rows=10 k_rows=1 d=2",
      { { X, 0 }, { 1, 0 } },
      { { 0, 0.1 }, { 0, 0 } },
      { 0, 1 } },
    { "ham_v",
      "q_rows=10 k_rows=10 d=2 depth=1 scale=1",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 1 }, { 0, 0 } },
      { 0, 1 } },
    { "ham_v", // one query: a launch of its own
      "q_rows=1 k_rows=10 d=19 depth=1 scale=1",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0.1 }, { 0, 0 } },
      { 0, 1 } },
    { "ham_s",
      "rows=10 d=2 depth=1 scale=",
      { { 1, 0 }, { 0, 0 } },
      { { 0, 1 }, { 0, 0 } },
      { 0, 1 } },
    { "ham_s",
      "rows=10 d=2 depth=1 original=1 scale=",
      { { 1, 0 }, { 0, 0 } },
      { { 0, 1 }, { 0, 0 } },
      { 0, 1 } },
    { "conv_attention_1d", // three rows of a map for each, two at the edges
      "rows=10 H=1 d=1 t=10 activation=0",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 28, 0 }, { 0, 0 }, { 0, 0 } },
      { 1, 1 } },
    { "conv_attention_2d",
      "rows=10 H=1 d=1 kh=3 kw=1 activation=0 method=1",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 2.8, 0 }, { 0, 0 }, { 0, 0 } },
      { 1, 1 } },
    { "conv_attention_2d",
      "rows=10 H=1 d=1 kh=3 kw=1 activation=0 method=2",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 1, 1 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 2.8, 0 }, { 0, 0 }, { 0, 0 } },
      { 1, 1 } },
    { "attention",
      "q_rows=10 k_rows=10 H=1 d=3 causal=0",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 } },
      { 0, 1 } },
    { "attention",
      "q_rows=10 k_rows=10 H=1 d=24 causal=0",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 } },
      { 0, 1 } },
    { "attention",
      "q_rows=1 k_rows=10 H=1 d=3 causal=1",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 0.1 } },
      { 0, 1 } },
    { "band_attention",
      "rows=10 H=1 d=3 causal=0 window=19",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 } },
      { 0, 1 } },
    { "band_attention",
      "rows=10 H=1 d=24 causal=0 window=19",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 } },
      { 0, 1 } },
    { "band_attention_2d",
      "rows=5 H=2 d=3 causal=0 window=9 heads=3 edge=truncate",
      { { X, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 } },
      { 0, 1 } },
    { "position_attention",
      "rows=10 H=1 d=3 t=10 -absolute",
      { { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 }, { X, X } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 0 } },
      { 0, 1 } },
    { "position_attention",
      "rows=10 H=1 d=3 t=10",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 0 } },
      { 0, 1 } },
    { "position_attention",
      "rows=10 H=1 d=3 t=10 -relative",
      { { 0, 0 }, { 0, 0 }, { 0, 0 }, { X, X } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 } },
      { 0, 1 } },
    { "relative_attention",
      "q_rows=10 k_rows=10 H=1 d=3 R=0 causal=0",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 10 } },
      { 0, 1 } },
    { "relative_attention",
      "q_rows=10 k_rows=10 H=1 d=3 R=0 causal=0",
      { { X, 0 }, { 0, 0 }, { 0, 0 }, { 1, 0 }, { 0, 0 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 10 } },
      { 0, 1 } },
    { "gaussian_attention",
      "rows=10 H=1 d=3 -center",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 }, { 1e9, 1e9 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 0 } },
      { 0, 1 } },
    { "gaussian_by_head",
      "rows=10 H=1 d=3 -center",
      { { X, 0 }, { 1, 0 }, { 0, 0 }, { 0, 0 }, { 1e9, 1e9 } },
      { { 0, 0 }, { 0, 0 }, { 0, 1 }, { 0, 0 }, { 0, 0 } },
      { 0, 1 } },
};

static void fill(cla_tensor *t, columns x, double score)
{
    static float numbers[1024];
    const int64_t n = cla_size(t), width = t->shape[t->rank - 1];
    cr_assert_leq(n, 1024);
    for (int64_t i = 0; i < n; i++) {
        const double y = i % width ? x.rest : x.first;
        numbers[i] = (float)(isnan(y) ? score : y);
    }
    TEST_OK(cla_tensor_upload(t, numbers));
}

static void check_gradient(const kind_case *c, int i, const cla_tensor *x, columns want)
{
    static float got[1024];
    const int64_t width = x->shape[x->rank - 1];
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    for (int64_t n = 0; n < cla_size(x); n++) {
        const double y = n % width ? want.rest : want.first;
        const double apart = fabs((double)got[n] - y);
        cr_assert(apart <= 1e-6 * fmax(1, fabs(y)), "%s %s: d%s[%d] is %.9g, not %g",
                  c->lines->op, c->text, c->operand[i].name, (int)n, (double)got[n], y);
    }
}

static void check_equal(cla_runtime *rt, const equal_case *e, double score)
{
    char line[128];
    kind_case c;
    const kind_lines lines = { .op = e->op };
    cla_tensor *x[CLA_OPERANDS], *y = NULL, *flow = NULL;
    cla_tape *tape = test_tape(rt, true);
    const bool open = e->line[strlen(e->line) - 1] == '=';
    snprintf(line, sizeof line, open ? "%s%g" : "%s", e->line, score);
    TEST_OK(kind_case_open(&c, rt, &lines, line));
    for (int n = 0; n < c.inputs; n++) {
        int64_t shape[4];
        const int i = c.input[n];
        const int rank = cla_operand_shape(&c.operand[i], &c.call.sizes, shape);
        x[n] = test_tensor(tape, CLA_F32, rank, shape, NULL);
        fill(x[n], e->in[i], score);
        cla_tensor_want_grad(x[n], true);
    }
    TEST_OK(kind_case_device(tape, &y, x, &c));
    TEST_OK(cla_tape_tensor(tape, &flow, CLA_F32, y->rank, y->shape));
    fill(flow, e->flow, score);
    TEST_OK(cla_tape_seed(tape, y, flow));
    TEST_OK(cla_tape_backward(tape));
    for (int n = 0; n < c.inputs; n++) {
        check_gradient(&c, c.input[n], x[n], e->want[c.input[n]]);
    }
    kind_case_close(&c);
    cla_tape_free(&tape);
}

/* Attention has queries, or its name says it. */
static bool is_attention(const op_kind *kind)
{
    static const char *const words[] = { "attention", "softmax", "ham_" };
    cla_operand operand[CLA_OPERANDS];
    const int count = cla_signature_read(kind->signature, operand);
    bool is = false;
    for (int i = 0; i < count; i++) {
        is = is || strcmp(operand[i].name, "q") == 0;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        is = is || strstr(kind->signature->op, words[i]) != NULL;
    }
    return is;
}

Test(equal_maps, has_a_case_of_every_attention)
{
    const op_kind *kind = NULL;
    for (size_t i = 0; (kind = op_kind_at(i)) != NULL; i++) {
        bool seen = !is_attention(kind);
        for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
            seen = seen || strcmp(cases[n].op, op_kind_name(kind)) == 0;
        }
        cr_assert(seen, "%s: no case in tests/ops/equal_maps.c", op_kind_name(kind));
    }
}

Test(equal_maps, have_the_gradients_of_equal_weights)
{
    static const double scores[] = { 1e9, 1e3,  -1e3, 1e6,   -1e6,
                                     0,   -1e9, 1e30, -1e30, -3.3e38 };
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const bool again = i && strcmp(cases[i].op, cases[i - 1].op) == 0;
            if ((strstr(cases[i].line, "method=2") && !test_fft()) ||
                (test_tiny() && (again || !test_takes(i, s)))) {
                continue;
            }
            for (size_t n = test_tiny() ? 9 : 0; n < sizeof scores / sizeof *scores;
                 n++) {
                check_equal(rt, &cases[i], scores[n]);
            }
        }
    }
    cla_runtime_free(&rt);
}
