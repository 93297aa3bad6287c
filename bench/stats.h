/* stats.h - statistics of timings. */
#pragma once

#include <stdbool.h>

typedef struct bench_stats {
    double median, p25, p75;
} bench_stats;

/* Computes the quartiles of count > 0 samples, which it sorts in place. Interpolates
 * between neighbours as NumPy and statistics.quantiles(method="inclusive") do. */
bench_stats bench_stats_of(double *samples, int count);

typedef enum bench_verdict {
    BENCH_SAME,
    BENCH_FASTER, // b is faster than a
    BENCH_SLOWER,
    BENCH_UNSURE, // too much noise to tell
    BENCH_VERDICTS
} bench_verdict;

const char *bench_verdict_name(bench_verdict verdict);

/* Judges two sets of quartiles. Faster or slower: the medians differ by more than both
 * interquartile ranges and by more than margin (0.05: 5 % of the smaller median). Same:
 * they differ by at most margin, and both ranges are within margin of their median.
 * Else unsure. */
bench_verdict bench_stats_verdict(const bench_stats *a, const bench_stats *b,
                                  double margin);

typedef struct bench_interval {
    double median, low, high;
} bench_interval;

/* Computes the median of count > 0 values, which it sorts in place, and a confidence
 * interval of at least 95 % for the median of their distribution, which may be any
 * (sign test): the narrowest one from the k-th smallest to the k-th largest value. With
 * fewer than six values it spans all of them and has less confidence. */
bench_interval bench_interval_of(double *values, int count);

/* Computes the ratio of a's median to b's and its confidence interval, from
 * low(a)/high(b) to high(a)/low(b). The intervals of a and b have at least 97.5 %
 * confidence, which gives the ratio at least 95 % (Bonferroni); with fewer than seven
 * samples an interval spans all of them and has less. Sorts both in place; counts > 0,
 * values > 0. */
bench_interval bench_ratio_of(double *a, int a_count, double *b, int b_count);

/* Judges a speed-up a / b. Faster or slower: the whole interval is above 1 + margin or
 * below 1 / (1 + margin). Same: all of it is within these. Else unsure. */
bench_verdict bench_verdict_of(const bench_interval *ratio, double margin);

/* Returns the larger of two errors; a NaN is larger than any number. */
double bench_worse(double a, double b);
