/* stats.c - medians, quartiles, confidence intervals and verdicts on differences. */
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

const char *bench_verdict_name(bench_verdict verdict)
{
    static const char *const names[] = { "same", "faster", "slower", "unsure" };
    return names[verdict];
}

bench_verdict bench_stats_verdict(const bench_stats *a, const bench_stats *b,
                                  double margin)
{
    const double gap = fabs(a->median - b->median);
    const double wide_a = a->p75 - a->p25, wide_b = b->p75 - b->p25;
    const bool beyond = gap > margin * fmin(a->median, b->median);
    if (beyond && gap > wide_a && gap > wide_b) {
        return b->median < a->median ? BENCH_FASTER : BENCH_SLOWER;
    }
    const bool calm = wide_a <= margin * a->median && wide_b <= margin * b->median;
    return calm && !beyond ? BENCH_SAME : BENCH_UNSURE;
}

/* Returns how many of count values an interval may leave out at either end so that it
 * misses the median with at most the probability `missed`. The median is below the k-th
 * smallest value with the probability that fewer than k of count coins show heads. */
static int left_out(int count, double missed)
{
    // Both are kept times 2^scale: 0.5^count is 0 in a double for count > 1074.
    double chance = 1, sum = 1;
    int k = 0, scale = count;
    while (2 * ldexp(sum, -scale) <= missed) { // the probability for k at either end
        chance *= (double)(count - k) / (k + 1);
        sum += chance;
        k++;
        if (chance > 0x1p500) {
            chance *= 0x1p-500;
            sum *= 0x1p-500;
            scale -= 500;
        }
    }
    return k ? k - 1 : 0;
}

static bench_interval interval_of(double *values, int count, double missed)
{
    const double median = bench_stats_of(values, count).median; // sorts values
    const int k = left_out(count, missed);
    return (bench_interval){ median, values[k], values[count - 1 - k] };
}

bench_interval bench_interval_of(double *values, int count)
{
    return interval_of(values, count, 0.05);
}

bench_interval bench_ratio_of(double *a, int a_count, double *b, int b_count)
{
    const bench_interval x = interval_of(a, a_count, 0.025);
    const bench_interval y = interval_of(b, b_count, 0.025);
    return (bench_interval){ x.median / y.median, x.low / y.high, x.high / y.low };
}

bench_verdict bench_verdict_of(const bench_interval *ratio, double margin)
{
    const double low = 1 / (1 + margin), high = 1 + margin;
    if (ratio->low > high) {
        return BENCH_FASTER;
    }
    if (ratio->high < low) {
        return BENCH_SLOWER;
    }
    return ratio->low >= low && ratio->high <= high ? BENCH_SAME : BENCH_UNSURE;
}

double bench_worse(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}
