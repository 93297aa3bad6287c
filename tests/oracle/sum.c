/* sum.c - the definitions of the sum, the mean and the mean squared error. */
#include "clattn/arithmetic.h"
#include "oracle/kind.h"

extern const cla_signature cla_sum_signature, cla_mean_signature,
    cla_mse_signature; // of the launcher

static cla_status device_sum(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_sum(tape, y, c->in[0]);
}

static void sum(double *const *y, const op_call *c)
{
    y[0][0] = 0;
    for (int64_t i = 0; i < kind_total(c); i++) {
        y[0][0] += c->x[0][i];
    }
}

static kind_cost cost(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 2.0 : 1.0) * 4 * (double)kind_total(c) };
}

static const op_kind sum_kind = {
    .signature = &cla_sum_signature,
    .device = device_sum,
    .oracle = sum,
    .cost = cost,
};

static cla_status device_mean(cla_tape *tape, cla_tensor **y, const op_call *c)
{
    return cla_mean(tape, y, c->in[0]);
}

static void mean(double *const *y, const op_call *c)
{
    sum(y, c);
    y[0][0] /= kind_total(c) ? (double)kind_total(c) : 1;
}

static const op_kind mean_kind = {
    .signature = &cla_mean_signature,
    .device = device_mean,
    .oracle = mean,
    .cost = cost,
};

static cla_status device_mse(cla_tape *tape, cla_tensor **loss, const op_call *c)
{
    return cla_mse(tape, loss, c->in[0], c->in[1]);
}

static void mse(double *const *loss, const op_call *c)
{
    loss[0][0] = 0;
    for (int64_t i = 0; i < kind_total(c); i++) {
        const double d = c->x[0][i] - c->x[1][i];
        loss[0][0] += d * d / (double)kind_total(c);
    }
}

static kind_cost cost_mse(const op_call *c, bool backward)
{
    return (kind_cost){ .bytes = (backward ? 8.0 : 2.0) * 4 * (double)kind_total(c) };
}

static const op_kind mse_kind = {
    .signature = &cla_mse_signature,
    .device = device_mse,
    .oracle = mse,
    .cost = cost_mse,
};

const op_kind *const sum_kinds[] = { &sum_kind, &mean_kind, &mse_kind, NULL };
