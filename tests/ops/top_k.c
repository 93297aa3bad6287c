/* top_k.c - device against oracle: classes, probabilities, equal logits, refusals. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "runtime/runtime.h"
#include "support/support.h"

typedef struct top_case {
    int N, V, K;
    bool equal; // logits are whole numbers, many of them equal
} top_case;

static void check(cla_runtime *rt, const top_case *c)
{
    const int64_t shape[] = { c->N, c->V };
    const int64_t size = (int64_t)c->N * c->V, found = (int64_t)c->N * c->K;
    float *x = test_random(size, 3, 1), *logp = calloc((size_t)found + 1, sizeof *logp);
    double *wide = calloc((size_t)size + 1, sizeof *wide);
    double *want = calloc((size_t)found + 1, sizeof *want);
    int32_t *id = calloc((size_t)found + 1, sizeof *id);
    int32_t *want_id = calloc((size_t)found + 1, sizeof *want_id);
    cla_tensor *values = NULL, *classes = NULL;
    cla_tape *tape = test_tape(rt, false);
    for (int64_t i = 0; i < size; i++) {
        x[i] = c->equal ? floorf(x[i]) : x[i];
        wide[i] = (double)x[i];
    }
    cla_tensor *logits = test_tensor(tape, CLA_F32, 2, shape, x);
    TEST_OK(cla_top_k(tape, &values, &classes, logits, c->K));
    TEST_OK(cla_tensor_download(values, logp));
    TEST_OK(cla_tensor_download(classes, id));
    oracle_top_k(want, want_id, wide, c->N, c->V, c->K);
    for (int64_t i = 0; i < found; i++) {
        cr_assert(id[i] == want_id[i], "N%d V%d K%d: class %d at %lld, must be %d",
                  c->N, c->V, c->K, id[i], (long long)i, want_id[i]);
    }
    // A logarithm of a sum of V terms that each err by 2 eps, and a difference of 20.
    check_close("log probabilities", logp, want, found, 4e-6);
    cla_tape_free(&tape);
    free(x);
    free(wide);
    free(logp);
    free(want);
    free(id);
    free(want_id);
}

DEVICE_TEST(top_k, matches_oracle)
{
    static const top_case cases[] = {
        { 1, 1, 1, false },   { 3, 5, 5, false },  { 4, 18, 1, false },
        { 7, 65, 8, true },   { 5, 31, 31, true }, { 9, 1031, 8, false },
        { 6, 257, 12, true }, { 0, 9, 3, false },
    };
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const bool big =
                (test_tiny() && cases[i].V > 40) || (test_small() && cases[i].V > 500);
            if (!big) {
                check(rt, &cases[i]);
            }
        }
    }
    TEST_OK(cla_memory_check_guards(rt));
}

DEVICE_TEST(top_k, refuses)
{
    cla_tensor *logp = NULL, *id = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 2, 5 }, NULL);
    cla_tensor *flat = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 5 }, NULL);
    TEST_FAILS(cla_top_k(tape, &logp, &id, x, 6), CLA_E_USAGE, "must be 1 to 5");
    TEST_FAILS(cla_top_k(tape, &logp, &id, x, 0), CLA_E_USAGE, "k is 0");
    TEST_FAILS(cla_top_k(tape, &logp, &id, flat, 1), CLA_E_SHAPE, "must be");
    cr_assert_null(logp);
    cla_tape_free(&tape);
}
