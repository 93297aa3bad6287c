/* self_gaussian.c - ways of attending near a place: against the oracles, by settings
 * that make them plain attention, and by the number of their parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/self.h"
#include "oracle/oracle.h"
#include "support/support.h"

enum { B = 3, H = 4, WIDTH = 3, D = H * WIDTH, TOKENS = 17, PREDICTOR = 6 };
static const int lengths[B] = { 5, 0, 12 };

/* A layer and the batch it sees. */
typedef struct scene {
    self_layer layer;
    cla_ragged *rows;
    int32_t *offsets;
    bool root, centers, widths; // what it learns
} scene;

static void scene_init(scene *s, cla_runtime *rt, const self_config *config)
{
    *s = (scene){ .layer = { .config = *config } };
    self_config *c = &s->layer.config;
    c->model = D;
    c->heads = H;
    c->local_predictor = PREDICTOR;
    s->root = c->variant == &self_neighbor;
    s->centers = c->variant == &self_local_hard || c->variant == &self_local_soft;
    s->widths =
        c->variant == &self_neighbor_predicted || c->variant == &self_local_soft;
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
    TEST_OK(cla_tensor_columns(tape, &in.q, qkv, 0, H, WIDTH));
    TEST_OK(cla_tensor_columns(tape, &in.k, qkv, D, H, WIDTH));
    TEST_OK(cla_tensor_columns(tape, &in.v, qkv, 2 * D, H, WIDTH));
    return self_forward(&s->layer, tape, o, &in);
}

/* ---- against the oracle ------------------------------------------------------ */

/* qkv and what the layer learns, in this order. */
static cla_status device(cla_tape *tape, cla_tensor **o, cla_tensor **x, void *context)
{
    scene *s = context;
    self_layer *l = &s->layer;
    int n = 1;
    if (s->root) {
        l->local_root = x[n++];
    } else {
        l->local.w = x[n++];
        l->local.b = x[n++];
    }
    if (s->centers) {
        l->local_center.w = x[n++];
        l->local_center.b = x[n++];
    }
    if (s->widths) {
        l->local_width.w = x[n++];
        l->local_width.b = x[n++];
    }
    return attend(s, tape, o, x[0]);
}

/* u w + b through a sigmoid between bounds, [TOKENS,H]; value for heads beyond. */
static void predict(double *to, const double *u, double *const *wb, const scene *s,
                    const double scale[3], double value)
{
    const int heads = s->layer.config.local_heads;
    double x[TOKENS * H];
    oracle_linear(x, u, wb[0], wb[1], NULL, TOKENS, PREDICTOR, heads, 0);
    oracle_length_sigmoid(x, x, B, heads, s->offsets, scale[0], scale[1], scale[2]);
    for (int n = 0; n < TOKENS * H; n++) {
        to[n] = n % H < heads ? x[n / H * heads + n % H] : value;
    }
}

static void oracle(double *o, double *const *x, void *context)
{
    static const double place[] = { 1, -1, 0 }, width[] = { 0.5, 0, 0.05 };
    static double part[3][TOKENS * D];
    const scene *s = context;
    const self_config *c = &s->layer.config;
    double u[TOKENS * PREDICTOR], center[TOKENS * H], sigma[TOKENS * H];
    for (int n = 0; n < TOKENS * 3 * D; n++) {
        part[n / D % 3][n / (3 * D) * D + n % D] = x[0][n];
    }
    oracle_attention_shape shape = { .B = B,
                                     .H = H,
                                     .d = WIDTH,
                                     .q_offsets = s->offsets,
                                     .k_offsets = s->offsets,
                                     .center = s->centers ? center : NULL,
                                     .sigma = sigma,
                                     .reach = INFINITY };
    for (int n = 0; n < TOKENS * H; n++) {
        const double root = s->root && n % H < c->local_heads ? x[1][n % H] : 0;
        sigma[n] = n % H >= c->local_heads ? INFINITY
                   : s->root               ? root * root
                                           : c->local_width / 2;
    }
    if (!s->root) {
        oracle_linear(u, part[0], x[1], x[2], NULL, TOKENS, D, PREDICTOR, 2);
    }
    if (s->centers) {
        predict(center, u, x + 3, s, place, 0);
    }
    if (s->widths) {
        predict(sigma, u, x + 3 + 2 * s->centers, s, width, INFINITY);
    }
    if (c->variant == &self_local_hard && c->local_truncate) {
        shape.reach = 2;
    }
    oracle_gaussian_attention(o, NULL, part[0], part[1], part[2], &shape);
}

static void add_input(op_case *c, const char *name, int64_t rows, int64_t columns)
{
    c->in[c->inputs++] = rows ? (op_input){ name, 2, { rows, columns }, .scale = 0.4f }
                              : (op_input){ name, 1, { columns }, .scale = 0.4f };
}

/* Centres and widths carry the rounding of two products, about 1e-6 of a position; a
 * narrow Gaussian turns that into 1e-5 of a weight at most. */
static void check(cla_runtime *rt, const char *name, const self_config *config)
{
    scene s;
    scene_init(&s, rt, config);
    op_case c = { .in = { { "qkv", 2, { TOKENS, 3 * (int64_t)D }, .scale = 1 } },
                  .inputs = 1,
                  .rank = 3,
                  .shape = { TOKENS, H, WIDTH },
                  .device = device,
                  .oracle = oracle,
                  .context = &s,
                  .bar = 1e-5 };
    snprintf(c.name, sizeof c.name, "%s, %d heads", name, config->local_heads);
    if (s.root) {
        c.shift[c.inputs] = 1.2f;
        c.in[c.inputs++] =
            (op_input){ "root", 1, { config->local_heads }, .scale = 0.2f };
    } else {
        add_input(&c, "local", D, PREDICTOR);
        add_input(&c, "local_bias", 0, PREDICTOR);
    }
    if (s.centers) {
        add_input(&c, "center", PREDICTOR, config->local_heads);
        add_input(&c, "center_bias", 0, config->local_heads);
    }
    if (s.widths) {
        add_input(&c, "width", PREDICTOR, config->local_heads);
        add_input(&c, "width_bias", 0, config->local_heads);
    }
    check_op(rt, &c);
    scene_fini(&s);
}

Test(self_gaussian, matches_oracle_and_gradient)
{
    cla_runtime *rt = test_runtime();
    for (int heads = H; heads > 0; heads -= 3) {
        const self_config neighbor = { .variant = &self_neighbor,
                                       .local_heads = heads };
        const self_config predicted = { .variant = &self_neighbor_predicted,
                                        .local_heads = heads };
        const self_config hard = { .variant = &self_local_hard,
                                   .local_heads = heads,
                                   .local_width = 4,
                                   .local_truncate = heads == H };
        const self_config soft = { .variant = &self_local_soft, .local_heads = heads };
        check(rt, "neighbor", &neighbor);
        check(rt, "neighbor_predicted", &predicted);
        check(rt, "local_hard", &hard);
        check(rt, "local_soft", &soft);
    }
    cla_runtime_free(&rt);
}

/* ---- neutral settings -------------------------------------------------------- */

/* What a layer with random parameters makes of the same numbers. */
static void result(cla_runtime *rt, const self_config *config, float *y)
{
    scene s;
    cla_params params = { 0 };
    cla_tape *tape = NULL;
    cla_tensor *qkv = NULL, *o = NULL;
    float *x = test_random((int64_t)TOKENS * 3 * D, 1, 5);
    scene_init(&s, rt, config);
    TEST_OK(self_init(&s.layer, &params, "layer"));
    TEST_OK(cla_params_build(&params, rt, test_seed()));
    TEST_OK(cla_tensor_new(&qkv, rt, CLA_F32, 2, (int64_t[]){ TOKENS, 3 * D }));
    TEST_OK(cla_tensor_upload(qkv, x));
    TEST_OK(cla_tape_new(&tape, rt, false));
    TEST_OK(attend(&s, tape, &o, qkv));
    TEST_OK(cla_tensor_download(o, y));
    cla_tape_free(&tape);
    cla_tensor_free(&qkv);
    cla_params_free(&params);
    scene_fini(&s);
    free(x);
}

static float difference(const float *a, const float *b, int first)
{
    float most = 0;
    for (int i = 0; i < TOKENS * D; i++) {
        most = i % D >= first ? fmaxf(most, fabsf(a[i] - b[i])) : most;
    }
    return most;
}

/* A very wide Gaussian is plain attention; so is every head beyond the local ones, and
 * those are not. */
Test(self_gaussian, neutral_settings_are_plain)
{
    static float plain[TOKENS * D], y[TOKENS * D];
    const self_config none = { 0 };
    const self_config wide[] = {
        { .variant = &self_neighbor, .local_heads = H, .local_sigma = 1e6 },
        { .variant = &self_local_hard,
          .local_heads = H,
          .local_width = 1e6,
          .local_truncate = true },
    };
    const self_variant *const variants[] = { &self_neighbor, &self_neighbor_predicted,
                                             &self_local_hard, &self_local_soft };
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false); // a block of parameters is cut into pieces
    result(rt, &none, plain);
    for (int i = 0; i < 2; i++) {
        result(rt, &wide[i], y);
        cr_assert_lt(difference(plain, y, 0), 2e-6f, "%s", wide[i].variant->name);
    }
    for (int i = 0; i < 4; i++) {
        const self_config one = { .variant = variants[i],
                                  .local_heads = 1,
                                  .local_sigma = 3,
                                  .local_width = 4,
                                  .local_truncate = true };
        result(rt, &one, y);
        cr_assert_lt(difference(plain, y, WIDTH), 2e-6f, "%s", one.variant->name);
        cr_assert_gt(difference(plain, y, 0), 1e-3f, "%s", one.variant->name);
    }
    cla_runtime_free(&rt);
}

/* ---- parameters and keys ----------------------------------------------------- */

static void settings_init(cla_config *s, const char *const *assignments)
{
    *s = (cla_config){ .values = json_object(), .known = json_object() };
    TEST_OK(cla_strdup(&s->path, "test"));
    for (; *assignments; assignments++) {
        TEST_OK(cla_config_set(s, *assignments));
    }
}

/* Three layers of a base Transformer: 0.4 M, 0.4 M and 0.8 M, as published. */
Test(self_gaussian, counts_parameters)
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
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        cla_config s;
        cla_params params = { 0 };
        self_layer layers[3];
        settings_init(&s, (const char *const[]){ known[i].attention, NULL });
        for (int n = 0; n < 3; n++) {
            layers[n] = (self_layer){ .config = { .model = 512, .heads = 8 } };
            TEST_OK(self_configure(&layers[n].config, &s));
            TEST_OK(self_init(&layers[n], &params, n ? n > 1 ? "c" : "b" : "a"));
        }
        TEST_OK(cla_params_build(&params, rt, test_seed()));
        cr_assert_eq(params.size, known[i].want, "%s: %lld", known[i].attention,
                     (long long)params.size);
        if (i == 0) {
            float root[8];
            TEST_OK(cla_tensor_download(layers[0].local_root, root));
            cr_assert_float_eq(root[7] * root[7], 3, 1e-6);
        }
        cla_params_free(&params);
        cla_config_fini(&s);
    }
    cla_runtime_free(&rt);
}

Test(self_gaussian, reads_and_refuses_keys)
{
    static const char *const wrong[][4] = {
        { "local_heads is 5", "attention=local_soft", "local_heads=5" },
        { "local_heads is 0", "attention=neighbor", "local_heads=0" },
        { "local_width is", "attention=local_hard", "local_width=0" },
        { "local_sigma is", "attention=neighbor", "local_sigma=-1" },
        { "local_predictor is 0", "attention=local_soft", "local_predictor=0" },
    };
    cla_config s;
    self_config c = { .model = D, .heads = H };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        settings_init(&s, wrong[i] + 1);
        TEST_FAILS(self_configure(&c, &s), CLA_E_INPUT, wrong[i][0]);
        cla_config_fini(&s);
    }
    settings_init(&s, (const char *const[]){ "attention=local_hard", "local_heads=2",
                                             "local_truncate=false", NULL });
    TEST_OK(self_configure(&c, &s));
    cr_assert(c.variant == &self_local_hard && c.local_heads == 2 &&
              !c.local_truncate && c.local_width == 10 && c.local_predictor == D / 2);
    TEST_OK(cla_config_check(&s));
    cla_config_fini(&s);
}
