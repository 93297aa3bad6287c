/* lengths.h - how good translations are by how long their sources are. */
#pragma once

#include "cli/cli.h"
#include "tasks/translation/translation.h"

/* Groups of sentences by the words of their source: 1-10, 11-20, .. 51-60, 61 and more,
 * and all of them. */
enum { LENGTH_STEP = 10, LENGTH_GROUPS = 7, LENGTH_ROWS };

/* "11-20", ">=61", "all". */
const char *cli_length_name(int group);

/* Translates a split, and prints a line for each group with its sentences and their
 * BLEU, as `clattn score bleu' counts it. Errors: as translation_translate,
 * CLA_E_INPUT, CLA_E_IO. */
cla_status cli_eval_lengths(translation *t, const char *data, const char *split,
                            const translation_options *options, bool json);

/* Draws what --json gave for some systems, a bar for each beside the other's in each
 * group: an SVG file. Errors: CLA_E_INPUT (naming file and line), CLA_E_IO,
 * CLA_E_NOMEM. */
cla_status cli_plot_lengths(const char *const *paths, int count, const char *out);
