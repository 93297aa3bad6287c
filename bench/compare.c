/* compare.c - compares the cases of two result files. */
#include "bench/compare.h"

#include <math.h>

#include "base/base.h"
#include "bench/compare_print.h"
#include "bench/pairs.h"

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
        .a = a,
        .b = b,
        .a_ms = a->ms.median,
        .b_ms = b->ms.median,
        .ratio = { ratio, ratio, ratio },
        .verdict = bench_stats_verdict(&a->ms, &b->ms, BENCH_MARGIN),
        .failed = bench_stats_verdict(&a->ms, &b->ms, margin) == BENCH_SLOWER,
    };
    c->log_sum += log(ratio);
    return bench_compare_print(c->options, &one, &c->sum);
}

static bool has_several(const bench_results *t)
{
    size_t i = 1;
    while (i < t->count && bench_same_device(&t->rows[0], &t->rows[i])) {
        i++;
    }
    return i < t->count;
}

static cla_status compare_tables(comparison *c)
{
    bench_pairs pairs = { 0 };
    cla_status status = bench_pairs_of(&pairs, &c->a, &c->b, c->options->provider);
    c->sum.several = pairs.by_device && (has_several(&c->a) || has_several(&c->b));
    for (size_t i = 0; i < pairs.count && !status; i++) {
        status = compare_rows(c, pairs.pair[i].a, pairs.pair[i].b);
    }
    c->sum.only_a = pairs.only_a;
    c->sum.only_b = pairs.only_b;
    bench_pairs_fini(&pairs);
    return status;
}

static cla_status compare(comparison *c)
{
    CLA_TRY(bench_results_read(&c->a, c->options->a));
    CLA_TRY(bench_results_read(&c->b, c->options->b));
    CLA_TRY(bench_compare_heading(c->options, &c->a, &c->b));
    CLA_TRY(compare_tables(c));
    if (!c->sum.pairs) {
        return cla_fail(CLA_E_INPUT, "compare: %s and %s have no case in common%s",
                        c->options->a, c->options->b,
                        c->sum.several ? " on a device that both have" : "");
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
