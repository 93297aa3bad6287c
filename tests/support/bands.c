/* bands.c - cases of band attention in one and two dimensions. */
#include "support/bands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "oracle/oracle.h"
#include "runtime/runtime.h"

/* Philox key of the dropout in these tests. */
enum { SEED = 11, STEP = 5 };

typedef struct context {
    const band_case *c;
    cla_ragged *rows;
    int32_t *offsets;
    int longest;
    double *keep; // dropout factors for oracle_attention; NULL without dropout
} context;

int band_tokens(const band_case *c)
{
    int tokens = 0;
    for (int b = 0; b < c->sequences; b++) {
        tokens += c->lengths[b];
    }
    return tokens;
}

int64_t band_size(const band_case *c)
{
    return (int64_t)band_tokens(c) * c->H * c->d;
}

static void *zeros(int64_t n, size_t size)
{
    void *p = calloc((size_t)(n ? n : 1), size);
    cr_assert_not_null(p);
    return p;
}

/* Returns the dropout factors as the device draws them: key j of a query has word
 * j % 4 of the Philox block (j / 4, token, head + H * member). */
static double *draw(const context *x)
{
    const band_case *c = x->c;
    const int area = c->area ? c->area : 1, N = band_tokens(c);
    double *keep = zeros((int64_t)N * c->H * area * x->longest, sizeof *keep);
    const uint32_t key[2] = { SEED, STEP };
    for (int64_t e = 0; e < (int64_t)N * c->H * area * x->longest; e++) {
        const int j = (int)(e % x->longest);
        const int g = (int)(e / x->longest % area);
        const int h = (int)(e / x->longest / area % c->H);
        const int n = (int)(e / x->longest / area / c->H);
        const uint32_t counter[4] = { (uint32_t)j / 4, (uint32_t)n,
                                      (uint32_t)(h + c->H * g), 0 };
        const float u = cla_uniform(cla_philox4x32(counter, key).v[j % 4]);
        keep[e] = u >= c->dropout ? (double)(1.0f / (1.0f - c->dropout)) : 0;
    }
    return keep;
}

static void context_init(context *x, cla_runtime *rt, const band_case *c)
{
    *x = (context){ .c = c };
    x->rows = test_ragged(rt, c->sequences, c->lengths, &x->offsets);
    x->longest = (int)cla_ragged_longest(x->rows);
    x->keep = c->dropout > 0 ? draw(x) : NULL;
}

static void context_fini(context *x)
{
    cla_ragged_free(&x->rows);
    free(x->offsets);
    free(x->keep);
}

static cla_status call(cla_tape *tape, cla_tensor **o, cla_tensor **in,
                       const context *x, cla_tensor **map)
{
    const band_case *c = x->c;
    const cla_attention_options options = { .causal = c->causal,
                                            .dropout = c->dropout,
                                            .map = map };
    cla_tape_random(tape, SEED, STEP);
    return c->area ? cla_band_attention_2d(tape, o, in[0], in[1], in[2], x->rows,
                                           c->window, c->area, c->edge, &options)
                   : cla_band_attention(tape, o, in[0], in[1], in[2], x->rows,
                                        c->window, &options);
}

static cla_status device(cla_tape *tape, cla_tensor **o, cla_tensor **in, void *state)
{
    return call(tape, o, in, state, NULL);
}

static void oracle(double *o, double *const *in, void *state)
{
    const context *x = state;
    const band_case *c = x->c;
    const oracle_attention_shape s = {
        .B = c->sequences,
        .H = c->H,
        .d = c->d,
        .q_offsets = x->offsets,
        .k_offsets = x->offsets,
        .causal = c->causal,
        .window = c->window,
        .area = c->area,
        .edge = (int)c->edge,
        .keep = x->keep,
        .Smax = x->longest,
    };
    if (c->area) {
        oracle_band_attention_2d(o, in[0], in[1], in[2], &s);
    } else {
        oracle_band_attention(o, in[0], in[1], in[2], &s);
    }
}

/* A score is d products of normal numbers over sqrt(d): its error is a few eps of
 * |q| |k| / sqrt(d) ~ sqrt(d) <= 16, so 16 eps = 2e-6, and so is the relative error of
 * a weight. The result is a mean of values up to 4. Dropout makes kept weights
 * larger. */
static const double BAR = 1e-5;

void check_band(cla_runtime *rt, const band_case *c)
{
    context x;
    context_init(&x, rt, c);
    op_case op = { .inputs = 3,
                   .rank = 3,
                   .shape = { band_tokens(c), c->H, c->d },
                   .device = device,
                   .oracle = oracle,
                   .context = &x,
                   .bar = BAR,
                   // window 1: dq and dk are 0 up to the rounding of dp - delta
                   .gradient_bar = c->window == 1 ? 1e-3 : 1e-4 };
    static const char *const names[] = { "q", "k", "v" };
    for (int i = 0; i < 3; i++) {
        op.in[i] = (op_input){ .name = names[i], .rank = 3, .column = c->columns };
        memcpy(op.in[i].shape, op.shape, sizeof op.shape);
    }
    snprintf(op.name, sizeof op.name,
             "%s T%d.. H%d d%d w%d h%d edge %d causal %d columns %d dropout %g",
             c->area ? "band_attention_2d" : "band_attention", c->lengths[0], c->H,
             c->d, c->window, c->area, (int)c->edge, c->causal, c->columns,
             (double)c->dropout);
    check_op(rt, &op);
    context_fini(&x);
}

static float *fetch(const cla_tensor *t, int64_t size)
{
    float *data = zeros(size, sizeof *data);
    if (t) {
        TEST_OK(cla_tensor_download(t, data));
    }
    return data;
}

void band_run(cla_runtime *rt, const band_case *c, const float *q, const float *k,
              const float *v, const float *dy, band_result *out)
{
    context x;
    context_init(&x, rt, c);
    const int64_t shape[3] = { band_tokens(c), c->H, c->d }, size = band_size(c);
    const float *data[4] = { q, k, v, dy };
    cla_tensor *in[4] = { NULL }, *o = NULL, *map = NULL;
    cla_tape *tape = NULL;
    TEST_OK(cla_tape_new(&tape, rt, dy != NULL));
    for (int i = 0; i < (dy ? 4 : 3); i++) {
        TEST_OK(cla_tensor_new(&in[i], rt, CLA_F32, 3, shape));
        TEST_OK(cla_tensor_upload(in[i], data[i]));
        cla_tensor_want_grad(in[i], true);
    }
    TEST_OK(call(tape, &o, in, &x, &map));
    if (dy) {
        TEST_OK(cla_tape_seed(tape, o, in[3]));
        TEST_OK(cla_tape_backward(tape));
    }
    *out = (band_result){
        .o = fetch(o, size),
        .dq = fetch(cla_tensor_grad(in[0]), size),
        .dk = fetch(cla_tensor_grad(in[1]), size),
        .dv = fetch(cla_tensor_grad(in[2]), size),
        .map = fetch(map, cla_tensor_size(map)),
    };
    TEST_OK(cla_memory_check_guards(rt));
    cla_tape_free(&tape);
    for (int i = 0; i < 4; i++) {
        cla_tensor_free(&in[i]);
    }
    context_fini(&x);
}

void band_result_fini(band_result *out)
{
    free(out->o);
    free(out->dq);
    free(out->dk);
    free(out->dv);
    free(out->map);
    *out = (band_result){ NULL };
}

void band_inputs(const band_case *c, float *x[4])
{
    for (int i = 0; i < 4; i++) {
        x[i] = test_random(band_size(c), 1, (uint32_t)i + 1);
    }
}

void band_inputs_free(float *x[4])
{
    for (int i = 0; i < 4; i++) {
        free(x[i]);
    }
}

void band_close(const char *what, double got, double want, double bar)
{
    cr_assert(fabs(got - want) <= bar * fmax(1, fabs(want)), "%s is %.7f, must be %.7f",
              what, got, want);
}

/* Returns the first tokens of the deterministic [1,H,5,d] = sin(0.9 k + 0.37 s), where
 * k is the index of an element. */
static float *fill(const band_case *c, int s)
{
    enum { T = 5 };
    float *x = zeros(band_size(c), sizeof *x);
    for (int64_t e = 0; e < band_size(c); e++) {
        const int64_t n = e / c->d / c->H, h = e / c->d % c->H;
        const int64_t flat = (h * T + n) * c->d + e % c->d;
        x[e] = (float)sin(0.9 * (double)flat + 0.37 * s);
    }
    return x;
}

static double sum_of(const float *x, int64_t n, bool magnitudes)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += magnitudes ? fabs((double)x[i]) : (double)x[i];
    }
    return sum;
}

void check_band_answer(cla_runtime *rt, const band_answer *a)
{
    const band_case c = { .sequences = 1,
                          .lengths = { a->tokens },
                          .H = 4,
                          .d = 3,
                          .window = 3,
                          .area = a->area,
                          .edge = a->edge };
    const int64_t size = band_size(&c);
    float *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = fill(&c, i + 1);
    }
    band_result r;
    band_run(rt, &c, x[0], x[1], x[2], x[3], &r);
    check_close("first row", r.o, a->first, 3, 2e-6);
    check_close("other row", r.o + ((int64_t)a->row * 4 + 3) * 3, a->other, 3, 2e-6);
    band_close("sum", sum_of(r.o, size, false), a->sum, 1e-5);
    if (a->dq > 0) {
        band_close("sum |dq|", sum_of(r.dq, size, true), a->dq, 1e-5);
        band_close("sum |dk|", sum_of(r.dk, size, true), a->dk, 1e-5);
        band_close("sum |dv|", sum_of(r.dv, size, true), a->dv, 1e-5);
    }
    band_result_fini(&r);
    band_inputs_free(x);
}
