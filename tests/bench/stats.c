/* stats.c - quartiles, and the rule by which two timings differ. */
#include "bench/stats.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/internal.h"

Test(stats, quartiles_of_few)
{
    double one[] = { 3 };
    bench_stats s = bench_stats_of(one, 1);
    cr_assert(s.median == 3 && s.p25 == 3 && s.p75 == 3);

    double two[] = { 4, 2 };
    s = bench_stats_of(two, 2);
    cr_assert(s.median == 3 && s.p25 == 2.5 && s.p75 == 3.5);
}

/* statistics.quantiles([7, 1, 3, 15, 2, 9], n=4, method="inclusive") */
Test(stats, quartiles_lie_between_neighbours)
{
    double six[] = { 7, 1, 3, 15, 2, 9 };
    const bench_stats s = bench_stats_of(six, 6);
    cr_assert(epsilon_eq(dbl, s.p25, 2.25, 1e-12));
    cr_assert(epsilon_eq(dbl, s.median, 5.0, 1e-12));
    cr_assert(epsilon_eq(dbl, s.p75, 8.5, 1e-12));
}

/* A NaN is never lost to a smaller error. */
Test(stats, nan_is_the_worst_error)
{
    cr_assert(bench_worse(1, 2) == 2 && bench_worse(2, 1) == 2);
    cr_assert(isnan(bench_worse(NAN, 0)) && isnan(bench_worse(0, NAN)));
    cr_assert(isnan(bench_worse(bench_worse(0, NAN), INFINITY)));
}

/* A single condition that is not met changes the verdict. */
Test(stats, verdicts_from_quartiles)
{
    const bench_stats base = { 100, 99, 101 };
    const bench_stats slower = { 110, 109, 111 }, near = { 104, 103.5, 104.5 };
    const bench_stats wide = { 110, 100, 120 }, noisy = { 100, 90, 110 };
    cr_assert_eq(bench_stats_verdict(&base, &slower, 0.05), BENCH_SLOWER);
    cr_assert_eq(bench_stats_verdict(&slower, &base, 0.05), BENCH_FASTER);
    cr_assert_eq(bench_stats_verdict(&base, &base, 0.05), BENCH_SAME);
    cr_assert_eq(bench_stats_verdict(&base, &near, 0.05), BENCH_SAME, "within 5 %%");
    cr_assert_eq(bench_stats_verdict(&base, &near, 0.03), BENCH_SLOWER);
    cr_assert_eq(bench_stats_verdict(&base, &wide, 0.05), BENCH_UNSURE, "own range");
    cr_assert_eq(bench_stats_verdict(&wide, &base, 0.05), BENCH_UNSURE);
    cr_assert_eq(bench_stats_verdict(&base, &noisy, 0.05), BENCH_UNSURE);
}

/* Sign test: nine without both ends have 1 - 2 * (1 + 9) / 512 = 96 %, but eight only
 * 1 - 2 * (1 + 8) / 256 = 93 %. */
Test(stats, interval_of_a_median)
{
    double nine[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
    bench_interval i = bench_interval_of(nine, 9);
    cr_assert(i.median == 5 && i.low == 2 && i.high == 8);
    i = bench_interval_of(nine, 8);
    cr_assert(i.median == 4.5 && i.low == 1 && i.high == 8);
    i = bench_interval_of(nine, 6);
    cr_assert(i.low == 1 && i.high == 6);
    i = bench_interval_of(nine, 1);
    cr_assert(i.median == 1 && i.low == 1 && i.high == 1);
    double many[20];
    for (int k = 0; k < 20; k++) {
        many[k] = k;
    }
    i = bench_interval_of(many, 20); // 1 - 2 * 21700 / 2^20 = 95.9 %
    cr_assert(i.median == 9.5 && i.low == 5 && i.high == 14);
}

/* At 97.5 % seven values have no end to leave out (1 - 2 / 128 = 98.4 %, without both
 * ends 87.5 %), nor have nine (1 - 2 * 10 / 512 = 96.1 %); ten have both ends
 * (1 - 2 * 11 / 1024 = 97.9 %). */
Test(stats, interval_of_a_ratio)
{
    double ten[] = { 20, 2, 18, 4, 16, 6, 14, 8, 12, 10 };
    double nine[] = { 9, 1, 8, 2, 7, 3, 6, 4, 5 };
    bench_interval i = bench_ratio_of(ten, 10, nine, 9);
    cr_assert(epsilon_eq(dbl, i.median, 11.0 / 5, 1e-12));
    cr_assert(epsilon_eq(dbl, i.low, 4.0 / 9, 1e-12), "low %g", i.low);
    cr_assert(epsilon_eq(dbl, i.high, 18.0 / 1, 1e-12), "high %g", i.high);
    i = bench_ratio_of(nine, 9, ten, 10);
    cr_assert(epsilon_eq(dbl, i.low, 1.0 / 18, 1e-12));
    cr_assert(epsilon_eq(dbl, i.high, 9.0 / 4, 1e-12));
    double one[] = { 2 }, two[] = { 4, 8 };
    i = bench_ratio_of(one, 1, two, 2);
    cr_assert(epsilon_eq(dbl, i.median, 1.0 / 3, 1e-12));
    cr_assert(i.low == 0.25 && i.high == 0.5);
}

Test(stats, verdicts_from_intervals)
{
    const bench_interval faster = { 1.1, 1.06, 1.2 }, slower = { 0.9, 0.85, 0.94 };
    const bench_interval same = { 1, 0.96, 1.04 }, wide = { 1.1, 1.04, 1.2 };
    const bench_interval small = { 0.97, 0.96, 0.98 };
    cr_assert_eq(bench_verdict_of(&faster, 0.05), BENCH_FASTER);
    cr_assert_eq(bench_verdict_of(&slower, 0.05), BENCH_SLOWER);
    cr_assert_eq(bench_verdict_of(&same, 0.05), BENCH_SAME);
    cr_assert_eq(bench_verdict_of(&small, 0.05), BENCH_SAME);
    cr_assert_eq(bench_verdict_of(&wide, 0.05), BENCH_UNSURE);
    cr_assert_eq(bench_verdict_of(&wide, 0.03), BENCH_FASTER);
}

Test(stats, share_is_the_larger_part)
{
    const bench_peaks peaks = { .gbs = 10, .gflops = 100 };
    cr_assert(epsilon_eq(dbl, bench_peaks_share(&peaks, 5e7, 1e6, 1), 50.0, 1e-9));
    cr_assert(epsilon_eq(dbl, bench_peaks_share(&peaks, 1e6, 8e6, 1), 80.0, 1e-9));
    cr_assert(bench_peaks_share(&peaks, 0, 0, 1) == 0);
}

/* Ten of forty cases took 20 s: the others take a minute. */
Test(progress, time_left)
{
    char text[64];
    bench_progress_left(20, 10, 40, text, sizeof text);
    cr_assert_str_eq(text, ", about 60 s left");
    bench_progress_left(20, 1, 40, text, sizeof text);
    cr_assert_str_eq(text, ", about 13 min left");
    bench_progress_left(20, 0, 40, text, sizeof text);
    cr_assert_str_eq(text, "");
}

/* A name counts once, under any number of schedules. More names than were counted raise
 * the total. */
Test(progress, counts_cases_by_name)
{
    bench_progress p = { .total = 2 };
    bench_progress_begin(&p);
    cr_assert(p.total == 2 && p.number == 0);
    bench_progress_case(&p, "a");
    bench_progress_case(&p, "a");
    cr_assert_eq(p.number, 1);
    bench_progress_case(&p, "b");
    bench_progress_case(&p, "c");
    cr_assert(p.number == 3 && p.total == 3);
}
