/* dependence.c - which results and gradients of an operator depend on which number.
 *
 * A result depends on x when it changes with x, at steps small and large and of either
 * sign: relu and max follow x on one side only. A gradient dL/dx_i depends on x when
 * the mixed difference of the loss,
 *     L(x_i + h, x + e) - L(x_i, x + e) - L(x_i + h, x) + L(x_i, x),
 * is not zero. It must show a NaN when that holds for small h and e of all signs, and
 * may when it holds for a large one: beyond the kink of a relu its slope is another,
 * but the slope of relu(NaN) is 1, as in PyTorch.
 *
 * The definition's own arithmetic says more in one case. The weight of a row's only key
 * is e^(s - s) = 1 for every finite s, and NaN for a NaN: that result does not change
 * with s, but reads it, and may be NaN. A definition skips what is hidden: it must not
 * multiply by 0. */
#include "support/dependence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { STEPS = 6 };
static const double steps[STEPS] = { 0.5, -0.5, 30, -30, 1e6, -1e6 };

static const double *run(dependence *d)
{
    kind_case_oracle(d->scratch, d->x, d->c);
    return d->scratch;
}

void dependence_at(dependence *d, int a, int p, double value, double *y)
{
    const double kept = d->x[a][p];
    d->x[a][p] = value;
    kind_case_oracle(y, d->x, d->c);
    d->x[a][p] = kept;
}

void dependence_of_results(dependence *d, int a, int p, bond *of)
{
    dependence_at(d, a, p, NAN, d->scratch);
    for (int j = 0; j < d->results; j++) {
        of[j] = isnan(d->scratch[j]) ? BOND_MAY : BOND_NONE;
    }
    for (int s = 0; s < STEPS; s++) {
        dependence_at(d, a, p, d->x[a][p] + steps[s], d->scratch);
        for (int j = 0; j < d->results; j++) {
            of[j] = d->scratch[j] != d->y[j] ? BOND_MUST : of[j];
        }
    }
}

static char *reached_by(const dependence *d, int n, int i)
{
    int64_t row = i;
    for (int k = 0; k < n; k++) {
        row += d->size[k];
    }
    return d->reached + row * d->results;
}

void dependence_init(dependence *d)
{
    int64_t numbers = 0;
    for (int n = 0; n < d->inputs; n++) {
        numbers += d->size[n];
    }
    const size_t results = (size_t)d->results + 1;
    d->y = calloc(results, sizeof *d->y);
    d->scratch = calloc(results, sizeof *d->scratch);
    d->reached = calloc((size_t)numbers + 1, results);
    bond *of = calloc(results, sizeof *of);
    cr_assert(d->y && d->scratch && d->reached && of);
    memcpy(d->y, run(d), (size_t)d->results * sizeof *d->y);
    for (int n = 0; n < d->inputs; n++) {
        for (int i = 0; i < d->size[n]; i++) {
            dependence_of_results(d, n, i, of);
            for (int j = 0; j < d->results; j++) {
                reached_by(d, n, i)[j] = (char)of[j];
            }
        }
    }
    free(of);
}

void dependence_fini(dependence *d)
{
    free(d->y);
    free(d->scratch);
    free(d->reached);
}

/* Element i of input n, and element p of input a. */
typedef struct pair {
    int n, i, a, p;
} pair;

/* Returns the loss at x_i + h and x_p + e. */
static double loss(dependence *d, pair of, double h, double e)
{
    double *x_i = d->x[of.n] + of.i, *x_p = d->x[of.a] + of.p, sum = 0;
    const double kept_i = *x_i, kept_p = *x_p;
    *x_i += h;
    *x_p += e;
    const double *y = run(d);
    *x_p = kept_p;
    *x_i = kept_i;
    for (int j = 0; j < d->results; j++) {
        sum += (double)d->dy[j] * y[j];
    }
    return sum;
}

/* Returns whether the slope of x_i differs at x_p + e and x_p, by more than bar of the
 * largest loss: rounding is some 1e-15. */
static bool differs(dependence *d, pair of, double h, double e, double bar)
{
    const double at[4] = { loss(d, of, h, e), loss(d, of, 0, e), loss(d, of, h, 0),
                           loss(d, of, 0, 0) };
    double most = 1;
    for (int k = 0; k < 4; k++) {
        most = fmax(most, fabs(at[k]));
    }
    return !(fabs(at[0] - at[1] - at[2] + at[3]) <= bar * most);
}

/* Returns whether x_i and x_p reach a result in common, one of them by the arithmetic
 * alone; or one of which both may be what is taken. */
static bool share(const dependence *d, pair of)
{
    const char *p_to = reached_by(d, of.a, of.p), *i_to = reached_by(d, of.n, of.i);
    for (int j = 0; j < d->results; j++) {
        const bool loose = p_to[j] == BOND_MAY || i_to[j] == BOND_MAY;
        if (p_to[j] != BOND_NONE && i_to[j] != BOND_NONE && (d->pool || loose)) {
            return true;
        }
    }
    return false;
}

/* A kink lies on one side of each: between some signs of the steps there is none. */
static bool is_sure(dependence *d, pair of)
{
    const double near = 1e-3, bar = 1e-12;
    return differs(d, of, near, near, bar) && differs(d, of, -near, -near, bar) &&
           differs(d, of, near, -near, bar) && differs(d, of, -near, near, bar);
}

void dependence_of_gradient(dependence *d, int a, int p, int n, bond *of)
{
    for (int i = 0; i < d->size[n]; i++) {
        const pair both = { n, i, a, p };
        of[i] = is_sure(d, both) ? BOND_MUST : share(d, both) ? BOND_MAY : BOND_NONE;
        for (int s = 0; s < STEPS && !of[i]; s++) {
            of[i] = differs(d, both, 0.1, steps[s], 1e-14) ? BOND_MAY : BOND_NONE;
        }
    }
}
