/* parameters.c - the parameters of a user's own network. */
#include "train/parameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/update.h"

enum { MOMENTS = CLA_OPTIMISER_MOMENTS };

/* Detaches the parameters from the caller's variables, which may not exist any more. */
static void forget_homes(cla_parameters *set)
{
    for (size_t i = 0; i < set->params.count; i++) {
        set->params.list[i].home = &set->unused;
    }
}

cla_status cla_parameters_new(cla_parameters **set, cla_runtime *rt)
{
    CLA_NEED(set, rt);
    CLA_HOLD(rt);
    CLA_TRY(cla_alloc(set, 1, sizeof **set));
    (*set)->rt = rt;
    return CLA_OK;
}

void cla_parameters_free(cla_parameters **set)
{
    if (!set || !*set) {
        return;
    }
    cla_parameters *s = *set;
    CLA_HOLD_WAIT(s->rt);
    forget_homes(s);
    cla_tensor_free(&s->values);
    cla_tensor_free(&s->gradients);
    for (int i = 0; i < MOMENTS; i++) {
        cla_tensor_free(&s->moment[i]);
        cla_memory_free(&s->memory[i], s->rt);
    }
    cla_params_free(&s->params);
    free(s);
    *set = NULL;
}

/* ---- adding --------------------------------------------------------------------- */

static cla_status check_name(const cla_parameters *set, const char *name)
{
    const size_t most = sizeof set->params.list->name - 1;
    if (!*name || strlen(name) > most) {
        return cla_fail(CLA_E_USAGE, "parameter '%.80s': a name has 1 to %zu bytes",
                        name, most);
    }
    return cla_params_find(&set->params, name)
               ? cla_fail(CLA_E_USAGE, "parameter '%s' is there already", name)
               : CLA_OK;
}

static cla_status check_shape(const char *name, int rank, const int64_t *shape)
{
    if (rank < 1 || rank > 4) {
        return cla_fail(CLA_E_SHAPE, "parameter '%s': rank is %d, must be 1 to 4", name,
                        rank);
    }
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 1 || shape[i] > INT32_MAX) {
            return cla_fail(CLA_E_SHAPE, "parameter '%s': size %d is %lld", name, i,
                            (long long)shape[i]);
        }
    }
    return CLA_OK;
}

static cla_status find_init(cla_init *init, cla_initial initial, double scale, int rank,
                            const int64_t *shape)
{
    static const cla_init_kind kinds[] = { CLA_INIT_ZEROS,    CLA_INIT_ONES,
                                           CLA_INIT_CONSTANT, CLA_INIT_UNIFORM,
                                           CLA_INIT_NORMAL,   CLA_INIT_GLOROT_UNIFORM };
    if (!isfinite(scale)) {
        return cla_fail(CLA_E_USAGE, "scale is %g, must be finite", scale);
    }
    *init = (cla_init){ kinds[initial], scale, 1, (double)shape[rank - 1] };
    for (int i = 0; i < rank - 1 || !i; i++) {
        init->fan_in *= (double)shape[i];
    }
    return CLA_OK;
}

static cla_status need_unbuilt(const cla_parameters *set)
{
    return set->built ? cla_fail(CLA_E_USAGE, "the parameters are built already")
                      : CLA_OK;
}

cla_status cla_parameters_add(cla_parameters *set, cla_tensor **tensor,
                              const char *name, int rank, const int64_t *shape,
                              cla_initial initial, double scale)
{
    CLA_NEED(set, tensor, name, shape);
    CLA_HOLD(set->rt);
    CLA_KNOWN("initial", initial, CLA_INITIAL_GLOROT);
    cla_init init = { 0 };
    CLA_TRY(need_unbuilt(set));
    CLA_TRY(check_name(set, name));
    CLA_TRY(check_shape(name, rank, shape));
    CLA_TRY(find_init(&init, initial, scale, rank, shape));
    return cla_param_add(&set->params, tensor, init, rank, shape, "%s", name);
}

cla_status cla_parameters_linear(cla_parameters *set, cla_tensor **w, cla_tensor **b,
                                 int64_t in, int64_t out, const char *name)
{
    char bias[sizeof set->params.list->name + 8];
    CLA_NEED(set, w, b, name);
    snprintf(bias, sizeof bias, "%.64s_bias", name);
    CLA_TRY(check_name(set, bias));
    CLA_TRY(cla_parameters_add(set, w, name, 2, (int64_t[]){ in, out },
                               CLA_INITIAL_GLOROT, 0));
    return cla_parameters_add(set, b, bias, 1, &out, CLA_INITIAL_ZEROS, 0);
}

/* ---- building and training ------------------------------------------------------ */

cla_status cla_parameters_need_built(const cla_parameters *set)
{
    return set->built ? CLA_OK
                      : cla_fail(CLA_E_USAGE, "cla_parameters_build was not called");
}

cla_status cla_parameters_build(cla_parameters *set, uint32_t seed)
{
    CLA_NEED(set);
    CLA_HOLD(set->rt);
    CLA_TRY(need_unbuilt(set));
    if (!set->params.count) {
        return cla_fail(CLA_E_USAGE, "there are no parameters to build");
    }
    set->built = true; // even if it fails: a partial set can only be freed
    const cla_status status = cla_params_build(&set->params, set->rt, seed);
    forget_homes(set);
    CLA_TRY(status);
    CLA_TRY(cla_params_train(&set->params));
    CLA_TRY(cla_params_block(&set->params, &set->params.values, &set->values));
    CLA_TRY(cla_params_block(&set->params, &set->params.gradients, &set->gradients));
    for (int i = 0; i < MOMENTS; i++) {
        CLA_TRY(cla_memory_new(&set->memory[i], set->rt, set->params.values.bytes));
        CLA_TRY(cla_memory_fill(set->rt, &set->memory[i], 0));
        CLA_TRY(cla_params_block(&set->params, &set->memory[i], &set->moment[i]));
    }
    return CLA_OK;
}

int64_t cla_parameters_size(const cla_parameters *set)
{
    int64_t size = 0;
    for (size_t i = 0; set && i < set->params.count; i++) {
        const cla_param *p = &set->params.list[i];
        size += p->shape[0] * p->shape[1] * p->shape[2] * p->shape[3];
    }
    return size;
}

const char *cla_optimiser_name(int i)
{
    const cla_optimiser *o = i < 0 ? NULL : cla_optimiser_at(i);
    return o ? o->signature.op : NULL;
}

/* Finds the named optimiser; NULL with an error text if there is none. */
static const cla_optimiser *find_optimiser(const char *name)
{
    const cla_optimiser *o = name ? cla_optimiser_named(name) : NULL;
    if (!o) {
        cla_fail(CLA_E_USAGE, "there is no optimiser '%.80s'", name ? name : "");
    }
    return o;
}

cla_status cla_optimiser_usual(cla_optimiser_options *options, const char *name)
{
    CLA_NEED(options, name);
    const cla_optimiser *o = find_optimiser(name);
    if (!o) {
        return CLA_E_USAGE;
    }
    *options = (cla_optimiser_options){
        .name = o->signature.op,
        .lr = o->usual.lr,
        .epsilon = o->usual.epsilon,
        .decay = { o->usual.decay[0], o->usual.decay[1] },
        .weight_decay = o->usual.weight_decay,
    };
    return CLA_OK;
}

cla_status cla_parameters_forget(cla_parameters *set)
{
    CLA_NEED(set);
    CLA_HOLD(set->rt);
    CLA_TRY(cla_parameters_need_built(set));
    for (int i = 0; i < MOMENTS && set->kind; i++) {
        CLA_TRY(cla_memory_fill(set->rt, &set->memory[i], 0));
    }
    set->kind = NULL;
    set->step = 0;
    return CLA_OK;
}

/* Begins at the first step of an optimiser that did not make the last one. */
static cla_status change_kind(cla_parameters *set, const cla_optimiser *o)
{
    CLA_TRY(set->kind == o ? CLA_OK : cla_parameters_forget(set));
    set->kind = o;
    return CLA_OK;
}

static cla_status shorten(cla_parameters *set, double limit, double *length)
{
    if (limit > 0) {
        CLA_TRY(cla_clip(set->rt, length, set->gradients, (float)limit));
    }
    return isfinite(*length)
               ? CLA_OK
               : cla_fail(CLA_E_NUMERIC, "the gradient's norm is %g", *length);
}

static cla_status step_by(cla_parameters *set, const cla_optimiser *o,
                          const cla_optimiser_rates *rates, double limit, double *norm)
{
    double length = 0;
    CLA_TRY(cla_parameters_need_built(set));
    if (!(limit >= 0)) {
        return cla_fail(CLA_E_USAGE, "limit is %g, must be 0 or more", limit);
    }
    CLA_TRY(cla_optimiser_check(o, rates));
    CLA_TRY(cla_params_fill_gradients(&set->params));
    CLA_TRY(shorten(set, limit, &length));
    CLA_TRY(change_kind(set, o));
    const cla_update u = { o,           &set->params, set->values, set->gradients,
                           set->memory, set->moment,  false,       1 };
    CLA_TRY(cla_update_step(&u, set->step + 1, rates));
    set->step++;
    cla_params_changed(&set->params);
    cla_params_clear_gradients(&set->params);
    if (norm) {
        *norm = length;
    }
    return CLA_OK;
}

cla_status cla_parameters_step(cla_parameters *set, const cla_adam_options *adam,
                               double limit, double *norm)
{
    CLA_NEED(set, adam);
    CLA_HOLD(set->rt);
    CLA_TRY(cla_reserved("adam", adam->reserved));
    const cla_optimiser_rates rates = cla_adam_rates(adam);
    return step_by(set, cla_optimiser_named("adam"), &rates, limit, norm);
}

cla_status cla_parameters_update(cla_parameters *set,
                                 const cla_optimiser_options *options, double limit,
                                 double *norm)
{
    CLA_NEED(set, options);
    CLA_HOLD(set->rt);
    CLA_TRY(cla_reserved("cla_parameters_update", options->reserved));
    const cla_optimiser *o = find_optimiser(options->name);
    if (!o) {
        return CLA_E_USAGE;
    }
    const cla_optimiser_rates rates = {
        .lr = options->lr,
        .epsilon = options->epsilon,
        .decay = { options->decay[0], options->decay[1] },
        .weight_decay = options->weight_decay,
    };
    return step_by(set, o, &rates, limit, norm);
}
