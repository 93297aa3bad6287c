/* nan_maps.c - a NaN in an input reaches the results that depend on it and no others;
 * what the oracle does not read may hold anything. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check_kind.h"
#include "tensor/tensor.h"

/* Sequences of several lengths, hidden keys and queries, columns of w that a sequence
 * does not use, filters with rows of their own. A filter multiplies the zeros around a
 * map, too, so that a NaN in w may reach more than the oracle says. */
static const struct {
    const char *op, *line;
} cases[] = {
    { "masked_softmax", "B=2 H=2 T=3 S=19 causal=0" },
    { "masked_softmax", "B=2 H=1 T=3 S=5 causal=1 -q_len" },
    { "additive_attention", "q_rows=2,0,3 k_rows=5,2,0 a=5 d=3 +weights +scores" },
    { "additive_attention", "q_rows=2,3 k_rows=3,18 a=19 d=18 +scores" },
    { "max_attention", "q_rows=3,2,0,2 k_rows=2,0,3,4 d=5" },
    { "ham_v", "q_rows=2,3,1 k_rows=4,0,2 d=5 depth=2" },
    { "ham_v", "q_rows=1,1 k_rows=4,18 d=19 depth=2" },
    { "ham_s", "rows=3,2 d=4 depth=2" },
    { "ham_s", "rows=3,2 d=4 depth=2 original=1" },
    { "conv_attention_1d", "rows=4,3 H=2 d=3 t=6 activation=1" },
    { "conv_attention_1d", "rows=4,3 H=2 d=3 t=6 activation=0" },
    { "conv_attention_1d", "rows=3,17 H=1 d=3 t=19 activation=2" },
    { "conv_attention_2d", "rows=5,4 H=2 d=3 kh=3 kw=3 activation=1 method=1" },
    { "conv_attention_2d", "rows=17 H=1 d=3 kh=3 kw=1 activation=2 method=1" },
    { "conv_attention_2d", "rows=12,3 H=1 d=2 kh=5 kw=5 activation=0 method=1" },
    { "attention", "q_rows=5,3 k_rows=5,4 H=2 d=3 causal=0" },
    { "attention", "q_rows=5,19 k_rows=7,18 H=1 d=3 causal=1" },
    { "attention", "q_rows=6 k_rows=7 H=1 d=3 causal=1 dropout=0.5" },
    { "band_attention", "rows=5,12 H=1 d=3 causal=0 window=5" },
    { "band_attention", "rows=12 H=1 d=3 causal=1 window=5 dropout=0.5" },
    { "band_attention_2d", "rows=5,7 H=3 d=3 causal=0 window=5 heads=3 edge=truncate" },
    { "position_attention", "rows=5,12 H=1 d=3 t=12 causal=1" },
    { "position_attention", "rows=5,2 H=2 d=3 t=6 causal=0 dropout=0.5" },
    { "gaussian_attention", "rows=5,12 H=1 d=3 causal=1 -center" },
    { "gaussian_attention", "rows=5,2 H=2 d=3 reach=1 dropout=0.5" },
    { "relative_attention", "q_rows=4,2 k_rows=5,7 H=1 d=3 R=1 causal=1" },
    { "relative_attention", "q_rows=2,3 k_rows=3,3 H=2 d=3 R=4 dropout=0.5" },
    { "relative_attention", "q_rows=2,3 k_rows=3,3 H=2 Hr=2 d=3 R=2" },
};

enum { MOST = 2048, PICKS = 7 };

/* One case: its inputs, and which results depend on each of their numbers. */
typedef struct nan_case {
    kind_case c;
    double *x[CLA_OPERANDS];
    int64_t shape[CLA_OPERANDS][4], size[CLA_OPERANDS], results;
    int rank[CLA_OPERANDS];
    bool *reached[CLA_OPERANDS]; // [size,results]
} nan_case;

/* Lengths of masked_softmax. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    static const int32_t queries[] = { 2, 3 }, keys[] = { 17, 2 };
    (void)c;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = operand == 1 ? queries[i % 2] : keys[i % 2];
    }
}

static void open_case(nan_case *t, cla_runtime *rt, const kind_lines *lines,
                      const char *line)
{
    int64_t shape[4];
    *t = (nan_case){ .results = 1 };
    TEST_OK(kind_case_open(&t->c, rt, lines, line));
    const int rank = kind_case_result(&t->c, shape);
    for (int i = 0; i < rank; i++) {
        t->results *= shape[i];
    }
    for (int n = 0; n < t->c.inputs; n++) {
        const cla_operand *o = &t->c.operand[t->c.input[n]];
        t->rank[n] = cla_operand_shape(o, &t->c.call.sizes, t->shape[n]);
        t->size[n] = 1;
        for (int i = 0; i < t->rank[n]; i++) {
            t->size[n] *= t->shape[n][i];
        }
        float *x = test_random(t->size[n], 0.5f, (uint32_t)n);
        t->x[n] = calloc((size_t)t->size[n] + 1, sizeof(double));
        for (int64_t i = 0; i < t->size[n]; i++) {
            t->x[n][i] = strcmp(o->name, "sigma") ? (double)x[i] : 2;
        }
        free(x);
    }
}

/* Asks the oracle which results depend on each number. */
static void find_reach(nan_case *t)
{
    double *y = calloc((size_t)t->results + 1, sizeof *y);
    for (int n = 0; n < t->c.inputs; n++) {
        t->reached[n] = calloc((size_t)(t->size[n] * t->results) + 1, sizeof(bool));
        for (int64_t i = 0; i < t->size[n]; i++) {
            const double kept = t->x[n][i];
            t->x[n][i] = NAN;
            kind_case_oracle(y, t->x, &t->c);
            t->x[n][i] = kept;
            for (int64_t r = 0; r < t->results; r++) {
                t->reached[n][i * t->results + r] = isnan(y[r]);
            }
        }
    }
    free(y);
}

static void close_case(nan_case *t)
{
    for (int n = 0; n < t->c.inputs; n++) {
        free(t->x[n]);
        free(t->reached[n]);
    }
    kind_case_close(&t->c);
}

static bool share(const bool *a, const bool *b, int64_t n)
{
    while (n-- > 0) {
        if (a[n] && b[n]) {
            return true;
        }
    }
    return false;
}

/* Checks results against what the oracle reaches: exactly, or at least with more. */
static void check_results(const nan_case *t, const cla_tensor *y, const bool *reached,
                          bool more, const char *at)
{
    static float got[MOST];
    cr_assert_leq(t->results, MOST);
    TEST_OK(cla_tensor_download(y, got));
    for (int64_t r = 0; r < t->results; r++) {
        const bool allowed = more && share(reached, reached, t->results);
        cr_assert(reached[r] ? isnan(got[r]) : allowed || isfinite(got[r]),
                  "%s %s, %s: result %d is %g, of the oracle %s", t->c.lines->op,
                  t->c.text, at, (int)r, (double)got[r], reached[r] ? "NaN" : "finite");
    }
}

/* Checks that some gradient is NaN, and none of a number that shares no result with the
 * bad one; without results, all are finite. */
static void check_gradients(const nan_case *t, cla_tensor *const *x,
                            const bool *reached, const char *at)
{
    static float got[MOST];
    const bool any = share(reached, reached, t->results);
    bool seen = false;
    for (int n = 0; n < t->c.inputs; n++) {
        cr_assert_leq(t->size[n], MOST);
        TEST_OK(cla_tensor_download(cla_tensor_grad(x[n]), got));
        for (int64_t i = 0; i < t->size[n]; i++) {
            const bool apart =
                !share(reached, t->reached[n] + i * t->results, t->results);
            seen = seen || isnan(got[i]);
            cr_assert(!apart || isfinite(got[i]), "%s %s, %s: d%s[%d] is %g",
                      t->c.lines->op, t->c.text, at, t->c.operand[t->c.input[n]].name,
                      (int)i, (double)got[i]);
        }
    }
    const bool closed = strstr(t->c.text, "activation=1"); // relu may hide it
    cr_assert(seen || !any || closed, "%s %s, %s: no gradient is NaN", t->c.lines->op,
              t->c.text, at);
}

/* Runs the case with number i of input bad replaced. */
static void check_bad(cla_runtime *rt, nan_case *t, int bad, int64_t i, double value)
{
    cla_tensor *x[CLA_OPERANDS], *y = NULL;
    char at[64];
    const char *name = t->c.operand[t->c.input[bad]].name;
    const bool *reached = t->reached[bad] + i * t->results;
    cla_tape *tape = test_tape(rt, true);
    snprintf(at, sizeof at, "%s[%d] is %g", name, (int)i, value);
    for (int n = 0; n < t->c.inputs; n++) {
        static float numbers[MOST];
        for (int64_t k = 0; k < t->size[n]; k++) {
            numbers[k] = (float)(n == bad && k == i ? value : t->x[n][k]);
        }
        x[n] = test_tensor(tape, CLA_F32, t->rank[n], t->shape[n], numbers);
        cla_tensor_want_grad(x[n], true);
    }
    TEST_OK(kind_case_device(tape, &y, x, &t->c));
    check_results(t, y, reached, !strcmp(name, "w"), at);
    test_backward(tape, y);
    check_gradients(t, x, reached, at);
    cla_tape_free(&tape);
}

/* Replaces some numbers of each input by NaN; by infinity, too, if nothing reads
 * them. */
static void check_case(cla_runtime *rt, const kind_lines *lines, const char *line)
{
    nan_case t;
    open_case(&t, rt, lines, line);
    find_reach(&t);
    // a Gaussian of NaN reaches all keys, whatever the others say
    const int all = strstr(line, "reach") ? 3 : t.c.inputs,
              inputs = test_tiny() ? 1 : all;
    for (int n = 0; n < inputs; n++) {
        const int64_t step = test_tiny() ? t.size[n] + 1 : t.size[n] / PICKS + 1;
        for (int64_t i = 0; i < t.size[n]; i += step) {
            const bool *reached = t.reached[n] + i * t.results;
            check_bad(rt, &t, n, i, NAN);
            if (!share(reached, reached, t.results)) {
                check_bad(rt, &t, n, i, INFINITY);
            }
        }
    }
    close_case(&t);
}

Test(nan_maps, reaches_what_depends_on_it_and_no_more)
{
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const kind_lines lines = { .op = cases[i].op, .fill = fill };
            const bool again = i && strcmp(cases[i].op, cases[i - 1].op) == 0;
            if (!test_tiny() || (!again && test_takes(i, s))) {
                check_case(rt, &lines, cases[i].line);
            }
        }
    }
    cla_runtime_free(&rt);
}
