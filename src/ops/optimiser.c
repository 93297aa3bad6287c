/* optimiser.c - one step of an optimiser over a whole block of parameters. */
#include "ops/optimiser.h"

#include <math.h>
#include <string.h>

#include "cl/optimiser_args.h"
#include "ops/spread.h"

static const cla_optimiser optimisers[] = {
    {
        .signature = { "rmsprop", "p:... a:... g:... -> p:..." },
        .moment = { "square" },
        .decay = { "rho" },
        .usual = { .lr = 1e-3, .epsilon = 1e-7, .decay = { 0.9 } },
        .flops = 8,
    },
    {
        .signature = { "adam", "p:... m:... v:... g:... -> p:..." },
        .moment = { "mean", "square" },
        .decay = { "beta1", "beta2" },
        .usual = { .lr = 1e-3, .epsilon = 1e-8, .decay = { 0.9, 0.999 } },
        .flops = 13,
    },
    {
        .signature = { "adadelta", "p:... a:... d:... g:... -> p:..." },
        .moment = { "square", "update" },
        .decay = { "rho" },
        .usual = { .lr = 1, .epsilon = 1e-6, .decay = { 0.95 } },
        .flops = 14,
    },
    {
        .signature = { "adamw", "p:... m:... v:... g:... -> p:..." },
        .moment = { "mean", "square" },
        .decay = { "beta1", "beta2" },
        .usual = { .lr = 1e-3,
                   .epsilon = 1e-8,
                   .decay = { 0.9, 0.999 },
                   .weight_decay = 0.01 },
        .flops = 15,
    },
    {
        .signature = { "lion", "p:... m:... g:... -> p:..." },
        .moment = { "mean" },
        .decay = { "beta1", "beta2" },
        .usual = { .lr = 1e-4, .decay = { 0.9, 0.99 }, .weight_decay = 0.1 },
        .flops = 11,
    },
};

const cla_optimiser *cla_optimiser_at(int i)
{
    return i < (int)(sizeof optimisers / sizeof *optimisers) ? &optimisers[i] : NULL;
}

const cla_optimiser *cla_optimiser_named(const char *name)
{
    const cla_optimiser *o = NULL;
    for (int i = 0; (o = cla_optimiser_at(i)) && strcmp(o->signature.op, name) != 0;) {
        i++;
    }
    return o;
}

int cla_optimiser_moments(const cla_optimiser *o)
{
    int count = 0;
    while (count < CLA_OPTIMISER_MOMENTS && o->moment[count]) {
        count++;
    }
    return count;
}

/* Returns 1 / (1 - d^step). d is rounded to float, as the kernel multiplies by it. */
static float correction(double d, int64_t step)
{
    return (float)(1 / (1 - pow(d, (double)step)));
}

static optimiser_rates rates_of(const cla_optimiser_rates *r, int64_t step)
{
    const float decay1 = (float)r->decay[0], decay2 = (float)r->decay[1];
    const double d1 = (double)decay1, d2 = (double)decay2;
    return (optimiser_rates){
        .lr = (float)r->lr,
        .epsilon = (float)r->epsilon,
        .shrink = (float)(r->lr * r->weight_decay),
        .decay1 = decay1,
        .rest1 = (float)(1 - d1),
        .correct1 = correction(d1, step),
        .decay2 = decay2,
        .rest2 = (float)(1 - d2),
        .correct2 = correction(d2, step),
    };
}

cla_status cla_optimiser_check(const cla_optimiser *o, const cla_optimiser_rates *r)
{
    const char *op = o->signature.op;
    if (!isfinite(r->lr)) {
        return cla_fail(CLA_E_USAGE, "%s: lr is %g, must be finite", op, r->lr);
    }
    const bool divides = o->usual.epsilon > 0; // by a root that may be 0
    if (divides && (!((float)r->epsilon > 0) || !isfinite(r->epsilon))) {
        return cla_fail(CLA_E_USAGE, "%s: eps is %g, must be above 0", op, r->epsilon);
    }
    const bool shrinks = o->usual.weight_decay > 0;
    if (shrinks && !(r->weight_decay >= 0 && isfinite(r->lr * r->weight_decay))) {
        return cla_fail(CLA_E_USAGE, "%s: weight_decay is %g, must be 0 or more", op,
                        r->weight_decay);
    }
    for (int i = 0; i < CLA_OPTIMISER_DECAYS && o->decay[i]; i++) {
        if (!((float)r->decay[i] >= 0 && (float)r->decay[i] < 1)) {
            return cla_fail(CLA_E_USAGE, "%s: %s is %g, must be in [0,1)", op,
                            o->decay[i], r->decay[i]);
        }
    }
    return CLA_OK;
}

cla_status cla_optimiser_step(cla_runtime *rt, const cla_optimiser *o, cla_tensor *p,
                              cla_tensor *const *moment, const cla_tensor *g,
                              int64_t step, const cla_optimiser_rates *rates)
{
    const int last = cla_optimiser_moments(o) + 1;
    const char *op = o->signature.op;
    const cla_tensor *t[CLA_OPTIMISER_MOMENTS + 2] = { p };
    cla_given given[CLA_OPTIMISER_MOMENTS + 2];
    cla_launch launch = { .file = "optimiser", .kernel = op };
    t[last] = g;
    for (int i = 0; i <= last; i++) {
        t[i] = i && i < last ? moment[i - 1] : t[i];
        given[i].tensor = t[i];
    }
    CLA_TRY(cla_signature_check(&o->signature, given, &(cla_sizes){ 0 }));
    CLA_TRY(cla_optimiser_check(o, rates));
    if (step < 1) {
        return cla_fail(CLA_E_USAGE, "%s: step is %lld, must be 1 or more", op,
                        (long long)step);
    }
    const optimiser_rates r = rates_of(rates, step);
    for (int i = 0; i <= last; i++) {
        launch.args[i] = cla_buf(t[i]);
    }
    launch.args[last + 1] = cla_i32(cla_size(p));
    launch.args[last + 2] = cla_bytes(&r, sizeof r);
    cla_spread_elements(rt, &launch, cla_size(p));
    cla_tensor_changed(p);
    return cla_enqueue(rt, &launch);
}

/* ---- public functions ---------------------------------------------------------- */

cla_status cla_rmsprop(cla_runtime *rt, cla_tensor *p, cla_tensor *a,
                       const cla_tensor *g, float lr, float rho, float eps)
{
    CLA_NEED(rt, p, a, g);
    CLA_HOLD(rt);
    CLA_SAME(rt, p, a, g);
    const cla_optimiser_rates r = { .lr = (double)lr,
                                    .epsilon = (double)eps,
                                    .decay = { (double)rho } };
    return cla_optimiser_step(rt, cla_optimiser_named("rmsprop"), p, &a, g, 1, &r);
}

cla_status cla_adadelta(cla_runtime *rt, cla_tensor *p, cla_tensor *a, cla_tensor *d,
                        const cla_tensor *g, float lr, float rho, float eps)
{
    CLA_NEED(rt, p, a, d, g);
    CLA_HOLD(rt);
    CLA_SAME(rt, p, a, d, g);
    const cla_optimiser_rates r = { .lr = (double)lr,
                                    .epsilon = (double)eps,
                                    .decay = { (double)rho } };
    return cla_optimiser_step(rt, cla_optimiser_named("adadelta"), p,
                              (cla_tensor *[]){ a, d }, g, 1, &r);
}

cla_optimiser_rates cla_adam_rates(const cla_adam_options *o)
{
    return (cla_optimiser_rates){ .lr = (double)o->lr,
                                  .epsilon = (double)o->eps,
                                  .decay = { (double)o->beta1, (double)o->beta2 } };
}

cla_status cla_adam(cla_runtime *rt, cla_tensor *p, cla_tensor *m, cla_tensor *v,
                    const cla_tensor *g, int64_t step, const cla_adam_options *options)
{
    CLA_NEED(rt, p, m, v, g, options);
    CLA_HOLD(rt);
    CLA_SAME(rt, p, m, v, g);
    CLA_TRY(cla_reserved("adam", options->reserved));
    const cla_optimiser_rates r = cla_adam_rates(options);
    return cla_optimiser_step(rt, cla_optimiser_named("adam"), p,
                              (cla_tensor *[]){ m, v }, g, step, &r);
}
