/* optimiser.c - the definition of a step of each optimiser. */
#include <math.h>
#include <string.h>

#include "oracle/oracle.h"

static void rmsprop(double *p, double *const *moment, double g, int step,
                    const cla_optimiser_rates *r)
{
    double *a = moment[0];
    (void)step;
    *a = r->decay[0] * *a + (1 - r->decay[0]) * g * g;
    *p -= r->lr * g / (sqrt(*a) + r->epsilon);
}

static void adam(double *p, double *const *moment, double g, int step,
                 const cla_optimiser_rates *r)
{
    double *m = moment[0], *v = moment[1];
    *m = r->decay[0] * *m + (1 - r->decay[0]) * g;
    *v = r->decay[1] * *v + (1 - r->decay[1]) * g * g;
    const double mean = *m / (1 - pow(r->decay[0], step));
    const double square = *v / (1 - pow(r->decay[1], step));
    *p -= r->lr * mean / (sqrt(square) + r->epsilon);
}

static void adadelta(double *p, double *const *moment, double g, int step,
                     const cla_optimiser_rates *r)
{
    double *a = moment[0], *d = moment[1];
    (void)step;
    *a = r->decay[0] * *a + (1 - r->decay[0]) * g * g;
    const double u = sqrt(*d + r->epsilon) / sqrt(*a + r->epsilon) * g;
    *d = r->decay[0] * *d + (1 - r->decay[0]) * u * u;
    *p -= r->lr * u;
}

static void adamw(double *p, double *const *moment, double g, int step,
                  const cla_optimiser_rates *r)
{
    const double before = *p;
    adam(p, moment, g, step, r);
    *p -= r->lr * r->weight_decay * before;
}

static void lion(double *p, double *const *moment, double g, int step,
                 const cla_optimiser_rates *r)
{
    double *m = moment[0];
    (void)step;
    const double u = r->decay[0] * *m + (1 - r->decay[0]) * g;
    *m = r->decay[1] * *m + (1 - r->decay[1]) * g;
    *p -= r->lr * ((u > 0) - (u < 0) + r->weight_decay * *p);
}

static const struct {
    const char *name;
    oracle_optimiser *step;
} optimisers[] = {
    { "rmsprop", rmsprop }, { "adam", adam }, { "adadelta", adadelta },
    { "adamw", adamw },     { "lion", lion },
};

oracle_optimiser *oracle_optimiser_named(const char *name)
{
    for (size_t i = 0; i < sizeof optimisers / sizeof *optimisers; i++) {
        if (strcmp(name, optimisers[i].name) == 0) {
            return optimisers[i].step;
        }
    }
    return NULL;
}
