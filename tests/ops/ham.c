/* ham.c - device against oracle: attention to a memory and of a sequence to itself. */
#include "clattn/ham.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/check_kind.h"

/* Scores err by eps sqrt(d) of their terms, weights by e^score of that, unscaled by up
 * to 33^(1/2) 6e-8 of scores of size 6; the vectors that they weight are of size 1 or
 * so. */
static const double BAR = 4e-6;

/* Cases whose keys fit local memory, and others; more keys than a tile and than a
 * block; queries without keys and the reverse; keys of so few groups that their pairs
 * are cut into parts. A work-item handles all levels, blocks and columns of its rows,
 * and llvmpipe limits the rounds of its loops. */
static const kind_table memory = {
    .lines = { .op = "ham_v" },
    .rows =
        (const char *const[]){
            "q_rows=1,0 k_rows=2,1 d=5 depth=2", "q_rows=1 k_rows=1 d=1 depth=1",
            "q_rows=2,0,5 k_rows=7,4,0 d=7 depth=3 scale=0.5",
            "q_rows=6,7,1,0,12 k_rows=9,1,5,0,13 d=16 depth=5 medium",
            "q_rows=31,33 k_rows=33,65 d=40 depth=2 medium",
            "q_rows=9 k_rows=131 d=24 depth=20 large",
            "q_rows=24,1,49 k_rows=7,65,23 d=130 depth=2 large",
            "q_rows=65,3 k_rows=5,32 d=33 depth=1 scale=1 medium",
            "q_rows=1,9 k_rows=22,70 d=76 depth=3 large",
            "q_rows=130,0,70 k_rows=9,2,0 d=12 depth=3 medium",
            "q_rows=2 k_rows=3 d=3 depth=3", "q_rows=130 k_rows=9 d=7 depth=2 medium",
            "q_rows=0,0 k_rows=3,4 d=8 depth=4", NULL },
    .bar = BAR,
};

/* Rows are short vectors: a long one would attend to itself alone, which makes all
 * levels equal. */
static const kind_table self = {
    .lines = { .op = "ham_s" },
    .rows =
        (const char *const[]){
            "rows=1,0 d=5 depth=2", "rows=1 d=1 depth=1",
            "rows=2,0,5 d=7 depth=3 scale=0.5", "rows=6,7,1,0,12 d=16 depth=5 medium",
            "rows=31,33 d=40 depth=2 medium", "rows=9 d=24 depth=20 medium",
            "rows=24,1,49 d=130 depth=2 large", "rows=65,3 d=33 depth=1 scale=1 medium",
            "rows=1,9 d=76 depth=3 medium", "rows=66 d=20 depth=3 medium",
            "rows=0,0 d=8 depth=4", NULL },
    .bar = BAR,
    .scale = { 0.5f },
};

Test(ham, v_matches_oracle_and_gradient)
{
    check_kind_cases(&memory);
}

/* Checks rows of a kind with large tiles, and with small ones that teams share. */
static void check_tiles(cla_runtime *rt, const kind_table *t, const char *const *rows)
{
    enum { NEVER = 0, ALWAYS = 65536 };
    kind_table table = *t;
    table.rows = rows;
    for (int small = 0; small < 2; small++) {
        TEST_OK(cla_tuning_set(rt, "ham", "GROUPS", small ? ALWAYS : NEVER));
        check_kind(rt, &table);
    }
}

/* Columns of more than a round of all teams, keys of several tiles. */
DEVICE_TEST(ham, matches_in_large_and_small_tiles)
{
    check_tiles(rt, &memory,
                (const char *const[]){ "q_rows=2,0,5 k_rows=7,4,0 d=7 depth=3",
                                       "q_rows=40,1 k_rows=70,9 d=300 depth=2 large",
                                       NULL });
    check_tiles(rt, &self,
                (const char *const[]){ "rows=2,0,5 d=7 depth=3",
                                       "rows=9,70,1 d=270 depth=2 large", NULL });
}

Test(ham, s_matches_oracle_and_gradient)
{
    kind_table original = self;
    original.lines.all = "original=1";
    check_kind_cases(&self);
    if (!test_tiny()) { // the same kernels as above
        check_kind_cases(&original);
    }
}

/* Inference stores only two levels and gives the same bits as training. */
Test(ham, inference_with_two_levels_gives_the_same_bits)
{
    if (test_tiny()) {
        return;
    }
    cla_runtime *rt = test_runtime();
    cla_ragged *rows = test_ragged(rt, 5, (int[]){ 6, 7, 1, 0, 12 }, NULL);
    const int64_t shape[2] = { 26, 16 }, depth = 5;
    const size_t bytes = (size_t)(shape[0] * shape[1]) * sizeof(float);
    float *numbers = test_random(shape[0] * shape[1], 1, 1), *got[2];
    for (int schedule = 0; schedule < 4; schedule++) {
        cla_runtime_set_schedule(rt,
                                 schedule & 1 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        const cla_ham_options options = { .memory = schedule & 2 ? CLA_HAM_ORIGINAL
                                                                 : CLA_HAM_CURRENT };
        for (int training = 0; training < 2; training++) {
            cla_tape *tape = NULL;
            cla_tensor *x = NULL, *w = NULL, *out = NULL;
            TEST_OK(cla_tape_new(&tape, rt, training));
            TEST_OK(cla_tape_tensor(tape, &x, CLA_F32, 2, shape));
            TEST_OK(cla_tape_tensor(tape, &w, CLA_F32, 1, &depth));
            TEST_OK(cla_tensor_upload(x, numbers));
            TEST_OK(cla_tensor_fill(w, 0));
            cla_tensor_want_grad(x, true);
            TEST_OK(cla_ham_s(tape, &out, x, w, rows, &options));
            got[training] = malloc(bytes);
            TEST_OK(cla_tensor_download(out, got[training]));
            TEST_OK(cla_memory_check_guards(rt));
            cla_tape_free(&tape);
        }
        cr_assert(!memcmp(got[0], got[1], bytes), "run %d: not the same", schedule);
        free(got[0]);
        free(got[1]);
    }
    free(numbers);
    cla_ragged_free(&rows);
    cla_runtime_free(&rt);
}

DEVICE_TEST(ham, refusals)
{
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL;
    cla_ragged *one = test_ragged(rt, 1, (int[]){ 3 }, NULL);
    check_refusals(rt, &memory);
    check_refusals(rt, &self);
    cla_tensor *q = test_tensor(tape, CLA_F32, 2, (int64_t[]){ 3, 4 }, NULL);
    cla_tensor *none = test_tensor(tape, CLA_F32, 1, (int64_t[]){ 0 }, NULL);
    cla_tensor *deep =
        test_tensor(tape, CLA_F32, 1, (int64_t[]){ CLA_HAM_DEPTH + 1 }, NULL);
    TEST_FAILS(cla_ham_v(tape, &o, q, q, none, one, one, NULL), CLA_E_SHAPE, "depth");
    TEST_FAILS(cla_ham_s(tape, &o, q, deep, one, NULL), CLA_E_SHAPE, "depth");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&one);
}
