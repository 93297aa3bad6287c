/* ragged_cross_entropy.c - device against oracle: pointer losses and log
 * probabilities. */
#include <string.h>

#include "clattn/ham.h"
#include "support/check_kind.h"

/* Fills in targets, among them -1, one of an empty sequence and some past the end; in
 * one case all are such. */
static void fill(int32_t *ids, int64_t n, const op_call *c, int operand)
{
    static const int32_t four[] = { 2, 0, -1, 1 }, five[] = { 62, 64, 0, 211, 0 };
    const int N = kind_size(c, "N");
    (void)operand;
    memcpy(ids, n == 5 ? five : four, (size_t)n * sizeof *ids);
    if (n == 2) {
        ids[0] = N < 10 ? -1 : 0;
        ids[1] = N < 10 ? 5 : 77;
    } else if (n == 1) {
        ids[0] = 0;
    }
}

/* The loss is a logarithm of a sum of up to 300 numbers. */
static const kind_table table = {
    .lines = { "ragged_cross_entropy", "least=1e-3", fill },
    .rows = (const char *const[]){ "rows=3,0,7,2", "rows=1",
                                   "rows=63,64,65,300,1 medium", "rows=4,5", NULL },
    .bar = 2e-6,
};

/* Numbers near 0.5: positive like probabilities, though they do not sum to 1. */
static const kind_table given = {
    .lines = { "ragged_cross_entropy", "least=1e-3 probabilities=1", fill },
    .rows = (const char *const[]){ "rows=3,0,7,2", "rows=4,200 medium", NULL },
    .bar = 2e-6,
    .scale = { 0.01f },
    .shift = { 0.5f },
};

Test(ragged_cross_entropy, matches_oracle_and_gradient)
{
    check_kind_cases(&table);
    check_kind_cases(&given);
}

/* Log probabilities are an output on demand, without a gradient of their own. */
Test(ragged_cross_entropy, logarithms_on_demand)
{
    static const char *const rows[] = { "rows=3,0,7,2 +logp", "rows=4,5 +logp", NULL };
    kind_table raw = table, probable = given;
    raw.rows = probable.rows = rows;
    raw.constant = probable.constant = "*";
    check_kind_cases(&raw);
    check_kind_cases(&probable);
}

DEVICE_TEST(ragged_cross_entropy, refusals)
{
    cla_ragged *rows = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *loss = NULL;
    const cla_pointer_options below = { .least = -1 };
    check_refusals(rt, &table);
    cla_tensor *x = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 3 }, NULL);
    cla_tensor *targets = test_tensor(tape, CLA_I32, 1, (int64_t[]){ 1 }, NULL);
    TEST_FAILS(cla_ragged_cross_entropy(tape, &loss, x, targets, rows, &below),
               CLA_E_USAGE, "least");
    cr_assert_null(loss);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
