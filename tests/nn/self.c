/* self.c - ways of attending in a Transformer's layer: against the oracles, settings
 * that make them plain attention, and their keys. */
#include "nn/self.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/support.h"

enum { B = 3, H = 4, WIDTH = 8, D = H * WIDTH, TOKENS = 17 };
static const int lengths[B] = { 5, 0, 12 };

/* A layer and the batch it sees. */
typedef struct scene {
    self_layer layer;
    cla_ragged *rows;
    int32_t *offsets;
} scene;

static void scene_init(scene *s, cla_runtime *rt, const self_config *config)
{
    *s = (scene){ .layer = { .config = *config } };
    s->layer.config.model = D;
    s->layer.config.heads = H;
    s->rows = test_ragged(rt, B, lengths, &s->offsets);
}

static void scene_fini(scene *s)
{
    cla_ragged_free(&s->rows);
    free(s->offsets);
}

/* What mha.c does with qkv [TOKENS,3D]. */
static cla_status attend(scene *s, cla_tape *tape, cla_tensor **o, cla_tensor *qkv)
{
    self_input in = { .query = qkv, .q_rows = s->rows, .k_rows = s->rows };
    CLA_TRY(cla_tensor_columns(tape, &in.q, qkv, 0, H, WIDTH));
    CLA_TRY(cla_tensor_columns(tape, &in.k, qkv, D, H, WIDTH));
    CLA_TRY(cla_tensor_columns(tape, &in.v, qkv, 2 * D, H, WIDTH));
    return self_forward(&s->layer, tape, o, &in);
}

/* q, k and v [TOKENS,D] of qkv, in one piece. */
static double *split(const double *qkv)
{
    double *x = calloc((size_t)3 * TOKENS * D, sizeof *x);
    cr_assert_not_null(x);
    for (int n = 0; n < TOKENS; n++) {
        for (int c = 0; c < 3 * D; c++) {
            x[(c / D * TOKENS + n) * D + c % D] = qkv[n * 3 * D + c];
        }
    }
    return x;
}

/* ---- windows ----------------------------------------------------------------- */

static cla_status run_plain(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            void *context)
{
    return attend(context, tape, y, x[0]);
}

static void csan_oracle(double *y, double *const *x, void *context)
{
    const scene *s = context;
    const self_config *c = &s->layer.config;
    const bool heads = c->variant == &self_csan2d;
    const oracle_attention_shape shape = { .B = B,
                                           .H = H,
                                           .d = WIDTH,
                                           .q_offsets = s->offsets,
                                           .k_offsets = s->offsets,
                                           .window = c->window,
                                           .area = heads ? c->area : 0,
                                           .edge = c->edge };
    double *qkv = split(x[0]);
    oracle_attention(y, NULL, qkv, qkv + TOKENS * D, qkv + 2 * TOKENS * D, &shape);
    free(qkv);
}

/* Softmax sums of at most 60 products of 8 numbers near 1: as the op's own tests. */
static void check(cla_runtime *rt, const self_config *config,
                  void (*oracle)(double *y, double *const *x, void *context))
{
    scene s;
    scene_init(&s, rt, config);
    op_case c = { .name = "self",
                  .in = { { "qkv", 2, { TOKENS, 3 * D }, 0, false, false } },
                  .inputs = 1,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = run_plain,
                  .oracle = oracle,
                  .context = &s,
                  .bar = 2e-6 };
    check_op(rt, &c);
    scene_fini(&s);
}

Test(self, csan_matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    check(rt, &(self_config){ .variant = &self_csan1d, .window = 5 }, csan_oracle);
    for (int edge = 0; edge < 3; edge++) {
        check(rt,
              &(self_config){
                  .variant = &self_csan2d, .window = 5, .area = 3, .edge = edge },
              csan_oracle);
    }
    cla_runtime_free(&rt);
}

/* ---- directions -------------------------------------------------------------- */

/* Hidden scores of the last directed heads, which look back and ahead by turns. */
static void direct(double *o, const double *q, const double *k, const double *v,
                   const self_config *c, oracle_attention_shape shape, int t)
{
    double *relative = calloc((size_t)shape.H * 2 * (size_t)t, sizeof *relative);
    cr_assert_not_null(relative);
    for (int h = shape.H - c->directed; h < shape.H; h++) {
        const int turn = h - (shape.H - c->directed);
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
    const oracle_attention_shape shape = {
        .B = B, .H = H, .d = WIDTH, .q_offsets = s->offsets, .k_offsets = s->offsets
    };
    double *qkv = split(x[0]);
    direct(y, qkv, qkv + TOKENS * D, qkv + 2 * TOKENS * D, &s->layer.config, shape, 12);
    free(qkv);
}

Test(self, bi_direct_matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (int directed = 3; directed <= H; directed++) {
        check(rt, &(self_config){ .variant = &self_bi_direct, .directed = directed },
              direct_oracle);
    }
    cla_runtime_free(&rt);
}

/* The published answers, which hold for the oracle: queries, keys and values are
 * sin(0.9 k + 0.37 s), s = 1, 2, 3, for number k of [H,T,d]. */
Test(self, bi_direct_gives_known_answers)
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
    direct(o, x[0], x[1], x[2], &(self_config){ .directed = H }, shape, T);
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

/* What a layer makes of the same random numbers. */
static double *result(cla_runtime *rt, const self_config *config)
{
    scene s;
    cla_tape *tape = NULL;
    cla_tensor *qkv = NULL, *o = NULL;
    float *x = test_random((int64_t)TOKENS * 3 * D, 1, 5);
    double *y = calloc((size_t)TOKENS * D, sizeof *y);
    cr_assert_not_null(y);
    scene_init(&s, rt, config);
    TEST_OK(cla_tensor_new(&qkv, rt, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }));
    TEST_OK(cla_tensor_upload(qkv, x));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(attend(&s, tape, &o, qkv));
    TEST_OK(cla_tensor_download(o, x));
    for (int i = 0; i < TOKENS * D; i++) {
        y[i] = (double)x[i];
    }
    cla_tape_free(&tape);
    cla_tensor_free(&qkv);
    scene_fini(&s);
    free(x);
    return y;
}

static double difference(const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < TOKENS * D; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

/* The same attention by another way, up to the order of at most 12 sums of numbers
 * near 1; narrower, it is another one. */
static void check_neutral(cla_runtime *rt, const self_config *neutral,
                          const self_config *like, const self_config *other)
{
    double *a = result(rt, neutral), *b = result(rt, like), *c = result(rt, other);
    cr_assert_lt(difference(a, b), 2e-6);
    cr_assert_gt(difference(a, c), 1e-2);
    free(a);
    free(b);
    free(c);
}

Test(self, neutral_settings_are_plain)
{
    const self_config plain = { 0 };
    const self_config wide = { .variant = &self_csan1d, .window = 23 };
    const self_config narrow = { .variant = &self_csan1d, .window = 3 };
    const self_config one = { .variant = &self_csan2d, .window = 3, .area = 1 };
    const self_config three = { .variant = &self_csan2d, .window = 3, .area = 3 };
    cla_runtime *rt = test_runtime();
    check_neutral(rt, &wide, &plain, &narrow);
    check_neutral(rt, &one, &narrow, &three);
    check_neutral(rt, &(self_config){ .variant = &self_bi_direct }, &plain,
                  &(self_config){ .variant = &self_bi_direct, .directed = 1 });
    custom_config same = { .score = "s", .mask = "j < S" };
    custom_config half = { .score = "s / 2" };
    check_neutral(rt, &(self_config){ .variant = &self_custom, .custom = &same },
                  &plain, &(self_config){ .variant = &self_custom, .custom = &half });
    cla_runtime_free(&rt);
}

/* ---- keys -------------------------------------------------------------------- */

static void settings_init(cla_config *s, const char *const *assignments)
{
    *s = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s->path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(s, *assignments));
    }
}

Test(self, reads_the_keys_of_what_is_chosen)
{
    cla_config s;
    self_config c = { .model = D, .heads = H };
    settings_init(&s, (const char *const[]){ "attention=csan2d", "window=7", NULL });
    TEST_OK(self_configure(&c, &s));
    cr_assert(c.variant == &self_csan2d && c.window == 7 && c.area == 3);
    TEST_OK(cla_config_check(&s));
    cr_assert_not_null(json_object_get(s.values, "area"));
    cla_config_fini(&s);
    /* Those of the others are known and stay as they were given. */
    settings_init(&s, (const char *const[]){ "window=8", NULL });
    TEST_OK(self_configure(&c, &s));
    cr_assert(c.variant == &self_softmax);
    TEST_OK(cla_config_check(&s));
    cr_assert_eq(json_object_size(s.values), 2);
    cla_config_fini(&s);
}

Test(self, refuses_what_does_not_fit)
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
        self_config c = { .model = D, .heads = H };
        settings_init(&s, wrong[i] + 1);
        TEST_FAILS(self_configure(&c, &s), CLA_E_INPUT, wrong[i][0]);
        cr_assert_null(strchr(cla_error(), '\n'));
        cla_config_fini(&s);
    }
}
