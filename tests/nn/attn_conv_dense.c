/* attn_conv_dense.c - scores convolved before the softmax: against an oracle, filters
 * that give plain attention, and sentences that are too long for the filter. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/way.h"

enum { B = 3, H = 2, WIDTH = 5, D = H * WIDTH, TOKENS = 14, LONGEST = 9, FILTER = 11 };
enum { SIZE = TOKENS * D };
static const int lengths[B] = { LONGEST, 0, 5 };

typedef struct scene {
    way_case way; // first: way_device casts a scene to it
    bool plane;   // conv2d
    int side;     // of the filter
} scene;

/* Returns the filter's weight of score c in row u, for score o. */
static double tap(const scene *s, const double *w, int h, int u, int c, int o)
{
    if (!s->plane) {
        return w[((h * 3 + u) * FILTER + c) * FILTER + o];
    }
    const int side = s->side, v = c - o + side / 2;
    return v >= 0 && v < side ? w[(h * side + u) * side + v] : 0;
}

/* Computes the weights y [T] of query i in a sentence of T tokens with scores a
 * [T,T]. */
static void row(double *y, const double *a, const scene *s, double *const *x, int h,
                int i, int T)
{
    double sum = 0;
    for (int o = 0; o < T; o++) {
        double score = s->plane ? 0 : x[2][h * FILTER + o];
        for (int u = 0; u < s->side; u++) {
            const int from = i + u - s->side / 2;
            for (int c = 0; c < T && from >= 0 && from < T; c++) {
                score += a[from * T + c] * tap(s, x[1], h, u, c, o);
            }
        }
        y[o] = exp(score);
        sum += y[o];
    }
    for (int o = 0; o < T; o++) {
        y[o] /= sum;
    }
}

/* Returns q, k or v (which = 0, 1, 2) of a token's head. */
static const double *part(const double *qkv, int token, int which, int h)
{
    return qkv + (token * 3 + which) * D + h * WIDTH;
}

static void oracle(double *out, double *const *x, void *context)
{
    const scene *s = context;
    for (int at = 0; at < B * H; at++) {
        const int h = at % H, from = s->way.offsets[at / H], T = lengths[at / H];
        double a[LONGEST * LONGEST], p[LONGEST];
        for (int n = 0; n < T * T; n++) {
            a[n] = 0;
            for (int c = 0; c < WIDTH; c++) {
                a[n] += part(x[0], from + n / T, 0, h)[c] *
                        part(x[0], from + n % T, 1, h)[c] / sqrt(WIDTH);
            }
        }
        for (int i = 0; i < T; i++) {
            row(p, a, s, x, h, i, T);
            for (int c = 0; c < WIDTH; c++) {
                double *sum = &out[((from + i) * H + h) * WIDTH + c];
                *sum = 0;
                for (int j = 0; j < T; j++) {
                    *sum += p[j] * part(x[0], from + j, 2, h)[c];
                }
            }
        }
    }
}

/* side: of a filter of conv2d, 0 for conv. */
static void open_scene(scene *s, cla_runtime *rt, int side)
{
    const char *attention = side ? "attention=conv2d" : "attention=conv";
    char filter[32];
    snprintf(filter, sizeof filter, "map_filter=%d", side);
    way_open_tied(&s->way, H, WIDTH, FILTER,
                  (const char *const[]){ attention, "conv_pos=before",
                                         side ? filter : NULL, NULL });
    way_rows(&s->way, rt, B, lengths);
    s->plane = side > 0;
    s->side = side ? side : 3;
}

DEVICE_TEST(attn_conv_dense, matches_oracle_and_gradient)
{
    static const int64_t sides[] = { 0, 1, 3, 7 };
    for (size_t at = 0; at < sizeof sides / sizeof *sides; at++) {
        const int64_t side = sides[at];
        scene s;
        op_case c = {
            .name = "conv before",
            .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false },
                    { "filter", 4, { H, 3, FILTER, FILTER }, 0, false, false },
                    { "bias", 2, { H, FILTER }, 0, false, false } },
            .inputs = side ? 2 : 3,
            .rank = 2,
            .shape = { TOKENS * H, WIDTH },
            .device = way_device,
            .oracle = oracle,
            .context = &s,
            .bar = 1e-5
        }; // sums of up to 63 products of sums of 5
        if (side) {
            c.in[1] = (op_input){ "filter", 3, { H, side, side }, 0, false, false };
        }
        open_scene(&s, rt, (int)side);
        cr_assert_eq(s.way.params.count, side ? 1u : 2u);
        check_op(rt, &c);
        way_close(&s.way);
    }
}

/* ---- neutral filters ----------------------------------------------------------- */

/* Computes the attention of random numbers; the filter is 1 in its middle and 0
 * elsewhere. */
static void result(cla_runtime *rt, float o[SIZE], const char *attention,
                   int64_t *shape, int rank, int64_t middle, int64_t stride)
{
    const int64_t wide[] = { TOKENS, 3 * D };
    int64_t n = 1;
    for (int i = 0; i < rank; i++) {
        n *= shape[i];
    }
    float *random = test_random((int64_t)3 * SIZE, 1, 5);
    float *filter = calloc((size_t)n + 1, sizeof *filter);
    way_case w;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x[3] = { NULL };
    for (int64_t h = 0; h < H; h++) {
        for (int64_t i = 0; i < (stride ? FILTER : 1); i++) {
            filter[h * n / H + middle + i * stride] = 1;
        }
    }
    way_open_tied(
        &w, H, WIDTH, FILTER,
        (const char *const[]){ attention, rank ? "conv_pos=before" : NULL, NULL });
    way_rows(&w, rt, B, lengths);
    TEST_OK(cla_tensor_new(&x[0], rt, CLA_F32, 2, wide));
    TEST_OK(cla_tensor_upload(x[0], random));
    if (rank) {
        TEST_OK(cla_tensor_new(&x[1], rt, CLA_F32, rank, shape));
        TEST_OK(cla_tensor_upload(x[1], filter));
        TEST_OK(cla_tensor_new(&x[2], rt, CLA_F32, 2, (int64_t[]){ H, FILTER }));
        TEST_OK(cla_tensor_fill(x[2], 0.5f));
    }
    way_finish(&w, tape, x, 3, o);
    free(filter);
    free(random);
}

DEVICE_TEST(attn_conv_dense, identity_is_plain)
{
    static float plain[SIZE], line[SIZE], plane[SIZE];
    result(rt, plain, "attention=softmax", NULL, 0, 0, 0);
    result(rt, line, "attention=conv", (int64_t[]){ H, 3, FILTER, FILTER }, 4,
           FILTER * FILTER, FILTER + 1);
    result(rt, plane, "attention=conv2d", (int64_t[]){ H, 3, 3 }, 3, 4, 0);
    for (int i = 0; i < SIZE; i++) {
        cr_assert_float_eq(line[i], plain[i], 5e-6);
        cr_assert_float_eq(plane[i], plain[i], 5e-6);
    }
}

DEVICE_TEST(attn_conv_dense, refuses_a_sentence_beyond_the_filter)
{
    scene s;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *x[3] = { NULL }, *y = NULL;
    open_scene(&s, rt, 0);
    TEST_OK(cla_tensor_new(&x[0], rt, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }));
    TEST_OK(cla_tensor_new(&x[1], rt, CLA_F32, 4, (int64_t[]){ H, 3, 8, 8 }));
    TEST_OK(cla_tensor_new(&x[2], rt, CLA_F32, 2, (int64_t[]){ H, 8 }));
    cr_assert_eq(way_device(tape, &y, x, &s), CLA_E_SHAPE);
    cr_assert_str_eq(cla_error(), "conv: a sequence of 9 tokens, the filter has 8");
    cla_tape_free(&tape);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&x[i]);
    }
    way_close(&s.way);
}
