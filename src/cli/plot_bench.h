/* plot_bench.h - pictures of results of `clattn bench --json'. */
#pragma once

#include "clattn/status.h"

/* Draws the figure `metric' of each row that has one above 0 as a bar.
 * Errors: CLA_E_INPUT (no such figure), those of bench_results_read, CLA_E_IO. */
cla_status cli_plot_bench(const char *path, const char *metric, const char *out);

/* Draws the rows that have GFLOP/s and GB/s under the peaks that were measured with
 * them; a file with rows of several devices is refused. Errors: CLA_E_INPUT, those of
 * bench_results_read, CLA_E_IO. */
cla_status cli_plot_roofline(const char *path, const char *out);
