/* optim.c - optimisers over a whole block of parameters. */
#include "train/optim.h"

#include <math.h>

#include "clattn/optim.h"

static const char *const names[] = { "rmsprop", "adam", "adadelta", NULL };
enum { RMSPROP, ADAM, ADADELTA };

static const char *const schedules[] = { "constant", "noam", NULL };

static cla_status configure_schedule(cla_optim *o, cla_config *s)
{
    o->dim = 512;
    o->warmup = 4000;
    CLA_TRY(cla_config_choice(s, "schedule", schedules, &o->schedule));
    if (!o->schedule) {
        return CLA_OK;
    }
    CLA_TRY(cla_config_int(s, "dim", &o->dim, 1, 1 << 20));
    return cla_config_int(s, "warmup", &o->warmup, 1, 1 << 30);
}

double cla_optim_rate(const cla_optim *o, int64_t step)
{
    if (!o->schedule) {
        return o->lr;
    }
    const double at = (double)step, warmup = o->warmup;
    return o->lr / sqrt(o->dim) * fmin(1 / sqrt(at), at / (warmup * sqrt(warmup)));
}

cla_status cla_optim_configure(cla_optim *o, cla_config *s)
{
    static const cla_optim usual[] = {
        [RMSPROP] = { .lr = 1e-3, .rho = 0.9, .epsilon = 1e-7 },
        [ADAM] = { .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8 },
        [ADADELTA] = { .lr = 1, .rho = 0.95, .epsilon = 1e-6 },
    };
    int kind = RMSPROP;
    CLA_TRY(cla_config_choice(s, "optimiser", names, &kind));
    *o = usual[kind];
    o->kind = kind;
    CLA_TRY(cla_config_double(s, "lr", &o->lr, 0, 1e3));
    CLA_TRY(configure_schedule(o, s));
    if (o->kind == ADAM) {
        CLA_TRY(cla_config_double(s, "beta1", &o->beta1, 0, 0.999999));
        CLA_TRY(cla_config_double(s, "beta2", &o->beta2, 0, 0.999999));
    } else {
        CLA_TRY(cla_config_double(s, "rho", &o->rho, 0, 0.999999));
    }
    CLA_TRY(cla_config_double(s, "epsilon", &o->epsilon, 0, 1));
    CLA_TRY(cla_config_double(s, "ema", &o->ema, 0, 0.9999999));
    return cla_config_double(s, "clip", &o->clip, 0, 1e9);
}

/* The optimiser's own. */
static const char *const moments[][OPTIM_MOMENTS] = {
    [RMSPROP] = { "rmsprop.square" },
    [ADAM] = { "adam.mean", "adam.square" },
    [ADADELTA] = { "adadelta.square", "adadelta.update" },
};

/* The running mean's place. */
static int mean_at(const cla_optim *o)
{
    return o->kind == RMSPROP ? 1 : 2;
}

const char *cla_optim_moment_name(const cla_optim *o, int i)
{
    if (i == mean_at(o)) {
        return o->ema > 0 ? "ema.mean" : NULL;
    }
    return i < OPTIM_MOMENTS ? moments[o->kind][i] : NULL;
}

cla_status cla_optim_init(cla_optim *o, cla_params *params)
{
    o->params = params;
    CLA_TRY(cla_params_block(params, &params->values, &o->values));
    CLA_TRY(cla_params_block(params, &params->gradients, &o->gradients));
    for (int i = 0; cla_optim_moment_name(o, i); i++) {
        CLA_TRY(cla_memory_new(&o->moment[i], params->rt, params->values.bytes));
        CLA_TRY(cla_memory_fill(params->rt, &o->moment[i], 0));
        CLA_TRY(cla_params_block(params, &o->moment[i], &o->flat_moment[i]));
    }
    return CLA_OK;
}

void cla_optim_fini(cla_optim *o)
{
    cla_tensor_free(&o->values);
    cla_tensor_free(&o->gradients);
    for (int i = 0; i < OPTIM_MOMENTS; i++) {
        cla_tensor_free(&o->flat_moment[i]);
        if (o->params) {
            cla_memory_free(&o->moment[i], o->params->rt);
        }
    }
    o->params = NULL;
}

static cla_status update(const cla_optim *o, int64_t step)
{
    cla_runtime *rt = o->params->rt;
    const float lr = (float)cla_optim_rate(o, step);
    if (o->kind == RMSPROP) {
        return cla_rmsprop(rt, o->values, o->flat_moment[0], o->gradients, lr,
                           (float)o->rho, (float)o->epsilon);
    }
    if (o->kind == ADADELTA) {
        return cla_adadelta(rt, o->values, o->flat_moment[0], o->flat_moment[1],
                            o->gradients, lr, (float)o->rho, (float)o->epsilon);
    }
    const cla_adam_options options = { lr, (float)o->beta1, (float)o->beta2,
                                       (float)o->epsilon };
    return cla_adam(rt, o->values, o->flat_moment[0], o->flat_moment[1], o->gradients,
                    step, &options);
}

cla_status cla_optim_step(cla_optim *o, int64_t step)
{
    double norm = 0;
    CLA_TRY(cla_params_fill_gradients(o->params));
    if (o->clip > 0) {
        CLA_TRY(cla_clip(o->params->rt, &norm, o->gradients, (float)o->clip));
    }
    if (!isfinite(norm)) {
        return cla_fail(CLA_E_NUMERIC, "the gradient's norm is %g at step %lld", norm,
                        (long long)step);
    }
    CLA_TRY(update(o, step));
    cla_params_changed(o->params);
    if (o->ema > 0) { // the first step's parameters begin the mean
        CLA_TRY(cla_ema(o->params->rt, o->flat_moment[mean_at(o)], o->values,
                        step > 1 ? (float)o->ema : 0));
    }
    return CLA_OK;
}

cla_status cla_optim_swap(cla_optim *o, int64_t step)
{
    if (o->ema <= 0 || !step) {
        return CLA_OK;
    }
    CLA_TRY(cla_swap(o->params->rt, o->flat_moment[mean_at(o)], o->values));
    cla_params_changed(o->params);
    return CLA_OK;
}
