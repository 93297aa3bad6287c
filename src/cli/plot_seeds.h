/* plot_seeds.h - learning curves of runs that differ in their seed alone. */
#pragma once

#include "cli/svg.h"

/* Joins the curves of runs whose configs are the same but for seed, comment and hashes:
 * the points are the means at the steps that all of them have, and the band is one
 * standard deviation (n - 1) to each side. Curves of a single run have no band.
 *
 * curves  in, out  [*count] of the folders runs; the joined ones come first
 * runs    in       [*count]
 * names   out      [*count], what the joined curves are called: "runs/a (3 seeds)"
 *
 * Errors: CLA_E_INPUT (a config that is no JSON; runs without a step in common),
 * CLA_E_IO, CLA_E_NOMEM. */
cla_status cli_plot_seeds(svg_curve *curves, int *count, const char *const *runs,
                          cla_text *names);
