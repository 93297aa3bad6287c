/* hidden_scores.c - what kinds of operators do not say: tables and expressions hide
 * pairs whatever these hold, the lowest scores are visible, and -inf alone is no
 * key. */
#include <float.h>
#include <math.h>

#include "clattn/custom.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { T = 6, D = 3, BAD = 2 }; // the rows of key BAD hold NaN or infinity

typedef struct numbers {
    float o[T * D], dq[T * D], dk[T * D], dv[T * D];
} numbers;

typedef cla_status run(cla_tape *tape, cla_tensor **o, cla_tensor *const *qkv,
                       const cla_ragged *rows);

/* Runs forward and backward with `bad` in all numbers of key and value BAD. */
static numbers results(cla_runtime *rt, run *op, float bad)
{
    numbers n;
    cla_tape *tape = test_tape(rt, true);
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ T }, NULL);
    cla_tensor *x[3], *o = NULL;
    for (int i = 0; i < 3; i++) {
        float host[T * D];
        for (int c = 0; c < T * D; c++) {
            host[c] = i > 0 && c / D == BAD ? bad : sinf((float)(c + 20 * i));
        }
        x[i] = test_tensor(tape, CLA_F32, 3, (int64_t[]){ T, 1, D }, host);
        cla_tensor_want_grad(x[i], true);
    }
    TEST_OK(op(tape, &o, x, rows));
    test_backward(tape, o);
    TEST_OK(cla_tensor_download(o, n.o));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x[0]), n.dq));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x[1]), n.dk));
    TEST_OK(cla_tensor_download(cla_tensor_grad(x[2]), n.dv));
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
    return n;
}

/* ---- hidden keys ----------------------------------------------------------------- */

static cla_status by_table(cla_tape *tape, cla_tensor **o, cla_tensor *const *x,
                           const cla_ragged *rows)
{
    float table[T * T];
    for (int n = 0; n < T * T; n++) {
        table[n] = n % T == BAD ? -INFINITY : 0.5f;
    }
    cla_tensor *t = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 1, T, T }, table);
    return cla_position_attention(tape, o, x[0], x[1], x[2], t, NULL, rows, NULL);
}

static cla_status by_mod(cla_tape *tape, cla_tensor **o, cla_tensor *const *x,
                         const cla_ragged *rows, cla_attention_mod mod)
{
    return cla_custom_attention(tape, o, x[0], x[1], x[2], rows, rows, &mod, NULL);
}
static cla_status by_mask(cla_tape *tape, cla_tensor **o, cla_tensor *const *x,
                          const cla_ragged *rows)
{
    return by_mod(tape, o, x, rows, (cla_attention_mod){ .mask = "j != 2" });
}
static cla_status by_mask_in_window(cla_tape *tape, cla_tensor **o,
                                    cla_tensor *const *x, const cla_ragged *rows)
{
    return by_mod(tape, o, x, rows,
                  (cla_attention_mod){ .mask = "j != 2", .window = 7 });
}
static cla_status by_mask_and_weight(cla_tape *tape, cla_tensor **o,
                                     cla_tensor *const *x, const cla_ragged *rows)
{
    return by_mod(tape, o, x, rows,
                  (cla_attention_mod){ .mask = "j != 2", .weight = "max(w, 0)" });
}

static cla_status by_mask_and_slope(cla_tape *tape, cla_tensor **o,
                                    cla_tensor *const *x, const cla_ragged *rows)
{
    return by_mod(tape, o, x, rows,
                  (cla_attention_mod){ .score = "2 * tanh(s)", .mask = "j != 2" });
}

/* All is as with another number there, to the bit, and its own gradients are 0. */
Test(hidden_scores, hide_keys_that_are_not_finite)
{
    static const struct {
        const char *name;
        run *op;
    } ways[] = { { "table", by_table },
                 { "mask", by_mask },
                 { "mask in a window", by_mask_in_window },
                 { "mask and weight", by_mask_and_weight },
                 { "mask and slope", by_mask_and_slope } };
    static const float bad[] = { NAN, INFINITY, -INFINITY, FLT_MAX };
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            if (!test_takes(w, s)) {
                continue;
            }
            const numbers good = results(rt, ways[w].op, 1);
            for (size_t b = 0; b < (test_tiny() ? 1 : sizeof bad / sizeof *bad); b++) {
                const numbers n = results(rt, ways[w].op, bad[b]);
                const float *const got = n.o, *const want = good.o;
                for (size_t c = 0; c < sizeof n / sizeof(float); c++) {
                    cr_assert(fabsf(got[c] - want[c]) <= 1e-6f, "%s, %s, %g: [%d] %g",
                              ways[w].name, s ? "group" : "tile", (double)bad[b],
                              (int)c, (double)got[c]);
                }
                for (int c = BAD * D; c < BAD * D + D; c++) {
                    cr_assert(n.dk[c] == 0 && n.dv[c] == 0, "%s: d[%d] %g and %g",
                              ways[w].name, c, (double)n.dk[c], (double)n.dv[c]);
                }
            }
        }
    }
    cla_runtime_free(&rt);
}

/* ---- the lowest scores ----------------------------------------------------------- */

static float lowest; // of all entries of the table

static cla_status by_lowest(cla_tape *tape, cla_tensor **o, cla_tensor *const *x,
                            const cla_ragged *rows)
{
    float table[T * T];
    for (int n = 0; n < T * T; n++) {
        table[n] = lowest;
    }
    cla_tensor *t = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 1, T, T }, table);
    return cla_position_attention(tape, o, x[0], x[1], x[2], t, NULL, rows, NULL);
}

Test(hidden_scores, end_below_the_lowest_number)
{
    cla_runtime *rt = test_runtime();
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        lowest = -FLT_MAX; // weights of 1/T, and a gradient of ones
        const numbers seen = results(rt, by_lowest, 1);
        lowest = -INFINITY;
        const numbers none = results(rt, by_lowest, NAN);
        for (int c = 0; c < T * D; c++) {
            double mean = 0;
            for (int i = 0; i < T; i++) {
                const int at = i * D + c % D;
                mean += i == BAD ? 1.0 / T : (double)sinf((float)(at + 40)) / T;
            }
            cr_assert_float_eq((double)seen.o[c], mean, 1e-6);
            cr_assert(none.o[c] == 0 && none.dq[c] == 0 && none.dk[c] == 0 &&
                          none.dv[c] == 0,
                      "[%d]: %g, d %g %g %g", c, (double)none.o[c], (double)none.dq[c],
                      (double)none.dk[c], (double)none.dv[c]);
        }
    }
    cla_runtime_free(&rt);
}
