/* peaks.h - measures the peak bandwidth and arithmetic rate of a device. */
#pragma once

#include "clattn/runtime.h"

typedef struct bench_peaks {
    double gbs;    // copy between buffers too large for caches; reads and writes count
    double gflops; // independent chains of multiply-adds
} bench_peaks;

/* Measures the peaks. Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_peaks_measure(bench_peaks *peaks, cla_runtime *rt, bool quick);

/* Returns the larger of the two shares of a peak, in per cent, that flops and bytes in
 * ms milliseconds reach; 0 when both are 0. */
double bench_peaks_share(const bench_peaks *peaks, double flops, double bytes,
                         double ms);
