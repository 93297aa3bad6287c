/* pointwise.c - the definitions of operators on elements. */
#include <math.h>

#include "clattn/arithmetic.h"
#include "clattn/feed.h"
#include "clattn/ops.h"
#include "ops/activation.h"
#include "oracle/kind.h"
#include "oracle/oracle.h"

extern const cla_signature cla_add_signature, cla_sub_signature, cla_multiply_signature,
    cla_scale_by_signature, cla_gate_signature, cla_gelu_signature, cla_silu_signature,
    cla_gelu_tanh_signature,
    cla_sigmoid_signature; // of the launcher

static kind_cost moves(const op_call *c, double times)
{
    return (kind_cost){ .bytes = times * 4 * (double)kind_total(c) };
}

static cla_status device_add(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_add(tape, y, c->in[0], c->in[1]);
}

static void add(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = c->x[0][i] + c->x[1][i];
    }
}

static kind_cost cost_add(const op_call *c, bool backward)
{
    return moves(c, backward ? 7 : 3);
}

static const op_kind add_kind = {
    .signature = &cla_add_signature,
    .device = device_add,
    .oracle = add,
    .cost = cost_add,
};

static cla_status device_sub(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_sub(tape, y, c->in[0], c->in[1]);
}

static void subtract(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = c->x[0][i] - c->x[1][i];
    }
}

static const op_kind sub_kind = {
    .signature = &cla_sub_signature,
    .device = device_sub,
    .oracle = subtract,
    .cost = cost_add,
};

static cla_status device_scale_by(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_scale_by(tape, y, c->in[0], (float)c->attribute[0]);
}

static void scale_by(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = c->attribute[0] * c->x[0][i];
    }
}

static const op_kind scale_by_kind = {
    .signature = &cla_scale_by_signature,
    .attribute = { "factor" },
    .device = device_scale_by,
    .oracle = scale_by,
};

static cla_status device_multiply(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_multiply(tape, y, c->in[0], c->in[1]);
}

static void multiply(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][i] = c->x[0][i] * c->x[1][i];
    }
}

static const op_kind multiply_kind = {
    .signature = &cla_multiply_signature,
    .device = device_multiply,
    .oracle = multiply,
};

static cla_status device_gate(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_gate(tape, y, c->in[0], c->in[1], c->in[2]);
}

static void gate(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < kind_total(c); i++) {
        const double s = 1 / (1 + exp(-c->x[0][i]));
        y[0][i] = s * c->x[1][i] + (1 - s) * c->x[2][i];
    }
}

static const op_kind gate_kind = {
    .signature = &cla_gate_signature,
    .device = device_gate,
    .oracle = gate,
};

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

static cla_status gelu_tanh_device(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_gelu_tanh(tape, y, c->in[0]);
}

static void gelu_tanh_oracle(double *const *y, const op_call *c)
{
    for (int64_t i = 0; i < count(c); i++) {
        y[0][i] = cla_activation_of(CLA_GELU_TANH, c->x[0][i]);
    }
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

static const op_kind gelu_tanh_kind = {
    .signature = &cla_gelu_tanh_signature,
    .device = gelu_tanh_device,
    .oracle = gelu_tanh_oracle,
    .cost = cost,
};

static const op_kind sigmoid_kind = {
    .signature = &cla_sigmoid_signature,
    .device = sigmoid_device,
    .oracle = sigmoid_oracle,
    .cost = sigmoid_cost,
};

const op_kind *const pointwise_kinds[] = {
    &add_kind,  &sub_kind,  &multiply_kind,  &scale_by_kind, &gate_kind,
    &gelu_kind, &silu_kind, &gelu_tanh_kind, &sigmoid_kind,  NULL
};
