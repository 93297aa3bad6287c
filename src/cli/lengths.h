/* lengths.h - BLEU of translations by the length of their sources. */
#pragma once

#include "clattn/model.h"
#include "cli/cli.h"

/* Groups of sentences by the words of their source: 1-10, 11-20, .. 51-60, 61 and more.
 * The last row is all sentences. */
enum { LENGTH_STEP = 10, LENGTH_GROUPS = 7, LENGTH_ROWS };

/* Returns the name of a group: "11-20", ">=61", "all". */
const char *cli_length_name(int group);

/* Translates a split and prints, for each group, the number of sentences and their
 * BLEU, computed as in `clattn score bleu'; with json, one object for each group.
 * Errors: those of cla_model_translate, CLA_E_INPUT, CLA_E_IO. */
cla_status cli_eval_lengths(cla_model *model, const char *data, const char *split,
                            const cla_translate_options *options, bool json);

/* Draws the --json output of some systems as an SVG file: a group of bars for each
 * length, a bar for each system. Errors: CLA_E_USAGE (more than 8 files), CLA_E_INPUT
 * (naming file and line), CLA_E_IO, CLA_E_NOMEM. */
cla_status cli_plot_lengths(const char *const *paths, int count, const char *out);
