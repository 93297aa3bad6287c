/* stats.c - median, quartiles, and when two of them differ. */
#include "bench/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, int count, double part)
{
    const double place = part * (count - 1);
    const int low = (int)place;
    const int high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

bench_stats bench_stats_of(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return (bench_stats){
        .median = quantile(samples, count, 0.5),
        .p25 = quantile(samples, count, 0.25),
        .p75 = quantile(samples, count, 0.75),
    };
}

bool bench_stats_differ(const bench_stats *a, const bench_stats *b)
{
    const double gap = fabs(a->median - b->median);
    return gap > a->p75 - a->p25 && gap > b->p75 - b->p25 &&
           gap > 0.05 * fmin(a->median, b->median);
}
