/* relative_products.cl - what products of sums by distance with vectors must not do: a
 * sum of 0, of a distance that a query does not see, times NaN is NaN.
 *
 * Layout: arrays [H,Nq,2R+1] as relative_attention.clh; rel [2R+1,d], or one a head,
 *         `apart` floats apart; rows of x and y begin at `at`, stride floats apart.
 * Work-group: WG items; groups take rows in turn, or a run of numbers; both schedules.
 * Defines: WG.
 * Writes: adds to y; numbers of parts that are not finite. */
#include "relative_products_args.h"

#ifndef WG
#define WG 64
#endif

// y[i,h] += sum of array[h,i,n] rel[n] over numbers of rel that are not finite, where
// the array is not 0; flags: whether there are any, see copy_finite
WORK_GROUP(WG, 1, 1)
kernel void relative_rest(global float *restrict y, global const float *restrict rel,
                          global const float *restrict array,
                          global const float *restrict flags, product_shape p)
{
    bool any = false;
    for (int n = 0; n < p.flags; n++) {
        any |= flags[p.size + n] != 0.0f;
    }
    const int rows = any ? p.heads * p.queries : 0;
    for (int row = GROUP(0); row < rows; row += p.groups) {
        const int h = row / p.queries, i = row % p.queries;
        global float *to =
            y + (size_t)p.at + (size_t)i * (size_t)p.stride + h * p.width;
        global const float *from = array + (size_t)row * (size_t)p.numbers;
        for (int c = LANE(0); c < p.width; c += WG) {
            float sum = 0.0f;
            for (int n = 0; n < p.numbers; n++) {
                const float x = rel[h * p.apart + n * p.width + c];
                const bool add = from[n] != 0.0f && !(fabs(x) < INFINITY);
                sum += add ? from[n] * x : 0.0f;
            }
            to[c] += sum;
        }
    }
}

// parts[h,n] = sum_i array[h,i,n] x[i,h] where the array is not 0, for numbers of parts
// that are not finite
WORK_GROUP(WG, 1, 1)
kernel void relative_again(global float *restrict parts,
                           global const float *restrict array,
                           global const float *restrict x, product_shape p)
{
    const int all = p.heads * p.numbers * p.width,
              run = (all + p.groups - 1) / p.groups;
    const int begin = GROUP(0) * run + LANE(0), end = min(GROUP(0) * run + run, all);
    int odd = 0;
    for (int e = begin; e < end; e += WG) {
        odd |= !(fabs(parts[e]) < INFINITY);
    }
    for (int e = begin; odd && e < end; e += WG) { // rare
        if (fabs(parts[e]) < INFINITY) {
            continue;
        }
        const int c = e % p.width, n = e / p.width % p.numbers;
        const int h = e / p.width / p.numbers;
        float sum = 0.0f;
        for (int i = 0; i < p.queries; i++) {
            const size_t at = (size_t)p.at + (size_t)i * (size_t)p.stride;
            const size_t row = (size_t)h * (size_t)p.queries + (size_t)i;
            const float w = array[row * (size_t)p.numbers + (size_t)n];
            sum += w != 0.0f ? w * x[at + (size_t)(h * p.width + c)] : 0.0f;
        }
        parts[e] = sum;
    }
}
