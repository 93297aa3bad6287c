/* buckets.h - relative positions in buckets, as T5 has them. */
#pragma once

#include <stdbool.h>

enum { CLA_BUCKETS = 4096, CLA_BUCKET_REACH = 1 << 15 }; // the most of each

/* Returns the bucket of a key at the distance j - i from the query, 0 .. count-1.
 *
 *   near: n for n = |j - i| < e
 *   far:  min(e + floor((m - e) log(n / e) / log(reach / e)), m - 1), e = m / 2
 *
 * Both ways m = count / 2, and keys behind the query (j > i) have the buckets from m
 * on. Else m = count, and n = 0 there. Logarithms and quotients are rounded to float32,
 * on which the last key of a bucket may depend.
 *
 * count  4 at least; halves are rounded down; reach > e
 *
 * Source: Raffel et al. 2020, section 2.1; as in mesh-tensorflow. */
int cla_bucket_of(int distance, int count, int reach, bool both);
