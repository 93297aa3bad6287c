/* compare.c - pairs the cases of two result files and says which differ. */
#include "bench/compare.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "bench/compare_print.h"
#include "bench/results.h"

/* ---- pairing ----------------------------------------------------------------- */

/* Whether x should stand for its case rather than y: the provider asked for, then our
 * own, then the faster. */
static bool better(const bench_result *x, const bench_result *y, const char *provider)
{
    if (!y) {
        return true;
    }
    const bool x_asked = provider && strcmp(x->provider, provider) == 0;
    const bool y_asked = provider && strcmp(y->provider, provider) == 0;
    if (x_asked != y_asked) {
        return x_asked;
    }
    if (bench_result_is_own(x) != bench_result_is_own(y)) {
        return bench_result_is_own(x);
    }
    return x->ms.median < y->ms.median;
}

static const bench_result *pick(const bench_results *t, const char *name,
                                const char *device, const char *provider)
{
    const bench_result *best = NULL;
    for (size_t i = 0; i < t->count; i++) {
        const bench_result *r = &t->rows[i];
        if (strcmp(r->name, name) == 0 && (!device || strcmp(r->device, device) == 0) &&
            better(r, best, provider)) {
            best = r;
        }
    }
    return best;
}

static bool has_device(const bench_results *t, const char *device)
{
    for (size_t i = 0; i < t->count; i++) {
        if (strcmp(t->rows[i].device, device) == 0) {
            return true;
        }
    }
    return false;
}

static bool several_devices(const bench_results *t)
{
    for (size_t i = 1; i < t->count; i++) {
        if (strcmp(t->rows[i].device, t->rows[0].device) != 0) {
            return true;
        }
    }
    return false;
}

/* Files of `--device all` from the same machine are paired device by device; any others
 * by case alone, since comparing devices is what they are for. */
static bool pair_by_device(const bench_results *a, const bench_results *b)
{
    bool same = several_devices(a) && several_devices(b);
    for (size_t i = 0; i < a->count && same; i++) {
        same = has_device(b, a->rows[i].device);
    }
    return same;
}

/* Whether row i is the first of its case (and device). */
static bool first_of_case(const bench_results *t, size_t i, bool by_device)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(t->rows[j].name, t->rows[i].name) == 0 &&
            (!by_device || strcmp(t->rows[j].device, t->rows[i].device) == 0)) {
            return false;
        }
    }
    return true;
}

/* ---- comparing --------------------------------------------------------------- */

typedef struct comparison {
    const bench_compare_options *options;
    bench_results a, b;
    bench_compare_totals sum;
    double log_sum; // of all ratios
} comparison;

static cla_status compare_rows(comparison *c, const bench_result *a,
                               const bench_result *b)
{
    const double ratio = a->ms.median / b->ms.median;
    const double margin = c->options->fail_if_slower;
    const bench_compared one = {
        .name = a->name,
        .a_provider = a->provider,
        .b_provider = b->provider,
        .a_device = a->device,
        .b_device = b->device,
        .a_ms = a->ms.median,
        .b_ms = b->ms.median,
        .ratio = { ratio, ratio, ratio },
        .verdict = bench_stats_verdict(&a->ms, &b->ms, BENCH_MARGIN),
        .failed = bench_stats_verdict(&a->ms, &b->ms, margin) == BENCH_SLOWER,
    };
    c->log_sum += log(ratio);
    return bench_compare_print(c->options, &one, &c->sum);
}

static cla_status compare_tables(comparison *c)
{
    const bench_results *a = &c->a, *b = &c->b;
    const char *provider = c->options->provider;
    const bool by_device = pair_by_device(a, b);
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->rows[i].name;
        const char *device = by_device ? a->rows[i].device : NULL;
        if (!first_of_case(a, i, by_device)) {
            continue;
        }
        const bench_result *of_b = pick(b, name, device, provider);
        c->sum.only_a += !of_b;
        CLA_TRY(of_b ? compare_rows(c, pick(a, name, device, provider), of_b) : CLA_OK);
    }
    for (size_t i = 0; i < b->count; i++) {
        c->sum.only_b +=
            first_of_case(b, i, false) && !pick(a, b->rows[i].name, NULL, NULL);
    }
    return CLA_OK;
}

static cla_status compare(comparison *c)
{
    CLA_TRY(bench_results_read(&c->a, c->options->a));
    CLA_TRY(bench_results_read(&c->b, c->options->b));
    CLA_TRY(
        bench_compare_heading(c->options, c->a.rows[0].device, c->b.rows[0].device));
    CLA_TRY(compare_tables(c));
    if (!c->sum.pairs) {
        return cla_fail(CLA_E_INPUT, "compare: %s and %s have no case in common",
                        c->options->a, c->options->b);
    }
    const double mean = exp(c->log_sum / c->sum.pairs);
    return bench_compare_end(c->options, &c->sum,
                             &(bench_interval){ mean, mean, mean });
}

cla_status bench_compare(const bench_compare_options *options, int *slower)
{
    comparison c = { .options = options };
    const cla_status status = compare(&c);
    *slower = c.sum.slower;
    bench_results_fini(&c.a);
    bench_results_fini(&c.b);
    return status;
}
