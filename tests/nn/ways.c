/* ways.c - kinds of attention: against the oracles, settings that give plain attention,
 * and their keys. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/way.h"

enum { B = 3, H = 4, WIDTH = 8, D = H * WIDTH, TOKENS = 17 };
static const int lengths[B] = { 5, 0, 12 };

/* A kind of attention, and its settings for the oracle. */
typedef struct scene {
    way_case way; // first: way_device casts a scene to it
    int window, area, edge, directed;
} scene;

/* ---- windows ----------------------------------------------------------------- */

static void csan_oracle(double *y, double *const *x, void *context)
{
    const scene *s = context;
    const oracle_attention_shape shape = { .B = B,
                                           .H = H,
                                           .d = WIDTH,
                                           .q_offsets = s->way.offsets,
                                           .k_offsets = s->way.offsets,
                                           .window = s->window,
                                           .area = s->area,
                                           .edge = s->edge };
    double *qkv = way_split(x[0], TOKENS, D);
    oracle_attention(y, NULL, qkv, qkv + TOKENS * D, qkv + 2 * TOKENS * D, &shape);
    free(qkv);
}

/* Softmax sums of at most 60 products of 8 numbers near 1: the tolerance of the op's
 * own tests. */
static void check(cla_runtime *rt, scene *s, const char *const *keys,
                  void (*oracle)(double *y, double *const *x, void *context))
{
    way_open(&s->way, H, WIDTH, keys);
    way_rows(&s->way, rt, B, lengths);
    op_case c = { .name = "way",
                  .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false } },
                  .inputs = 1,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = way_device,
                  .oracle = oracle,
                  .context = s,
                  .bar = 2e-6 };
    check_op(rt, &c);
    way_close(&s->way);
}

DEVICE_TEST(ways, csan_matches_oracle_and_gradient)
{
    static const char *const edges[] = { "edge=truncate", "edge=wrap", "edge=author" };
    const char *const one[] = { "attention=csan1d", "window=5", NULL };
    check(rt, &(scene){ .window = 5 }, one, csan_oracle);
    for (int edge = 0; edge < 3; edge++) {
        const char *const two[] = { "attention=csan2d", "window=5", edges[edge], NULL };
        check(rt, &(scene){ .window = 5, .area = 3, .edge = edge }, two, csan_oracle);
    }
}

/* ---- directions -------------------------------------------------------------- */

/* Computes attention whose last `directed` heads hide later or earlier keys, by
 * turns. */
static void direct(double *o, const double *q, const double *k, const double *v,
                   int directed, oracle_attention_shape shape, int t)
{
    double *relative = calloc((size_t)shape.H * 2 * (size_t)t, sizeof *relative);
    cr_assert_not_null(relative);
    for (int h = shape.H - directed; h < shape.H; h++) {
        const int turn = h - (shape.H - directed);
        for (int far = 1; far < t; far++) {
            relative[h * 2 * t + t + (turn % 2 ? far : -far)] = -INFINITY;
        }
    }
    shape.relative = relative;
    shape.t = t;
    oracle_attention(o, NULL, q, k, v, &shape);
    free(relative);
}

static void direct_oracle(double *y, double *const *x, void *context)
{
    const scene *s = context;
    const oracle_attention_shape shape = { .B = B,
                                           .H = H,
                                           .d = WIDTH,
                                           .q_offsets = s->way.offsets,
                                           .k_offsets = s->way.offsets };
    double *qkv = way_split(x[0], TOKENS, D);
    direct(y, qkv, qkv + TOKENS * D, qkv + 2 * TOKENS * D, s->directed, shape, 12);
    free(qkv);
}

DEVICE_TEST(ways, bi_direct_matches_oracle_and_gradient)
{
    for (int directed = 3; directed <= H; directed++) {
        char key[32];
        snprintf(key, sizeof key, "directed_heads=%d", directed);
        check(rt, &(scene){ .directed = directed },
              (const char *const[]){ "attention=bi_direct", key, NULL }, direct_oracle);
    }
}

/* The oracle gives the published answers. Queries, keys and values are
 * sin(0.9 k + 0.37 s), s = 1, 2, 3, for number k of [H,T,d]. */
Test(ways, bi_direct_gives_known_answers)
{
    enum { T = 5, SHORT = 3, ALL = T * H * SHORT };
    static const int32_t offsets[] = { 0, T };
    static const double first[] = { 0.895699, 0.905091, 0.229528 };
    static const double ahead[] = { 0.551189, 0.441333, -0.002515 };
    static const double last[] = { -0.190498, 0.064996, 0.271302 };
    const oracle_attention_shape shape = {
        .B = 1, .H = H, .d = SHORT, .q_offsets = offsets, .k_offsets = offsets
    };
    double x[3][ALL], o[ALL], sum = 0;
    for (int at = 0; at < ALL; at++) {
        const int i = at / (H * SHORT), h = at / SHORT % H, c = at % SHORT;
        for (int s = 0; s < 3; s++) {
            x[s][at] = sin(0.9 * ((h * T + i) * SHORT + c) + 0.37 * (s + 1));
        }
    }
    direct(o, x[0], x[1], x[2], H, shape, T);
    for (int at = 0; at < ALL; at++) {
        sum += o[at];
    }
    for (int c = 0; c < SHORT; c++) {
        cr_assert_float_eq(o[c], first[c], 1e-6);
        cr_assert_float_eq(o[c], x[2][c], 1e-12); // row 0 sees itself alone
        cr_assert_float_eq(o[SHORT + c], ahead[c], 1e-6);
        cr_assert_float_eq(o[4 * H * SHORT + c], last[c], 1e-6);
    }
    cr_assert_float_eq(sum, 2.441814, 1e-6);
}

/* ---- neutral settings -------------------------------------------------------- */

/* Computes a layer's result for fixed random numbers. */
static double *result(cla_runtime *rt, const char *const *keys)
{
    way_case w;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL;
    float *x = test_random((int64_t)TOKENS * 3 * D, 1, 5);
    double *y = calloc((size_t)TOKENS * D, sizeof *y);
    cr_assert_not_null(y);
    way_open(&w, H, WIDTH, keys);
    way_rows(&w, rt, B, lengths);
    cla_tensor *qkv = test_tensor(tape, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }, x);
    TEST_OK(way_attend(&w, tape, &o, qkv));
    TEST_OK(cla_tensor_download(o, x));
    for (int i = 0; i < TOKENS * D; i++) {
        y[i] = (double)x[i];
    }
    cla_tape_free(&tape);
    way_close(&w);
    free(x);
    return y;
}

static double difference(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < TOKENS * D; i++) {
        most = test_larger(most, fabs(a[i] - b[i]));
    }
    return most;
}

/* Checks that neutral settings give the attention of like, up to the order of at most
 * 12 sums of numbers near 1, and that narrower ones (other) do not. */
static void check_neutral(cla_runtime *rt, const char *const *neutral,
                          const char *const *like, const char *const *other)
{
    double *a = result(rt, neutral), *b = result(rt, like), *c = result(rt, other);
    cr_assert_lt(difference(a, b), 2e-6);
    cr_assert_gt(difference(a, c), 1e-2);
    free(a);
    free(b);
    free(c);
}

DEVICE_TEST(ways, neutral_settings_are_plain)
{
    const char *const plain[] = { NULL };
    const char *const wide[] = { "attention=csan1d", "window=23", NULL };
    const char *const narrow[] = { "attention=csan1d", "window=3", NULL };
    const char *const one[] = { "attention=csan2d", "window=3", "area=1", NULL };
    const char *const three[] = { "attention=csan2d", "window=3", NULL };
    const char *const all[] = { "attention=bi_direct", "directed_heads=0", NULL };
    const char *const some[] = { "attention=bi_direct", "directed_heads=1", NULL };
    const char *const same[] = { "attention=custom", "score=s", "mask=j < S", NULL };
    const char *const half[] = { "attention=custom", "score=s / 2", NULL };
    check_neutral(rt, wide, plain, narrow);
    check_neutral(rt, one, narrow, three);
    check_neutral(rt, all, plain, some);
    check_neutral(rt, same, plain, half);
}

/* ---- keys -------------------------------------------------------------------- */

Test(ways, reads_the_keys_of_what_is_chosen)
{
    cla_config s;
    attn_config c = { .model = D, .heads = H, .width = WIDTH };
    way_settings(&s, (const char *const[]){ "attention=csan2d", "window=7", NULL });
    TEST_OK(cla_attn_configure(&c, &s));
    cr_assert_str_eq(c.way->name, "csan2d");
    TEST_OK(cla_config_check(&s));
    cr_assert_eq(json_integer_value(json_object_get(s.values, "window")), 7);
    cr_assert_eq(json_integer_value(json_object_get(s.values, "area")), 3);
    cla_config_fini(&s);
    /* Keys of other kinds are known and keep their values. */
    way_settings(&s, (const char *const[]){ "window=8", NULL });
    TEST_OK(cla_attn_configure(&c, &s));
    cr_assert_str_eq(c.way->name, "softmax");
    TEST_OK(cla_config_check(&s));
    cr_assert_eq(json_object_size(s.values), 2);
    cla_config_fini(&s);
}

Test(ways, refuses_what_does_not_fit)
{
    static const char *const wrong[][5] = {
        { "attention is \"csan3d\", must be one of softmax csan1d csan2d "
          "bi_direct block rel_pos",
          "attention=csan3d" },
        { "window is 10, must be odd", "attention=csan1d", "window=10" },
        { "window is 0, must be a whole number from 1", "attention=csan1d",
          "window=0" },
        { "area is 2, must be odd and at most 7 for 4 heads", "attention=csan2d",
          "area=2" },
        { "area is 9, must be odd and at most 7 for 4 heads and edge truncate",
          "attention=csan2d", "area=9" },
        { "area is 5, must be odd and at most 4 for 4 heads and edge wrap",
          "attention=csan2d", "area=5", "edge=wrap" },
        { "directed_heads is 5, must be a whole number from 0 to 4",
          "attention=bi_direct", "directed_heads=5" },
        { "clip is -1, must be a whole number from 0", "attention=rel_pos", "clip=-1" },
        { "edge is \"ring\", must be one of truncate wrap author", "attention=csan2d",
          "edge=ring" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cla_config s;
        attn_config c = { .model = D, .heads = H, .width = WIDTH };
        way_settings(&s, wrong[i] + 1);
        TEST_FAILS(cla_attn_configure(&c, &s), CLA_E_INPUT, wrong[i][0]);
        cr_assert_null(strchr(cla_error(), '\n'));
        cla_config_fini(&s);
    }
}
