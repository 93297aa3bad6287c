/* gaussian_attention_laws.c - published answers, and properties of any numbers: very
 * wide and very narrow Gaussians, and relations between maps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { T = 9, H = 2, WIDTH = 3, ROW = H * WIDTH, SIZE = T * ROW, MAP = H * T * T };

typedef struct law {
    cla_ragged *rows;
    cla_tensor *x[3]; // [T,H,WIDTH]
    cla_tensor *center, *sigma;
    cla_tape *tape;
} law;

static void law_begin(law *l, cla_runtime *rt, int tokens)
{
    *l = (law){ .rows = test_ragged(rt, 1, &tokens, NULL) };
    const int64_t shape[] = { tokens, H, WIDTH };
    for (int i = 0; i < 3; i++) {
        float *x = test_random(SIZE, 1, (uint32_t)i);
        TEST_OK(cla_tensor_new(&l->x[i], rt, CLA_F32, 3, shape));
        TEST_OK(cla_tensor_upload(l->x[i], x));
        free(x);
    }
    TEST_OK(cla_tensor_new(&l->center, rt, CLA_F32, 2, shape));
    TEST_OK(cla_tensor_new(&l->sigma, rt, CLA_F32, 1, shape + 1));
    TEST_OK(cla_tape_new(&l->tape, rt, true));
}

static void law_end(law *l)
{
    cla_tape_free(&l->tape);
    cla_tensor_free(&l->sigma);
    cla_tensor_free(&l->center);
    for (int i = 0; i < 3; i++) {
        cla_tensor_free(&l->x[i]);
    }
    cla_ragged_free(&l->rows);
}

static void check_same(const char *what, const float *got, const float *want, int n,
                       double bar)
{
    double exact[SIZE];
    for (int i = 0; i < n; i++) {
        exact[i] = (double)want[i];
    }
    check_close(what, got, exact, n, bar);
}

/* ---- published answers ----------------------------------------------------------- */

/* Fills x [T,H,width] with sin(0.9 k + 0.37 s), where k is the index in the published
 * [H,5,width]. */
static void fill(float *x, int tokens, int width, int s)
{
    enum { PUBLISHED = 5 }; // tokens in the published tests
    for (int i = 0; i < tokens * H * width; i++) {
        const int t = i / (H * width), h = i / width % H, c = i % width;
        x[i] = (float)sin(0.9 * ((h * PUBLISHED + t) * width + c) + 0.37 * s);
    }
}

static void upload(cla_tensor *t, int tokens, int width, int s)
{
    float x[SIZE];
    fill(x, tokens, width, s);
    TEST_OK(cla_tensor_upload(t, x));
}

/* Compares row 0 of head 0 and the sum of the result for five or four tokens; six
 * digits are known. */
static void check_known(const law *l, const cla_gaussian *shape, int tokens,
                        const double *want)
{
    float o[SIZE];
    cla_tensor *y = NULL;
    for (int i = 0; i < 3; i++) {
        upload(l->x[i], tokens, WIDTH, i + 1);
    }
    TEST_OK(cla_gaussian_attention(l->tape, &y, l->x[0], l->x[1], l->x[2], shape,
                                   l->rows, NULL));
    TEST_OK(cla_tensor_download(y, o));
    float sum = 0;
    for (int i = 0; i < tokens * ROW; i++) {
        sum += o[i];
    }
    o[WIDTH] = sum;
    check_close("published", o, want, WIDTH + 1, 4e-6);
}

/* Checks a width for each head around the query itself: u^2, u = 1.2 and 0.7. */
static void check_neighbor(cla_runtime *rt)
{
    static const double want[] = { 0.609100, 0.728955, 0.297152, 1.898178 };
    law l;
    law_begin(&l, rt, 5);
    const cla_gaussian shape = { NULL, l.sigma, INFINITY };
    TEST_OK(cla_tensor_upload(l.sigma, (float[]){ 1.44f, 0.49f }));
    check_known(&l, &shape, 5, want);
    law_end(&l);
}

/* Checks predicted centres 3 sigmoid(p) and widths 4 sigmoid(z) + 0.1, for four
 * tokens. */
static void check_soft(cla_runtime *rt)
{
    static const double want[] = { 0.308155, 0.569200, 0.399485, -0.568621 };
    law l;
    cla_gaussian shape = { NULL, NULL, INFINITY };
    cla_tensor *z = NULL;
    law_begin(&l, rt, 4);
    TEST_OK(cla_tensor_new(&z, rt, CLA_F32, 2, (int64_t[]){ 4, H }));
    upload(l.center, 4, 1, 5);
    upload(z, 4, 1, 6);
    TEST_OK(cla_length_sigmoid(l.tape, &shape.center, l.center, l.rows, 1, -1, 0));
    TEST_OK(cla_length_sigmoid(l.tape, &shape.sigma, z, l.rows, 0.5f, 0, 0.05f));
    check_known(&l, &shape, 4, want);
    cla_tensor_free(&z);
    law_end(&l);
}

/* ---- laws ------------------------------------------------------------------------ */

/* Computes the result with the Gaussian, or without (shape NULL). */
static void run(const law *l, const cla_gaussian *shape, float *o)
{
    cla_tensor *y = NULL;
    if (shape) {
        TEST_OK(cla_gaussian_attention(l->tape, &y, l->x[0], l->x[1], l->x[2], shape,
                                       l->rows, NULL));
    } else {
        TEST_OK(cla_attention(l->tape, &y, l->x[0], l->x[1], l->x[2], l->rows, l->rows,
                              NULL));
    }
    TEST_OK(cla_tensor_download(y, o));
}

/* Checks that a very wide Gaussian gives plain attention, and a very narrow one around
 * the query the value itself. */
static void check_limits(cla_runtime *rt)
{
    law l;
    float o[2][SIZE], v[SIZE];
    law_begin(&l, rt, T);
    const cla_gaussian shape = { NULL, l.sigma, INFINITY };
    run(&l, NULL, o[0]);
    for (int n = 0; n < 2; n++) {
        TEST_OK(cla_tensor_fill(l.sigma, n ? INFINITY : 1e6f));
        run(&l, &shape, o[1]);
        check_same("wide", o[1], o[0], SIZE, 1e-6);
    }
    TEST_OK(cla_tensor_fill(l.sigma, 1e-3f));
    run(&l, &shape, o[1]);
    TEST_OK(cla_tensor_download(l.x[2], v));
    check_same("narrow", o[1], v, SIZE, 0);
    law_end(&l);
}

static void map_of(const law *l, const cla_gaussian *shape, float *map)
{
    cla_tensor *y = NULL, *m = NULL;
    const cla_attention_options options = { .map = &m };
    if (shape) {
        TEST_OK(cla_gaussian_attention(l->tape, &y, l->x[0], l->x[1], l->x[2], shape,
                                       l->rows, &options));
    } else {
        TEST_OK(cla_attention(l->tape, &y, l->x[0], l->x[1], l->x[2], l->rows, l->rows,
                              &options));
    }
    TEST_OK(cla_tensor_download(m, map));
}

/* Checks that the map is the plain map times the Gaussians, normalised. */
static void check_product(cla_runtime *rt)
{
    law l;
    static float plain[MAP], got[MAP];
    static double want[MAP];
    float center[T * H];
    law_begin(&l, rt, T);
    for (int i = 0; i < T * H; i++) {
        center[i] = (float)(i * 5 % 17) / 2;
    }
    TEST_OK(cla_tensor_upload(l.center, center));
    TEST_OK(cla_tensor_upload(l.sigma, (float[]){ 2, 3.5f }));
    map_of(&l, NULL, plain);
    map_of(&l, &(cla_gaussian){ l.center, l.sigma, INFINITY }, got);
    for (int row = 0; row < H * T; row++) {
        const int h = row / T, i = row % T;
        double sum = 0;
        for (int j = 0; j < T; j++) {
            const double z = (j - (double)center[i * H + h]) / (h ? 3.5 : 2);
            want[row * T + j] = (double)plain[row * T + j] * exp(-z * z / 2);
            sum += want[row * T + j];
        }
        for (int j = 0; j < T; j++) {
            want[row * T + j] /= sum;
        }
    }
    check_close("product", got, want, MAP, 4e-6);
    law_end(&l);
}

/* Checks that with queries of 0 a row is largest at the centre and symmetric about
 * it. */
static void check_shape(cla_runtime *rt)
{
    law l;
    static float map[MAP];
    float center[T * H];
    law_begin(&l, rt, T);
    TEST_OK(cla_tensor_fill(l.x[0], 0));
    for (int i = 0; i < T * H; i++) {
        center[i] = (float)(i * 5 % T);
    }
    TEST_OK(cla_tensor_upload(l.center, center));
    TEST_OK(cla_tensor_fill(l.sigma, 1.5f));
    map_of(&l, &(cla_gaussian){ l.center, l.sigma, INFINITY }, map);
    for (int row = 0; row < H * T; row++) {
        const int middle = (int)center[row % T * H + row / T];
        const float *p = map + (ptrdiff_t)row * T;
        for (int j = 0; j < T; j++) {
            const int mirrored = 2 * middle - j;
            cr_assert(j == middle || p[j] < p[middle], "row %d: key %d", row, j);
            if (mirrored >= 0 && mirrored < T) {
                cr_assert_float_eq(p[j], p[mirrored], 1e-7, "row %d: key %d", row, j);
            }
        }
    }
    law_end(&l);
}

/* ---- saturated rows -------------------------------------------------------------- */

enum {
    LONG = 179,
    WIDE = 24,
    KEY = 3, // has all weight, far from every centre
};

/* Fills x with one sequence of LONG tokens and one head: q_i = e_0, k_KEY = 4000 e_0
 * and the other keys small, so that softmax gives key KEY the whole weight although the
 * Gaussian lowers its score by up to 2612. */
static void saturate(cla_tensor **x)
{
    static float rows[LONG * WIDE];
    for (int n = 0; n < 3; n++) {
        float *r = test_random(LONG * WIDE, n == 1 ? 0.01f : 1, 40 + (uint32_t)n);
        memcpy(rows, r, sizeof rows);
        free(r);
        for (int i = 0; i < LONG && n == 0; i++) {
            memset(rows + (ptrdiff_t)i * WIDE, 0, WIDE * sizeof *rows);
            rows[i * WIDE] = 4.8990f; // undoes the scale 1/sqrt(WIDE)
        }
        if (n == 1) {
            rows[KEY * WIDE] = 4000;
        }
        TEST_OK(cla_tensor_upload(x[n], rows));
    }
}

/* Attends with the operator, or with the same score as an expression. */
static cla_status saturated(cla_tape *tape, cla_tensor **y, cla_tensor **x,
                            const cla_ragged *rows, bool custom)
{
    const cla_gaussian shape = { x[3], x[4], INFINITY };
    const cla_attention_mod mod = {
        .score = "s - 0.5 * ((j - center[ni][h]) / sigma[ni][h]) *"
                 " ((j - center[ni][h]) / sigma[ni][h])",
        .inputs = { { "center", x[3] }, { "sigma", x[4] } }
    };
    return custom
               ? cla_custom_attention(tape, y, x[0], x[1], x[2], rows, rows, &mod, NULL)
               : cla_gaussian_attention(tape, y, x[0], x[1], x[2], &shape, rows, NULL);
}

/* Checks that a row whose weight lies on one key has no gradient by its centre and
 * width. The scores' gradient at that key is pure rounding (1e-7), which the squared
 * distance to the centre, 5,000 widths, must not carry into the result. */
static void check_saturated(cla_runtime *rt, bool custom)
{
    const int tokens = LONG;
    cla_ragged *rows = test_ragged(rt, 1, &tokens, NULL);
    cla_tensor *x[5] = { NULL }, *y = NULL; // q, k, v, center, sigma
    cla_tape *tape = test_tape(rt, true);
    for (int i = 0; i < 5; i++) {
        const int64_t shape[] = { LONG, 1, WIDE };
        TEST_OK(cla_tensor_new(&x[i], rt, CLA_F32, i < 3 ? 3 : 2, shape));
        cla_tensor_want_grad(x[i], true);
    }
    saturate(x);
    TEST_OK(cla_tensor_fill(x[3], 58.7f));
    TEST_OK(cla_tensor_fill(x[4], 0.77f));
    TEST_OK(saturated(tape, &y, x, rows, custom));
    TEST_OK(cla_tape_seed(tape, y, x[2]));
    TEST_OK(cla_tape_backward(tape));
    for (int i = 3; i < 5; i++) {
        float grad[LONG];
        TEST_OK(cla_tensor_download(cla_tensor_grad(x[i]), grad));
        for (int n = 0; n < LONG; n++) {
            cr_assert(fabsf(grad[n]) < 1e-10f, "%s[%d] is %g, must be 0",
                      i == 3 ? "d_center" : "d_sigma", n, (double)grad[n]);
        }
    }
    cla_tape_free(&tape);
    for (int i = 0; i < 5; i++) {
        cla_tensor_free(&x[i]);
    }
    cla_ragged_free(&rows);
}

DEVICE_TEST(gaussian_attention_laws, hold)
{
    for (int s = 0; s < 2; s++) {
        cla_runtime_set_schedule(rt, s ? CLA_SCHEDULE_GROUP : CLA_SCHEDULE_TILE);
        check_neighbor(rt);
        check_soft(rt);
        check_limits(rt);
        check_product(rt);
        check_shape(rt);
        check_saturated(rt, false);
        check_saturated(rt, true);
    }
}
