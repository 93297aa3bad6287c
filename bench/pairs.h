/* pairs.h - the cases that two result files have in common. */
#pragma once

#include "bench/results.h"

typedef struct bench_pair {
    const bench_result *a, *b; // of the same case
} bench_pair;

typedef struct bench_pairs {
    bench_pair *pair; // in the order of a's rows
    size_t count, cap;
    int only_a, only_b; // cases without a partner
} bench_pairs;

/* Pairs the rows of a and b by case, and by device where both have several devices, the
 * same ones. Of several rows of a case the one of `provider` counts (NULL: none is
 * preferred), then the faster of tile and group, then the fastest. *out is empty
 * before. Errors: CLA_E_NOMEM. */
cla_status bench_pairs_of(bench_pairs *out, const bench_results *a,
                          const bench_results *b, const char *provider);
void bench_pairs_fini(bench_pairs *pairs);
