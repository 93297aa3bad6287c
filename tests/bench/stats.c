/* stats.c - quartiles and the rule by which two timings differ. */
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

/* Each of the three conditions alone stands in the way. */
Test(stats, differ)
{
    const bench_stats base = { 100, 99, 101 };
    const bench_stats slower = { 110, 109, 111 }, near = { 104, 103.5, 104.5 };
    const bench_stats wide = { 110, 100, 120 };
    cr_assert(bench_stats_differ(&base, &slower));
    cr_assert(bench_stats_differ(&slower, &base));
    cr_assert(not(bench_stats_differ(&base, &base)));
    cr_assert(not(bench_stats_differ(&base, &near)), "4 %% are within the 5 %%");
    cr_assert(not(bench_stats_differ(&base, &wide)), "within one range of quartiles");
    cr_assert(not(bench_stats_differ(&wide, &base)));
}

Test(stats, share_is_the_larger_part)
{
    const bench_peaks peaks = { .gbs = 10, .gflops = 100 };
    cr_assert(epsilon_eq(dbl, bench_peaks_share(&peaks, 5e7, 1e6, 1), 50.0, 1e-9));
    cr_assert(epsilon_eq(dbl, bench_peaks_share(&peaks, 1e6, 8e6, 1), 80.0, 1e-9));
    cr_assert(bench_peaks_share(&peaks, 0, 0, 1) == 0);
}

/* Ten of forty cases in 20 s: the others take a minute. */
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

/* Each name counts once, in whatever number of schedules; more than were counted are
 * no reason to exceed the total. */
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
