/* weights.c - parameters of 16 and 8 bits: products and rows of tables against sums in
 * double precision of the rounded numbers; memory; refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/quantise.h"
#include "nn/param.h"
#include "support/support.h"

typedef struct product_case {
    int N, in, out;
    bool tied;
} product_case;

static const product_case cases[] = {
    { 1, 1, 1, false },    { 1, 1, 1, true },    { 3, 5, 7, false },
    { 3, 5, 7, true },     { 1, 70, 45, false }, { 1, 70, 45, true },
    { 1, 129, 64, false }, { 5, 67, 1, false },  { 5, 67, 1, true },
    { 20, 64, 32, false }, { 20, 64, 32, true }, { 17, 71, 99, false },
    { 17, 71, 99, true },  { 0, 4, 3, false },   { 70, 33, 130, false },
};

typedef struct bed {
    cla_runtime *rt;
    cla_tape *tape;
    cla_params params;
    cla_tensor *w;
    cla_param *p;
    float *numbers; // the values of w, rounded
} bed;

/* Opens a runtime without guards: parameters are parts of a block, and a guarded block
 * is a part already. */
static cla_runtime *plain_runtime(cla_schedule schedule)
{
    cla_runtime *rt = test_runtime();
    cla_memory_guard(rt, false);
    cla_runtime_set_schedule(rt, schedule);
    return rt;
}

/* Rounds numbers as parameters of this type are rounded. */
static void round_all(float *x, int64_t rows, int64_t columns, cla_dtype dtype,
                      bool by_rows)
{
    const int64_t n = rows * columns;
    int8_t *q = malloc((size_t)n);
    float *scale = malloc((size_t)(by_rows ? rows : columns) * sizeof *scale);
    if (dtype == CLA_I8) {
        cla_quantise(q, scale, x, rows, columns, by_rows);
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = dtype == CLA_I8
                   ? scale[by_rows ? i / columns : i % columns] * (float)q[i]
                   : cla_half_to_float(cla_half_of(x[i]));
    }
    free(q);
    free(scale);
}

static void bed_init(bed *b, cla_schedule schedule, cla_dtype dtype, int64_t rows,
                     int64_t columns, cla_param_use use)
{
    const cla_init zeros = { CLA_INIT_ZEROS, 0, 0, 0 };
    *b = (bed){ .rt = plain_runtime(schedule), .params = { .weights = dtype } };
    TEST_OK(cla_tape_new(&b->tape, b->rt, false));
    TEST_OK(
        cla_param_add(&b->params, &b->w, zeros, 2, (int64_t[]){ rows, columns }, "w"));
    cla_param_for(&b->params, use);
    TEST_OK(cla_params_build(&b->params, b->rt, 1));
    b->p = &b->params.list[0];
    b->numbers = test_random(rows * columns, 1, 2);
    b->numbers[0] *= 1e-7f; // a subnormal half
    b->numbers[rows * columns / 2] *= 1e-4f;
    TEST_OK(cla_param_write(&b->params, b->p, b->numbers));
    cla_params_changed(&b->params);
    round_all(b->numbers, rows, columns, dtype, use == CLA_PARAM_TABLE);
}

static void bed_fini(bed *b)
{
    cla_params_free(&b->params);
    cla_tape_free(&b->tape);
    cla_runtime_free(&b->rt);
    free(b->numbers);
}

/* Returns y = x w + bias, in double precision. */
static double *want_of(const product_case *c, const float *x, const float *w,
                       const float *bias)
{
    double *want = malloc(((size_t)c->N * (size_t)c->out + 1) * sizeof *want);
    for (int i = 0; i < c->N; i++) {
        for (int j = 0; j < c->out; j++) {
            double sum = (double)bias[j];
            for (int k = 0; k < c->in; k++) {
                sum += (double)x[i * c->in + k] *
                       (double)(c->tied ? w[j * c->in + k] : w[k * c->out + j]);
            }
            want[i * c->out + j] = sum;
        }
    }
    return want;
}

static void run(const bed *b, const product_case *c, cla_tensor *x, cla_tensor *bias,
                float *y)
{
    cla_tensor *out = NULL;
    cla_tape_reset(b->tape);
    TEST_OK(c->tied ? cla_tied_linear(b->tape, &out, x, b->w, bias)
                    : cla_linear(b->tape, &out, x, b->w, bias, CLA_NONE, NULL));
    TEST_OK(cla_tensor_download(out, y));
}

/* Checks three equal products. The second packs panels where there are any, the third
 * uses them, too. */
static void check_product(const product_case *c, cla_schedule schedule, cla_dtype dtype)
{
    bed b;
    char name[96];
    cla_tensor *x = NULL, *bias = NULL;
    const int64_t size = (int64_t)c->N * c->out;
    float *hx = test_random((int64_t)c->N * c->in + 1, 1, 3);
    float *hb = test_random(c->out, 1, 4), *y[2];
    bed_init(&b, schedule, dtype, c->tied ? c->out : c->in, c->tied ? c->in : c->out,
             c->tied ? CLA_PARAM_TABLE : CLA_PARAM_LINEAR);
    TEST_OK(cla_tensor_new(&x, b.rt, CLA_F32, 2, (int64_t[]){ c->N, c->in }));
    TEST_OK(cla_tensor_new(&bias, b.rt, CLA_F32, 1, (int64_t[]){ c->out }));
    TEST_OK(cla_tensor_upload(x, hx));
    TEST_OK(cla_tensor_upload(bias, hb));
    double *want = want_of(c, hx, b.numbers, hb);
    for (int i = 0; i < 2; i++) {
        y[i] = malloc(((size_t)size + 1) * sizeof *y[i]);
    }
    for (int i = 0; i < 3; i++) {
        run(&b, c, x, bias, y[i > 0]);
        snprintf(name, sizeof name, "%s %d x %d x %d%s, run %d, schedule %d",
                 cla_dtype_name(dtype), c->N, c->in, c->out, c->tied ? " tied" : "", i,
                 (int)schedule);
        // sums of `in` products of normal numbers, as in tests/ops/matmul_product.c;
        // the number that a scale makes is rounded once more
        check_close(name, y[i > 0], want, size, 4 * 5.96e-8 * (4 + c->in));
        cr_assert(!i || !memcmp(y[0], y[1], (size_t)size * sizeof(float)), "%s: bits",
                  name);
    }
    for (int i = 0; i < 2; i++) {
        free(y[i]);
    }
    free(want);
    free(hx);
    free(hb);
    cla_tensor_free(&x);
    cla_tensor_free(&bias);
    bed_fini(&b);
}

static void check_all(cla_schedule schedule, cla_dtype dtype)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_product(&cases[i], schedule, dtype);
    }
}

Test(weights, halves_in_tiles)
{
    check_all(CLA_SCHEDULE_TILE, CLA_F16);
}

Test(weights, halves_in_groups)
{
    check_all(CLA_SCHEDULE_GROUP, CLA_F16);
}

Test(weights, bytes_in_tiles)
{
    check_all(CLA_SCHEDULE_TILE, CLA_I8);
}

Test(weights, bytes_in_groups)
{
    check_all(CLA_SCHEDULE_GROUP, CLA_I8);
}

/* Checks rows of a table. Ids outside the table give zeros. */
static void check_rows(cla_schedule schedule, cla_dtype dtype)
{
    enum { V = 11, D = 67, N = 6 };
    static const int32_t ids[N] = { 3, 10, -1, 0, 3, V };
    bed b;
    cla_tensor *t = NULL, *y = NULL;
    double want[N * D];
    float got[N * D];
    bed_init(&b, schedule, dtype, V, D, CLA_PARAM_TABLE);
    TEST_OK(cla_tensor_new(&t, b.rt, CLA_I32, 1, (int64_t[]){ N }));
    TEST_OK(cla_tensor_upload(t, ids));
    TEST_OK(cla_embedding(b.tape, &y, b.w, t, 8));
    TEST_OK(cla_tensor_download(y, got));
    for (int i = 0; i < N * D; i++) {
        const int32_t id = ids[i / D];
        want[i] =
            id >= 0 && id < V ? 8 * (double)b.numbers[(int64_t)id * D + i % D] : 0;
    }
    check_close("rows", got, want, (int64_t)N * D, 2e-7); // two roundings
    cla_tensor_free(&t);
    bed_fini(&b);
}

Test(weights, rows_of_tables)
{
    check_rows(CLA_SCHEDULE_TILE, CLA_F16);
    check_rows(CLA_SCHEDULE_GROUP, CLA_F16);
    check_rows(CLA_SCHEDULE_TILE, CLA_I8);
    check_rows(CLA_SCHEDULE_GROUP, CLA_I8);
}

/* Returns the bytes of the blocks of a matrix [1024,512] and of its bias. */
static size_t bytes_of(cla_dtype dtype)
{
    cla_runtime *rt = plain_runtime(CLA_SCHEDULE_TILE);
    cla_params params = { .weights = dtype };
    cla_tensor *w = NULL, *b = NULL;
    TEST_OK(cla_param_linear(&params, &w, &b, 1024, 512, "w"));
    TEST_OK(cla_params_build(&params, rt, 1));
    cr_assert_eq(cla_tensor_dtype(w), dtype);
    cr_assert_eq(cla_tensor_dtype(b), CLA_F32);
    cr_assert_eq(params.gradients.bytes, 0, "only training needs gradients");
    const size_t bytes = params.values.bytes;
    cla_params_free(&params);
    cla_runtime_free(&rt);
    return bytes;
}

Test(weights, memory_falls)
{
    enum { MATRIX = 1024 * 512, VECTORS = 2 * 512 * 4 }; // a bias and scales
    const size_t whole = bytes_of(CLA_F32), half = bytes_of(CLA_F16);
    const size_t byte = bytes_of(CLA_I8);
    cr_assert(whole >= 4 * MATRIX && whole <= 4 * MATRIX + VECTORS, "%zu", whole);
    cr_assert(half >= 2 * MATRIX && half <= 2 * MATRIX + VECTORS, "%zu", half);
    cr_assert(byte >= MATRIX && byte <= MATRIX + VECTORS, "%zu", byte);
}

Test(weights, refuses)
{
    enum { ROWS = 4, COLUMNS = 3 };
    float numbers[ROWS * COLUMNS] = { 0, 1, 70000 };
    bed b;
    cla_tape *training = NULL;
    cla_tensor *x = NULL, *y = NULL;
    bed_init(&b, CLA_SCHEDULE_TILE, CLA_F16, ROWS, COLUMNS, CLA_PARAM_LINEAR);
    TEST_OK(cla_tape_new(&training, b.rt, true));
    TEST_OK(cla_tensor_new(&x, b.rt, CLA_F32, 2, (int64_t[]){ 2, ROWS }));
    TEST_FAILS(cla_matmul(b.tape, &y, x, b.w, false, false), CLA_E_SHAPE,
               "matmul: b holds f16, must hold f32");
    TEST_FAILS(cla_tensor_download(b.w, numbers), CLA_E_SHAPE, "holds f16");
    TEST_FAILS(cla_tensor_fill(b.w, 0), CLA_E_SHAPE, "holds f16");
    TEST_FAILS(cla_param_write(&b.params, b.p, numbers), CLA_E_INPUT,
               "parameter 'w': 70000 is too large for a half");
    TEST_FAILS(cla_tensor_new(&y, b.rt, CLA_I8, 2, (int64_t[]){ 2, ROWS }), CLA_E_USAGE,
               "dtype is 3, must be 0 to 1 (CLA_I32)");
    cla_tensor_want_grad(x, true);
    TEST_FAILS(cla_linear(training, &y, x, b.w, NULL, CLA_NONE, NULL), CLA_E_USAGE,
               "linear: w holds f16, which has no way back");
    cla_tape_free(&training);
    cla_tensor_free(&x);
    bed_fini(&b);
}
