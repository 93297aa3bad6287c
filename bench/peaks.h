/* peaks.h - what a device can do at best, measured. */
#pragma once

#include "clattn/runtime.h"

typedef struct bench_peaks {
    double gbs; // copying between buffers that no cache holds, reads and writes counted
    double gflops; // independent chains of multiply-adds
} bench_peaks;

/* Errors: CLA_E_NOMEM, CLA_E_DEVICE. */
cla_status bench_peaks_measure(bench_peaks *peaks, cla_runtime *rt, bool quick);

/* The larger part of the two peaks that flops and bytes in ms come to, in percent; 0
 * when both are 0. */
double bench_peaks_share(const bench_peaks *peaks, double flops, double bytes,
                         double ms);
