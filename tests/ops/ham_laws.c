/* ham_laws.c - known answers of hierarchical attention, and properties of any. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clattn/ham.h"
#include "runtime/runtime.h"
#include "support/support.h"

enum { T = 5, S = 9, D = 6, ROOM = 64, NUMBERS = S * D };

/* Fills x with sin(0.9 k + 0.37 s), the input of the known answers. */
static void known(float *x, int n, int s)
{
    for (int k = 0; k < n; k++) {
        x[k] = (float)sin(0.9 * k + 0.37 * s);
    }
}

/* A result, and its gradients for an output gradient of -0.7, 1, 1, -0.7, 1, 1 ... */
typedef struct outcome {
    float out[NUMBERS], dq[NUMBERS], dk[NUMBERS], dc[ROOM];
} outcome;

/* A call: queries [rows,width] attend to keys, or keys to themselves where queries is
 * NULL. */
typedef struct problem {
    const float *queries, *keys, *c;
    int rows, count, width, depth;
    cla_ham_options options;
} problem;

static cla_tensor *tensor_of(cla_tape *tape, int rank, const int64_t *shape,
                             const float *x)
{
    cla_tensor *t = NULL;
    TEST_OK(cla_tape_tensor(tape, &t, CLA_F32, rank, shape));
    TEST_OK(cla_tensor_upload(t, x));
    cla_tensor_want_grad(t, true);
    return t;
}

static void solve(cla_runtime *rt, const problem *p, outcome *o)
{
    *o = (outcome){ .out = { 0 } };
    cla_tape *tape = test_tape(rt, true);
    cla_tensor *q = NULL, *out = NULL;
    const int64_t depth = p->depth, width = p->width;
    const int rows = p->queries ? p->rows : p->count;
    cla_ragged *q_rows = test_ragged(rt, 1, &rows, NULL);
    cla_ragged *k_rows = test_ragged(rt, 1, &p->count, NULL);
    cla_tensor *k = tensor_of(tape, 2, (int64_t[]){ p->count, width }, p->keys);
    cla_tensor *c = tensor_of(tape, 1, &depth, p->c);
    float ones[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) {
        ones[i] = i % 3 ? 1.0f : -0.7f;
    }
    if (p->queries) {
        q = tensor_of(tape, 2, (int64_t[]){ rows, width }, p->queries);
        TEST_OK(cla_ham_v(tape, &out, q, k, c, q_rows, k_rows, &p->options));
    } else {
        TEST_OK(cla_ham_s(tape, &out, k, c, k_rows, &p->options));
    }
    TEST_OK(
        cla_tape_seed(tape, out, tensor_of(tape, 2, (int64_t[]){ rows, width }, ones)));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(out, o->out));
    TEST_OK(cla_tensor_download(cla_tensor_grad(k), o->dk));
    TEST_OK(cla_tensor_download(cla_tensor_grad(c), o->dc));
    if (q) {
        TEST_OK(cla_tensor_download(cla_tensor_grad(q), o->dq));
    }
    cla_tape_free(&tape);
    cla_ragged_free(&q_rows);
    cla_ragged_free(&k_rows);
}

/* Runs body under both schedules. Skipped for Oclgrind, which takes minutes for all of
 * it and sees the same kernels in ops/ham.c. */
static void each_schedule(void (*body)(cla_runtime *rt))
{
    if (test_tiny()) {
        return;
    }
    cla_runtime *rt = test_runtime();
    for (int schedule = 0; schedule < 2; schedule++) {
        cla_runtime_set_schedule(rt, schedule ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        body(rt);
    }
    cla_runtime_free(&rt);
}

/* Compares with results of an independent computation in double precision, given to 6
 * digits. */
static void check_known(cla_runtime *rt)
{
    const double of_query[3] = { 0.189308, 0.388848, 0.294116 };
    const double of_self[3] = { 0.169282, 0.344789, 0.259367 };
    const double first[3] = { 0.213091, 0.485764, 0.390820 };
    const double fourth[3] = { 0.188892, 0.279300, 0.158340 };
    float keys[12], query[3], c[4], only[4] = { 0, -1e30f, -1e30f, -1e30f };
    outcome o;
    known(keys, 12, 1);
    known(query, 3, 2);
    known(c, 4, 3);
    problem p = { query, keys, c, 1, 4, 3, 4, { .scale = 0 } };
    solve(rt, &p, &o);
    check_close("ham_v, known", o.out, of_query, 3, 2e-6);
    p.c = only;
    solve(rt, &p, &o);
    check_close("ham_v, level 1", o.out, first, 3, 2e-6);
    only[0] = only[1];
    only[3] = 0;
    solve(rt, &p, &o);
    check_close("ham_v, level 4", o.out, fourth, 3, 2e-6);
    p = (problem){ NULL, keys, c, 4, 4, 3, 3, { .scale = 0 } };
    solve(rt, &p, &o);
    check_close("ham_s, row 0", o.out, of_self, 3, 2e-6);
    float sum = 0;
    for (int i = 0; i < 12; i++) {
        sum += o.out[i];
    }
    check_close("ham_s, sum", &sum, &(double){ 1.679099 }, 1, 5e-6);
}

Test(ham_laws, known_answers)
{
    each_schedule(check_known);
}

/* Checks BiDAF's match: rows of H attend to U, unscaled, with one level and with two of
 * equal weight. */
static void check_match(cla_runtime *rt)
{
    const double want[2][3] = { { 0.642203, 0.933685, 0.518573 },
                                { 0.638627, 0.926560, 0.513292 } };
    float H[12], U[6], c[2] = { 0, 0 };
    outcome o;
    known(H, 12, 1);
    known(U, 6, 2);
    for (int depth = 1; depth <= 2; depth++) {
        const problem p = { H, U, c, 4, 2, 3, depth, { .scale = 1 } };
        solve(rt, &p, &o);
        check_close("match, row 0", o.out, want[depth - 1], 3, 2e-6);
    }
}

Test(ham_laws, known_match_of_a_reader)
{
    each_schedule(check_match);
}

static void random_problem(problem *p, float *queries, float *keys, float *c, bool self)
{
    float *x = test_random(NUMBERS, 1, 1), *y = test_random(NUMBERS, 1, 2);
    memcpy(queries, x, T * D * sizeof *x);
    memcpy(keys, y, NUMBERS * sizeof *y);
    free(x);
    free(y);
    for (int l = 0; l < ROOM; l++) {
        c[l] = 0.3f * (float)(l % 3);
    }
    *p = (problem){ self ? NULL : queries, keys, c, T, S, D, 4, { .scale = 0 } };
}

static bool same(const float *a, const float *b, int n)
{
    return !memcmp(a, b, (size_t)n * sizeof *a);
}

/* Checks that a masked level after the first one or three changes no bit of results and
 * gradients, and that dc is 0 for a single level and for a masked one. */
static void check_masks(cla_runtime *rt)
{
    for (int self = 0; self < 2; self++) {
        problem p;
        float queries[NUMBERS], keys[NUMBERS], c[ROOM];
        outcome o, more;
        random_problem(&p, queries, keys, c, self);
        for (int first = 1; first <= 3; first += 2) {
            p.depth = first;
            solve(rt, &p, &o);
            const float kept = c[first];
            c[first] = -1e30f;
            p.depth = first + 1;
            solve(rt, &p, &more);
            c[first] = kept;
            cr_assert(same(o.out, more.out, (self ? S : T) * D), "other result");
            cr_assert(same(o.dk, more.dk, S * D), "other gradient of keys");
            cr_assert(self || same(o.dq, more.dq, T * D), "other gradient of queries");
            cr_assert(same(o.dc, more.dc, first), "other gradient of weights");
            cr_assert(more.dc[first] == 0, "a masked level has a gradient");
            cr_assert(first > 1 || o.dc[0] == 0, "one level's weight has a gradient");
        }
    }
}

Test(ham_laws, masked_levels_have_no_effect)
{
    each_schedule(check_masks);
}

/* Checks that dc sums to 0, and that a number added to all of c changes nothing (to
 * rounding). */
static void check_weights(cla_runtime *rt)
{
    for (int self = 0; self < 2; self++) {
        problem p;
        float queries[NUMBERS], keys[NUMBERS], c[ROOM];
        double want[NUMBERS], sum = 0, size = 0;
        outcome o, moved;
        random_problem(&p, queries, keys, c, self);
        solve(rt, &p, &o);
        for (int l = 0; l < p.depth; l++) {
            sum += (double)o.dc[l];
            size += fabs((double)o.dc[l]);
            c[l] += 4;
        }
        cr_assert(fabs(sum) <= 1e-5 * fmax(size, 0.1), "sum of dc is %g of %g", sum,
                  size);
        solve(rt, &p, &moved);
        for (int i = 0; i < NUMBERS; i++) {
            want[i] = (double)o.out[i];
        }
        check_close("shifted c", moved.out, want, (self ? S : T) * D, 1e-6);
    }
}

Test(ham_laws, weights_are_a_softmax)
{
    each_schedule(check_weights);
}

/* Checks that each number of a result lies between the least and the largest of its
 * column among the keys, and that no result is longer than the longest key. */
static void check_range(cla_runtime *rt)
{
    for (int self = 0; self < 2; self++) {
        problem p;
        float queries[NUMBERS], keys[NUMBERS], c[ROOM];
        double longest = 0;
        outcome o;
        random_problem(&p, queries, keys, c, self);
        solve(rt, &p, &o);
        for (int j = 0; j < S; j++) {
            double norm = 0;
            for (int n = 0; n < D; n++) {
                norm += (double)keys[j * D + n] * (double)keys[j * D + n];
            }
            longest = fmax(longest, sqrt(norm));
        }
        for (int i = 0; i < (self ? S : T); i++) {
            double norm = 0;
            for (int n = 0; n < D; n++) {
                float least = keys[n], most = keys[n];
                for (int j = 1; j < S; j++) {
                    least = fminf(least, keys[j * D + n]);
                    most = fmaxf(most, keys[j * D + n]);
                }
                const float x = o.out[i * D + n];
                cr_assert(x >= least - 1e-5f && x <= most + 1e-5f,
                          "%g is not in %g..%g", (double)x, (double)least,
                          (double)most);
                norm += (double)x * (double)x;
            }
            cr_assert(sqrt(norm) <= longest * (1 + 1e-6), "row %d is too long", i);
        }
    }
}

Test(ham_laws, results_lie_among_the_keys)
{
    each_schedule(check_range);
}

/* Checks that the result of a single key, or of equal keys, is this key at any
 * depth. */
static void check_fixed(cla_runtime *rt)
{
    for (int self = 0; self < 2; self++) {
        for (int count = 1; count <= S; count += S - 1) {
            problem p;
            float queries[NUMBERS], keys[NUMBERS], c[ROOM];
            double want[NUMBERS];
            outcome o;
            random_problem(&p, queries, keys, c, self);
            for (int i = 0; i < NUMBERS; i++) {
                keys[i] = keys[i % D];
                want[i] = (double)keys[i % D];
            }
            p.count = count;
            solve(rt, &p, &o);
            check_close("one key", o.out, want, (self ? count : T) * D, 1e-6);
        }
    }
}

Test(ham_laws, one_key_is_the_answer)
{
    each_schedule(check_fixed);
}

static double diameter(const float *x, int rows)
{
    double most = 0;
    for (int i = 0; i < rows * rows; i++) {
        double sum = 0;
        for (int n = 0; n < D; n++) {
            const double z = (double)x[i / rows * D + n] - (double)x[i % rows * D + n];
            sum += z * z;
        }
        most = test_larger(most, sqrt(sum));
    }
    return most;
}

/* Checks that the rows of ham_s come no further apart from level to level. */
static void check_diameter(cla_runtime *rt)
{
    problem p;
    float queries[NUMBERS], keys[NUMBERS], c[ROOM];
    outcome o;
    random_problem(&p, queries, keys, c, true);
    double before = diameter(keys, S);
    for (int l = 0; l < 6; l++) {
        for (int n = 0; n < 6; n++) {
            c[n] = n == l ? 0 : -1e30f;
        }
        p.depth = 6;
        solve(rt, &p, &o);
        const double now = diameter(o.out, S);
        cr_assert(now <= before * (1 + 1e-5) + 1e-6, "level %d: %g after %g", l, now,
                  before);
        before = now;
    }
}

Test(ham_laws, ham_s_never_widens_a_sequence)
{
    each_schedule(check_diameter);
}

/* Checks that a permuted memory gives a query the same result, and that the result of a
 * permuted sequence is permuted likewise. */
static void check_order(cla_runtime *rt)
{
    for (int self = 0; self < 2; self++) {
        problem p;
        float queries[NUMBERS], keys[NUMBERS], c[ROOM], turned[NUMBERS];
        double want[NUMBERS];
        outcome o;
        random_problem(&p, queries, keys, c, self);
        solve(rt, &p, &o);
        for (int j = 0; j < S; j++) {
            const int to = (j * 4 + 2) % S;
            for (int n = 0; n < D; n++) {
                turned[to * D + n] = keys[j * D + n];
                want[(self ? to : j) * D + n] = (double)o.out[j * D + n];
            }
        }
        p.keys = turned;
        solve(rt, &p, &o);
        check_close("turned", o.out, want, (self ? S : T) * D, 2e-6);
    }
}

Test(ham_laws, key_order_does_not_matter)
{
    each_schedule(check_order);
}
