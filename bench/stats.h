/* stats.h - what a set of timings says. */
#pragma once

#include <stdbool.h>

typedef struct bench_stats {
    double median, p25, p75;
} bench_stats;

/* Quartiles of count > 0 samples (sorted in place), interpolated between neighbours as
 * NumPy and statistics.quantiles(method="inclusive") do. */
bench_stats bench_stats_of(double *samples, int count);

/* Whether two medians differ by more than both interquartile ranges and by 5 % of the
 * smaller one. */
bool bench_stats_differ(const bench_stats *a, const bench_stats *b);
