/* stats.c - quartiles, the rule by which two timings differ, and rows of results. */
#include "bench/stats.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "bench/internal.h"
#include "bench/results.h"
#include "support/memory.h"

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

/* The expected numbers come from exact integers: the largest k for which the binomial
 * coefficients of n from 0 to k add up to at most 0.025 * 2^n. As a double, 2^-n is 0
 * for n > 1074. */
Test(stats, interval_of_many, .timeout = 60)
{
    enum { LARGEST = 100000 };
    const struct {
        int count, left_out;
    } cases[] = { { 1000, 468 }, { 1074, 504 },  { 1075, 504 },
                  { 2000, 955 }, { 5000, 2430 }, { 100000, 49689 } };
    static double values[LARGEST];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int n = cases[c].count;
        for (int k = 0; k < n; k++) {
            values[k] = k;
        }
        const bench_interval i = bench_interval_of(values, n);
        cr_assert(i.median == (n - 1) / 2.0, "%d values: median %g", n, i.median);
        cr_assert(i.low == cases[c].left_out && i.high == n - 1 - i.low,
                  "%d values: %g to %g", n, i.low, i.high);
        cr_assert(fabs(i.low - (n / 2.0 - 0.98 * sqrt(n))) < 2, "%d: %g", n, i.low);
    }
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

/* ---- rows of results ----------------------------------------------------------- */

static cla_status parse_two_rows(size_t *count)
{
    char text[] = "{\"case\":\"one\",\"provider\":\"tile\",\"device\":\"d\","
                  "\"median_ms\":2,\"p25_ms\":1,\"p75_ms\":3}\n"
                  "{\"case\":\"two\",\"provider\":\"tile\",\"device\":\"d\","
                  "\"median_ms\":2,\"p25_ms\":1,\"p75_ms\":3}";
    bench_results t = { 0 };
    const cla_status status = bench_results_parse(&t, "a.json", text);
    *count = t.count;
    bench_results_fini(&t);
    return status;
}

/* Lack of memory is not an error of the file, nor was its last line cut off. */
Test(results, tell_lack_of_memory_from_bad_rows)
{
    size_t count = 0;
    fail_json(0, false);
    cr_assert(eq(int, parse_two_rows(&count), CLA_OK));
    const long needed = json_allocations();
    cr_assert(needed > 20 && count == 2);
    for (int all = 0; all < 2; all++) {
        for (long n = 1; n <= needed; n++) {
            fail_json(n, all);
            const cla_status status = parse_two_rows(&count);
            cr_expect(status == CLA_E_NOMEM || (status == CLA_OK && count == 2 && !all),
                      "allocation %ld: status %d, %zu rows", n, status, count);
        }
    }
}
