/* activation.c - activations as operators; src/ops/activation.c defines them. */
#include "ops/activation.h"

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_gelu_signature, cla_silu_signature,
    cla_sigmoid_signature; // of the launcher

void oracle_gelu(double *y, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = cla_activation_of(CLA_GELU, x[i]);
    }
}

void oracle_silu(double *y, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = cla_activation_of(CLA_SILU, x[i]);
    }
}

static int64_t count(const op_call *c)
{
    return (int64_t)kind_size(c, "N") * kind_size(c, "D");
}

static kind_cost cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 5.0 : 2.0) * 4 * (double)count(c) };
}

static cla_status gelu_device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_gelu(tape, y, c->in[0]);
}

static void gelu_oracle(double *const *y, const op_call *c)
{
    oracle_gelu(y[0], c->x[0], count(c));
}

static cla_status silu_device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_silu(tape, y, c->in[0]);
}

static void silu_oracle(double *const *y, const op_call *c)
{
    oracle_silu(y[0], c->x[0], count(c));
}

static cla_status sigmoid_device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_sigmoid(tape, y, c->in[0]);
}

static void sigmoid_oracle(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = cla_activation_of(CLA_SIGMOID, c->x[0][i]);
    }
}

static kind_cost sigmoid_cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 5.0 : 2.0) * 4 * (double)kind_total(c) };
}

static const op_kind gelu_kind = {
    .signature = &cla_gelu_signature,
    .device = gelu_device,
    .oracle = gelu_oracle,
    .cost = cost,
};
static const op_kind silu_kind = {
    .signature = &cla_silu_signature,
    .device = silu_device,
    .oracle = silu_oracle,
    .cost = cost,
};

static const op_kind sigmoid_kind = {
    .signature = &cla_sigmoid_signature,
    .device = sigmoid_device,
    .oracle = sigmoid_oracle,
    .cost = sigmoid_cost,
};

const op_kind *const activation_kinds[] = { &gelu_kind, &silu_kind, &sigmoid_kind,
                                            NULL };
