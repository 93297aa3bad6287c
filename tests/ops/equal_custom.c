/* equal_custom.c - gradients of ten equal scores of any size, from expressions: their
 * weights are a tenth each, though 1e7 + ln 10 is 1e7 in single precision. */
#include <math.h>
#include <stdio.h>

#include "clattn/custom.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { N = 10, MOST = 32 };

/* Scores are X by way of an input, pad, or of q and k. Each way takes kernels of its
 * own: passes over tiles, one for each head, narrow windows, weights in two passes. */
static const struct {
    cla_attention_mod mod;
    bool padded;
    int d;
} cases[] = {
    { { .score = "s + pad[nj]" }, true, 3 },
    { { .score = "s + 0 * j", .window = 19 }, false, 3 },
    { { .score = "s", .weight = "max(w, 0)" }, false, 3 },
};

/* Returns [10,1,d] with x in the first column, the rest in the others. */
static cla_tensor *columns(cla_tape *tape, int d, double x, double rest)
{
    float numbers[N * MOST];
    for (int i = 0; i < N * d; i++) {
        numbers[i] = (float)(i % d ? rest : x);
    }
    cla_tensor *t = test_tensor(tape, CLA_F32, 3, (int64_t[]){ N, 1, d }, numbers);
    cla_tensor_want_grad(t, true);
    return t;
}

static void check_all(const cla_tensor *x, int d, double first, double rest,
                      const char *at)
{
    float got[N * MOST];
    TEST_OK(cla_tensor_download(cla_tensor_grad(x), got));
    for (int i = 0; i < N * d; i++) {
        const double want = i % d ? rest : first;
        cr_assert(fabs((double)got[i] - want) <= 1e-6, "%s [%d]: %.9g, not %g", at, i,
                  (double)got[i], want);
    }
}

static void check_case(cla_runtime *rt, int n, double score, bool learn)
{
    char at[128];
    const int d = cases[n].d;
    const bool padded = cases[n].padded;
    cla_attention_mod mod = cases[n].mod;
    cla_tape *tape = test_tape(rt, true);
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ N }, NULL);
    cla_tensor *o = NULL, *q = columns(tape, d, padded ? 0 : score, 0);
    cla_tensor *k = columns(tape, d, 1, 0), *v = columns(tape, d, 0, 0);
    cla_tensor *flow = columns(tape, d, 0, 1);
    if (padded) {
        float pad[N];
        for (int i = 0; i < N; i++) {
            pad[i] = (float)score;
        }
        mod.inputs[0] = (cla_custom_input){ "pad", test_tensor(tape, CLA_F32, 1,
                                                               (int64_t[]){ N }, pad) };
        cla_tensor_want_grad(mod.inputs[0].tensor, learn);
    }
    TEST_OK(cla_custom_attention(tape, &o, q, k, v, rows, rows, &mod, NULL));
    TEST_OK(cla_tape_seed(tape, o, flow));
    TEST_OK(cla_tape_backward(tape));
    snprintf(at, sizeof at, "%s, weight %s, window %d, scores of %g", mod.score,
             mod.weight ? mod.weight : "w", mod.window, score);
    check_all(q, d, 0, 0, at);
    check_all(k, d, 0, 0, at);
    check_all(v, d, 0, 1, at);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}

Test(equal_custom, have_the_gradients_of_equal_weights)
{
    enum { SCORES = 9 };
    static const double scores[SCORES] = { 0,   1e3,  -1e3, 1e6,  -1e6,
                                           1e9, -1e9, 1e30, -1e30 };
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const size_t first = test_takes(i, s) ? test_tiny() ? 8 : 0 : SCORES;
            for (size_t n = first; n < SCORES; n++) {
                check_case(rt, (int)i, scores[n], false);
                if (cases[i].padded && !test_tiny()) {
                    check_case(rt, (int)i, scores[n], true);
                }
            }
        }
    }
    cla_runtime_free(&rt);
}
