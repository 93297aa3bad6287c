/* pairs.h - pairs the cases that two result files have in common. */
#pragma once

#include "bench/results.h"

typedef struct bench_pair {
    const bench_result *a, *b; // of the same case
} bench_pair;

typedef struct bench_pairs {
    bench_pair *pair; // in the order of a's rows
    size_t count, cap;
    int only_a, only_b; // cases without a counterpart
} bench_pairs;

/* Pairs the rows of a and b by case; also by device when both have several devices and
 * b has all of a's. Of several rows of a case it takes that of `provider` (NULL: no
 * preference), else the faster of tile and group, else the fastest. *out must be empty.
 * Errors: CLA_E_NOMEM. */
cla_status bench_pairs_of(bench_pairs *out, const bench_results *a,
                          const bench_results *b, const char *provider);
void bench_pairs_fini(bench_pairs *pairs);
