/* elementwise.c - the definitions of concat, scaled heads and rows. */
#include <string.h>

#include "base/base.h"
#include "clattn/ops.h"
#include "clattn/rows.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_concat_signature,
    cla_scale_heads_signature; // of the launcher

void oracle_concat(double *y, const double *a, const double *b, int N, int Ca, int Cb)
{
    for (int n = 0; n < N; n++) {
        for (int c = 0; c < Ca + Cb; c++) {
            const double *row =
                c < Ca ? a + (int64_t)n * Ca + c : b + (int64_t)n * Cb + (c - Ca);
            y[(int64_t)n * (Ca + Cb) + c] = *row;
        }
    }
}

static cla_status device_concat(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_concat(tape, y, c->in[0], c->in[1]);
}

static void concat(double *const *y, const op_call *c)
{
    oracle_concat(y[0], c->x[0], c->x[1], kind_size(c, "N"), kind_size(c, "Ca"),
                  kind_size(c, "Cb"));
}

static kind_cost cost_concat(const op_call *c, bool backward)
{
    const double columns = kind_size(c, "Ca") + kind_size(c, "Cb");
    return (kind_cost){ .bytes =
                            (backward ? 4.0 : 2.0) * 4 * kind_size(c, "N") * columns };
}

static const op_kind concat_kind = {
    .signature = &cla_concat_signature,
    .device = device_concat,
    .oracle = concat,
    .cost = cost_concat,
};

static cla_status device_heads(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_scale_heads(tape, y, c->in[0], c->in[1]);
}

static int64_t heads_size(const op_call *c)
{
    return (int64_t)kind_size(c, "N") * kind_size(c, "H") * kind_size(c, "d");
}

static void heads(double *const *y, const op_call *c)
{
    const int H = kind_size(c, "H"), d = kind_size(c, "d");
    for (int64_t i = 0; i < heads_size(c); i++) {
        y[0][i] = c->x[1][i / d % H] * c->x[0][i];
    }
}

static kind_cost cost_heads(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 5.0 : 2.0) * 4 * (double)heads_size(c) };
}

static const op_kind scale_heads_kind = {
    .signature = &cla_scale_heads_signature,
    .device = device_heads,
    .oracle = heads,
    .cost = cost_heads,
};

/* ---- rows ---------------------------------------------------------------------- */

enum { PARTS = 4 };

/* The operator takes a list of any length; its kind takes four tensors at most. */
static const cla_signature stack_signature = {
    "stack", "x0:A,D x1?:B,D x2?:C,D x3?:E,D -> y:A+B+C+E,D"
};

static cla_status device_stack(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    int64_t count = 0;
    while (count < PARTS && c->in[count]) {
        count++;
    }
    return cla_stack(tape, y, c->in, count);
}

static void stack(double *const *y, const op_call *c)
{
    static const char *const rows[PARTS] = { "A", "B", "C", "E" };
    double *to = y[0];
    for (int i = 0; i < PARTS && c->x[i]; i++) {
        const int64_t size = (int64_t)kind_size(c, rows[i]) * kind_size(c, "D");
        memcpy(to, c->x[i], (size_t)size * sizeof *to);
        to += size;
    }
}

static const op_kind stack_kind = {
    .signature = &stack_signature,
    .device = device_stack,
    .oracle = stack,
};

static const cla_signature slice_signature = { "slice", "x:N,D -> y:count,D" };

static cla_status device_slice(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_slice(tape, y, c->in[0], (int64_t)c->attribute[0],
                     (int64_t)c->attribute[1]);
}

static void slice(double *const *y, const op_call *c)
{
    const size_t D = (size_t)kind_size(c, "D");
    memcpy(y[0], c->x[0] + (size_t)c->attribute[0] * D,
           (size_t)c->attribute[1] * D * sizeof *y[0]);
}

static const op_kind slice_kind = {
    .signature = &slice_signature,
    .attribute = { "first#", "count#" },
    .device = device_slice,
    .oracle = slice,
};

const op_kind *const elementwise_kinds[] = { &concat_kind, &scale_heads_kind,
                                             &stack_kind, &slice_kind, NULL };
