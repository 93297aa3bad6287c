/* stats.h - what a set of timings says. */
#pragma once

#include <stdbool.h>

typedef struct bench_stats {
    double median, p25, p75;
} bench_stats;

/* Quartiles of count > 0 samples (sorted in place), interpolated between neighbours as
 * NumPy and statistics.quantiles(method="inclusive") do. */
bench_stats bench_stats_of(double *samples, int count);

typedef enum bench_verdict {
    BENCH_SAME,
    BENCH_FASTER, // the second one
    BENCH_SLOWER,
    BENCH_UNSURE, // too much noise to tell
    BENCH_VERDICTS
} bench_verdict;

const char *bench_verdict_name(bench_verdict verdict);

/* From quartiles: faster or slower where the medians differ by more than both
 * interquartile ranges and by margin (0.05: 5 % of the smaller one); same where they do
 * not and both ranges are within margin of their median. */
bench_verdict bench_stats_verdict(const bench_stats *a, const bench_stats *b,
                                  double margin);

typedef struct bench_interval {
    double median, low, high;
} bench_interval;

/* The median of count > 0 values (sorted in place) and the narrowest interval between
 * two of them, as many from either end, that holds the median of what they are drawn
 * from with at least 95 % (sign test: values need no distribution); with less than six
 * values, from the least to the largest. */
bench_interval bench_interval_of(double *values, int count);

/* The ratio of a's median to b's. Its interval goes from the low end of a's over the
 * high end of b's to the reverse; each is taken at 97.5 %, so that both hold, and with
 * them the ratio's, with at least 95 % (Bonferroni). With fewer than seven samples of
 * one, all of them count. Both are sorted in place; counts > 0, values > 0. */
bench_interval bench_ratio_of(double *a, int a_count, double *b, int b_count);

/* Of ratios, "how many times as fast": faster or slower where all of the interval is
 * beyond 1 + margin or 1 / (1 + margin), same where all of it is within these. */
bench_verdict bench_verdict_of(const bench_interval *ratio, double margin);
