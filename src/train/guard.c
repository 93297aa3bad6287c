/* guard.c - stops a run that diverges. */
#include "train/guard.h"

#include <math.h>

#include "clattn/optim.h"

enum { PATIENCE = 20, TIMES = 10 };

/* Returns the loss from which a step counts as diverging. A first loss below 1 counts
 * as 1: near 0, for example after a warm start, it gives no scale. */
static double limit_of(const cla_progress *p)
{
    return TIMES * fmax(p->first_loss, 1);
}

cla_status cla_guard_loss(cla_progress *p, double loss)
{
    if (p->first_loss == 0) {
        p->first_loss = loss;
    }
    p->high = loss >= limit_of(p) ? p->high + 1 : 0;
    return p->high < PATIENCE
               ? CLA_OK
               : cla_fail(CLA_E_NUMERIC,
                          "the run diverges: the loss is %g at step %lld and was above "
                          "%g for %d steps, it began with %g",
                          loss, (long long)p->step, limit_of(p), PATIENCE,
                          p->first_loss);
}

static cla_status check_block(cla_runtime *rt, const cla_tensor *block,
                              const char *what, int64_t step)
{
    bool finite = true;
    CLA_TRY(cla_finite(rt, &finite, block));
    return finite ? CLA_OK
                  : cla_fail(CLA_E_NUMERIC, "%s are not finite after step %lld", what,
                             (long long)step);
}

cla_status cla_guard_numbers(const cla_optim *o, int64_t step)
{
    cla_runtime *rt = o->params->rt;
    CLA_TRY(check_block(rt, o->values, "the parameters", step));
    char name[OPTIM_NAME];
    for (int i = 0; cla_optim_moment_name(o, i, name); i++) {
        CLA_TRY(check_block(rt, o->flat_moment[i], "the optimiser's moments", step));
    }
    return CLA_OK;
}

cla_status cla_guard_name_state(cla_status status, const char *dir, int64_t saved)
{
    return status == CLA_E_NUMERIC && saved >= 0
               ? cla_fail(status,
                          "%s; the last good state is %s/last.ckpt.safetensors (step "
                          "%lld); try a smaller lr or clip",
                          cla_error(), dir, (long long)saved)
               : status;
}
