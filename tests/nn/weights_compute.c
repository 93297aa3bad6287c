/* weights_compute.c - products of 8 bits against the same sums of whole numbers on the
 * host; the same bits with each unit; rows of their tables; refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantise.h"
#include "cl/bytes_args.h"
#include "nn/param.h"
#include "support/support.h"

typedef struct product_case {
    int N, in, out;
    bool tied;
} product_case;

static const product_case cases[] = {
    { 1, 1, 1, false },     { 1, 1, 1, true },      { 3, 5, 7, false },
    { 3, 5, 7, true },      { 1, 70, 45, false },   { 1, 70, 45, true },
    { 5, 67, 1, false },    { 5, 67, 1, true },     { 20, 64, 32, false },
    { 17, 71, 99, false },  { 17, 71, 99, true },   { 0, 4, 3, false },
    { 33, 130, 66, false }, { 70, 33, 130, true },  { 9, 1100, 40, false },
    { 2, 2100, 17, true },  { 140, 64, 70, false }, { 8, 128, 96, true },
};

/* A matrix of 8 bits on a runtime, and its numbers. */
typedef struct bed {
    cla_runtime *rt;
    cla_tape *tape;
    cla_params params;
    cla_tensor *w, *x, *bias, *residual;
    int8_t *q;
    float *scale;
} bed;

static cla_runtime *open_runtime(const char *unit, cla_schedule schedule)
{
    cla_runtime *rt = test_runtime_at(unit, CLA_PRECISION_HIGHEST);
    cla_memory_guard(rt, false); // parameters are parts of a block
    cla_runtime_set_schedule(rt, schedule);
    return rt;
}

static void bed_init(bed *b, cla_runtime *rt, const product_case *c)
{
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    const int64_t rows = c->tied ? c->out : c->in, columns = c->tied ? c->in : c->out;
    const int64_t size = rows * columns;
    *b = (bed){ .rt = rt,
                .params = { .weights = CLA_I8, .bytes = true, .infers = true } };
    TEST_OK(cla_tape_new(&b->tape, rt, false));
    TEST_OK(
        cla_param_add(&b->params, &b->w, zeros, 2, (int64_t[]){ rows, columns }, "w"));
    cla_param_for(&b->params, c->tied ? CLA_PARAM_TABLE : CLA_PARAM_LINEAR);
    TEST_OK(cla_params_build(&b->params, rt, 1));
    float *w = test_random(size, 1, 2);
    b->q = malloc((size_t)size);
    b->scale = malloc((size_t)(c->tied ? rows : columns) * sizeof *b->scale);
    cla_quantise(b->q, b->scale, w, rows, columns, c->tied);
    TEST_OK(cla_param_write_packed(&b->params, &b->params.list[0], b->q, b->scale));
    cla_params_changed(&b->params);
    TEST_OK(cla_tensor_new(&b->x, rt, CLA_F32, 2, (int64_t[]){ c->N, c->in }));
    TEST_OK(cla_tensor_new(&b->bias, rt, CLA_F32, 1, (int64_t[]){ c->out }));
    TEST_OK(cla_tensor_new(&b->residual, rt, CLA_F32, 2, (int64_t[]){ c->N, c->out }));
    free(w);
}

static void bed_fini(bed *b)
{
    cla_tensor_free(&b->x);
    cla_tensor_free(&b->bias);
    cla_tensor_free(&b->residual);
    cla_params_free(&b->params);
    cla_tape_free(&b->tape);
    cla_runtime_free(&b->rt);
    free(b->q);
    free(b->scale);
}

/* Rounds a row as bytes.clh does; returns its scale. */
static float round_row(int *to, const float *x, int n)
{
    float high = 0;
    for (int k = 0; k < n; k++) {
        high = fmaxf(high, fabsf(x[k]));
    }
    const float turned = high < LEAST_ROW ? 0 : 127.0f / high;
    for (int k = 0; k < n; k++) {
        to[k] = (int)rint((double)x[k] * (double)turned);
    }
    return high / 127.0f;
}

/* Returns y = tanh(x w + bias), or x w + bias + residual of a table. */
static double *want_of(const bed *b, const product_case *c, const float *x,
                       const float *bias, const float *residual)
{
    double *want = malloc(((size_t)c->N * (size_t)c->out + 1) * sizeof *want);
    int *left = malloc((size_t)c->in * sizeof *left);
    for (int i = 0; i < c->N; i++) {
        const double scale = (double)round_row(left, x + (size_t)i * c->in, c->in);
        for (int j = 0; j < c->out; j++) {
            int sum = 0;
            for (int k = 0; k < c->in; k++) {
                sum += left[k] * b->q[c->tied ? j * c->in + k : k * c->out + j];
            }
            const double y = sum * scale * (double)b->scale[j] + (double)bias[j];
            want[i * c->out + j] =
                c->tied ? y : tanh(y) + (double)residual[i * c->out + j];
        }
    }
    free(left);
    return want;
}

static void run(const bed *b, const product_case *c, float *y)
{
    cla_tensor *out = NULL;
    cla_tape_reset(b->tape);
    memset(y, 0xff, (size_t)c->N * (size_t)c->out * sizeof *y);
    TEST_OK(c->tied ? cla_tied_linear(b->tape, &out, b->x, b->w, b->bias)
                    : cla_linear(b->tape, &out, b->x, b->w, b->bias, CLA_TANH,
                                 b->residual));
    TEST_OK(cla_tensor_download(out, y));
}

/* Checks three equal products; returns the results, which are the caller's. */
static float *check_product(const product_case *c, const char *unit,
                            cla_schedule schedule)
{
    bed b;
    char name[96];
    const int64_t size = (int64_t)c->N * c->out;
    float *x = test_random((int64_t)c->N * c->in + 1, 1, 3);
    float *bias = test_random(c->out, 1, 4), *residual = test_random(size, 1, 5);
    float *y = malloc(((size_t)size + 1) * sizeof *y),
          *again = malloc((size_t)size * 4 + 4);
    for (int k = 0; c->N > 2 && k < c->in; k++) {
        x[k] = 0;              // a row of zeros,
        x[c->in + k] = 1e-38f; // and one whose inverse is infinite
    }
    bed_init(&b, open_runtime(unit, schedule), c);
    TEST_OK(cla_tensor_upload(b.x, x));
    TEST_OK(cla_tensor_upload(b.bias, bias));
    TEST_OK(cla_tensor_upload(b.residual, residual));
    double *want = want_of(&b, c, x, bias, residual);
    for (int i = 0; i < 3; i++) {
        run(&b, c, i ? again : y);
        cr_assert(!i || !memcmp(y, again, (size_t)size * sizeof *y), "other bits");
    }
    snprintf(name, sizeof name, "unit %s, schedule %d, %d x %d x %d%s", unit,
             (int)schedule, c->N, c->in, c->out, c->tied ? " tied" : "");
    check_close(name, y, want, size, 1e-6); // the sums are exact
    bed_fini(&b);
    free(want);
    free(x);
    free(bias);
    free(residual);
    free(again);
    return y;
}

static const char *const units[] = { "none", "auto", "amx", "vnni" };

/* Returns whether the device may have the unit. */
static bool has_unit(const char *unit)
{
    cla_runtime *rt = NULL;
    setenv("CLATTN_UNIT", unit, 1);
    const cla_status status = cla_runtime_new(&rt, NULL);
    unsetenv("CLATTN_UNIT");
    cla_runtime_free(&rt);
    return status == CLA_OK;
}

Test(weights_compute, units_give_the_same_bits, .timeout = 300)
{
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        for (size_t i = 0; has_unit(units[u]) && i < sizeof cases / sizeof *cases;
             i++) {
            const product_case *c = &cases[i];
            float *plain = check_product(c, "none", CLA_SCHEDULE_TILE);
            float *y = check_product(c, units[u], CLA_SCHEDULE_TILE);
            cr_assert(!memcmp(plain, y, (size_t)c->N * (size_t)c->out * sizeof *y),
                      "unit %s, case %zu: other bits than without", units[u], i);
            free(plain);
            free(y);
        }
    }
}

Test(weights_compute, groups, .timeout = 120)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        free(check_product(&cases[i], "auto", CLA_SCHEDULE_GROUP));
    }
}

/* A number that is not finite makes its own row NaN, and no other one. */
static void check_not_finite(const char *unit, cla_schedule schedule, float odd)
{
    const product_case c = { 3, 70, 40, true };
    bed b;
    float *x = test_random((int64_t)c.N * c.in, 1, 3), y[3 * 40];
    x[c.in + 66] = odd;
    bed_init(&b, open_runtime(unit, schedule), &c);
    TEST_OK(cla_tensor_upload(b.x, x));
    TEST_OK(cla_tensor_fill(b.bias, 0));
    run(&b, &c, y);
    for (int i = 0; i < c.N * c.out; i++) {
        cr_expect((bool)isfinite(y[i]) == (i / c.out != 1),
                  "unit %s, schedule %d, %g: %g", unit, (int)schedule, (double)odd,
                  (double)y[i]);
    }
    bed_fini(&b);
    free(x);
}

Test(weights_compute, rows_that_are_not_finite)
{
    static const float odd[] = { NAN, INFINITY, -INFINITY };
    for (int i = 0; i < 3; i++) {
        check_not_finite("none", CLA_SCHEDULE_TILE, odd[i]);
        check_not_finite("auto", CLA_SCHEDULE_TILE, odd[i]);
        check_not_finite("auto", CLA_SCHEDULE_GROUP, odd[i]);
    }
}

/* Rows of a table are read from the panels, too, and its elements come back. */
Test(weights_compute, tables)
{
    const product_case c = { 2, 200, 75, true };
    static const int32_t ids[] = { 0, 74, 31, 32, -1, 75 };
    enum { IDS = sizeof ids / sizeof *ids };
    cla_tensor *t = NULL, *rows = NULL;
    float y[2 * 75], got[IDS * 200];
    double want[IDS * 200];
    int8_t back[75 * 200];
    bed b;
    bed_init(&b, open_runtime("auto", CLA_SCHEDULE_TILE), &c);
    TEST_OK(cla_tensor_fill(b.x, 1));
    TEST_OK(cla_tensor_fill(b.bias, 0));
    run(&b, &c, y);
    cr_assert(b.w->turned.order.other, "the table is not in panels");
    TEST_OK(cla_tensor_new(&t, b.rt, CLA_I32, 1, (int64_t[]){ IDS }));
    TEST_OK(cla_tensor_upload(t, ids));
    TEST_OK(cla_embedding(b.tape, &rows, b.w, t, 3));
    TEST_OK(cla_tensor_download(rows, got));
    for (int i = 0; i < IDS * c.in; i++) {
        const int id = ids[i / c.in];
        const bool known = id >= 0 && id < c.out;
        want[i] = known ? 3 * (double)b.scale[id] * b.q[id * c.in + i % c.in] : 0;
    }
    check_close("rows", got, want, (int64_t)IDS * c.in, 3e-7);
    TEST_OK(cla_memory_read(b.rt, &b.w->memory, 0, back, sizeof back));
    cr_assert(!memcmp(back, b.q, sizeof back), "other elements than were written");
    cla_tensor_free(&t);
    bed_fini(&b);
}

Test(weights_compute, refuses_rows_that_are_too_long)
{
    const product_case c = { 1, 1 << 24, 1, true };
    cla_tensor *y = NULL;
    bed b;
    bed_init(&b, open_runtime("none", CLA_SCHEDULE_TILE), &c);
    TEST_FAILS(cla_tied_linear(b.tape, &y, b.x, b.w, b.bias), CLA_E_SHAPE,
               "linear: 16777216 inputs are too many for products of 8 bits");
    bed_fini(&b);
}
