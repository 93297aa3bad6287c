/* plot_bench.h - plots results of `clattn bench --json'. */
#pragma once

#include "clattn/status.h"

/* Draws a bar for each row whose figure `metric' is above 0.
 * Errors: CLA_E_INPUT (no such figure), those of bench_results_read, CLA_E_IO. */
cla_status cli_plot_bench(const char *path, const char *metric, const char *out);

/* Draws a roofline: the rows that have GFLOP/s and GB/s under the peaks measured with
 * them. Refuses a file with rows of several devices. Errors: CLA_E_INPUT, those of
 * bench_results_read, CLA_E_IO. */
cla_status cli_plot_roofline(const char *path, const char *out);
