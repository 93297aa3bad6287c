/* golden_compare.c - compares a computed tensor with the one in a golden file. */
#include <math.h>
#include <stdio.h>

#include "cli/golden.h"

/* Sums over a tensor. */
typedef struct sums {
    double error2, ref2, max_abs, max_ref;
    int64_t at;
} sums;

static sums add_up(const float *got, const float *want, int64_t n)
{
    sums s = { 0 };
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - (double)want[i]);
        error = isnan(error) ? INFINITY : error;
        s.error2 += error * error;
        s.ref2 += (double)want[i] * want[i];
        s.max_ref = fmax(s.max_ref, fabs((double)want[i]));
        if (error > s.max_abs) {
            s.max_abs = error;
            s.at = i;
        }
    }
    return s;
}

/* Returns value relative to its limit, which may be 0. */
static double share(double value, double limit)
{
    if (value <= 0) {
        return 0;
    }
    return limit > 0 ? value / limit : INFINITY;
}

static void judge(golden_result *result, const char *name, const sums *s,
                  const golden_limits *limits)
{
    const bool zero = s->max_ref <= 1e-8 * limits->zero; // zeros, up to rounding
    const double nmse = zero ? 0 : s->error2 / s->ref2;
    const double limit = zero ? limits->zero : limits->element * fmax(1, s->max_ref);
    const double score = fmax(share(nmse, limits->nmse), share(s->max_abs, limit));
    if (*result->worst && score <= result->score) {
        return;
    }
    result->score = score;
    result->nmse = nmse;
    result->max_abs = s->max_abs;
    result->at = s->at;
    snprintf(result->worst, sizeof result->worst, "%s", name);
}

cla_status golden_largest(const cla_st_tensor *t, double *largest)
{
    const float *x = t->data;
    for (int64_t i = 0; i < t->size; i++) {
        if (!isfinite(x[i])) {
            return cla_fail(CLA_E_INPUT, "%s[%lld] is %g", t->name, (long long)i,
                            (double)x[i]);
        }
        *largest = fmax(*largest, fabs((double)x[i]));
    }
    return CLA_OK;
}

cla_status golden_compare(golden_result *result, const cla_tensor *got,
                          const cla_st_tensor *want, const golden_limits *limits)
{
    double largest = 0; // unused: golden_largest refuses values that are not finite
    float *values = NULL;
    CLA_TRY(golden_largest(want, &largest));
    CLA_TRY(cla_alloc(&values, (size_t)want->size, sizeof *values));
    const cla_status status = got ? cla_tensor_download(got, values) : CLA_OK;
    if (!status) {
        const sums s = add_up(values, want->data, want->size);
        judge(result, want->name, &s, limits);
    }
    free(values);
    return status;
}
