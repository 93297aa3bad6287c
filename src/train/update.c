/* update.c - a step of an optimiser over the parameters of a model. */
#include "train/update.h"

enum { TENSORS = CLA_OPTIMISER_MOMENTS + 2 };

static const cla_param *param_at(const cla_update *u, size_t i)
{
    return i < u->params->count ? &u->params->list[i] : NULL;
}

static bool trained(const cla_update *u, size_t i)
{
    return u->params->list[i].tensor->wants_grad;
}

static bool decays(const cla_update *u, size_t i)
{
    return !u->matrices || param_at(u, i)->rank > 1;
}

static bool has_own_rate(const cla_update *u, size_t i)
{
    return u->levels != 1 && param_at(u, i)->levels;
}

static bool alike(const cla_update *u, size_t i, size_t k)
{
    return trained(u, i) == trained(u, k) && decays(u, i) == decays(u, k) &&
           has_own_rate(u, i) == has_own_rate(u, k);
}

/* Returns whether a parameter has a learning rate of its own. */
static bool any_own_rate(const cla_update *u)
{
    size_t i = 0;
    while (param_at(u, i) && !has_own_rate(u, i)) {
        i++;
    }
    return param_at(u, i);
}

/* Returns whether all parameters are trained and decay. */
static bool all_move(const cla_update *u)
{
    size_t i = 0;
    while (param_at(u, i) && trained(u, i) && decays(u, i)) {
        i++;
    }
    return !param_at(u, i);
}

/* Makes flat tensors of the parameters from one to before another: values, moments and
 * gradients. */
static cla_status view(const cla_update *u, size_t from, size_t to,
                       cla_tensor *t[TENSORS])
{
    const int last = cla_optimiser_moments(u->kind) + 1;
    const cla_memory *values = &u->params->values;
    const size_t begin = param_at(u, from)->offset;
    const size_t end = param_at(u, to) ? param_at(u, to)->offset : values->bytes;
    const int64_t size = (int64_t)((end - begin) / sizeof(float));
    for (int i = 0; i <= last; i++) {
        const cla_memory *block = !i          ? values
                                  : i == last ? &u->params->gradients
                                              : &u->moment[i - 1];
        CLA_TRY(cla_tensor_over(&t[i], u->params->rt, block, begin, CLA_F32, 1, &size));
    }
    return CLA_OK;
}

static cla_status step_stretch(const cla_update *u, size_t from, size_t to,
                               int64_t step, const cla_optimiser_rates *rates)
{
    cla_tensor *t[TENSORS] = { NULL };
    cla_status status = view(u, from, to, t);
    status =
        status ? status
               : cla_optimiser_step(u->params->rt, u->kind, t[0], t + 1,
                                    t[cla_optimiser_moments(u->kind) + 1], step, rates);
    for (int i = 0; i < TENSORS; i++) {
        cla_tensor_free(&t[i]);
    }
    return status;
}

cla_status cla_update_step(const cla_update *u, int64_t step,
                           const cla_optimiser_rates *rates)
{
    const bool shrinks = u->kind->usual.weight_decay > 0 && rates->weight_decay > 0;
    if ((!shrinks || all_move(u)) && !any_own_rate(u)) {
        // without a gradient nothing moves
        return cla_optimiser_step(u->params->rt, u->kind, u->values, u->flat_moment,
                                  u->gradients, step, rates);
    }
    for (size_t from = 0, to = 0; param_at(u, from); from = to) {
        for (to = from + 1; param_at(u, to) && alike(u, to, from);) {
            to++;
        }
        cla_optimiser_rates own = *rates;
        own.weight_decay = decays(u, from) ? own.weight_decay : 0;
        own.lr *= has_own_rate(u, from) ? u->levels : 1;
        if (trained(u, from)) {
            CLA_TRY(step_stretch(u, from, to, step, &own));
        }
    }
    return CLA_OK;
}
