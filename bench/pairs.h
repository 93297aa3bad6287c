/* pairs.h - pairs the cases that two result files have in common. */
#pragma once

#include "bench/identity.h"

typedef struct bench_pair {
    const bench_result *a, *b; // of the same case
} bench_pair;

typedef struct bench_pairs {
    bench_pair *pair; // in the order of a's rows
    size_t count, cap;
    int only_a, only_b; // cases (of a device) without a counterpart
    bool by_device;     // a pair is of one device
} bench_pairs;

/* Pairs the rows of a and b by case and device (bench_devices_match). Two files that
 * have one device each, and not the same, compare these devices: their rows are paired
 * by case alone. Of several rows of a case it takes that of `provider` (NULL: no
 * preference), else the faster of tile and group, else the fastest; rows of the host
 * count as rows of every device. *out must be empty. Errors: CLA_E_NOMEM. */
cla_status bench_pairs_of(bench_pairs *out, const bench_results *a,
                          const bench_results *b, const char *provider);
void bench_pairs_fini(bench_pairs *pairs);
