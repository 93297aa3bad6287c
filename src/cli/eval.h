/* eval.h - tables of clattn eval. */
#pragma once

#include "train/tagging.h"

enum { EVAL_MODELS = 16 };

/* Scores of several models side by side: a line for each score that one of them has.
 * name: their folders. */
void cli_eval_table(const cla_metrics *metrics, const char *const *name, int count);

/* Precision, recall and F1 of each tag of a split, most frequent first, and the
 * confusion matrix; as JSON an object for each tag.
 * Errors: those of tagging_confuse, CLA_E_NOMEM. */
cla_status cli_eval_tags(tagging *t, const char *data, const char *split, bool json);
