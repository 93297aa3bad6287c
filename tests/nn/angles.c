/* angles.c - rotary positions whose angles are scaled for longer texts: against those
 * of transformers, and the table. */
#include "nn/angles.h"

#include <math.h>

#include "support/support.h"

enum { PAIRS = 8 };

/* The angles at position 1 of ROPE_INIT_FUNCTIONS of transformers 5.24.0: heads of 16
 * numbers, base 10000, factor 8, a context of 256 before. */
static const struct {
    coder_rope rope;
    double rate[PAIRS];
} cases[] = {
    { { .base = 10000, .width = 16, .gain = 1 },
      { 1, 0.316227764, 0.100000001, 0.0316227786, 0.00999999978, 0.00316227786,
        0.00100000005, 0.000316227786 } },
    { { .base = 10000, .width = 16, .scaling = CODER_LINEAR, .factor = 8, .gain = 1 },
      { 0.125, 0.0395284705, 0.0125000002, 0.00395284733, 0.00124999997, 0.000395284733,
        0.000125000006, 3.95284733e-05 } },
    { { .base = 10000,
        .width = 16,
        .scaling = CODER_LLAMA3,
        .factor = 8,
        .context = 256,
        .low = 1,
        .high = 4,
        .gain = 1 },
      { 1, 0.316227764, 0.100000001, 0.00661310693, 0.00124999997, 0.000395284733,
        0.000125000006, 3.95284733e-05 } },
    { { .base = 10000,
        .width = 16,
        .scaling = CODER_YARN,
        .factor = 8,
        .context = 256,
        .low = 1,
        .high = 32,
        .gain = 1.2079441541679836 },
      { 1, 0.247052938, 0.0562500022, 0.01087033, 0.00124999997, 0.000395284733,
        0.000125000006, 3.95284733e-05 } },
    { { .base = 10000,
        .width = 16,
        .scaling = CODER_YARN,
        .factor = 8,
        .context = 256,
        .low = 2,
        .high = 4,
        .gain = 1.2079441541679836 },
      { 1, 0.316227764, 0.100000001, 0.00395284733, 0.00124999997, 0.000395284733,
        0.000125000006, 3.95284733e-05 } },
};

Test(angles, are_scaled_as_in_transformers)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < PAIRS; k++) {
            const double got = cla_angles_rate(&cases[i].rope, k);
            // theirs are of single precision
            cr_assert_float_eq(got / cases[i].rate[k], 1, 1e-6, "case %zu, pair %d: %g",
                               i, k, got);
        }
    }
}

/* Positions beyond the first table are in a longer one. */
Test(angles, are_in_the_table)
{
    enum { LAST = 300, R = 8 };
    const coder_rope *rope = &cases[3].rope;
    coder_angles angles = { .rope = *rope };
    cla_runtime *rt = test_runtime();
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *positions = NULL;
    attn_turn turn;
    float table[512 * 2 * R];
    const int32_t place = LAST;
    TEST_OK(cla_tape_ids(tape, &positions, 1, &place));
    TEST_OK(cla_angles_turn(&angles, tape, &turn, &place, 1, positions));
    cr_assert_eq(cla_tensor_size(turn.table), 512 * 2 * R);
    TEST_OK(cla_tensor_download(turn.table, table));
    for (int k = 0; k < R; k++) {
        const double angle = LAST * cla_angles_rate(rope, k);
        const float *row = table + LAST * 2 * R;
        cr_assert_float_eq(row[k], rope->gain * cos(angle), 1e-6);
        cr_assert_float_eq(row[R + k], rope->gain * sin(angle), 1e-6);
    }
    cla_angles_free(&angles);
    cla_tape_free(&tape);
    cla_runtime_free(&rt);
}
