/* attention_share.c - dropout is independent of the process that has a sentence: each
 * attention gives the same bits on a whole batch and on its halves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { T = 6, H = 2, WIDTH = 3, ROW = H * WIDTH, SIZE = 2 * T * ROW };

/* A part of the batch: sequences first .. first + count - 1, of T tokens each. */
typedef struct part {
    int first, count;
} part;

typedef struct operands {
    cla_tensor *x[3], *table, *sigma;
    cla_ragged *rows;
} operands;

typedef cla_status (*attend)(cla_tape *tape, cla_tensor **o, const operands *in,
                             const cla_attention_options *options);

static cla_status full(cla_tape *tape, cla_tensor **o, const operands *in,
                       const cla_attention_options *options)
{
    return cla_attention(tape, o, in->x[0], in->x[1], in->x[2], in->rows, in->rows,
                         options);
}

static cla_status band(cla_tape *tape, cla_tensor **o, const operands *in,
                       const cla_attention_options *options)
{
    return cla_band_attention(tape, o, in->x[0], in->x[1], in->x[2], in->rows, 5,
                              options);
}

static cla_status area(cla_tape *tape, cla_tensor **o, const operands *in,
                       const cla_attention_options *options)
{
    return cla_band_attention_2d(tape, o, in->x[0], in->x[1], in->x[2], in->rows, 5, 3,
                                 CLA_EDGE_TRUNCATE, options);
}

static cla_status position(cla_tape *tape, cla_tensor **o, const operands *in,
                           const cla_attention_options *options)
{
    return cla_position_attention(tape, o, in->x[0], in->x[1], in->x[2], NULL,
                                  in->table, in->rows, options);
}

static cla_status gaussian(cla_tape *tape, cla_tensor **o, const operands *in,
                           const cla_attention_options *options)
{
    const cla_gaussian shape = { NULL, in->sigma, INFINITY };
    return cla_gaussian_attention(tape, o, in->x[0], in->x[1], in->x[2], &shape,
                                  in->rows, options);
}

static const attend ops[] = { full, band, area, position, gaussian };

/* Computes the result and the gradient of the values; both depend on the random
 * numbers. */
static void run(cla_runtime *rt, attend op, part p, const float *numbers, float *o,
                float *grad)
{
    const cla_attention_options options = { .dropout = 0.4f };
    const int64_t shape[] = { (int64_t)p.count * T, H, WIDTH };
    const int lengths[] = { T, T }, at = p.first * T * ROW;
    operands in = { .rows = test_ragged(rt, p.count, lengths, NULL) };
    cla_tensor *y = NULL;
    cla_tape *tape = test_tape(rt, true);
    for (int i = 0; i < 3; i++) {
        TEST_OK(cla_tensor_new(&in.x[i], rt, CLA_F32, 3, shape));
        TEST_OK(cla_tensor_upload(in.x[i], numbers + (ptrdiff_t)i * SIZE + at));
    }
    cla_tensor_want_grad(in.x[2], true);
    TEST_OK(cla_tensor_new(&in.table, rt, CLA_F32, 2, (int64_t[]){ H, 2 * T }));
    TEST_OK(cla_tensor_fill(in.table, 0.5f));
    TEST_OK(cla_tensor_new(&in.sigma, rt, CLA_F32, 1, (int64_t[]){ H }));
    TEST_OK(cla_tensor_fill(in.sigma, 3));
    cla_tape_rows(tape, (uint32_t)(p.first * T));
    TEST_OK(op(tape, &y, &in, &options));
    TEST_OK(cla_tape_seed(tape, y, in.x[0]));
    TEST_OK(cla_tape_backward(tape));
    TEST_OK(cla_tensor_download(y, o + at));
    TEST_OK(cla_tensor_download(cla_tensor_grad(in.x[2]), grad + at));
    cla_tape_free(&tape);
    cla_tensor_free(&in.sigma);
    cla_tensor_free(&in.table);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&in.x[i]);
    }
    cla_ragged_free(&in.rows);
}

DEVICE_TEST(attention_share, halves_draw_as_the_whole)
{
    static float o[2][SIZE], grad[2][SIZE];
    float *numbers = test_random(3 * (int64_t)SIZE, 1, 0);
    for (int n = 0; n < 2 * (int)(sizeof ops / sizeof *ops); n++) {
        const attend op = ops[n / 2];
        cla_runtime_set_schedule(rt, n % 2 ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        run(rt, op, (part){ 0, 2 }, numbers, o[0], grad[0]);
        run(rt, op, (part){ 0, 1 }, numbers, o[1], grad[1]);
        run(rt, op, (part){ 1, 1 }, numbers, o[1], grad[1]);
        cr_assert(!memcmp(o[0], o[1], sizeof *o), "op %d, schedule %d: results differ",
                  n / 2, n % 2);
        cr_assert(!memcmp(grad[0], grad[1], sizeof *grad),
                  "op %d, schedule %d: gradients differ", n / 2, n % 2);
        /* Without its first row in the batch, the second half draws the numbers of the
         * first. */
        run(rt, op, (part){ 0, 1 }, numbers + T * ROW, o[1], grad[1]);
        cr_assert(memcmp(o[0] + T * ROW, o[1], sizeof *o / 2) != 0,
                  "op %d, schedule %d: draws do not depend on the row", n / 2, n % 2);
    }
    free(numbers);
}
