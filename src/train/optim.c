/* optim.c - optimisers over a whole block of parameters. */
#include "train/optim.h"

#include <math.h>
#include <stdio.h>

#include "train/update.h"

enum { CONSTANT, NOAM, COSINE };
static const char *const schedules[] = { "constant", "noam", "cosine", NULL };

static cla_status configure_cosine(cla_optim *o, cla_config *s)
{
    o->warmup = 100;
    o->last = 0.1;
    CLA_TRY(cla_config_int(s, "warmup", &o->warmup, 0, 1 << 30));
    CLA_TRY(cla_config_double(s, "lr_last", &o->last, 0, 1));
    CLA_TRY(cla_config_int(s, "steps", &o->steps, 0, 1 << 30));
    return o->warmup < o->steps
               ? CLA_OK
               : cla_config_refuse(s, "schedule",
                                   "is 'cosine': steps is %d, must be above warmup, %d",
                                   o->steps, o->warmup);
}

static cla_status configure_schedule(cla_optim *o, cla_config *s)
{
    CLA_TRY(cla_config_choice(s, "schedule", schedules, &o->schedule));
    if (o->schedule == COSINE) {
        return configure_cosine(o, s);
    }
    o->dim = 512;
    o->warmup = 4000;
    if (o->schedule == CONSTANT) {
        return CLA_OK;
    }
    CLA_TRY(cla_config_int(s, "dim", &o->dim, 1, 1 << 20));
    return cla_config_int(s, "warmup", &o->warmup, 1, 1 << 30);
}

static cla_status configure_end(cla_optim *o, cla_config *s)
{
    CLA_TRY(cla_config_int(s, "anneal", &o->anneal, 0, 1 << 30));
    if (!o->anneal) {
        return CLA_OK;
    }
    CLA_TRY(cla_config_int(s, "steps", &o->steps, 0, 1 << 30));
    return o->steps >= o->anneal
               ? CLA_OK
               : cla_config_refuse(s, "anneal", "is %d, must be at most steps, %d",
                                   o->anneal, o->steps);
}

/* Returns the factor of an update's learning rate: it falls over the last `anneal`
 * updates and would be 0 one update after the last. */
static double annealed(const cla_optim *o, double step)
{
    return o->anneal ? fmax(0, fmin(1, (o->steps + 1 - step) / (o->anneal + 1.0))) : 1;
}

/* Returns the factor of an update's learning rate that rises over the warm-up and then
 * falls along half a cosine to `last`. */
static double cosine(const cla_optim *o, double step)
{
    const double pi = 3.14159265358979323846;
    if (step <= o->warmup) {
        return step / o->warmup;
    }
    const double part = fmin(1, (step - o->warmup) / (o->steps - o->warmup));
    return o->last + (1 - o->last) * (1 + cos(pi * part)) / 2;
}

double cla_optim_rate(const cla_optim *o, int64_t step)
{
    const double at = (double)step, warmup = o->warmup;
    const double rate = o->rates.lr * annealed(o, at);
    if (o->schedule == COSINE) {
        return rate * cosine(o, at);
    }
    return o->schedule == NOAM
               ? rate / sqrt(o->dim) * fmin(1 / sqrt(at), at / (warmup * sqrt(warmup)))
               : rate;
}

cla_optim cla_optim_usual(const char *name, double lr)
{
    const cla_optimiser *kind = cla_optimiser_named(name);
    assert(kind);
    cla_optim o = { .kind = kind, .rates = kind->usual };
    o.rates.lr = lr;
    o.levels = 1;
    return o;
}

static cla_status configure_kind(cla_optim *o, cla_config *s)
{
    enum { MOST = 16 };
    const char *names[MOST] = { NULL };
    int kind = 0;
    for (int i = 0; cla_optimiser_at(i); i++) {
        assert(i < MOST - 1);
        names[i] = cla_optimiser_at(i)->signature.op;
    }
    CLA_TRY(cla_config_choice(s, "optimiser", names, &kind));
    *o = (cla_optim){ .kind = cla_optimiser_at(kind) };
    o->rates = o->kind->usual;
    o->levels = 1;
    return CLA_OK;
}

cla_status cla_optim_configure(cla_optim *o, cla_config *s)
{
    CLA_TRY(configure_kind(o, s));
    CLA_TRY(cla_config_double(s, "lr", &o->rates.lr, 0, 1e3));
    CLA_TRY(cla_config_double(s, "lr_levels", &o->levels, 0, 1e6));
    CLA_TRY(configure_schedule(o, s));
    CLA_TRY(configure_end(o, s));
    for (int i = 0; i < CLA_OPTIMISER_DECAYS && o->kind->decay[i]; i++) {
        CLA_TRY(
            cla_config_double(s, o->kind->decay[i], &o->rates.decay[i], 0, 0.999999));
    }
    if (o->kind->usual.epsilon > 0) { // one divides
        CLA_TRY(cla_config_double(s, "epsilon", &o->rates.epsilon, 1e-37, 1));
    }
    if (o->kind->usual.weight_decay > 0) {
        CLA_TRY(cla_config_double(s, "weight_decay", &o->rates.weight_decay, 0, 1e3));
    }
    CLA_TRY(cla_config_double(s, "ema", &o->ema, 0, 0.9999999));
    return cla_config_double(s, "clip", &o->clip, 0, 1e9);
}

/* Returns the index of the running mean: it follows the optimiser's own moments. */
static int mean_at(const cla_optim *o)
{
    return cla_optimiser_moments(o->kind);
}

bool cla_optim_moment_name(const cla_optim *o, int i, char name[OPTIM_NAME])
{
    if (i < mean_at(o)) {
        snprintf(name, OPTIM_NAME, "%s.%s", o->kind->signature.op, o->kind->moment[i]);
        return true;
    }
    snprintf(name, OPTIM_NAME, "ema.mean");
    return i == mean_at(o) && o->ema > 0;
}

/* Checks that a rate for the weights of levels has some to act on. */
static cla_status check_levels(const cla_optim *o, const cla_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        if (params->list[i].levels) {
            return CLA_OK;
        }
    }
    return o->levels == 1 ? CLA_OK
                          : cla_fail(CLA_E_INPUT,
                                     "lr_levels is %g, and the model has no weights of "
                                     "levels: it must be 1",
                                     o->levels);
}

cla_status cla_optim_init(cla_optim *o, cla_params *params)
{
    CLA_TRY(check_levels(o, params));
    o->params = params;
    CLA_TRY(cla_params_train(params));
    CLA_TRY(cla_params_block(params, &params->values, &o->values));
    CLA_TRY(cla_params_block(params, &params->gradients, &o->gradients));
    CLA_TRY(cla_memory_new(&o->clipping, params->rt, sizeof o->clipped));
    char name[OPTIM_NAME];
    for (int i = 0; cla_optim_moment_name(o, i, name); i++) {
        CLA_TRY(cla_memory_new(&o->moment[i], params->rt, params->values.bytes));
        CLA_TRY(cla_memory_fill(params->rt, &o->moment[i], 0));
        CLA_TRY(cla_params_block(params, &o->moment[i], &o->flat_moment[i]));
    }
    return CLA_OK;
}

void cla_optim_fini(cla_optim *o)
{
    if (o->params) {
        cla_memory_arrive(o->params->rt, &o->late, &o->clipped);
        cla_memory_free(&o->clipping, o->params->rt);
    }
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
    cla_optimiser_rates rates = o->rates;
    rates.lr = cla_optim_rate(o, step);
    const cla_update u = { o->kind,   o->params,      o->values, o->gradients,
                           o->moment, o->flat_moment, true,      o->levels };
    return cla_update_step(&u, step, &rates);
}

cla_status cla_optim_settle(cla_optim *o)
{
    CLA_TRY(cla_memory_arrive(o->params->rt, &o->late, &o->clipped));
    const double norm = cla_clipping_norm(&o->clipped);
    return isfinite(norm)
               ? CLA_OK
               : cla_fail(CLA_E_NUMERIC, "the gradient's norm is %g at step %lld", norm,
                          (long long)o->clipped_step);
}

static cla_status clip(cla_optim *o, int64_t step)
{
    cla_runtime *rt = o->params->rt;
    CLA_TRY(cla_clip_queue(rt, &o->clipping, o->gradients, (float)o->clip));
    o->clipped_step = step;
    return cla_memory_read_later(rt, &o->clipping, 0, sizeof o->clipped, &o->late);
}

cla_status cla_optim_step(cla_optim *o, int64_t step)
{
    CLA_TRY(cla_optim_settle(o));
    CLA_TRY(cla_params_fill_gradients(o->params));
    if (o->clip > 0) {
        CLA_TRY(clip(o, step));
    }
    CLA_TRY(update(o, step));
    cla_params_changed(o->params);
    if (o->ema > 0) { // the parameters of the first step start the mean
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
