/* attn_gaussian.c - local attention with Gaussians: against the oracles, settings that
 * give plain attention, and numbers of parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/oracle.h"
#include "support/way.h"

enum { B = 3, H = 4, WIDTH = 3, D = H * WIDTH, TOKENS = 17, PREDICTOR = 6 };
static const int lengths[B] = { 5, 0, 12 };

/* A kind of attention, and its settings for the oracle. */
typedef struct scene {
    way_case way; // first: way_device casts a scene to it
    const char *name;
    int local;                  // number of local heads
    double width;               // of local_hard
    bool truncate;              // of local_hard
    bool root, centers, widths; // learned parameters
} scene;

static void scene_init(scene *s, cla_runtime *rt)
{
    char attention[40], heads[32], width[32], cut[32];
    snprintf(attention, sizeof attention, "attention=%s", s->name);
    snprintf(heads, sizeof heads, "local_heads=%d", s->local);
    snprintf(width, sizeof width, "local_width=%g", s->width);
    snprintf(cut, sizeof cut, "local_truncate=%s", s->truncate ? "true" : "false");
    way_open(&s->way, H, WIDTH,
             (const char *const[]){ attention, heads, width, cut, "local_predictor=6",
                                    NULL });
    way_rows(&s->way, rt, B, lengths);
    s->root = strcmp(s->name, "neighbor") == 0;
    s->centers = strncmp(s->name, "local", 5) == 0;
    s->widths = strcmp(s->name, "local_hard") != 0 && !s->root;
}

/* ---- against the oracle ------------------------------------------------------ */

/* Computes centres or widths [TOKENS,H]: u w + b through a sigmoid between bounds.
 * Heads that are not local get value. */
static void predict(double *to, const double *u, double *const *wb, const scene *s,
                    const double scale[3], double value)
{
    const int heads = s->local;
    double x[TOKENS * H];
    oracle_linear(x, u, wb[0], wb[1], NULL, TOKENS, PREDICTOR, heads, 0);
    oracle_length_sigmoid(x, x, B, heads, s->way.offsets, scale[0], scale[1], scale[2]);
    for (int n = 0; n < TOKENS * H; n++) {
        to[n] = n % H < heads ? x[n / H * heads + n % H] : value;
    }
}

static void oracle(double *o, double *const *x, void *context)
{
    static const double place[] = { 1, -1, 0 }, width[] = { 0.5, 0, 0.05 };
    const scene *s = context;
    double *part = way_split(x[0], TOKENS, D);
    double u[TOKENS * PREDICTOR], center[TOKENS * H], sigma[TOKENS * H];
    oracle_attention_shape shape = { .B = B,
                                     .H = H,
                                     .d = WIDTH,
                                     .q_offsets = s->way.offsets,
                                     .k_offsets = s->way.offsets,
                                     .center = s->centers ? center : NULL,
                                     .sigma = sigma,
                                     .reach = INFINITY };
    for (int n = 0; n < TOKENS * H; n++) {
        const double root = s->root && n % H < s->local ? x[1][n % H] : 0;
        sigma[n] = n % H >= s->local ? INFINITY : s->root ? root * root : s->width / 2;
    }
    if (!s->root) {
        oracle_linear(u, part, x[1], x[2], NULL, TOKENS, D, PREDICTOR, 2);
    }
    if (s->centers) {
        predict(center, u, x + 3, s, place, 0);
    }
    if (s->widths) {
        predict(sigma, u, x + 3 + 2 * s->centers, s, width, INFINITY);
    }
    if (strcmp(s->name, "local_hard") == 0 && s->truncate) {
        shape.reach = 2;
    }
    oracle_gaussian_attention(o, NULL, part, part + TOKENS * D, part + 2 * TOKENS * D,
                              &shape);
    free(part);
}

static void add_input(op_case *c, const char *name, int64_t rows, int64_t columns)
{
    c->in[c->inputs++] = rows ? (op_input){ name, 2, { rows, columns }, .scale = 0.4f }
                              : (op_input){ name, 1, { columns }, .scale = 0.4f };
}

/* Centres and widths carry the rounding of two products, about 1e-6 of a position; a
 * narrow Gaussian turns that into 1e-5 of a weight at most. */
static void check(cla_runtime *rt, scene s)
{
    scene_init(&s, rt);
    op_case c = { .in = { { "qkv", 2, { TOKENS, 3 * (int64_t)D }, .scale = 1 } },
                  .inputs = 1,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = way_device,
                  .oracle = oracle,
                  .context = &s,
                  .bar = 1e-5 };
    snprintf(c.name, sizeof c.name, "%s, %d heads", s.name, s.local);
    if (s.root) {
        c.shift[c.inputs] = 1.2f;
        c.in[c.inputs++] = (op_input){ "root", 1, { s.local }, .scale = 0.2f };
    } else {
        add_input(&c, "local", D, PREDICTOR);
        add_input(&c, "local_bias", 0, PREDICTOR);
    }
    if (s.centers) {
        add_input(&c, "center", PREDICTOR, s.local);
        add_input(&c, "center_bias", 0, s.local);
    }
    if (s.widths) {
        add_input(&c, "width", PREDICTOR, s.local);
        add_input(&c, "width_bias", 0, s.local);
    }
    check_op(rt, &c);
    way_close(&s.way);
}

DEVICE_TEST(attn_gaussian, matches_oracle_and_gradient)
{
    for (int heads = H; heads > 0; heads -= 3) {
        check(rt, (scene){ .name = "neighbor", .local = heads, .width = 4 });
        check(rt, (scene){ .name = "neighbor_predicted", .local = heads, .width = 4 });
        check(rt, (scene){ .name = "local_hard",
                           .local = heads,
                           .width = 4,
                           .truncate = heads == H });
        check(rt, (scene){ .name = "local_soft", .local = heads, .width = 4 });
    }
}

/* ---- neutral settings -------------------------------------------------------- */

/* Computes a layer's result for fixed numbers, with random parameters. */
static void result(cla_runtime *rt, const char *const *keys, float *y)
{
    way_case w;
    cla_tape *tape = test_tape(rt, false);
    cla_tensor *o = NULL;
    float *x = test_random((int64_t)TOKENS * 3 * D, 1, 5);
    way_open(&w, H, WIDTH, keys);
    way_rows(&w, rt, B, lengths);
    TEST_OK(cla_params_build(&w.params, rt, test_seed()));
    cla_tensor *qkv = test_tensor(tape, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }, x);
    TEST_OK(way_attend(&w, tape, &o, qkv));
    TEST_OK(cla_tensor_download(o, y));
    cla_tape_free(&tape);
    way_close(&w);
    free(x);
}

static double difference(const float *a, const float *b, int first)
{
    double most = 0;
    for (int i = 0; i < TOKENS * D; i++) {
        const double gap = fabs((double)(a[i] - b[i]));
        most = i % D >= first ? test_larger(most, gap) : most;
    }
    return most;
}

/* A very wide Gaussian gives plain attention. So does every head that is not local;
 * local ones do not. */
DEVICE_TEST(attn_gaussian, neutral_settings_are_plain)
{
    static float plain[TOKENS * D], y[TOKENS * D];
    static const char *const none[] = { NULL };
    static const char *const wide[][3] = {
        { "attention=neighbor", "local_sigma=1e6" },
        { "attention=local_hard", "local_width=1e6" },
    };
    static const char *const one[][5] = {
        { "attention=neighbor", "local_heads=1" },
        { "attention=neighbor_predicted", "local_heads=1", "local_predictor=6" },
        { "attention=local_hard", "local_heads=1", "local_predictor=6",
          "local_width=4" },
        { "attention=local_soft", "local_heads=1", "local_predictor=6" },
    };
    cla_memory_guard(rt, false); // parameters are parts of a block
    result(rt, none, plain);
    for (int i = 0; i < 2; i++) {
        result(rt, wide[i], y);
        cr_assert_lt(difference(plain, y, 0), 2e-6, "%s", wide[i][0]);
    }
    for (int i = 0; i < 4; i++) {
        result(rt, one[i], y);
        cr_assert_lt(difference(plain, y, WIDTH), 2e-6, "%s", one[i][0]);
        cr_assert_gt(difference(plain, y, 0), 1e-3, "%s", one[i][0]);
    }
}

/* ---- parameters and keys ----------------------------------------------------- */

/* The parameters of three layers of a base Transformer: 0.4 M, 0.4 M and 0.8 M, as
 * published. */
DEVICE_TEST(attn_gaussian, counts_parameters)
{
    static const struct {
        const char *attention;
        int64_t want;
    } known[] = {
        { "attention=neighbor", 24 },
        { "attention=neighbor_predicted", 400152 },
        { "attention=local_hard", 400152 },
        { "attention=local_soft", 812592 },
    };
    cla_memory_guard(rt, false);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cla_config s;
        cla_params params = { 0 };
        attn_layer layers[3];
        way_settings(&s, (const char *const[]){ known[i].attention, NULL });
        for (int n = 0; n < 3; n++) {
            layers[n] =
                (attn_layer){ .config = { .model = 512, .heads = 8, .width = 64 } };
            attn_config *c = &layers[n].config;
            TEST_OK(cla_attn_configure(c, &s));
            TEST_OK(c->way->init(&layers[n], &params, n ? n > 1 ? "c" : "b" : "a"));
        }
        TEST_OK(cla_params_build(&params, rt, test_seed()));
        cr_assert_eq(params.size, known[i].want, "%s: %lld", known[i].attention,
                     (long long)params.size);
        if (i == 0) {
            float root[8];
            TEST_OK(cla_tensor_download(params.list[0].tensor, root));
            cr_assert_float_eq(root[7] * root[7], 3, 1e-6);
        }
        cla_params_free(&params);
        cla_config_fini(&s);
    }
}

Test(attn_gaussian, reads_and_refuses_keys)
{
    static const char *const wrong[][4] = {
        { "local_heads is 5", "attention=local_soft", "local_heads=5" },
        { "local_heads is 0", "attention=neighbor", "local_heads=0" },
        { "local_width is", "attention=local_hard", "local_width=0" },
        { "local_sigma is", "attention=neighbor", "local_sigma=-1" },
        { "local_predictor is 0", "attention=local_soft", "local_predictor=0" },
    };
    cla_config s;
    attn_config c = { .model = D, .heads = H, .width = WIDTH };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        way_settings(&s, wrong[i] + 1);
        TEST_FAILS(cla_attn_configure(&c, &s), CLA_E_INPUT, wrong[i][0]);
        cla_config_fini(&s);
    }
    way_settings(&s, (const char *const[]){ "attention=local_hard", "local_heads=2",
                                            "local_truncate=false", NULL });
    TEST_OK(cla_attn_configure(&c, &s));
    cr_assert_str_eq(c.way->name, "local_hard");
    cr_assert_eq(json_real_value(json_object_get(s.values, "local_width")), 10);
    cr_assert_eq(json_integer_value(json_object_get(s.values, "local_predictor")),
                 D / 2);
    TEST_OK(cla_config_check(&s));
    cla_config_fini(&s);
}
