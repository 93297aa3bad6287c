/* weights.c - times linear layers whose weights have fewer bits, as inference has
 * them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/half.h"
#include "base/quantise.h"
#include "base/rng.h"
#include "bench/internal.h"
#include "nn/param.h"

/* A layer [in,out], and its weights as the device has them. */
typedef struct layer {
    int rows, in, out;
    cla_dtype type;
    bool bytes; // products are computed in 8 bits
    cla_params params;
    cla_tensor *w;
    float *numbers;
} layer;

static const char *name_of(const layer *l)
{
    return l->bytes             ? "int8, in int8"
           : l->type == CLA_I8  ? "int8"
           : l->type == CLA_F16 ? "float16"
                                : "float32";
}

/* Rounds the weights as they are stored. */
static cla_status round_weights(layer *l)
{
    const size_t size = (size_t)l->in * (size_t)l->out;
    if (l->type != CLA_I8) {
        for (size_t i = 0; i < size && l->type == CLA_F16; i++) {
            l->numbers[i] = cla_half_to_float(cla_half_of(l->numbers[i]));
        }
        return CLA_OK;
    }
    int8_t *q = NULL;
    float *scale = NULL;
    cla_status status = cla_alloc(&q, size, sizeof *q);
    status = status ? status : cla_alloc(&scale, (size_t)l->out, sizeof *scale);
    if (!status) {
        cla_quantise(q, scale, l->numbers, l->in, l->out, false);
        for (size_t i = 0; i < size; i++) {
            l->numbers[i] = scale[i % (size_t)l->out] * (float)q[i];
        }
    }
    free(q);
    free(scale);
    return status;
}

static cla_status prepare(bench *b, layer *l)
{
    enum { STREAM = 77 };
    const int64_t shape[2] = { l->in, l->out }, size = (int64_t)l->in * l->out;
    l->params = (cla_params){ .weights = l->type, .bytes = l->bytes, .infers = true };
    CLA_TRY(cla_alloc(&l->numbers, (size_t)size, sizeof *l->numbers));
    cla_random_normal(l->numbers, size, 1, 1, STREAM);
    CLA_TRY(cla_param_matrix(&l->params, &l->w, shape[0], shape[1], "w"));
    cla_param_for(&l->params, CLA_PARAM_LINEAR);
    CLA_TRY(cla_params_build(&l->params, bench_runtime(b), 1));
    CLA_TRY(cla_param_write(&l->params, &l->params.list[0], l->numbers));
    cla_params_changed(&l->params);
    cla_tensor_want_grad(l->w, false);
    return round_weights(l);
}

static cla_status forward(cla_tape *tape, cla_tensor **y, cla_tensor **x, void *context)
{
    const layer *l = context;
    return cla_linear(tape, y, x[0], l->w, NULL, CLA_NONE, NULL);
}

/* y = x w in double precision; the rows of x are rounded if products have 8 bits. */
static void oracle(double *y, double *const *x, void *context)
{
    const layer *l = context;
    for (int i = 0; i < l->rows; i++) {
        double *row = x[0] + (size_t)i * (size_t)l->in, high = 0;
        for (int k = 0; k < l->in; k++) {
            high = fmax(high, fabs(row[k]));
        }
        const float turned = 127.0f / (float)high;
        for (int k = 0; k < l->in && l->bytes; k++) {
            row[k] = rint(row[k] * (double)turned) * (high / 127);
        }
        for (int j = 0; j < l->out; j++) {
            double sum = 0;
            for (int k = 0; k < l->in; k++) {
                sum += row[k] * (double)l->numbers[(size_t)k * (size_t)l->out + j];
            }
            y[(size_t)i * (size_t)l->out + j] = sum;
        }
    }
}

static cla_status run_layer(bench *b, layer *l)
{
    const double size = (double)l->in * l->out;
    const double width = l->type == CLA_F32 ? 4 : l->type == CLA_F16 ? 2 : 1;
    bench_op op = {
        .suite = "weights",
        .in = { { 2, { l->rows, l->in }, .constant = true } },
        .inputs = 1,
        .flops = 2 * size * l->rows,
        .bytes = width * size + 4.0 * l->rows * (l->in + l->out),
        .forward = forward,
        .oracle = oracle,
        .context = l,
    };
    snprintf(op.name, sizeof op.name, "linear fwd N%d %d>%d %s", l->rows, l->in, l->out,
             name_of(l));
    if (!bench_wants(b, op.suite, op.name)) {
        return CLA_OK;
    }
    cla_status status = prepare(b, l);
    status = status ? status : bench_op_run(b, &op);
    cla_params_free(&l->params);
    free(l->numbers);
    return status;
}

cla_status bench_weights(bench *b)
{
    static const int rows[] = { 1, 4, 32, 512 };
    static const int sizes[][2] = { { 512, 2048 }, { 2048, 512 }, { 512, 8000 } };
    const int shapes = bench_quick(b) ? 1 : sizeof sizes / sizeof *sizes;
    for (int i = 0; i < shapes; i++) {
        for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
            for (int type = 0; type < 4; type++) {
                const cla_dtype dtype =
                    (cla_dtype[]){ CLA_F32, CLA_F16, CLA_I8, CLA_I8 }[type];
                layer l = { .rows = rows[n],
                            .in = sizes[i][0],
                            .out = sizes[i][1],
                            .type = dtype,
                            .bytes = type == 3 };
                CLA_TRY(run_layer(b, &l));
            }
        }
    }
    return CLA_OK;
}
