/* band_attention_2d.c - device against oracle, known answers, invariants, refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/bands.h"

static const band_case cases[] = {
    { 1, { 1 }, .H = 1, .d = 8, .window = 1, .area = 1 },
    { 3, { 5, 0, 3 }, .H = 3, .d = 3, .window = 3, .area = 3 },
    { 2, { 6, 4 }, .H = 4, .d = 8, .window = 5, .area = 3, .edge = CLA_EDGE_WRAP },
    { 2, { 4, 6 }, .H = 4, .d = 8, .window = 3, .area = 3, .edge = CLA_EDGE_AUTHOR },
    { 2, { 9, 4 }, .H = 3, .d = 8, .window = 5, .area = 5, .dropout = 0.3f },
    { 1, { 40 }, .H = 5, .d = 8, .window = 11, .area = 5, .edge = CLA_EDGE_AUTHOR },
    { 2,
      { 20, 15 },
      .H = 3,
      .d = 8,
      .window = 7,
      .area = 3,
      .edge = CLA_EDGE_WRAP,
      .causal = true,
      .columns = true },
    { 1,
      { 37 },
      .H = 4,
      .d = 8,
      .window = 5,
      .area = 3,
      .edge = CLA_EDGE_AUTHOR,
      .dropout = 0.4f },
    { 2, { 90, 40 }, .H = 3, .d = 8, .window = 121, .area = 3 },
    { 1,
      { 130 },
      .H = 3,
      .d = 8,
      .window = 141,
      .area = 3,
      .edge = CLA_EDGE_AUTHOR,
      .causal = true },
    { 1, { 9 }, .H = 2, .d = 8, .window = 3, .area = 99 },
    { 1, { 35 }, .H = 4, .d = 24, .window = 11, .area = 3 },
};

DEVICE_TEST(band_attention_2d, matches_oracle_and_gradient)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const band_case *c = &cases[i];
        const int64_t size = band_size(c);
        if (!(test_tiny() && size > 250) && !(test_small() && size > 1300)) {
            check_band(rt, c);
        }
    }
}

static const band_answer answers[] = {
    { 5,
      3,
      CLA_EDGE_TRUNCATE,
      { 0.589352, 0.404672, -0.086256 },
      { 0.589992, 0.394246, -0.099857 },
      4,
      0.876229,
      16.705181,
      16.059432,
      13.764869 },
    { 4,
      3,
      CLA_EDGE_TRUNCATE,
      { 0.589352, 0.404672, -0.086256 },
      { -0.503753, -0.167665, 0.295309 },
      3,
      -3.095401,
      0,
      0,
      0 },
    { 4,
      3,
      CLA_EDGE_WRAP,
      { 0.443687, 0.505732, 0.185050 },
      { -0.311045, -0.018112, 0.288527 },
      3,
      -2.948126,
      0,
      0,
      0 },
    { 5,
      3,
      CLA_EDGE_WRAP,
      { 0.443687, 0.505732, 0.185050 },
      { 0.432002, 0.207067, -0.174571 },
      4,
      0.863043,
      15.952627,
      15.397474,
      15.849294 },
    { 5,
      3,
      CLA_EDGE_AUTHOR,
      { 0.224993, -0.011675, -0.239507 },
      { 0.418867, 0.361396, 0.030428 },
      4,
      0.765008,
      11.057474,
      11.408504,
      11.430877 },
};

DEVICE_TEST(band_attention_2d, known_answers)
{
    EACH_SCHEDULE(rt)
    {
        for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
            check_band_answer(rt, &answers[i]);
        }
    }
}

static void all_close(const char *what, const float *got, const float *want, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        band_close(what, (double)got[i], (double)want[i], 5e-6);
    }
}

/* An area of one head gives the 1-D results; so do equal heads. */
DEVICE_TEST(band_attention_2d, falls_back_to_one_dimension)
{
    enum { T = 11, H = 4, d = 8 };
    const band_case flat = { 1, { T }, .H = H, .d = d, .window = 5 };
    band_case c = flat;
    float *x[4], *same[3];
    band_inputs(&flat, x);
    for (int i = 0; i < 3; i++) {
        same[i] = malloc(T * H * d * sizeof(float));
        for (int n = 0; n < T * H; n++) {
            memcpy(same[i] + n * d, x[i] + n / H * H * d, d * sizeof(float));
        }
    }
    EACH_SCHEDULE(rt)
    {
        for (int edge = 0; edge < (test_tiny() ? 1 : 3); edge++) {
            band_result want, got;
            c.edge = (cla_edge)edge;
            c.area = 1;
            band_run(rt, &flat, x[0], x[1], x[2], x[3], &want);
            band_run(rt, &c, x[0], x[1], x[2], x[3], &got);
            all_close("o of one head", got.o, want.o, band_size(&c));
            all_close("dk of one head", got.dk, want.dk, band_size(&c));
            band_result_fini(&want);
            band_result_fini(&got);
            c.area = 3;
            band_run(rt, &flat, same[0], same[1], same[2], NULL, &want);
            band_run(rt, &c, same[0], same[1], same[2], NULL, &got);
            all_close("o of equal heads", got.o, want.o, band_size(&c));
            band_result_fini(&want);
            band_result_fini(&got);
        }
    }
    for (int i = 0; i < 3; i++) {
        free(same[i]);
    }
    band_inputs_free(x);
}

/* With CLA_EDGE_WRAP heads form a ring: rolling the inputs rolls results and
 * gradients. */
DEVICE_TEST(band_attention_2d, wrap_rolls)
{
    enum { T = 9, H = 5, d = 8 };
    const band_case c = {
        1, { T }, .H = H, .d = d, .window = 3, .area = 3, .edge = CLA_EDGE_WRAP
    };
    float *x[4], *rolled[4];
    band_inputs(&c, x);
    for (int i = 0; i < 4; i++) {
        rolled[i] = malloc(T * H * d * sizeof(float));
        for (int n = 0; n < T * H; n++) {
            const int to = n / H * H + (n % H + 2) % H;
            memcpy(rolled[i] + to * d, x[i] + n * d, d * sizeof(float));
        }
    }
    EACH_SCHEDULE(rt)
    {
        band_result a, b;
        band_run(rt, &c, x[0], x[1], x[2], x[3], &a);
        band_run(rt, &c, rolled[0], rolled[1], rolled[2], rolled[3], &b);
        for (int n = 0; n < T * H; n++) {
            const int to = n / H * H + (n % H + 2) % H;
            all_close("o", b.o + to * d, a.o + n * d, d);
            all_close("dq", b.dq + to * d, a.dq + n * d, d);
            all_close("dk", b.dk + to * d, a.dk + n * d, d);
            all_close("dv", b.dv + to * d, a.dv + n * d, d);
        }
        band_result_fini(&a);
        band_result_fini(&b);
    }
    band_inputs_free(x);
    band_inputs_free(rolled);
}

/* When every head sees the keys of all heads, it attends to H * T keys. */
DEVICE_TEST(band_attention_2d, everything_is_attention_over_all_heads)
{
    enum { T = 6, H = 3, d = 8 };
    const band_case c = {
        1, { T }, .H = H, .d = d, .window = 2 * T - 1, .area = 2 * H - 1
    };
    const int32_t queries[] = { 0, T }, keys[] = { 0, T * H };
    const oracle_attention_shape s = {
        .B = 1, .H = 1, .d = d, .q_offsets = queries, .k_offsets = keys
    };
    float *x[4];
    double k[T * H * d], v[T * H * d];
    band_inputs(&c, x);
    for (int i = 0; i < T * H * d; i++) { // [T,H,d] is a list of T * H keys
        k[i] = (double)x[1][i];
        v[i] = (double)x[2][i];
    }
    EACH_SCHEDULE(rt)
    {
        band_result r;
        band_run(rt, &c, x[0], x[1], x[2], NULL, &r);
        for (int h = 0; h < H; h++) {
            double q[T * d], want[T * d];
            float got[T * d];
            for (int i = 0; i < T * d; i++) {
                const int at = (i / d * H + h) * d + i % d;
                q[i] = (double)x[0][at];
                got[i] = r.o[at];
            }
            oracle_attention(want, NULL, q, k, v, &s);
            check_close("head", got, want, T * d, 5e-6);
        }
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

/* Weights sum to 1, so dv has the sum of dO; no gradient leaves the area. */
DEVICE_TEST(band_attention_2d, gradients_keep_mass_and_distance)
{
    enum { T = 12, H = 6, d = 8 };
    band_case c = { 1, { T }, .H = H, .d = d, .window = 5, .area = 3 };
    float *x[4];
    band_inputs(&c, x);
    EACH_SCHEDULE(rt)
    {
        for (int edge = 0; edge < 3; edge++) {
            band_result r;
            c.edge = (cla_edge)edge;
            band_run(rt, &c, x[0], x[1], x[2], x[3], &r);
            for (int j = 0; j < d; j++) { // for each channel
                double in = 0, out = 0;
                for (int n = 0; n < T * H; n++) {
                    in += (double)x[3][n * d + j];
                    out += (double)r.dv[n * d + j];
                }
                band_close("mass", out, in, 2e-5);
            }
            band_result_fini(&r);
        }
        float *dy = calloc((size_t)band_size(&c), sizeof *dy);
        for (int n = 0; n < T; n++) { // only head 2 has a gradient
            memcpy(dy + (n * H + 2) * d, x[3] + (n * H + 2) * d, d * sizeof *dy);
        }
        c.edge = CLA_EDGE_TRUNCATE;
        band_result r;
        band_run(rt, &c, x[0], x[1], x[2], dy, &r);
        for (int i = 0; i < T * H * d; i++) {
            const int h = i / d % H;
            cr_assert(h == 2 || r.dq[i] == 0);
            cr_assert(abs(h - 2) <= 1 || (r.dk[i] == 0 && r.dv[i] == 0));
        }
        band_result_fini(&r);
        free(dy);
    }
    band_inputs_free(x);
}

/* The map lists the members of the area side by side; missing members are 0. */
DEVICE_TEST(band_attention_2d, map_is_area_major)
{
    enum { T = 7, H = 3 };
    const band_case c = { 1, { T }, .H = H, .d = 8, .window = 3, .area = 3 };
    float *x[4];
    band_inputs(&c, x);
    EACH_SCHEDULE(rt)
    {
        band_result r;
        band_run(rt, &c, x[0], x[1], x[2], NULL, &r);
        for (int row = 0; row < H * T; row++) {
            const int h = row / T, i = row % T;
            double sum = 0;
            for (int e = 0; e < 3 * T; e++) {
                const int head = h + e / T - 1;
                const bool seen = head >= 0 && head < H && abs(i - e % T) <= 1;
                const float weight = r.map[row * 3 * T + e];
                cr_assert(seen ? weight > 0 : weight == 0, "map[%d,%d] = %g", row, e,
                          (double)weight);
                sum += (double)weight;
            }
            band_close("row sum", sum, 1, 1e-5);
        }
        band_result_fini(&r);
    }
    band_inputs_free(x);
}

DEVICE_TEST(band_attention_2d, refuses)
{
    const int lengths[] = { 3 };
    cla_ragged *rows = test_ragged(rt, 1, lengths, NULL);
    cla_tensor *o = NULL;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x = test_tensor(tape, CLA_F32, 3, (int64_t[]){ 3, 2, 8 }, NULL);
    TEST_FAILS(cla_band_attention_2d(tape, &o, x, x, x, rows, 4, 1, 0, NULL),
               CLA_E_USAGE, "band_attention_2d: window is 4, must be odd");
    TEST_FAILS(cla_band_attention_2d(tape, &o, x, x, x, rows, 3, 2, 0, NULL),
               CLA_E_USAGE, "area is 2, must be odd");
    TEST_FAILS(
        cla_band_attention_2d(tape, &o, x, x, x, rows, 3, 3, CLA_EDGE_WRAP, NULL),
        CLA_E_USAGE, "area is 3, but only 2 heads");
    TEST_FAILS(
        cla_band_attention_2d(tape, &o, x, x, x, rows, 3, 3, CLA_EDGE_AUTHOR, NULL),
        CLA_E_USAGE, "area is 3, but only 2 heads");
    TEST_FAILS(cla_band_attention_2d(tape, &o, x, x, x, rows, 3, 1, 7, NULL),
               CLA_E_USAGE, "edge is 7");
    TEST_FAILS(cla_band_attention_2d(tape, &o, x, x, NULL, rows, 3, 1, 0, NULL),
               CLA_E_USAGE, "v is NULL");
    cr_assert_null(o);
    cla_tape_free(&tape);
    cla_ragged_free(&rows);
}
